// RUN: shardc-opt %s -split-input-file --autodiff-lower-precision | FileCheck %s
// RUN: shardc-opt %s -split-input-file --autodiff-lower-precision --autodiff-build-gradients --autodiff-widen-gradients | FileCheck %s --check-prefix=BACKWARD

// A linear layer with a bias and a norm before it. The norm's input and result and the product are low, the bias is f32.
// The cast of a parameter belongs to the product that reads it; a view is taken of the cast.
// CHECK-LABEL: func.func @forward
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x8x4xf32>
// BACKWARD-LABEL: func.func @accumulate
module attributes {nn.training = {micro_batches = 1 : i64, precision = "bf16"}} {
  func.func @forward(%x: tensor<2x8x4xf32> {nn.input = "x"},
                     %g: tensor<4xf32> {nn.parameter = {name = "g", trainable = true}},
                     %w: tensor<6x4xf32> {nn.parameter = {name = "w", trainable = true}},
                     %b: tensor<6xf32> {nn.parameter = {name = "b", trainable = true}})
      -> (tensor<f32> {nn.loss = "sum"}, tensor<f32> {nn.loss = "weight"}) {
    // CHECK: %[[E:.*]] = nn.exp %[[X]] {nn.origin = 0 : i64} : tensor<2x8x4xf32>
    // CHECK: %[[EL:.*]] = nn.convert %[[E]] {nn.origin = 0 : i64} : tensor<2x8x4xf32> -> tensor<2x8x4xbf16>
    %0 = nn.exp %x : tensor<2x8x4xf32>
    // The cast back belongs to its user.
    // CHECK: %[[EU:.*]] = nn.convert %[[EL]] {nn.origin = 1 : i64} : tensor<2x8x4xbf16> -> tensor<2x8x4xf32>
    // CHECK: %[[N:.*]], %{{.*}}, %{{.*}} = nn.norm  layer, %[[EU]] scale
    // CHECK: %[[NL:.*]] = nn.convert %[[N]] {nn.origin = 1 : i64}
    %1, %m, %r = nn.norm layer, %0 scale %g axis 2 epsilon 1.0e-05 : tensor<2x8x4xf32>, tensor<2x8xf32> scale tensor<4xf32>
    %2 = nn.transpose %w perm [1, 0] : tensor<6x4xf32> -> tensor<4x6xf32>
    // CHECK: %[[WL:.*]] = nn.convert %{{.*}} {nn.origin = 3 : i64} : tensor<6x4xf32> -> tensor<6x4xbf16>
    // CHECK: %[[WT:.*]] = nn.transpose %[[WL]] perm [1, 0] {nn.origin = 3 : i64} : tensor<6x4xbf16> -> tensor<4x6xbf16>
    // CHECK: %[[P:.*]] = nn.dot_general %[[NL]], %[[WT]] {{.*}} -> tensor<2x8x6xbf16>
    // CHECK: %[[PU:.*]] = nn.convert %[[P]] {nn.origin = 5 : i64} : tensor<2x8x6xbf16> -> tensor<2x8x6xf32>
    %3 = nn.dot_general %1, %2 batch [] x [] contract [2] x [0] : (tensor<2x8x4xf32>, tensor<4x6xf32>) -> tensor<2x8x6xf32>
    %4 = nn.broadcast_in_dim %b dims [2] : tensor<6xf32> -> tensor<2x8x6xf32>
    // CHECK: nn.add %[[PU]], %{{.*}} {nn.origin = 5 : i64} : tensor<2x8x6xf32>
    %5 = nn.add %3, %4 : tensor<2x8x6xf32>
    // What feeds no product and no norm stays f32, and so do reductions.
    // CHECK-NEXT: nn.tanh %{{.*}} : tensor<2x8x6xf32>
    // CHECK-NEXT: nn.reduce sum, %{{.*}} : tensor<2x8x6xf32> -> tensor<f32>
    %6 = nn.tanh %5 : tensor<2x8x6xf32>
    %7 = nn.reduce sum, %6 dims [0, 1, 2] : tensor<2x8x6xf32> -> tensor<f32>
    %8 = nn.constant dense<16.0> : tensor<f32>
    // The cotangent of the product is low; the gradient of w keeps its f32 sums, and that of b was never low.
    // BACKWARD: %[[G:.*]] = nn.convert %{{.*}} {nn.backward, nn.origin = 5 : i64} : tensor<2x8x6xf32> -> tensor<2x8x6xbf16>
    // BACKWARD: %[[DW:.*]] = nn.dot_general {{.*}} {nn.backward, nn.origin = 3 : i64} : (tensor<2x8x{{[46]}}xbf16>, tensor<2x8x{{[46]}}xbf16>) -> tensor<{{.*}}xf32>
    // BACKWARD-NOT: nn.convert %[[DW]]
    // BACKWARD: return
    return %7, %8 : tensor<f32>, tensor<f32>
  }
}

// -----

// Views between products are low, and need no casts; a sum of two activations with two uses is low, one with one is not.
// CHECK-LABEL: func.func @forward
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x4x4xf32>
module attributes {nn.training = {micro_batches = 1 : i64, precision = "fp16", loss_scale_init = 8.0 : f64,
    loss_scale_growth_interval = 5.0 : f64, loss_scale_growth_factor = 2.0 : f64, loss_scale_backoff_factor = 0.5 : f64}} {
  func.func @forward(%x: tensor<2x4x4xf32> {nn.input = "x"}, %w: tensor<4x4xf32> {nn.parameter = {name = "w", trainable = true}})
      -> (tensor<f32> {nn.loss = "sum"}, tensor<f32> {nn.loss = "weight"}) {
    // CHECK: %[[P:.*]] = nn.dot_general {{.*}} -> tensor<2x4x4xf16>
    %0 = nn.dot_general %x, %w batch [] x [] contract [2] x [0] : (tensor<2x4x4xf32>, tensor<4x4xf32>) -> tensor<2x4x4xf32>
    // CHECK-NEXT: %[[T:.*]] = nn.transpose %[[P]] perm [0, 2, 1] {{.*}} : tensor<2x4x4xf16> -> tensor<2x4x4xf16>
    // CHECK-NEXT: %[[R:.*]] = nn.reshape %[[T]] {{.*}} : tensor<2x4x4xf16> -> tensor<2x16xf16>
    // CHECK-NEXT: nn.dot_general %[[R]], %[[R]] {{.*}} -> tensor<2x2xf16>
    %1 = nn.transpose %0 perm [0, 2, 1] : tensor<2x4x4xf32> -> tensor<2x4x4xf32>
    %2 = nn.reshape %1 : tensor<2x4x4xf32> -> tensor<2x16xf32>
    %3 = nn.dot_general %2, %2 batch [] x [] contract [1] x [1] : (tensor<2x16xf32>, tensor<2x16xf32>) -> tensor<2x2xf32>
    %4 = nn.reduce sum, %3 dims [0, 1] : tensor<2x2xf32> -> tensor<f32>
    // CHECK: %[[PU:.*]] = nn.convert %[[P]]
    // CHECK-NEXT: %[[ONCE:.*]] = nn.add %[[X]], %[[PU]] {{.*}} : tensor<2x4x4xf32>
    // CHECK-NEXT: %[[TWICE:.*]] = nn.add %[[ONCE]], %[[X]] {{.*}} : tensor<2x4x4xf32>
    // CHECK-NEXT: %[[L:.*]] = nn.convert %[[TWICE]] {{.*}} -> tensor<2x4x4xf16>
    // CHECK-NEXT: %[[U:.*]] = nn.convert %[[L]]
    // CHECK-NEXT: nn.mul %[[U]], %[[U]]
    %5 = nn.add %x, %0 : tensor<2x4x4xf32>
    %6 = nn.add %5, %x : tensor<2x4x4xf32>
    %7 = nn.mul %6, %6 : tensor<2x4x4xf32>
    %8 = nn.reduce sum, %7 dims [0, 1, 2] : tensor<2x4x4xf32> -> tensor<f32>
    %9 = nn.add %4, %8 : tensor<f32>
    %10 = nn.constant dense<2.0> : tensor<f32>
    // The seed has the loss scale in it.
    // BACKWARD: %[[W0:.*]] = nn.constant dense<5.000000e-01>
    // BACKWARD: %[[SCALE:.*]] = nn.control  loss_scale
    // BACKWARD: nn.mul %[[SCALE]], %[[W0]] {nn.backward
    return %9, %10 : tensor<f32>, tensor<f32>
  }
}

// -----

// fp32, or no setting, changes nothing.
// CHECK-LABEL: func.func @forward
// CHECK-NOT: nn.convert
module attributes {nn.training = {micro_batches = 1 : i64, precision = "fp32"}} {
  func.func @forward(%x: tensor<2x4xf32> {nn.input = "x"}, %w: tensor<4x4xf32> {nn.parameter = {name = "w", trainable = true}})
      -> (tensor<f32> {nn.loss = "sum"}, tensor<f32> {nn.loss = "weight"}) {
    %0 = nn.dot_general %x, %w batch [] x [] contract [1] x [0] : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %1 = nn.reduce sum, %0 dims [0, 1] : tensor<2x4xf32> -> tensor<f32>
    %2 = nn.constant dense<2.0> : tensor<f32>
    return %1, %2 : tensor<f32>, tensor<f32>
  }
}
