// RUN: shardc-opt --codegen-build-gpu-kernels --codegen-lower-gpu-kernels %s | FileCheck %s
// RUN: shardc-opt --codegen-build-gpu-kernels --codegen-build-emulator-kernels %s | FileCheck %s --check-prefix=EMULATOR

// Functions are polynomials: nothing calls CUDA's library.
// CHECK-NOT: __nv
// CHECK-LABEL: llvm.func @norm(
// CHECK-SAME: !llvm.ptr<1> {llvm.noalias, llvm.readonly}
// CHECK-SAME: nvvm.kernel, nvvm.maxntid = array<i32: 128, 1, 1>
// CHECK-NOT: math.
// CHECK: nvvm.shfl.sync bfly
// CHECK: nvvm.barrier0
// CHECK: llvm.intr.fma
// CHECK-NOT: gpu.

// One GPU thread: pointers come from the table, and every access and meeting is announced with a site of its own.
// EMULATOR-LABEL: func.func @norm(
// EMULATOR-SAME: %[[BUFFERS:.*]]: !llvm.ptr, %[[CONTROL:.*]]: !llvm.ptr, %[[SELF:.*]]: !llvm.ptr)
// EMULATOR: llvm.load %{{.*}} : !llvm.ptr -> !llvm.ptr
// EMULATOR-NOT: gpu.
// EMULATOR: llvm.call %{{.*}}(%[[SELF]], %c0_i32{{.*}}, %{{.*}}, %c16_i32{{.*}}, %c16_i32{{.*}}, %c0_i32{{.*}}, %c0_i32{{.*}}) : !llvm.ptr, (!llvm.ptr, i32, !llvm.ptr, i32, i32, i32, i32) -> ()
// EMULATOR-NEXT: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// EMULATOR: llvm.call %{{.*}} -> i32
// EMULATOR: llvm.call %{{.*}}(%[[SELF]], %c-1_i32
// EMULATOR-NEXT: llvm.store %{{.*}} : f32, !llvm.ptr<3>
// EMULATOR: llvm.call %{{.*}} : !llvm.ptr, (!llvm.ptr, i32) -> ()
exec.kernel_def @norm row domain [3, 1024] rows 1 items 3
    attributes {operand_types = [memref<3x1024xf32>, memref<3x1024xf32>], exec.alignments = array<i64: 16, 16>} {
^bb0(%a: tensor<3x1024xf32>):
  %s = nn.reduce sum, %a dims [1] : tensor<3x1024xf32> -> tensor<3xf32>
  %b = nn.broadcast_in_dim %s dims [0] : tensor<3xf32> -> tensor<3x1024xf32>
  %m = nn.sub %a, %b : tensor<3x1024xf32>
  %t = nn.tanh %m : tensor<3x1024xf32>
  exec.yield %t : tensor<3x1024xf32>
}
