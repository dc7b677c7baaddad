// RUN: shardc-opt %s -split-input-file -verify-diagnostics --autodiff-build-gradients

// expected-error @below {{has no function '@forward' of one block}}
module {}

// -----

// expected-error @below {{'forward' has no result with nn.loss = "weight"}}
func.func @forward(%w: tensor<4xf32> {nn.parameter = {name = "w", trainable = true}}) -> (tensor<f32> {nn.loss = "sum"}) {
  %0 = nn.reduce sum, %w dims [0] : tensor<4xf32> -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// expected-error @below {{the sum of the loss has type 'tensor<4xf32>', expected a float scalar [training-67]}}
func.func @forward(%w: tensor<4xf32> {nn.parameter = {name = "w", trainable = true}})
    -> (tensor<4xf32> {nn.loss = "sum"}, tensor<f32> {nn.loss = "weight"}) {
  %0 = nn.exp %w : tensor<4xf32>
  %1 = nn.constant dense<1.0> : tensor<f32>
  return %0, %1 : tensor<4xf32>, tensor<f32>
}

// -----

// expected-error @below {{the loss depends on no trainable parameter [training-68]}}
func.func @forward(%x: tensor<4xf32> {nn.input = "x"}, %w: tensor<4xf32> {nn.parameter = {name = "w", trainable = true}})
    -> (tensor<f32> {nn.loss = "sum"}, tensor<f32> {nn.loss = "weight"}) {
  %0 = nn.reduce sum, %x dims [0] : tensor<4xf32> -> tensor<f32>
  %1 = nn.constant dense<1.0> : tensor<f32>
  return %0, %1 : tensor<f32>, tensor<f32>
}

// -----

// expected-error @below {{no parameter is trainable [training-69]}}
func.func @forward(%w: tensor<4xf32> {nn.parameter = {name = "w", trainable = false}})
    -> (tensor<f32> {nn.loss = "sum"}, tensor<f32> {nn.loss = "weight"}) {
  %0 = nn.reduce sum, %w dims [0] : tensor<4xf32> -> tensor<f32>
  %1 = nn.constant dense<1.0> : tensor<f32>
  return %0, %1 : tensor<f32>, tensor<f32>
}

// -----

func.func @forward(%w: tensor<4xf32> {nn.parameter = {name = "w", trainable = true}})
    -> (tensor<f64> {nn.loss = "sum"}, tensor<f32> {nn.loss = "weight"}) {
  %0 = nn.exp %w : tensor<4xf32> loc("first")
  // expected-error @below {{node 'nn.block_sum_squares': 'nn.block_sum_squares' has no gradient, but lies between a trainable parameter and the loss [training-70]}}
  // expected-note @below {{path: parameter 'w' -> 'first' -> 'nn.block_sum_squares'}}
  %1 = nn.block_sum_squares %0 block 4 : tensor<4xf32> -> tensor<1xf64>
  %2 = nn.reduce sum, %1 dims [0] : tensor<1xf64> -> tensor<f64>
  %3 = nn.constant dense<1.0> : tensor<f32>
  return %2, %3 : tensor<f64>, tensor<f32>
}

// -----

// expected-error @below {{parameter "v" is trainable, but does not reach the loss [training-71]}}
// expected-note @below {{every way from it to the loss ends at an op that is constant between steps}}
func.func @forward(%w: tensor<4xf32> {nn.parameter = {name = "w", trainable = true}},
                   %v: tensor<4xf32> {nn.parameter = {name = "v", trainable = true}})
    -> (tensor<f32> {nn.loss = "sum"}, tensor<f32> {nn.loss = "weight"}) {
  %p = nn.compare lt, %v, %w : tensor<4xf32> -> tensor<4xi1>
  %s = nn.select %p, %w, %w : tensor<4xi1>, tensor<4xf32>
  %0 = nn.reduce sum, %s dims [0] : tensor<4xf32> -> tensor<f32>
  %1 = nn.constant dense<1.0> : tensor<f32>
  return %0, %1 : tensor<f32>, tensor<f32>
}

// -----

func.func @forward(%w: tensor<2x4xf32> {nn.parameter = {name = "w", trainable = true}})
    -> (tensor<f32> {nn.loss = "sum"}, tensor<f32> {nn.loss = "weight"}) {
  // expected-error @below {{result 2 of 'nn.norm' has no gradient, but the loss depends on it [training-73]}}
  // expected-note @below {{path: parameter 'w' -> 'nn.norm'}}
  %y, %m, %r = nn.norm layer, %w axis 1 epsilon 1.0e-05 : tensor<2x4xf32>, tensor<2xf32>
  %0 = nn.reduce sum, %r dims [0] : tensor<2xf32> -> tensor<f32>
  %1 = nn.constant dense<1.0> : tensor<f32>
  return %0, %1 : tensor<f32>, tensor<f32>
}
