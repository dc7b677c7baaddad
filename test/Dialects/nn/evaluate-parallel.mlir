// RUN: shardc-opt %s -split-input-file -verify-diagnostics --test-evaluate="function=local global=global" | FileCheck %s

// A column and a row product with their all-reduce, the batch on dp; the second result stays partial over dp.
// CHECK: sequential = parallel: @local
#x = #dist.sharding<[<[<4 : ["dp"]>]>, <[<6>]>]>
module attributes {dist.mesh = #dist.mesh<[<"dp" = 2>, <"pp" = 1>, <"tp" = 2>]>} {
  func.func @global(%x: tensor<4x6xf32>, %a: tensor<8x6xf32>, %b: tensor<6x8xf32>) -> (tensor<4x6xf32>, tensor<6xf32>) {
    %0 = nn.dot_general %x, %a batch [] x [] contract [1] x [1] : (tensor<4x6xf32>, tensor<8x6xf32>) -> tensor<4x8xf32>
    %1 = nn.tanh %0 : tensor<4x8xf32>
    %2 = nn.dot_general %1, %b batch [] x [] contract [1] x [1] : (tensor<4x8xf32>, tensor<6x8xf32>) -> tensor<4x6xf32>
    %3 = nn.reduce sum, %2 dims [0] : tensor<4x6xf32> -> tensor<6xf32>
    return %2, %3 : tensor<4x6xf32>, tensor<6xf32>
  }
  func.func @local(%x: tensor<2x6xf32> {dist.sharding = #x},
                   %a: tensor<4x6xf32> {dist.sharding = #dist.sharding<[<[<8 : ["tp"]>]>, <[<6>]>]>},
                   %b: tensor<6x4xf32> {dist.sharding = #dist.sharding<[<[<6>]>, <[<8 : ["tp"]>]>]>})
      -> (tensor<2x6xf32> {dist.sharding = #x}, tensor<6xf32> {dist.sharding = #dist.sharding<[<[<6>]>] partial [<"dp", sum>]>}) {
    %0 = nn.dot_general %x, %a batch [] x [] contract [1] x [1] : (tensor<2x6xf32>, tensor<4x6xf32>) -> tensor<2x4xf32>
    %1 = nn.tanh %0 : tensor<2x4xf32>
    %2 = nn.dot_general %1, %b batch [] x [] contract [1] x [1] : (tensor<2x4xf32>, tensor<6x4xf32>) -> tensor<2x6xf32>
    %3 = dist.all_reduce %2 axes ["tp"] sum : tensor<2x6xf32>
    %4 = nn.reduce sum, %3 dims [0] : tensor<2x6xf32> -> tensor<6xf32>
    return %3, %4 : tensor<2x6xf32>, tensor<6xf32>
  }
}

// -----

// Sub-dimensions: of 3 · 4 · 2 the 4 is split, and gathering gives the blocks in front. The other collectives.
// CHECK: sequential = parallel: @local
#qkv = #dist.sharding<[<[<3>, <4 : ["tp"]>, <2>]>]>
module attributes {dist.mesh = #dist.mesh<[<"dp" = 1>, <"pp" = 1>, <"tp" = 2>]>} {
  func.func @global(%x: tensor<24xf32>) -> (tensor<24xf32>, tensor<24xf32>, tensor<24xf32>, tensor<2xi64>) {
    %0 = nn.add %x, %x : tensor<24xf32>
    %1 = nn.iota dim 0 : tensor<2xi64>
    return %x, %0, %x, %1 : tensor<24xf32>, tensor<24xf32>, tensor<24xf32>, tensor<2xi64>
  }
  func.func @local(%x: tensor<12xf32> {dist.sharding = #qkv})
      -> (tensor<24xf32>, tensor<12xf32> {dist.sharding = #qkv}, tensor<12xf32> {dist.sharding = #qkv},
          tensor<1xi64> {dist.sharding = #dist.sharding<[<[<2 : ["tp"]>]>]>}) {
    %0 = dist.all_gather %x axis "tp" : tensor<12xf32> -> tensor<2x12xf32>
    %1 = nn.reshape %0 : tensor<2x12xf32> -> tensor<2x3x2x2xf32>
    %2 = nn.transpose %1 perm [1, 0, 2, 3] : tensor<2x3x2x2xf32> -> tensor<3x2x2x2xf32>
    %3 = nn.reshape %2 : tensor<3x2x2x2xf32> -> tensor<24xf32>
    %4 = dist.reduce_scatter %0 axis "tp" sum : tensor<2x12xf32> -> tensor<12xf32>
    %5 = dist.local_slice %0 axis "tp" : tensor<2x12xf32> -> tensor<12xf32>
    %6 = dist.axis_index "tp" : tensor<i64>
    %7 = nn.reshape %6 : tensor<i64> -> tensor<1xi64>
    return %3, %4, %5, %7 : tensor<24xf32>, tensor<12xf32>, tensor<12xf32>, tensor<1xi64>
  }
}

// -----

// A missing all-reduce shows as replicas that differ.
module attributes {dist.mesh = #dist.mesh<[<"dp" = 1>, <"pp" = 1>, <"tp" = 2>]>} {
  func.func @global(%x: tensor<4xf32>) -> tensor<f32> {
    %0 = nn.reduce sum, %x dims [0] : tensor<4xf32> -> tensor<f32>
    return %0 : tensor<f32>
  }
  // expected-error @below {{replicas with sharding #dist.sharding<[]> differ by}}
  // expected-error @below {{result 0 differs from the sequential one}}
  func.func @local(%x: tensor<2xf32> {dist.sharding = #dist.sharding<[<[<4 : ["tp"]>]>]>}) -> tensor<f32> {
    %0 = nn.reduce sum, %x dims [0] : tensor<2xf32> -> tensor<f32>
    return %0 : tensor<f32>
  }
}

// -----

// A sum that is taken twice.
module attributes {dist.mesh = #dist.mesh<[<"dp" = 1>, <"pp" = 1>, <"tp" = 2>]>} {
  func.func @global(%x: tensor<4xf32>) -> tensor<f32> {
    %0 = nn.reduce sum, %x dims [0] : tensor<4xf32> -> tensor<f32>
    return %0 : tensor<f32>
  }
  // expected-error @below {{result 0 differs from the sequential one by 1.000000e+00, expected at most 1.000000e-09}}
  func.func @local(%x: tensor<2xf32> {dist.sharding = #dist.sharding<[<[<4 : ["tp"]>]>]>}) -> tensor<f32> {
    %0 = nn.reduce sum, %x dims [0] : tensor<2xf32> -> tensor<f32>
    %1 = dist.all_reduce %0 axes ["tp"] sum : tensor<f32>
    %2 = dist.all_reduce %1 axes ["tp"] sum : tensor<f32>
    return %2 : tensor<f32>
  }
}
