// RUN: shardc-opt %s --codegen-dedup-kernels | FileCheck %s

// Origins and names do not matter; constants, aliases and strides do.
// CHECK: exec.kernel_def @k0 row
// CHECK: exec.kernel_def @k1 row
// CHECK: exec.kernel_def @k2 row
// CHECK: exec.kernel_def @k3 row
// CHECK-NOT: exec.kernel_def
exec.kernel_def @a row domain [4, 8] rows 1 items 4 attributes {operand_types = [memref<4x8xf32>, memref<4x8xf32>]} {
^bb0(%x: tensor<4x8xf32>):
  %0 = nn.exp %x {nn.origin = 3 : i64} : tensor<4x8xf32>
  exec.yield %0 : tensor<4x8xf32>
}
exec.kernel_def @b row domain [4, 8] rows 1 items 4 attributes {operand_types = [memref<4x8xf32>, memref<4x8xf32>]} {
^bb0(%y: tensor<4x8xf32>):
  %exp = nn.exp %y {nn.origin = 7 : i64} : tensor<4x8xf32>
  exec.yield %exp : tensor<4x8xf32>
}
exec.kernel_def @c row domain [2] items 1 attributes {operand_types = [memref<2xf32>]} {
  %0 = nn.constant dense<[1.0, 2.0]> : tensor<2xf32>
  exec.yield %0 : tensor<2xf32>
}
exec.kernel_def @d row domain [2] items 1 attributes {operand_types = [memref<2xf32>]} {
  %0 = nn.constant dense<[1.0, 3.0]> : tensor<2xf32>
  exec.yield %0 : tensor<2xf32>
}
exec.kernel_def @e row domain [4, 8] rows 1 items 4 attributes {operand_types = [memref<4x8xf32, strided<[16, 1]>>, memref<4x8xf32>]} {
^bb0(%x: tensor<4x8xf32>):
  %0 = nn.exp %x : tensor<4x8xf32>
  exec.yield %0 : tensor<4x8xf32>
}

// CHECK-LABEL: exec.program
exec.program @pp0 pp 0 {
  %x = exec.buffer "x" scratch {block = @forward} : memref<4x8xf32>
  %y = exec.buffer "y" scratch {block = @forward} : memref<2xf32>
  exec.block @forward forward {
    // CHECK: exec.kernel @k0 reads
    exec.kernel @a reads(%x : memref<4x8xf32>) writes(%x : memref<4x8xf32>) items 4
    // CHECK: exec.kernel @k0 reads
    exec.kernel @b reads(%x : memref<4x8xf32>) writes(%x : memref<4x8xf32>) items 4
    // CHECK: exec.kernel @k1 reads
    exec.kernel @c reads() writes(%y : memref<2xf32>) items 1
    // CHECK: exec.kernel @k2 reads
    exec.kernel @d reads() writes(%y : memref<2xf32>) items 1
  }
}
