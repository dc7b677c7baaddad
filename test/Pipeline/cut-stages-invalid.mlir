// RUN: shardc-opt %s -split-input-file -verify-diagnostics --pipeline-cut-stages

module attributes {dist.mesh = #dist.mesh<[<"dp" = 1>, <"pp" = 3>, <"tp" = 1>]>} {
  // expected-error @below {{axis 'pp': 3 pipeline stages, but the model has 2 ops that could begin one [stage-count]}}
  // expected-note @below {{--pp from 1 to 2 works}}
  func.func @accumulate(%x: tensor<4xf32> {nn.input = "x"}) -> tensor<4xf32> {
    %0 = nn.tanh %x {nn.origin = 0 : i64} : tensor<4xf32>
    %1 = nn.tanh %0 {nn.origin = 1 : i64} : tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<[<"dp" = 1>, <"pp" = 1>, <"tp" = 1>]>} {
  func.func @accumulate(%x: tensor<4xf32> {nn.input = "x"}) -> tensor<4xf32> {
    // expected-error @below {{internal error: op without 'nn.origin'}}
    %0 = nn.tanh %x : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

// expected-error @below {{module has no function 'accumulate'}}
module attributes {dist.mesh = #dist.mesh<[<"dp" = 1>, <"pp" = 1>, <"tp" = 1>]>} {}
