// RUN: shardc-opt %s --codegen-decompose --codegen-select-calls --codegen-fuse | FileCheck %s

// Bias and GELU are one kernel between two products; the transposed weight is a view.
// CHECK-LABEL: func.func @gelu_mlp
func.func @gelu_mlp(%x: tensor<4x16x64xf32>, %w: tensor<32x64xf32>, %b: tensor<32xf32>, %v: tensor<32x64xf32>)
    -> (tensor<4x16x64xf32>, tensor<4x16x32xf32>) {
  // CHECK: %[[X:.*]] = nn.reshape %arg0 : tensor<4x16x64xf32> -> tensor<64x64xf32>
  // CHECK: %[[T:.*]] = nn.transpose %arg1 perm [1, 0]
  // CHECK: %[[P:.*]] = exec.product %[[X]], %[[T]]
  %0 = nn.dot_general %x, %w batch [] x [] contract [2] x [1] : (tensor<4x16x64xf32>, tensor<32x64xf32>) -> tensor<4x16x32xf32>
  // CHECK: %[[H:.*]] = nn.reshape %[[P]]
  // CHECK: %[[K:.*]]:2 = exec.fusion row domain [4, 16, 32] rows 2 items 64 reads(%[[H]], %arg2
  // CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<4x16x32xf32>, %[[B:.*]]: tensor<32xf32>):
  // CHECK: nn.broadcast_in_dim %[[B]] dims [2]
  // CHECK: nn.constant dense<5.000000e-01>
  // CHECK: nn.erf
  // CHECK: exec.yield
  %1 = nn.broadcast_in_dim %b dims [2] : tensor<32xf32> -> tensor<4x16x32xf32>
  %2 = nn.add %0, %1 : tensor<4x16x32xf32>
  %half = nn.constant dense<0.5> : tensor<f32>
  %one = nn.constant dense<1.0> : tensor<4x16x32xf32>
  %3 = nn.broadcast_in_dim %half dims [] : tensor<f32> -> tensor<4x16x32xf32>
  %4 = nn.erf %2 : tensor<4x16x32xf32>
  %5 = nn.add %4, %one : tensor<4x16x32xf32>
  %6 = nn.mul %2, %3 : tensor<4x16x32xf32>
  %7 = nn.mul %6, %5 : tensor<4x16x32xf32>
  // CHECK-NOT: exec.fusion
  // CHECK: exec.product
  %8 = nn.dot_general %7, %v batch [] x [] contract [2] x [0] : (tensor<4x16x32xf32>, tensor<32x64xf32>) -> tensor<4x16x64xf32>
  // CHECK: return %{{.*}}, %[[K]]#
  return %8, %2 : tensor<4x16x64xf32>, tensor<4x16x32xf32>
}

// A residual with dropout, and the norm after it: one kernel with four outputs.
// CHECK-LABEL: func.func @residual_norm
func.func @residual_norm(%x: tensor<4x16x64xf32>, %y: tensor<4x16x64xf32>, %g: tensor<64xf32>, %b: tensor<64xf32>)
    -> (tensor<4x16x64xf32>, tensor<4x16x64xf32>, tensor<4x16xf32>, tensor<4x16xf32>) {
  // CHECK: exec.fusion row domain [4, 16, 64] rows 2 items 64 reads(%arg0, %arg1, %arg2, %arg3
  // CHECK: nn.rng_uniform
  // CHECK: nn.reduce sum
  // CHECK: nn.rsqrt
  // CHECK: exec.yield %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} :
  // CHECK-NOT: exec.fusion
  %offset = nn.control sample_offset : tensor<i64>
  %size = nn.constant dense<1024> : tensor<i64>
  %base = nn.mul %offset, %size : tensor<i64>
  %r = nn.rng_uniform %base id 3 strides [1024, 64, 1] : tensor<i64> -> tensor<4x16x64xf32>
  %p = nn.constant dense<0.1> : tensor<4x16x64xf32>
  %mask = nn.compare ge, %r, %p : tensor<4x16x64xf32> -> tensor<4x16x64xi1>
  %zero = nn.constant dense<0.0> : tensor<4x16x64xf32>
  %scale = nn.constant dense<1.1111> : tensor<4x16x64xf32>
  %0 = nn.mul %y, %scale : tensor<4x16x64xf32>
  %1 = nn.select %mask, %0, %zero : tensor<4x16x64xi1>, tensor<4x16x64xf32>
  %2 = nn.add %x, %1 : tensor<4x16x64xf32>
  %3, %mean, %rstd = nn.norm layer, %2 scale %g bias %b axis 2 epsilon 1.0e-05 : tensor<4x16x64xf32>, tensor<4x16xf32> scale tensor<64xf32> bias tensor<64xf32>
  return %2, %3, %mean, %rstd : tensor<4x16x64xf32>, tensor<4x16x64xf32>, tensor<4x16xf32>, tensor<4x16xf32>
}

// The gradients of a norm: dx is a row kernel; those of scale and bias are one column kernel that recomputes x̂.
// CHECK-LABEL: func.func @norm_backward
func.func @norm_backward(%x: tensor<4x16x64xf32>, %mean: tensor<4x16xf32>, %rstd: tensor<4x16xf32>, %g: tensor<64xf32>,
                         %dy: tensor<4x16x64xf32>) -> (tensor<4x16x64xf32>, tensor<64xf32>, tensor<64xf32>) {
  // CHECK: %[[DP:.*]]:2 = exec.fusion column domain [4, 16, 64] rows 2 items 1 reads(%arg4, %arg0, %arg1, %arg2 :
  // CHECK: nn.sub
  // CHECK: nn.reduce sum
  // CHECK: nn.reduce sum
  // CHECK: %[[DX:.*]] = exec.fusion row domain [4, 16, 64] rows 2 items 64 reads(
  // CHECK: exec.yield %{{[0-9]+}} : tensor<4x16x64xf32>
  // CHECK: return %[[DX]], %[[DP]]#0, %[[DP]]#1
  %m = nn.broadcast_in_dim %mean dims [0, 1] : tensor<4x16xf32> -> tensor<4x16x64xf32>
  %r = nn.broadcast_in_dim %rstd dims [0, 1] : tensor<4x16xf32> -> tensor<4x16x64xf32>
  %c = nn.sub %x, %m : tensor<4x16x64xf32>
  %xhat = nn.mul %c, %r : tensor<4x16x64xf32>
  %t = nn.mul %dy, %xhat : tensor<4x16x64xf32>
  %dg = nn.reduce sum, %t dims [0, 1] : tensor<4x16x64xf32> -> tensor<64xf32>
  %db = nn.reduce sum, %dy dims [0, 1] : tensor<4x16x64xf32> -> tensor<64xf32>
  %gb = nn.broadcast_in_dim %g dims [2] : tensor<64xf32> -> tensor<4x16x64xf32>
  %dyg = nn.mul %dy, %gb : tensor<4x16x64xf32>
  %s = nn.reduce sum, %dyg dims [2] : tensor<4x16x64xf32> -> tensor<4x16xf32>
  %u = nn.mul %dyg, %xhat : tensor<4x16x64xf32>
  %v = nn.reduce sum, %u dims [2] : tensor<4x16x64xf32> -> tensor<4x16xf32>
  %n = nn.constant dense<0.015625> : tensor<4x16xf32>
  %s1 = nn.mul %s, %n : tensor<4x16xf32>
  %v1 = nn.mul %v, %n : tensor<4x16xf32>
  %s2 = nn.broadcast_in_dim %s1 dims [0, 1] : tensor<4x16xf32> -> tensor<4x16x64xf32>
  %v2 = nn.broadcast_in_dim %v1 dims [0, 1] : tensor<4x16xf32> -> tensor<4x16x64xf32>
  %w = nn.mul %xhat, %v2 : tensor<4x16x64xf32>
  %d1 = nn.sub %dyg, %s2 : tensor<4x16x64xf32>
  %d2 = nn.sub %d1, %w : tensor<4x16x64xf32>
  %dx = nn.mul %d2, %r : tensor<4x16x64xf32>
  return %dx, %dg, %db : tensor<4x16x64xf32>, tensor<64xf32>, tensor<64xf32>
}

// Scale, causal mask and softmax are one kernel; the mask is made of positions inside it.
// CHECK-LABEL: func.func @masked_softmax
func.func @masked_softmax(%q: tensor<4x4x16x16xf32>) -> tensor<4x4x16x16xf32> {
  // CHECK: %[[S:.*]] = exec.fusion row domain [4, 4, 16, 16] rows 3 items 256 reads(%arg0 :
  // CHECK: nn.iota dim 0
  // CHECK: nn.reduce max, %{{.*}} dims [3]
  // CHECK: nn.reduce sum, %{{.*}} dims [3]
  // CHECK: return %[[S]]
  %i = nn.iota dim 0 : tensor<16x16xi64>
  %j = nn.iota dim 1 : tensor<16x16xi64>
  %c = nn.compare ge, %i, %j : tensor<16x16xi64> -> tensor<16x16xi1>
  %mask = nn.broadcast_in_dim %c dims [2, 3] : tensor<16x16xi1> -> tensor<4x4x16x16xi1>
  %k = nn.constant dense<0.25> : tensor<4x4x16x16xf32>
  %inf = nn.constant dense<0xFF800000> : tensor<4x4x16x16xf32>
  %0 = nn.mul %q, %k : tensor<4x4x16x16xf32>
  %1 = nn.select %mask, %0, %inf : tensor<4x4x16x16xi1>, tensor<4x4x16x16xf32>
  %2 = nn.softmax %1 axis 3 : tensor<4x4x16x16xf32>
  return %2 : tensor<4x4x16x16xf32>
}

// The rows of a cross-entropy are one kernel, their sum another.
// CHECK-LABEL: func.func @loss
func.func @loss(%logits: tensor<64x256xf32>, %labels: tensor<64xi64>) -> (tensor<f32>, tensor<64xf32>) {
  // CHECK: %[[L:.*]]:2 = exec.fusion row domain [64, 256] rows 1 items 64 reads(%arg0, %arg1 :
  // CHECK: %[[S:.*]] = exec.fusion row domain [64] items 1 reads(%[[L]]#{{.}} :
  // CHECK: return %[[S]], %[[L]]#
  %l, %lse = nn.cross_entropy %logits, %labels ignore -100 : tensor<64x256xf32>, tensor<64xi64> -> tensor<64xf32>
  %s = nn.reduce sum, %l dims [0] : tensor<64xf32> -> tensor<f32>
  return %s, %lse : tensor<f32>, tensor<64xf32>
}

// Scalars of the update are one kernel on no dimensions; each parameter is another.
// CHECK-LABEL: func.func @update
func.func @update(%p: tensor<64x32xf32>, %g: tensor<64x32xf32>, %v: tensor<64x32xf32>, %norm: tensor<f32>)
    -> (tensor<64x32xf32>, tensor<64x32xf32>) {
  // CHECK: %[[S:.*]] = exec.fusion row domain [] items 1 reads(%arg3 :
  // CHECK: %[[U:.*]]:2 = exec.fusion row domain [64, 32] rows 1 items 64 reads(
  // CHECK: nn.control learning_rate
  // CHECK: return %[[U]]#
  %one = nn.constant dense<1.0> : tensor<f32>
  %0 = nn.max %norm, %one : tensor<f32>
  %scale = nn.div %one, %0 : tensor<f32>
  %1 = nn.broadcast_in_dim %scale dims [] : tensor<f32> -> tensor<64x32xf32>
  %2 = nn.mul %g, %1 : tensor<64x32xf32>
  %lr = nn.control learning_rate : tensor<f32>
  %3 = nn.broadcast_in_dim %lr dims [] : tensor<f32> -> tensor<64x32xf32>
  %m = nn.constant dense<0.9> : tensor<64x32xf32>
  %4 = nn.mul %v, %m : tensor<64x32xf32>
  %5 = nn.add %4, %2 : tensor<64x32xf32>
  %6 = nn.mul %5, %3 : tensor<64x32xf32>
  %7 = nn.sub %p, %6 : tensor<64x32xf32>
  return %7, %5 : tensor<64x32xf32>, tensor<64x32xf32>
}

// Two kernels must stay apart where something that is no kernel lies between them.
// CHECK-LABEL: func.func @no_cycle
func.func @no_cycle(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK: exec.fusion row
  // CHECK: nn.exp
  // CHECK: exec.product
  // CHECK: exec.fusion row
  // CHECK: nn.add
  %0 = nn.exp %x : tensor<4x4xf32>
  %1 = nn.dot_general %0, %0 batch [] x [] contract [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = nn.add %0, %1 : tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}
