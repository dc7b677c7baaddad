// RUN: shardc-opt %s | shardc-opt | FileCheck %s

// CHECK-LABEL: @collectives
// CHECK: dist.sharding = #dist.sharding<[<[<8 : ["dp"]>]>, <[<3>, <4 : ["tp"]>, <16>]>]>
module attributes {dist.mesh = #dist.mesh<[<"dp" = 2>, <"pp" = 1>, <"tp" = 2>]>} {
  func.func @collectives(%x: tensor<4x96xf32> {dist.sharding = #dist.sharding<[<[<8 : ["dp"]>]>, <[<3>, <4 : ["tp"]>, <16>]>]>}) -> tensor<4x96xf32> {
    // CHECK: dist.all_reduce %{{.*}} axes ["tp"] sum {{.*}}partial[<"dp", sum>]
    %0 = dist.all_reduce %x axes ["tp"] sum {dist.shardings = [#dist.sharding<[<[<8>]>, <[<96>]>] partial [<"dp", sum>]>]} : tensor<4x96xf32>
    %1 = dist.all_gather %0 axis "tp" : tensor<4x96xf32> -> tensor<2x4x96xf32>
    %2 = dist.reduce_scatter %1 axis "tp" sum : tensor<2x4x96xf32> -> tensor<4x96xf32>
    %3 = dist.axis_index "tp" : tensor<i64>
    return %2 : tensor<4x96xf32>
  }
}
