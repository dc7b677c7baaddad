// RUN: shardc-opt --codegen-build-cpu-kernels %s | FileCheck %s

// Operands are noalias, but for those that may share memory.
// CHECK-LABEL: func.func private @elementwise.body(
// CHECK-SAME: !llvm.ptr {llvm.readonly}, %{{[a-z0-9]+}}: !llvm.ptr {llvm.noalias, llvm.readonly},
// CHECK-SAME: %{{[a-z0-9]+}}: !llvm.ptr, %{{[a-z0-9]+}}: !llvm.ptr {llvm.noalias, llvm.readonly},
// CHECK-SAME: llvm.linkage = #llvm.linkage<internal>
// Rows of contiguous elements are one run.
// CHECK-NOT: fastmath
// CHECK: scf.for
// CHECK: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> vector<16xf32>
// CHECK: arith.addf %{{.*}}, %{{.*}} : vector<16xf32>
// CHECK: llvm.store %{{.*}} {alignment = 4 : i64} : vector<16xf32>, !llvm.ptr
// The tail is masked.
// CHECK: scf.if
// CHECK: llvm.intr.masked.load
// CHECK: llvm.intr.masked.store
// CHECK-LABEL: func.func @elementwise(
// CHECK-SAME: %[[BUFFERS:.*]]: !llvm.ptr, %[[CONTROL:.*]]: !llvm.ptr, %[[B0:.*]]: i64, %[[E0:.*]]: i64)
// CHECK: %[[P0:.*]] = llvm.load %[[BUFFERS]]
// CHECK: %[[P1:.*]] = llvm.load
// CHECK: %[[P2:.*]] = llvm.load
// CHECK: call @elementwise.body(%[[P0]], %[[P1]], %[[P2]], %[[CONTROL]], %[[B0]], %[[E0]])
exec.kernel_def @elementwise row domain [4, 5] rows 1 items 4
    attributes {operand_types = [memref<4x5xf32>, memref<4x5xf32>, memref<4x5xf32>], in_place = array<i64: 0, 0>} {
^bb0(%a: tensor<4x5xf32>, %b: tensor<4x5xf32>):
  %0 = nn.add %a, %b : tensor<4x5xf32>
  exec.yield %0 : tensor<4x5xf32>
}

// Sixteen accumulators, neutral elements in masked lanes, then the tree; the mean is a scalar, once a row.
// CHECK-LABEL: func.func private @mean.body(
// CHECK: %[[ACC:.*]] = scf.for {{.*}} iter_args(%[[IN:.*]] = %{{.*}}) -> (vector<16xf32>)
// CHECK:   %[[X:.*]] = llvm.load {{.*}} -> vector<16xf32>
// CHECK:   arith.addf %[[IN]], %[[X]] : vector<16xf32>
// CHECK: %[[MASK:.*]] = arith.constant dense<[true, true, true, true, false,
// CHECK: %[[TAIL:.*]] = llvm.intr.masked.load
// CHECK: %[[FILLED:.*]] = arith.select {{.*}}, %[[TAIL]], %{{.*}} : vector<16xi1>, vector<16xf32>
// CHECK: %[[LANES:.*]] = arith.addf %[[ACC]], %[[FILLED]] : vector<16xf32>
// CHECK: vector.shuffle %[[LANES]], %[[LANES]] [0, 1, 2, 3, 4, 5, 6, 7]
// CHECK: vector.shuffle %[[LANES]], %[[LANES]] [8, 9, 10, 11, 12, 13, 14, 15]
// CHECK: arith.addf {{.*}} : vector<8xf32>
// CHECK: arith.addf {{.*}} : vector<4xf32>
// CHECK: arith.addf {{.*}} : vector<2xf32>
// CHECK: arith.addf {{.*}} : vector<1xf32>
// CHECK: %[[SUM:.*]] = vector.extract
// CHECK: arith.divf %[[SUM]], %{{.*}} : f32
// CHECK: llvm.store %{{.*}} : f32, !llvm.ptr
exec.kernel_def @mean row domain [4, 20] rows 1 items 4
    attributes {operand_types = [memref<4x20xf32>, memref<4xf32>]} {
^bb0(%a: tensor<4x20xf32>):
  %n = nn.constant dense<20.0> : tensor<4xf32>
  %s = nn.reduce sum, %a dims [1] : tensor<4x20xf32> -> tensor<4xf32>
  %m = nn.div %s, %n : tensor<4xf32>
  exec.yield %m : tensor<4xf32>
}

// A later pass reads back what an earlier one has stored.
// CHECK-LABEL: func.func private @read_back.body(
// CHECK-SAME: !llvm.ptr {llvm.noalias, llvm.readonly}, %{{[a-z0-9]+}}: !llvm.ptr {llvm.noalias, llvm.readonly},
// CHECK-SAME: %[[PRODUCT:[a-z0-9]+]]: !llvm.ptr {llvm.noalias}, %[[REST:[a-z0-9]+]]: !llvm.ptr
// CHECK: arith.mulf %{{.*}}, %{{.*}} : vector<16xf32>
// CHECK: scf.yield
// CHECK-NOT: arith.mulf
// CHECK: %[[PLACE:.*]] = llvm.getelementptr %[[PRODUCT]]
// CHECK-NEXT: %[[STORED:.*]] = llvm.load %[[PLACE]] {{.*}} -> vector<16xf32>
// CHECK-NOT: arith.mulf
// CHECK: arith.subf %[[STORED]], %{{.*}} : vector<16xf32>
exec.kernel_def @read_back row domain [3, 32] rows 1 items 3
    attributes {operand_types = [memref<3x32xf32>, memref<3x32xf32>, memref<3x32xf32>, memref<3x32xf32>]} {
^bb0(%a: tensor<3x32xf32>, %b: tensor<3x32xf32>):
  %product = nn.mul %a, %b : tensor<3x32xf32>
  %sum = nn.reduce sum, %product dims [1] : tensor<3x32xf32> -> tensor<3xf32>
  %all = nn.broadcast_in_dim %sum dims [0] : tensor<3xf32> -> tensor<3x32xf32>
  %rest = nn.sub %product, %all : tensor<3x32xf32>
  exec.yield %product, %rest : tensor<3x32xf32>, tensor<3x32xf32>
}

// Operands whose inner stride is not 1 are gathered; truth values are bytes.
// CHECK-LABEL: func.func private @transposed.body(
// CHECK: llvm.load {{.*}} -> vector<16xi8>
// CHECK: arith.cmpi ne, {{.*}} : vector<16xi8>
// CHECK: llvm.intr.masked.gather {{.*}} : (vector<16x!llvm.ptr>, vector<16xi1>, vector<16xf32>)
exec.kernel_def @transposed row domain [4, 16] rows 1 items 4
    attributes {operand_types = [memref<4x16xf32, strided<[1, 4]>>, memref<4x16xi1>, memref<4x16xf32>]} {
^bb0(%a: tensor<4x16xf32>, %p: tensor<4x16xi1>):
  %z = nn.constant dense<0.0> : tensor<4x16xf32>
  %0 = nn.select %p, %a, %z : tensor<4x16xi1>, tensor<4x16xf32>
  exec.yield %0 : tensor<4x16xf32>
}

// Rows in blocks of 64, four vectors of columns at once.
// CHECK-LABEL: func.func private @columns.body(
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK:   scf.for {{.*}} iter_args({{.*}}) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
exec.kernel_def @columns column domain [100, 128] rows 1 items 2
    attributes {operand_types = [memref<100x128xf32>, memref<128xf32>]} {
^bb0(%a: tensor<100x128xf32>):
  %s = nn.reduce sum, %a dims [0] : tensor<100x128xf32> -> tensor<128xf32>
  exec.yield %s : tensor<128xf32>
}
