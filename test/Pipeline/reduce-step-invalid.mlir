// RUN: shardc-opt %s -split-input-file -verify-diagnostics --pipeline-reduce-step

// expected-error @below {{internal error: no stage sums the loss and its weight}}
module attributes {
    dist.mesh = #dist.mesh<[<"dp" = 1>, <"pp" = 1>, <"tp" = 1>]>, nn.training = {loss_seed = 8.0, clip_norm = 0.0}} {
  func.func @pp0_backward_first() {
    return
  }
  func.func @update(%scale: tensor<f32> {nn.scalar = "scale"}, %skip: tensor<i1> {nn.scalar = "skip"}) {
    return
  }
}

// -----

module attributes {
    dist.mesh = #dist.mesh<[<"dp" = 1>, <"pp" = 1>, <"tp" = 1>]>, nn.training = {loss_seed = 8.0, clip_norm = 0.0}} {
  // expected-error @below {{internal error: result 0 is the gradient of no parameter of @update}}
  func.func @pp0_backward_first(%g: tensor<4xf32>) -> (tensor<4xf32> {exec.bind = #exec.bind<gradient "w/grad">, nn.gradient = "w"}) {
    return %g : tensor<4xf32>
  }
  func.func @update(%scale: tensor<f32> {nn.scalar = "scale"}, %skip: tensor<i1> {nn.scalar = "skip"}) {
    return
  }
}

// -----

module attributes {
    dist.mesh = #dist.mesh<[<"dp" = 1>, <"pp" = 1>, <"tp" = 1>]>, nn.training = {loss_seed = 8.0, clip_norm = 0.0}} {
  func.func @pp0_backward_first(%g: tensor<4xf32>, %s: tensor<f32>) -> (
      tensor<4xf32> {exec.bind = #exec.bind<gradient "w/grad">, nn.gradient = "w"},
      tensor<f32> {exec.bind = #exec.bind<gradient "loss.sum">, nn.loss = "sum"},
      tensor<f32> {exec.bind = #exec.bind<gradient "loss.weight">, nn.loss = "weight"}) {
    return %g, %s, %s : tensor<4xf32>, tensor<f32>, tensor<f32>
  }
  // expected-error @below {{internal error: gradient of 'w': expected 'tensor<8xf32>', got 'tensor<4xf32>' from stage 0}}
  func.func @update(%g: tensor<8xf32> {nn.gradient = "w"}, %scale: tensor<f32> {nn.scalar = "scale"}, %skip: tensor<i1> {nn.scalar = "skip"}) {
    return
  }
}

// -----

module attributes {
    dist.mesh = #dist.mesh<[<"dp" = 1>, <"pp" = 1>, <"tp" = 1>]>, nn.training = {loss_seed = 8.0, clip_norm = 0.0}} {
  // expected-error @below {{function 'update': expected arguments with nn.scalar "scale" and "skip"}}
  func.func @update() {
    return
  }
}

// -----

// expected-error @below {{'nn.training' has no 'loss_seed' of the expected type}}
module attributes {
    dist.mesh = #dist.mesh<[<"dp" = 1>, <"pp" = 1>, <"tp" = 1>]>, nn.training = {clip_norm = 0.0}} {
  func.func @update() {
    return
  }
}
