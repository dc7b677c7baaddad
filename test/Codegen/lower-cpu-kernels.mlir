// RUN: shardc-opt --codegen-build-cpu-kernels --codegen-lower-cpu-kernels %s | FileCheck %s

// tanh is a polynomial of explicit fma; nothing carries fast-math flags, and nothing calls a library.
// CHECK-LABEL: llvm.func internal @k.body(
// CHECK-NOT: fastmath
// CHECK-NOT: @tanhf
// CHECK: llvm.intr.fma({{.*}}) : (vector<16xf32>, vector<16xf32>, vector<16xf32>) -> vector<16xf32>
// CHECK: llvm.return
// CHECK-LABEL: llvm.func @k(
// CHECK: llvm.call @k.body
exec.kernel_def @k row domain [4, 32] rows 1 items 4 attributes {operand_types = [memref<4x32xf32>, memref<4x32xf32>]} {
^bb0(%a: tensor<4x32xf32>):
  %0 = nn.tanh %a : tensor<4x32xf32>
  exec.yield %0 : tensor<4x32xf32>
}
