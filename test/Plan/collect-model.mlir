// RUN: shardc-opt %s -split-input-file --plan-collect-model | FileCheck %s

// The shape is the whole parameter's, whatever the local type; padding is not part of it.
// CHECK: nn.inputs = [{name = "x", role = "data", sample_shape = array<i64: 8>, type = f32}]
// CHECK-SAME: nn.parameters = [
// CHECK-SAME: name = "w"
// CHECK-SAME: shape = array<i64: 8, 16>
// CHECK-SAME: name = "table"
// CHECK-SAME: shape = array<i64: 15, 4>
module attributes {dist.mesh = #dist.mesh<[<"dp" = 1>, <"pp" = 1>, <"tp" = 2>]>, nn.inputs = [{name = "x", role = "data"}]} {
  func.func @accumulate(
      %x: tensor<4x8xf32> {nn.input = "x"},
      %w: tensor<8x8xf32> {nn.parameter = {name = "w", file = 0 : i64, offset = 0 : i64, bytes = 512 : i64, trainable = true, decays = true},
                           dist.sharding = #dist.sharding<[<[<8>]>, <[<16 : ["tp"]>]>]>},
      %t: tensor<8x4xf32> {nn.parameter = {name = "table", file = 0 : i64, offset = 512 : i64, bytes = 240 : i64, trainable = true, decays = true, logical_shape = array<i64: 15, 4>},
                           dist.sharding = #dist.sharding<[<[<16 : ["tp"]>]>, <[<4>]>]>}) {
    return
  }
}

// -----

// Forward ops that a result needs and that need an argument, once each: not the mask (1), nor what nothing reads (2), nor
// gradients.
// CHECK-LABEL: module @ops
// CHECK-SAME: nn.ops = array<i64: 0, 3, 5>
module @ops {
  func.func @accumulate(%x: tensor<4xf32> {nn.input = "x"}) -> (tensor<f32> {nn.loss = "sum"}, tensor<4xf32>) {
    %0 = nn.tanh %x {nn.origin = 0 : i64} : tensor<4xf32>
    %1 = nn.constant dense<2.0> : tensor<4xf32> {nn.origin = 1 : i64}
    %2 = nn.mul %0, %1 {nn.origin = 2 : i64} : tensor<4xf32>
    %3 = nn.neg %2 {nn.origin = 2 : i64} : tensor<4xf32>
    %4 = nn.mul %0, %1 {nn.origin = 3 : i64} : tensor<4xf32>
    %5 = nn.neg %4 {nn.origin = 3 : i64} : tensor<4xf32>
    %6 = nn.reduce sum, %5 dims [0] {nn.origin = 5 : i64} : tensor<4xf32> -> tensor<f32>
    %7 = nn.exp %5 {nn.origin = 6 : i64, nn.backward} : tensor<4xf32>
    return %6, %7 : tensor<f32>, tensor<4xf32>
  }
}
