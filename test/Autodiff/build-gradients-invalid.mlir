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
// expected-note @below {{every way from there to the loss ends at an op that is constant between steps}}
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

// -----

// expected-error @below {{parameters "p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9" and 2 more are trainable, but do not reach the loss [training-71]}}
// expected-note @below {{--freeze GLOB leaves parameters out}}
func.func @forward(%w: tensor<4xf32> {nn.parameter = {name = "w", trainable = true}},
                   %p0: tensor<4xf32> {nn.parameter = {name = "p0", trainable = true}},
                   %p1: tensor<4xf32> {nn.parameter = {name = "p1", trainable = true}},
                   %p2: tensor<4xf32> {nn.parameter = {name = "p2", trainable = true}},
                   %p3: tensor<4xf32> {nn.parameter = {name = "p3", trainable = true}},
                   %p4: tensor<4xf32> {nn.parameter = {name = "p4", trainable = true}},
                   %p5: tensor<4xf32> {nn.parameter = {name = "p5", trainable = true}},
                   %p6: tensor<4xf32> {nn.parameter = {name = "p6", trainable = true}},
                   %p7: tensor<4xf32> {nn.parameter = {name = "p7", trainable = true}},
                   %p8: tensor<4xf32> {nn.parameter = {name = "p8", trainable = true}},
                   %p9: tensor<4xf32> {nn.parameter = {name = "p9", trainable = true}},
                   %p10: tensor<4xf32> {nn.parameter = {name = "p10", trainable = true}},
                   %p11: tensor<4xf32> {nn.parameter = {name = "p11", trainable = true}})
    -> (tensor<f32> {nn.loss = "sum"}, tensor<f32> {nn.loss = "weight"}) {
  %c0 = nn.compare lt, %p0, %w : tensor<4xf32> -> tensor<4xi1>
  %s0 = nn.select %c0, %w, %w : tensor<4xi1>, tensor<4xf32>
  %c1 = nn.compare lt, %p1, %w : tensor<4xf32> -> tensor<4xi1>
  %s1 = nn.select %c1, %s0, %w : tensor<4xi1>, tensor<4xf32>
  %c2 = nn.compare lt, %p2, %w : tensor<4xf32> -> tensor<4xi1>
  %s2 = nn.select %c2, %s1, %w : tensor<4xi1>, tensor<4xf32>
  %c3 = nn.compare lt, %p3, %w : tensor<4xf32> -> tensor<4xi1>
  %s3 = nn.select %c3, %s2, %w : tensor<4xi1>, tensor<4xf32>
  %c4 = nn.compare lt, %p4, %w : tensor<4xf32> -> tensor<4xi1>
  %s4 = nn.select %c4, %s3, %w : tensor<4xi1>, tensor<4xf32>
  %c5 = nn.compare lt, %p5, %w : tensor<4xf32> -> tensor<4xi1>
  %s5 = nn.select %c5, %s4, %w : tensor<4xi1>, tensor<4xf32>
  %c6 = nn.compare lt, %p6, %w : tensor<4xf32> -> tensor<4xi1>
  %s6 = nn.select %c6, %s5, %w : tensor<4xi1>, tensor<4xf32>
  %c7 = nn.compare lt, %p7, %w : tensor<4xf32> -> tensor<4xi1>
  %s7 = nn.select %c7, %s6, %w : tensor<4xi1>, tensor<4xf32>
  %c8 = nn.compare lt, %p8, %w : tensor<4xf32> -> tensor<4xi1>
  %s8 = nn.select %c8, %s7, %w : tensor<4xi1>, tensor<4xf32>
  %c9 = nn.compare lt, %p9, %w : tensor<4xf32> -> tensor<4xi1>
  %s9 = nn.select %c9, %s8, %w : tensor<4xi1>, tensor<4xf32>
  %c10 = nn.compare lt, %p10, %w : tensor<4xf32> -> tensor<4xi1>
  %s10 = nn.select %c10, %s9, %w : tensor<4xi1>, tensor<4xf32>
  %c11 = nn.compare lt, %p11, %w : tensor<4xf32> -> tensor<4xi1>
  %s11 = nn.select %c11, %s10, %w : tensor<4xi1>, tensor<4xf32>
  %0 = nn.reduce sum, %s11 dims [0] : tensor<4xf32> -> tensor<f32>
  %1 = nn.constant dense<1.0> : tensor<f32>
  return %0, %1 : tensor<f32>, tensor<f32>
}
