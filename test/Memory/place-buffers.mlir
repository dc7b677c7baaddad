// RUN: shardc-opt %s --memory-place-buffers | FileCheck %s
// RUN: shardc-opt %s --memory-place-buffers=alignment=256 | FileCheck %s --check-prefix=WIDE

exec.kernel_def @k row domain [16] rows 0 items 1 attributes {operand_types = []} {
^bb0(%a: tensor<16xf32>):
  exec.yield %a : tensor<16xf32>
}

// Persistent regions follow one another; slots lie side by side; gradients keep their order.
// CHECK-LABEL: exec.program @pp0
// CHECK-SAME: arena_bytes = 640 : i64
exec.program @pp0 pp 0 {
  // WIDE: exec.buffer "stash" stash slots 2 at 768 {slot_stride = 256 : i64}
  // CHECK: exec.buffer "stash" stash slots 2 at 256 {slot_stride = 64 : i64}
  %stash = exec.buffer "stash" stash slots 2 : memref<16xf32>
  // CHECK: exec.buffer "w" parameter at 0
  %w = exec.buffer "w" parameter {parameter = "w"} : memref<16xf32>
  // WIDE: exec.buffer "gw" gradient at 256
  // CHECK: exec.buffer "gw" gradient at 64
  %gw = exec.buffer "gw" gradient {parameter = "w"} : memref<17xf32>
  // CHECK: exec.buffer "gb" gradient at 192
  %gb = exec.buffer "gb" gradient {parameter = "b"} : memref<f32>

  // a is dead when c is written, so that they share bytes.
  // CHECK: exec.buffer "a" scratch at [[A:384]]
  %a = exec.buffer "a" scratch {block = @forward} : memref<16xf32>
  // CHECK: exec.buffer "b" scratch at [[B:448]]
  %b = exec.buffer "b" scratch {block = @forward} : memref<16xf32>
  // CHECK: exec.buffer "c" scratch at [[A]]
  %c = exec.buffer "c" scratch {block = @forward} : memref<16xf32>

  // x is sent on stream 1 until the last kernel waits for it: y may not take its bytes.
  // CHECK: exec.buffer "x" scratch at 384
  %x = exec.buffer "x" scratch {block = @backward} : memref<16xf32>
  // CHECK: exec.buffer "y" scratch at 512
  %y = exec.buffer "y" scratch {block = @backward} : memref<16xf32>
  // CHECK: exec.buffer "z" scratch at 576
  %z = exec.buffer "z" scratch {block = @backward} : memref<16xf32>
  // CHECK: exec.buffer "v" scratch at 448
  %v = exec.buffer "v" scratch {block = @backward} : memref<16xf32>
  // CHECK-NOT: "unused"
  %unused = exec.buffer "unused" scratch {block = @backward} : memref<1024xf32>

  exec.block @forward forward {
    exec.kernel @k reads(%w : memref<16xf32>) writes(%a : memref<16xf32>) items 1
    exec.kernel @k reads(%a : memref<16xf32>) writes(%b : memref<16xf32>) items 1
    exec.kernel @k reads(%b : memref<16xf32>) writes(%c : memref<16xf32>) items 1
    exec.copy %c to %gw : memref<16xf32> to memref<17xf32>
  }
  exec.block @backward backward {
    exec.kernel @k reads(%w : memref<16xf32>) writes(%x : memref<16xf32>) items 1 {records = 0 : i32, stream = 0 : i32}
    exec.collective "all_reduce" %x into %v axes ["tp"] sum {waits = [0 : i32], records = 1 : i32, stream = 1 : i32} : memref<16xf32> -> memref<16xf32>
    exec.kernel @k reads(%w : memref<16xf32>) writes(%y : memref<16xf32>) items 1
    exec.kernel @k reads(%y : memref<16xf32>) writes(%z : memref<16xf32>) items 1
    exec.kernel @k reads(%z : memref<16xf32>) writes(%w : memref<16xf32>) items 1 {waits = [1 : i32]}
  }
}
