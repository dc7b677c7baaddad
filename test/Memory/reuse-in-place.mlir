// RUN: shardc-opt %s --memory-reuse-in-place | FileCheck %s

exec.kernel_def @k row domain [16] rows 0 items 1 attributes {operand_types = []} {
^bb0(%a: tensor<16xf32>):
  exec.yield %a : tensor<16xf32>
}

// CHECK-LABEL: exec.program @pp0
exec.program @pp0 pp 0 {
  %w = exec.buffer "w" parameter {parameter = "w"} : memref<16xf32>
  // CHECK: %[[A:.*]] = exec.buffer "a"
  %a = exec.buffer "a" scratch {block = @forward} : memref<16xf32>
  // The last read of a: b takes its place.
  // CHECK-NOT: exec.buffer "b"
  // CHECK: %[[B:.*]] = exec.view %[[A]]
  %b = exec.buffer "b" scratch {block = @forward} : memref<16xf32>
  // b is read again after the kernel that writes c.
  // CHECK: exec.buffer "c"
  %c = exec.buffer "c" scratch {block = @forward} : memref<16xf32>
  // Of another size.
  // CHECK: exec.buffer "d"
  %d = exec.buffer "d" scratch {block = @forward} : memref<8xf32>
  exec.block @forward forward {
    exec.kernel @k reads(%w : memref<16xf32>) writes(%a : memref<16xf32>) items 1
    // CHECK: exec.kernel @k reads(%[[A]] : memref<16xf32>) writes(%[[B]] : memref<16xf32>)
    exec.kernel @k reads(%a : memref<16xf32>) writes(%b : memref<16xf32>) items 1 {in_place = array<i64: 0, 0>}
    exec.kernel @k reads(%b : memref<16xf32>) writes(%c : memref<16xf32>) items 1 {in_place = array<i64: 0, 0>}
    exec.kernel @k reads(%b : memref<16xf32>) writes(%d : memref<8xf32>) items 1 {in_place = array<i64: 0, 0>}
  }
}
