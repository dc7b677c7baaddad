// RUN: shardc-opt %s -split-input-file -verify-diagnostics --pipeline-outline-stages

module attributes {dist.mesh = #dist.mesh<[<"dp" = 1>, <"pp" = 2>, <"tp" = 1>]>} {
  func.func @accumulate(%x: tensor<4xf32> {nn.input = "x"}) -> (tensor<f32> {nn.loss = "sum"}, tensor<f32> {nn.loss = "weight"}) {
    %a = nn.tanh %x {nn.origin = 0 : i64, pipe.stage = 1 : i64} : tensor<4xf32> loc("a")
    // expected-error @below {{internal error: op in pipeline stage 0 reads a forward value of stage 1}}
    %s = nn.reduce sum, %a dims [0] {nn.origin = 1 : i64, pipe.stage = 0 : i64} : tensor<4xf32> -> tensor<f32>
    return %s, %s : tensor<f32>, tensor<f32>
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<[<"dp" = 1>, <"pp" = 2>, <"tp" = 2>]>} {
  func.func @accumulate(%x: tensor<4xf32> {nn.input = "x"}) -> (tensor<f32> {nn.loss = "sum"}, tensor<f32> {nn.loss = "weight"}) {
    // expected-error @below {{internal error: value crosses from pipeline stage 0 while partial over 'tp'}}
    %a = nn.tanh %x {nn.origin = 0 : i64, pipe.stage = 0 : i64, dist.shardings = [#dist.sharding<[<[<4>]>] partial [<"tp", sum>]>]} : tensor<4xf32>
    %s = nn.reduce sum, %a dims [0] {nn.origin = 1 : i64, pipe.stage = 1 : i64} : tensor<4xf32> -> tensor<f32>
    return %s, %s : tensor<f32>, tensor<f32>
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<[<"dp" = 1>, <"pp" = 2>, <"tp" = 1>]>} {
  func.func @accumulate(%x: tensor<4xf32> {nn.input = "x"}) -> (tensor<f32> {nn.loss = "sum"}, tensor<f32> {nn.loss = "weight"}) {
    // expected-error @below {{internal error: expected 'pipe.stage' in [0, 2), got 2}}
    %s = nn.reduce sum, %x dims [0] {nn.origin = 1 : i64, pipe.stage = 2 : i64} : tensor<4xf32> -> tensor<f32>
    return %s, %s : tensor<f32>, tensor<f32>
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<[<"dp" = 1>, <"pp" = 1>, <"tp" = 1>]>} {
  // expected-error @below {{function 'accumulate': expected results with 'nn.loss' "sum" and "weight"}}
  func.func @accumulate(%x: tensor<4xf32> {nn.input = "x"}) -> (tensor<f32> {nn.loss = "sum"}) {
    %s = nn.reduce sum, %x dims [0] {nn.origin = 1 : i64, pipe.stage = 0 : i64} : tensor<4xf32> -> tensor<f32>
    return %s : tensor<f32>
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<[<"dp" = 1>, <"pp" = 1>, <"tp" = 1>]>} {
  // expected-error @below {{function 'accumulate': result 0 is neither a loss nor a gradient}}
  func.func @accumulate(%x: tensor<4xf32> {nn.input = "x"}) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}
