// RUN: shardc-opt %s --sharding-annotate -split-input-file -verify-diagnostics

// Neither 4 heads of 16 nor 64 rows go three ways; the 3 of the fused product are cut apart.
module attributes {dist.mesh = #dist.mesh<[<"dp" = 1>, <"pp" = 1>, <"tp" = 3>]>} {
  // expected-note @below {{dimension 0 has the sub-dimension 64, which tp = 1, 2, 4, 8, 16, 32, 64 divide}}
  // expected-note @below {{dimension 1 has the sub-dimension 4, which tp = 1, 2, 4 divide}}
  // expected-note @below {{dimension 1 has the sub-dimension 16, which tp = 1, 2, 4, 8, 16 divide}}
  func.func @accumulate(%x: tensor<8x64xf32> {nn.input = "x"}, %w: tensor<64x192xf32> {nn.parameter = {name = "qkv.weight"}})
      -> (tensor<f32> {nn.loss = "sum"}) {
    // expected-error @unknown {{node 'h.0/attn/c_attn': parameter 'qkv.weight' of 'tensor<64x192xf32>' does not divide over tp=3 [shard-1]}}
    %y = nn.dot_general %x, %w batch [] x [] contract [1] x [0] : (tensor<8x64xf32>, tensor<64x192xf32>) -> tensor<8x192xf32> loc("h.0/attn/c_attn")
    %q = nn.slice %y [0, 0] to [8, 64] by [1, 1] : tensor<8x192xf32> -> tensor<8x64xf32>
    %h = nn.reshape %q : tensor<8x64xf32> -> tensor<8x4x16xf32>
    %s = nn.reduce sum, %h dims [0, 1, 2] : tensor<8x4x16xf32> -> tensor<f32>
    return %s : tensor<f32>
  }
}

// -----

// Statistics over the batch couple its samples.
module attributes {dist.mesh = #dist.mesh<[<"dp" = 2>, <"pp" = 1>, <"tp" = 1>]>} {
  func.func @accumulate(%x: tensor<8x4xf32> {nn.input = "x"}) -> (tensor<f32> {nn.loss = "sum"}) {
    %m = nn.reduce sum, %x dims [0] : tensor<8x4xf32> -> tensor<4xf32>
    // expected-error @unknown {{node 'batch_norm': 'nn.exp' uses a sum over the batch in a way that is not linear, expected sums over samples only in the loss, got one that dp=2 leaves partial [shard-3]}}
    // expected-note @unknown {{the model is batch-coupled: dp=1 works}}
    %e = nn.exp %m : tensor<4xf32> loc("batch_norm")
    // What follows is not reported again.
    %s = nn.reduce sum, %e dims [0] : tensor<4xf32> -> tensor<f32>
    %t = nn.exp %s : tensor<f32>
    return %t : tensor<f32>
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<[<"dp" = 2>, <"pp" = 1>, <"tp" = 1>]>} {
  func.func @accumulate(%x: tensor<8x4xf32> {nn.input = "x"}) -> (tensor<f32> {nn.loss = "sum"}) {
    // expected-error @below {{'nn.softmax' mixes elements of a dimension that dp=2 splits [shard-2]}}
    // expected-note @below {{samples must not depend on one another: dp=1 works}}
    %m = nn.softmax %x axis 0 : tensor<8x4xf32>
    // expected-error @below {{'nn.dot_general' mixes elements of a dimension that dp=2 splits [shard-2]}}
    // expected-note @below {{samples must not depend on one another: dp=1 works}}
    %d = nn.dot_general %x, %x batch [] x [] contract [1] x [1] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x8xf32>
    %s = nn.reduce sum, %m dims [0, 1] : tensor<8x4xf32> -> tensor<f32>
    return %s : tensor<f32>
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<[<"dp" = 4>, <"pp" = 1>, <"tp" = 1>]>} {
  // expected-error @below {{input "x": the batch has the sub-dimension 6, which does not divide over dp=4 [shard-5]}}
  func.func @accumulate(%x: tensor<6x4xf32> {nn.input = "x"}) -> (tensor<6x4xf32>) {
    return %x : tensor<6x4xf32>
  }
}

// -----

// expected-error @below {{module has no 'dist.mesh'}}
module {
}

// -----

// Logits stay split along the vocabulary, but the norm wants whole rows.
module attributes {dist.mesh = #dist.mesh<[<"dp" = 1>, <"pp" = 1>, <"tp" = 2>]>} {
  // expected-error @below {{function 'accumulate': no layout over tp=2 meets all orders [shard-6]}}
  // expected-note @below {{some op needs whole what must stay split, as a norm over a vocabulary does: tp=1 works}}
  func.func @accumulate(%ids: tensor<4xi64> {nn.input = "ids"}, %t: tensor<6x8xf32> {nn.parameter = {name = "t"}})
      -> (tensor<f32> {nn.loss = "sum"}) {
    %e = nn.gather %t, %ids axis 0 : (tensor<6x8xf32>, tensor<4xi64>) -> tensor<4x8xf32>
    %l = nn.dot_general %e, %t batch [] x [] contract [1] x [1] : (tensor<4x8xf32>, tensor<6x8xf32>) -> tensor<4x6xf32>
    %y, %m, %r = nn.norm layer, %l axis 1 epsilon 1.0e-05 : tensor<4x6xf32>, tensor<4xf32>
    %s = nn.reduce sum, %y dims [0, 1] : tensor<4x6xf32> -> tensor<f32>
    return %s : tensor<f32>
  }
}

// -----

// Rows of 6 = 2 · 3 that a reshape takes apart.
module attributes {dist.mesh = #dist.mesh<[<"dp" = 3>, <"pp" = 1>, <"tp" = 1>]>} {
  // expected-error @below {{input "x": the batch has the sub-dimension 2, which does not divide over dp=3 [shard-5]}}
  func.func @accumulate(%x: tensor<6xf32> {nn.input = "x"}) -> (tensor<2x3xf32>) {
    %0 = nn.reshape %x : tensor<6xf32> -> tensor<2x3xf32>
    return %0 : tensor<2x3xf32>
  }
}
