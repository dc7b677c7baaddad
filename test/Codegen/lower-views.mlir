// RUN: shardc-opt %s --codegen-decompose --codegen-select-calls --codegen-fuse --codegen-lower-to-exec --split-input-file | FileCheck %s

// Attention on a fused QKV: slices, head splits and transposes are strides; the heads of the result are computed side by
// side, so that the projection after them reads a dense matrix.
// CHECK-LABEL: exec.program @pp0
// CHECK: %[[QKV:.*]] = exec.buffer "qkv" stash
// CHECK: exec.block @forward
// CHECK-NOT: exec.copy
// CHECK: %[[Q:.*]] = exec.view %{{.*}} : memref<2x16x96xf32> -> memref<2x4x16x8xf32, strided<[1536, 8, 96, 1]>>
// CHECK: %[[K:.*]] = exec.view %{{.*}} : memref<2x16x96xf32> -> memref<2x4x8x16xf32, strided<[1536, 8, 1, 96], offset: 32>>
// CHECK: exec.gemm %[[Q]], %[[K]] into
// CHECK: exec.kernel
// CHECK: %[[V:.*]] = exec.view %{{.*}} : memref<2x16x96xf32> -> memref<2x4x16x8xf32, strided<[1536, 8, 96, 1], offset: 64>>
// CHECK: %[[O:.*]] = exec.view %[[C:.*]] : memref<32x32xf32> -> memref<2x4x16x8xf32, strided<[512, 8, 32, 1]>>
// CHECK: exec.gemm %{{.*}}, %[[V]] into %[[O]]
// CHECK: exec.gemm %[[C]], %{{.*}}
// CHECK-NOT: exec.copy
// CHECK: }
module attributes {pipe.schedule = [[#exec.action<forward 0 slot 0>]]} {
func.func @pp0_forward(%qkv: tensor<2x16x96xf32> {exec.bind = #exec.bind<stash "qkv">},
                       %w: tensor<32x32xf32> {exec.bind = #exec.bind<parameter "w">})
    -> (tensor<2x16x32xf32> {exec.bind = #exec.bind<stash "o">}) {
  %q0 = nn.slice %qkv [0, 0, 0] to [2, 16, 32] by [1, 1, 1] : tensor<2x16x96xf32> -> tensor<2x16x32xf32>
  %k0 = nn.slice %qkv [0, 0, 32] to [2, 16, 64] by [1, 1, 1] : tensor<2x16x96xf32> -> tensor<2x16x32xf32>
  %v0 = nn.slice %qkv [0, 0, 64] to [2, 16, 96] by [1, 1, 1] : tensor<2x16x96xf32> -> tensor<2x16x32xf32>
  %q1 = nn.reshape %q0 : tensor<2x16x32xf32> -> tensor<2x16x4x8xf32>
  %k1 = nn.reshape %k0 : tensor<2x16x32xf32> -> tensor<2x16x4x8xf32>
  %v1 = nn.reshape %v0 : tensor<2x16x32xf32> -> tensor<2x16x4x8xf32>
  %q = nn.transpose %q1 perm [0, 2, 1, 3] : tensor<2x16x4x8xf32> -> tensor<2x4x16x8xf32>
  %k = nn.transpose %k1 perm [0, 2, 3, 1] : tensor<2x16x4x8xf32> -> tensor<2x4x8x16xf32>
  %v = nn.transpose %v1 perm [0, 2, 1, 3] : tensor<2x16x4x8xf32> -> tensor<2x4x16x8xf32>
  %s = nn.dot_general %q, %k batch [0, 1] x [0, 1] contract [3] x [2] : (tensor<2x4x16x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x16x16xf32>
  %p = nn.softmax %s axis 3 : tensor<2x4x16x16xf32>
  %o = nn.dot_general %p, %v batch [0, 1] x [0, 1] contract [3] x [2] : (tensor<2x4x16x16xf32>, tensor<2x4x16x8xf32>) -> tensor<2x4x16x8xf32>
  %o1 = nn.transpose %o perm [0, 2, 1, 3] : tensor<2x4x16x8xf32> -> tensor<2x16x4x8xf32>
  %o2 = nn.reshape %o1 : tensor<2x16x4x8xf32> -> tensor<2x16x32xf32>
  %y = nn.dot_general %o2, %w batch [] x [] contract [2] x [0] : (tensor<2x16x32xf32>, tensor<32x32xf32>) -> tensor<2x16x32xf32>
  return %y : tensor<2x16x32xf32>
}
}

// -----

// The gradients of three slices are computed side by side: no zeros, no additions, no copies.
// CHECK-LABEL: exec.program @pp0
// CHECK: exec.block @backward_first
// CHECK: exec.kernel @{{.*}} reads(%{{.*}}) writes(%{{.*}} : memref<2x16x8xf32, strided<[384, 24, 1]>>)
// CHECK: exec.kernel @{{.*}} reads(%{{.*}}) writes(%{{.*}} : memref<2x16x8xf32, strided<[384, 24, 1], offset: 8>>)
// CHECK: exec.kernel @{{.*}} reads(%{{.*}}) writes(%{{.*}} : memref<2x16x8xf32, strided<[384, 24, 1], offset: 16>>)
// CHECK-NOT: exec.copy
module attributes {pipe.schedule = [[#exec.action<backward 0 slot 0>]]} {
func.func @pp0_backward_first(%a: tensor<2x16x8xf32> {exec.bind = #exec.bind<stash "a">},
                              %b: tensor<2x16x8xf32> {exec.bind = #exec.bind<stash "b">},
                              %c: tensor<2x16x8xf32> {exec.bind = #exec.bind<stash "c">})
    -> (tensor<2x16x24xf32> {exec.bind = #exec.bind<message "grad:x">}) {
  %a1 = nn.exp %a : tensor<2x16x8xf32>
  %b1 = nn.tanh %b : tensor<2x16x8xf32>
  %c1 = nn.neg %c : tensor<2x16x8xf32>
  %0 = nn.pad %a1 low [0, 0, 0] high [0, 0, 16] interior [0, 0, 0] value 0.0 : f32 : tensor<2x16x8xf32> -> tensor<2x16x24xf32>
  %1 = nn.pad %b1 low [0, 0, 8] high [0, 0, 8] interior [0, 0, 0] value 0.0 : f32 : tensor<2x16x8xf32> -> tensor<2x16x24xf32>
  %2 = nn.pad %c1 low [0, 0, 16] high [0, 0, 0] interior [0, 0, 0] value 0.0 : f32 : tensor<2x16x8xf32> -> tensor<2x16x24xf32>
  %3 = nn.add %2, %1 : tensor<2x16x24xf32>
  %4 = nn.add %3, %0 : tensor<2x16x24xf32>
  return %4 : tensor<2x16x24xf32>
}
}

// -----

// A reshape that no strides express is a copy; a pad is a fill and a copy.
// CHECK-LABEL: exec.program @pp0
// CHECK: exec.block @forward
// CHECK: exec.kernel @{{.*}} reads() writes
// CHECK: exec.copy %{{.*}} to %{{.*}} : memref<4xf32> to memref<4xf32, strided<[1], offset: 1>>
// CHECK: %[[T:.*]] = exec.view %{{.*}} : memref<2x3xf32> -> memref<3x2xf32, strided<[1, 3]>>
// CHECK: exec.copy %[[T]] to %[[D:.*]] {
// CHECK: %[[R:.*]] = exec.view %[[D]] : memref<3x2xf32> -> memref<6xf32>
// CHECK: exec.copy %[[R]] to
module attributes {pipe.schedule = [[#exec.action<forward 0 slot 0>]]} {
func.func @pp0_forward(%x: tensor<2x3xf32> {exec.bind = #exec.bind<stash "x">},
                       %z: tensor<4xf32> {exec.bind = #exec.bind<stash "z">})
    -> (tensor<6xf32> {exec.bind = #exec.bind<stash "y">}, tensor<6xf32> {exec.bind = #exec.bind<stash "p">}) {
  %0 = nn.transpose %x perm [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  %1 = nn.reshape %0 : tensor<3x2xf32> -> tensor<6xf32>
  %2 = nn.pad %z low [1] high [1] interior [0] value 0.0 : f32 : tensor<4xf32> -> tensor<6xf32>
  return %1, %2 : tensor<6xf32>, tensor<6xf32>
}
}

// -----

// A parameter that something reads after its new value is ready is not overwritten in place.
// CHECK-LABEL: exec.program @pp0
// CHECK: %[[W:.*]] = exec.buffer "w" parameter
// CHECK: %[[S:.*]] = exec.buffer "update/1" scratch
// CHECK: exec.block @update
// CHECK: exec.kernel @{{.*}} reads(%[[W]] : {{.*}}writes(%[[S]]
// CHECK: exec.kernel @{{.*}} reads(%{{.*}}
// CHECK: exec.copy %[[S]] to %[[W]]
module attributes {dist.mesh = #dist.mesh<[<"dp" = 2>]>, pipe.schedule = [[#exec.action<update 0 slot 0>]]} {
func.func @pp0_update(%w: tensor<8x8xf32> {exec.bind = #exec.bind<parameter "w">})
    -> (tensor<8x8xf32> {exec.bind = #exec.bind<parameter "w">}, tensor<8x8xf32> {exec.bind = #exec.bind<output "o">}) {
  %0 = nn.exp %w : tensor<8x8xf32>
  %1 = dist.all_reduce %0 axes ["dp"] sum : tensor<8x8xf32>
  %2 = nn.add %w, %1 : tensor<8x8xf32>
  return %0, %2 : tensor<8x8xf32>, tensor<8x8xf32>
}
}
