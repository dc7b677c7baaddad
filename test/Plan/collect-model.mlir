// RUN: shardc-opt %s --plan-collect-model | FileCheck %s

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
