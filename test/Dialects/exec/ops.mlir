// RUN: shardc-opt %s | shardc-opt | FileCheck %s

// CHECK: exec.kernel_def @k0 row domain [4, 8] rows 1 items 4
exec.kernel_def @k0 row domain [4, 8] rows 1 items 4 attributes {operand_types = [memref<4x8xf32>, memref<4x8xf32>]} {
^bb0(%a: tensor<4x8xf32>):
  %0 = nn.exp %a : tensor<4x8xf32>
  exec.yield %0 : tensor<4x8xf32>
}

// CHECK-LABEL: exec.program @pp0 pp 0
// CHECK-SAME: schedule = [#exec.entry<@forward [0, 1]>, #exec.entry<@update []>]
exec.program @pp0 pp 0 attributes {schedule = [#exec.entry<@forward [0, 1]>, #exec.entry<@update []>]} {
  // CHECK: exec.buffer "x" stash slots 2 : memref<4x8xf32>
  %x = exec.buffer "x" stash slots 2 : memref<4x8xf32>
  %y = exec.buffer "y" scratch {block = @forward} : memref<4x8xf32>
  %z = exec.buffer "z" scratch {block = @forward} : memref<4x4xf32>
  %loss = exec.buffer "loss" output : memref<f32>
  exec.output "loss" %loss : memref<f32>
  exec.block @forward forward {
    %0 = exec.slot %x register 0 : memref<4x8xf32>
    exec.kernel @k0 reads(%0 : memref<4x8xf32>) writes(%y : memref<4x8xf32>) items 4 {in_place = array<i64: 0, 0>}
    %1 = exec.view %0 : memref<4x8xf32> -> memref<8x4xf32, strided<[1, 8]>>
    // CHECK: exec.gemm
    exec.gemm %y, %1 into %z accumulate {stream = 0 : i32} : memref<4x8xf32>, memref<8x4xf32, strided<[1, 8]>>, memref<4x4xf32>
    exec.group {
      exec.send %0 "x" to 1 forward : memref<4x8xf32>
    }
  }
  exec.block @update update {
  }
}

// CHECK-LABEL: func.func @tensors
func.func @tensors(%a: tensor<4x8xf32>, %b: tensor<8x4xf32>, %c: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK: exec.fusion row domain [4, 8] rows 1 items 4 reads(%{{.*}} : tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = exec.fusion row domain [4, 8] rows 1 items 4 reads(%a : tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%x: tensor<4x8xf32>):
    %1 = nn.exp %x : tensor<4x8xf32>
    exec.yield %1 : tensor<4x8xf32>
  }
  // CHECK: exec.product %{{.*}}, %{{.*}} plus %{{.*}} :
  %2 = exec.product %0, %b plus %c : (tensor<4x8xf32>, tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}
