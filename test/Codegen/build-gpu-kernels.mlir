// RUN: shardc-opt --codegen-build-gpu-kernels %s | FileCheck %s

// Four elements a thread, loaded and stored at once; what is broadcast along rows is loaded like a row. The last block
// is not full.
// CHECK-LABEL: gpu.func @elementwise(
// CHECK-SAME: %[[A:.*]]: !llvm.ptr<1> {llvm.readonly}, %[[B:.*]]: !llvm.ptr<1> {llvm.noalias, llvm.readonly},
// CHECK-SAME: %[[C:.*]]: !llvm.ptr<1>, %{{.*}}: !llvm.ptr<1> {llvm.noalias, llvm.readonly}) kernel attributes
// CHECK-SAME: exec.shared_bytes = 0 : i64
// CHECK-SAME: known_block_size = array<i32: 128, 1, 1>, known_grid_size = array<i32: 2, 1, 1>
// CHECK: arith.cmpi ult, %{{.*}}, %c192_i32
// CHECK: scf.if
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK-COUNT-4: arith.addf
// CHECK-NOT: arith.addf
// CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
exec.kernel_def @elementwise row domain [4, 192] rows 1 items 4
    attributes {operand_types = [memref<4x192xf32>, memref<192xf32>, memref<4x192xf32>],
                in_place = array<i64: 0, 0>, exec.alignments = array<i64: 16, 16, 16>} {
^bb0(%a: tensor<4x192xf32>, %b: tensor<192xf32>):
  %bb = nn.broadcast_in_dim %b dims [1] : tensor<192xf32> -> tensor<4x192xf32>
  %0 = nn.add %a, %bb : tensor<4x192xf32>
  exec.yield %0 : tensor<4x192xf32>
}

// 16-bit floats: eight at once. An operand that is not aligned is loaded in smaller pieces.
// CHECK-LABEL: gpu.func @halves(
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xi16>
// CHECK-COUNT-4: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<1> -> vector<2xi16>
// CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<8xi16>, !llvm.ptr<1>
exec.kernel_def @halves row domain [1024] rows 1 items 1024
    attributes {operand_types = [memref<1024xbf16>, memref<1024xbf16>, memref<1024xbf16>],
                exec.alignments = array<i64: 16, 4, 16>} {
^bb0(%a: tensor<1024xbf16>, %b: tensor<1024xbf16>):
  %0 = nn.mul %a, %b : tensor<1024xbf16>
  exec.yield %0 : tensor<1024xbf16>
}

// Nothing is known of the pointers.
// CHECK-LABEL: gpu.func @unaligned(
// CHECK-NOT: vector
// CHECK: gpu.return
exec.kernel_def @unaligned row domain [64] rows 1 items 64
    attributes {operand_types = [memref<64xf32>, memref<64xf32>]} {
^bb0(%a: tensor<64xf32>):
  %0 = nn.neg %a : tensor<64xf32>
  exec.yield %0 : tensor<64xf32>
}

// 128 threads a row: four warps, which meet through shared memory. The row stays in registers: one load.
// CHECK-LABEL: llvm.mlir.global internal @center.shared() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<32 x i8>
// CHECK-LABEL: gpu.func @center(
// CHECK-SAME: exec.cooperative, exec.shared_bytes = 32 : i64
// CHECK-SAME: known_block_size = array<i32: 128, 1, 1>, known_grid_size = array<i32: 3, 1, 1>
// CHECK-COUNT-2: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK-COUNT-5: gpu.shuffle  xor
// CHECK-NOT: gpu.shuffle
// CHECK: scf.if
// CHECK: llvm.store %{{.*}}, %{{.*}} : f32, !llvm.ptr<3>
// CHECK: gpu.barrier
// CHECK-COUNT-4: llvm.load %{{.*}} : !llvm.ptr<3> -> f32
// CHECK-NOT: llvm.load
// CHECK-COUNT-2: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
exec.kernel_def @center row domain [3, 1024] rows 1 items 3
    attributes {operand_types = [memref<3x1024xf32>, memref<3x1024xf32>], exec.alignments = array<i64: 16, 16>} {
^bb0(%a: tensor<3x1024xf32>):
  %s = nn.reduce sum, %a dims [1] : tensor<3x1024xf32> -> tensor<3xf32>
  %b = nn.broadcast_in_dim %s dims [0] : tensor<3xf32> -> tensor<3x1024xf32>
  %m = nn.sub %a, %b : tensor<3x1024xf32>
  exec.yield %m : tensor<3x1024xf32>
}

// Eight threads a row, sixteen rows a block; no shared memory.
// CHECK-LABEL: gpu.func @short(
// CHECK-SAME: exec.cooperative, exec.shared_bytes = 0 : i64
// CHECK-SAME: known_grid_size = array<i32: 2, 1, 1>
// CHECK-COUNT-3: gpu.shuffle  xor
// CHECK-NOT: gpu.shuffle
// CHECK-NOT: gpu.barrier
// CHECK: gpu.return
exec.kernel_def @short row domain [20, 64] rows 1 items 20
    attributes {operand_types = [memref<20x64xf32>, memref<20xf32>], exec.alignments = array<i64: 16, 16>} {
^bb0(%a: tensor<20x64xf32>):
  %s = nn.reduce max, %a dims [1] : tensor<20x64xf32> -> tensor<20xf32>
  exec.yield %s : tensor<20xf32>
}

// A longer row than threads hold in registers: a loop for each level.
// CHECK-LABEL: gpu.func @long(
// CHECK-SAME: known_block_size = array<i32: 512, 1, 1>, known_grid_size = array<i32: 1, 1, 1>
// CHECK: scf.for {{.*}} iter_args(
// CHECK: gpu.barrier
// CHECK: scf.for
// CHECK: gpu.return
exec.kernel_def @long row domain [1, 8192] rows 1 items 1
    attributes {operand_types = [memref<1x8192xf32>, memref<1x8192xf32>], exec.alignments = array<i64: 16, 16>} {
^bb0(%a: tensor<1x8192xf32>):
  %s = nn.reduce sum, %a dims [1] : tensor<1x8192xf32> -> tensor<1xf32>
  %b = nn.broadcast_in_dim %s dims [0] : tensor<1xf32> -> tensor<1x8192xf32>
  %m = nn.sub %a, %b : tensor<1x8192xf32>
  exec.yield %m : tensor<1x8192xf32>
}

// 16 columns a block, 32 groups of rows.
// CHECK-LABEL: gpu.func @columns(
// CHECK-SAME: exec.cooperative, exec.shared_bytes = 4096 : i64
// CHECK-SAME: known_block_size = array<i32: 512, 1, 1>, known_grid_size = array<i32: 5, 1, 1>
// CHECK: scf.for {{.*}} iter_args(
// CHECK: llvm.store %{{.*}} : f32, !llvm.ptr<3>
// CHECK: gpu.barrier
// CHECK-COUNT-32: llvm.load %{{.*}} : !llvm.ptr<3> -> f32
exec.kernel_def @columns column domain [100, 70] rows 1 items 2
    attributes {operand_types = [memref<100x70xf32>, memref<70xf32>]} {
^bb0(%a: tensor<100x70xf32>):
  %s = nn.reduce sum, %a dims [0] : tensor<100x70xf32> -> tensor<70xf32>
  exec.yield %s : tensor<70xf32>
}

// More elements than 32 bits count.
// CHECK-LABEL: gpu.func @huge(
// CHECK-SAME: known_grid_size = array<i32: 16777216, 1, 1>
// CHECK: %[[BLOCK:.*]] = arith.extui %{{.*}} : i32 to i64
// CHECK: arith.muli %[[BLOCK]], %c128_i64
exec.kernel_def @huge row domain [8589934592] rows 1 items 8589934592
    attributes {operand_types = [memref<8589934592xf32>, memref<8589934592xf32>], exec.alignments = array<i64: 16, 16>} {
^bb0(%a: tensor<8589934592xf32>):
  %0 = nn.neg %a : tensor<8589934592xf32>
  exec.yield %0 : tensor<8589934592xf32>
}
