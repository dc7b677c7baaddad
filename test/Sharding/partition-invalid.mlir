// RUN: shardc-opt %s --sharding-partition -split-input-file -verify-diagnostics

// expected-error @below {{module has no 'dist.mesh'}}
module {
}

// -----

module attributes {dist.mesh = #dist.mesh<[<"dp" = 2>, <"pp" = 1>, <"tp" = 1>]>} {
  func.func @half(%x: tensor<4xf32> {dist.sharding = #dist.sharding<[<[<4 : ["dp"]>]>]>})
      -> (tensor<4xf32> {dist.sharding = #dist.sharding<[<[<4 : ["dp"]>]>]>}) {
    // expected-error @below {{expected a shardable op with 'dist.shardings'}}
    %0 = nn.neg %x : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

module attributes {dist.mesh = #dist.mesh<[<"dp" = 2>, <"pp" = 1>, <"tp" = 1>]>} {
  // expected-error @below {{result 0 has no 'dist.sharding'}}
  func.func @result(%x: tensor<4xf32> {dist.sharding = #dist.sharding<[<[<4 : ["dp"]>]>]>}) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}
