// RUN: shardc-opt %s --codegen-assign-streams | FileCheck %s

exec.kernel_def @k0 row domain [4] items 1 attributes {operand_types = [memref<4xf32>, memref<4xf32>]} {
^bb0(%x: tensor<4xf32>):
  %0 = nn.exp %x : tensor<4xf32>
  exec.yield %0 : tensor<4xf32>
}
exec.program @pp0 pp 0 {
  %x = exec.buffer "x" input : memref<4xf32>
  %y = exec.buffer "y" scratch {block = @forward} : memref<4xf32>
  %z = exec.buffer "z" scratch {block = @forward} : memref<4xf32>
  %w = exec.buffer "w" scratch {block = @forward} : memref<4xf32>

  // A collective waits for its input, and its reader for it; what does not need it goes on. Two communicators, two
  // streams; the last instruction joins all.
  // CHECK-LABEL: exec.block @forward
  exec.block @forward forward {
    // CHECK: exec.load_input {{.*}}stream = 0 : i32
    exec.load_input "x" into %x : memref<4xf32>
    // CHECK: exec.kernel {{.*}}writes(%[[Y:.*]] : {{.*}}records = 0 : i32, stream = 0 : i32}
    exec.kernel @k0 reads(%x : memref<4xf32>) writes(%y : memref<4xf32>) items 1
    // CHECK: exec.collective "all_reduce" %[[Y]] {{.*}}records = 1 : i32, stream = 1 : i32, waits = array<i32: 0>
    exec.collective "all_reduce" %y into %y axes ["tp"] sum : memref<4xf32> -> memref<4xf32>
    // CHECK: exec.kernel {{.*}}records = 2 : i32, stream = 0 : i32}
    exec.kernel @k0 reads(%x : memref<4xf32>) writes(%z : memref<4xf32>) items 1
    // CHECK: exec.collective {{.*}}axes ["dp"] {{.*}}records = 3 : i32, stream = 2 : i32, waits = array<i32: 2>
    exec.collective "all_reduce" %z into %z axes ["dp"] sum : memref<4xf32> -> memref<4xf32>
    // CHECK: exec.kernel {{.*}}stream = 0 : i32, waits = array<i32: 1, 3>
    exec.kernel @k0 reads(%y : memref<4xf32>) writes(%w : memref<4xf32>) items 1
  }
  // Nothing to join with: the only collective runs on stream 0, and so does what begins or ends a block.
  // CHECK-LABEL: exec.block @update
  exec.block @update update {
    // CHECK: exec.collective {{.*}}stream = 0 : i32}
    exec.collective "all_reduce" %x into %x axes ["dp"] sum : memref<4xf32> -> memref<4xf32>
    // CHECK: exec.kernel {{.*}}stream = 0 : i32}
    exec.kernel @k0 reads(%x : memref<4xf32>) writes(%w : memref<4xf32>) items 1
    // CHECK: exec.collective {{.*}}stream = 0 : i32}
    exec.collective "all_reduce" %w into %w axes ["dp"] sum : memref<4xf32> -> memref<4xf32>
  }
}
