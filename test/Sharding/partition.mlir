// RUN: shardc-opt %s --sharding-partition | FileCheck %s
// RUN: shardc-opt %s --sharding-partition --test-evaluate="function=iota reference=%s" | FileCheck %s --check-prefix=SAME
// RUN: shardc-opt %s --sharding-partition --test-evaluate="function=constants reference=%s" | FileCheck %s --check-prefix=SAME
// RUN: shardc-opt %s --sharding-partition --test-evaluate="function=random reference=%s" | FileCheck %s --check-prefix=SAME
// RUN: shardc-opt %s --sharding-partition --test-evaluate="function=look_up reference=%s" | FileCheck %s --check-prefix=SAME
// RUN: shardc-opt %s --sharding-partition --test-evaluate="function=look_up_strided reference=%s" | FileCheck %s --check-prefix=SAME
// RUN: shardc-opt %s --sharding-partition --test-evaluate="function=scatter reference=%s" | FileCheck %s --check-prefix=SAME
// RUN: shardc-opt %s --sharding-partition --test-evaluate="function=cuts reference=%s" | FileCheck %s --check-prefix=SAME
// RUN: shardc-opt %s --sharding-partition --test-evaluate="function=softmax reference=%s" | FileCheck %s --check-prefix=SAME
// RUN: shardc-opt %s --sharding-partition --test-evaluate="function=cross_entropy reference=%s" | FileCheck %s --check-prefix=SAME
// RUN: shardc-opt %s --sharding-partition --test-evaluate="function=padded_classes reference=%s" | FileCheck %s --check-prefix=SAME
// RUN: shardc-opt %s --sharding-partition --test-evaluate="function=reshards reference=%s" | FileCheck %s --check-prefix=SAME
// RUN: shardc-opt %s --sharding-partition --test-evaluate="function=exchanges reference=%s" | FileCheck %s --check-prefix=SAME
// RUN: shardc-opt %s --sharding-partition --test-evaluate="function=partial_to_split reference=%s" | FileCheck %s --check-prefix=SAME
// SAME: sequential = parallel

#all = #dist.sharding<[]>
#rows = #dist.sharding<[<[<4 : ["dp"]>]>]>
#strided = #dist.sharding<[<[<4 : ["dp"]>]>, <[<3>, <4 : ["tp"]>, <2>]>]>
#last = #dist.sharding<[<[<4 : ["dp"]>]>, <[<24 : ["tp"]>]>]>
#whole = #dist.sharding<[<[<4 : ["dp"]>]>, <[<24>]>]>
module attributes {dist.mesh = #dist.mesh<[<"dp" = 2>, <"pp" = 1>, <"tp" = 2>]>,
                   nn.inputs = [{name = "ids", role = "tokens", index_bound = 24 : i64}]} {

  // A strided shard of 3 · 4 · 2: two digits of the local index, and the rank's offset.
  // CHECK-LABEL: @iota
  // CHECK: %[[LOCAL:.*]] = nn.iota dim 1 {{.*}} : tensor<2x12xi64>
  // CHECK: nn.div %[[LOCAL]]
  // CHECK: dist.axis_index "tp"
  func.func @iota() -> (tensor<4x24xi64> {dist.sharding = #strided}, tensor<4x24xf32> {dist.sharding = #last},
                        tensor<4x24xi64> {dist.sharding = #last}) {
    %0 = nn.iota dim 1 {dist.shardings = [#strided]} : tensor<4x24xi64>
    %1 = nn.iota dim 1 {dist.shardings = [#last]} : tensor<4x24xf32>
    %2 = nn.iota dim 0 {dist.shardings = [#last]} : tensor<4x24xi64>
    return %0, %1, %2 : tensor<4x24xi64>, tensor<4x24xf32>, tensor<4x24xi64>
  }

  // CHECK-LABEL: @constants
  // CHECK: nn.constant dense<2.000000e+00> : tensor<2x12xf32>
  // CHECK: nn.constant dense<[0, 1, 2, 3]> : tensor<4xi64>
  // CHECK: dist.local_slice {{.*}} axis "dp"
  func.func @constants() -> (tensor<4x24xf32> {dist.sharding = #strided}, tensor<4xi64> {dist.sharding = #rows}) {
    %0 = nn.constant dense<2.0> : tensor<4x24xf32> {dist.shardings = [#strided]}
    %1 = nn.constant dense<[0, 1, 2, 3]> : tensor<4xi64> {dist.shardings = [#rows]}
    return %0, %1 : tensor<4x24xf32>, tensor<4xi64>
  }

  // The strides stay those of the whole; a shard that is no run of indices is made in the shape of its parts.
  // CHECK-LABEL: @random
  // CHECK: nn.rng_uniform {{.*}} id 3 strides [24, 1] {{.*}} -> tensor<2x12xf32>
  // CHECK: nn.rng_uniform {{.*}} id 4 strides [24, 8, 2, 1] {{.*}} -> tensor<2x3x2x2xf32>
  // CHECK: nn.reshape {{.*}} : tensor<2x3x2x2xf32> -> tensor<2x12xf32>
  func.func @random() -> (tensor<4x24xf32> {dist.sharding = #last}, tensor<4x24xf32> {dist.sharding = #strided}) {
    %0 = nn.control sample_offset {dist.shardings = [#all]} : tensor<i64>
    %1 = nn.rng_uniform %0 id 3 strides [24, 1] {dist.shardings = [#last]} : tensor<i64> -> tensor<4x24xf32>
    %2 = nn.rng_uniform %0 id 4 strides [24, 1] {dist.shardings = [#strided]} : tensor<i64> -> tensor<4x24xf32>
    return %1, %2 : tensor<4x24xf32>, tensor<4x24xf32>
  }

  // Rows of other ranks are out of range: zeros, which all_reduce sums.
  // CHECK-LABEL: @look_up
  // CHECK: %[[MINE:.*]] = nn.sub %{{.*}}, %{{.*}} : tensor<2xi64>
  // CHECK: %[[ROWS:.*]] = nn.gather %{{.*}}, %[[MINE]] axis 0 {{.*}}partial[<"tp", sum>]
  // CHECK: dist.all_reduce %[[ROWS]] axes ["tp"] sum
  func.func @look_up(%table: tensor<24x4xf32> {dist.sharding = #dist.sharding<[<[<24 : ["tp"]>]>, <[<4>]>]>},
                     %ids: tensor<4xi64> {nn.input = "ids", dist.sharding = #rows})
      -> (tensor<4x4xf32> {dist.sharding = #dist.sharding<[<[<4 : ["dp"]>]>, <[<4>]>]>}) {
    %0 = nn.gather %table, %ids axis 0 {dist.shardings = [#dist.sharding<[<[<4 : ["dp"]>]>, <[<4>]>] partial [<"tp", sum>]>]} : (tensor<24x4xf32>, tensor<4xi64>) -> tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }

  // CHECK-LABEL: @look_up_strided
  // CHECK: nn.select
  // CHECK: nn.gather
  func.func @look_up_strided(%table: tensor<24xf32> {dist.sharding = #dist.sharding<[<[<3>, <4 : ["tp"]>, <2>]>]>},
                             %ids: tensor<4xi64> {nn.input = "ids", dist.sharding = #rows})
      -> (tensor<4xf32> {dist.sharding = #dist.sharding<[<[<4 : ["dp"]>]>] partial [<"tp", sum>]>}) {
    %0 = nn.gather %table, %ids axis 0 {dist.shardings = [#dist.sharding<[<[<4 : ["dp"]>]>] partial [<"tp", sum>]>]} : (tensor<24xf32>, tensor<4xi64>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }

  // CHECK-LABEL: @scatter
  // CHECK: nn.scatter_add {{.*}} -> tensor<12x4xf32>
  func.func @scatter(%ids: tensor<4xi64> {nn.input = "ids", dist.sharding = #rows},
                     %updates: tensor<4x4xf32> {dist.sharding = #dist.sharding<[<[<4 : ["dp"]>]>, <[<4>]>]>})
      -> (tensor<24x4xf32> {dist.sharding = #dist.sharding<[<[<24 : ["tp"]>]>, <[<4>]>] partial [<"dp", sum>]>}) {
    %0 = nn.scatter_add %ids, %updates axis 0 {dist.shardings = [#dist.sharding<[<[<24 : ["tp"]>]>, <[<4>]>] partial [<"dp", sum>]>]} : (tensor<4xi64>, tensor<4x4xf32>) -> tensor<24x4xf32>
    return %0 : tensor<24x4xf32>
  }

  // Each rank cuts its own share.
  // CHECK-LABEL: @cuts
  // CHECK: nn.slice {{.*}} [0, 4] to [2, 8] by [1, 1]
  // CHECK: nn.pad {{.*}} low [0, 4] high [0, 4]
  // CHECK: nn.concat {{.*}} -> tensor<2x8xf32>
  func.func @cuts(%x: tensor<4x24xf32> {dist.sharding = #strided})
      -> (tensor<4x24xf32> {dist.sharding = #strided},
          tensor<4x16xf32> {dist.sharding = #dist.sharding<[<[<4 : ["dp"]>]>, <[<2>, <4 : ["tp"]>, <2>]>]>}) {
    %0 = nn.slice %x [0, 8] to [4, 16] by [1, 1] {dist.shardings = [#dist.sharding<[<[<4 : ["dp"]>]>, <[<4 : ["tp"]>, <2>]>]>]} : tensor<4x24xf32> -> tensor<4x8xf32>
    %1 = nn.pad %0 low [0, 8] high [0, 8] interior [0, 0] value 0.0 : f32 {dist.shardings = [#strided]} : tensor<4x8xf32> -> tensor<4x24xf32>
    %2 = nn.concat %0, %0 dim 1 {dist.shardings = [#dist.sharding<[<[<4 : ["dp"]>]>, <[<2>, <4 : ["tp"]>, <2>]>]>]} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x16xf32>
    return %1, %2 : tensor<4x24xf32>, tensor<4x16xf32>
  }

  // CHECK-LABEL: @softmax
  // CHECK: nn.reduce max
  // CHECK: dist.all_reduce {{.*}} max
  // CHECK: nn.exp
  // CHECK: dist.all_reduce {{.*}} sum
  func.func @softmax(%x: tensor<4x24xf32> {dist.sharding = #last}) -> (tensor<4x24xf32> {dist.sharding = #last}) {
    %0 = nn.softmax %x axis 1 {dist.shardings = [#last]} : tensor<4x24xf32>
    return %0 : tensor<4x24xf32>
  }

  // CHECK-LABEL: @cross_entropy
  // CHECK: %[[IS_LABEL:.*]] = nn.compare eq
  // CHECK: nn.select %[[IS_LABEL]]
  // CHECK: dist.all_reduce {{.*}} sum
  // CHECK: dist.all_reduce {{.*}} max
  // CHECK: dist.all_reduce {{.*}} sum
  func.func @cross_entropy(%x: tensor<4x24xf32> {dist.sharding = #last},
                           %labels: tensor<4xi64> {nn.input = "ids", dist.sharding = #rows})
      -> (tensor<4xf32> {dist.sharding = #rows}, tensor<4xf32> {dist.sharding = #rows}) {
    %0, %1 = nn.cross_entropy %x, %labels ignore 1 {dist.shardings = [#rows, #rows]} : tensor<4x24xf32>, tensor<4xi64> -> tensor<4xf32>
    return %0, %1 : tensor<4xf32>, tensor<4xf32>
  }

  // CHECK-LABEL: @padded_classes
  // CHECK: nn.constant dense<0xFF800000>
  func.func @padded_classes(%x: tensor<4x24xf32> {dist.sharding = #last},
                            %labels: tensor<4xi64> {nn.input = "labels", dist.sharding = #rows})
      -> (tensor<4xf32> {dist.sharding = #rows}, tensor<4xf32> {dist.sharding = #rows}) {
    %0, %1 = nn.cross_entropy %x, %labels ignore -100 classes 21 {dist.shardings = [#rows, #rows]} : tensor<4x24xf32>, tensor<4xi64> -> tensor<4xf32>
    return %0, %1 : tensor<4xf32>, tensor<4xf32>
  }

  // A slice takes no communication; the whole is gathered once.
  // CHECK-LABEL: @reshards
  // CHECK: nn.reshape {{.*}} -> tensor<6x2x4xf32>
  // CHECK: nn.transpose {{.*}} perm [1, 0, 2]
  // CHECK: dist.local_slice {{.*}} axis "tp" {{.*}} -> tensor<6x4xf32>
  // CHECK: dist.all_gather {{.*}} axis "tp"
  // CHECK-NOT: dist.all_gather
  // CHECK: return
  func.func @reshards(%x: tensor<4x24xf32> {dist.sharding = #whole})
      -> (tensor<4x24xf32> {dist.sharding = #strided}, tensor<4x24xf32> {dist.sharding = #whole}, tensor<4x24xf32> {dist.sharding = #whole}) {
    %0 = nn.exp %x {dist.operand_shardings = [#strided], dist.shardings = [#strided]} : tensor<4x24xf32>
    %1 = nn.neg %0 {dist.operand_shardings = [#whole], dist.shardings = [#whole]} : tensor<4x24xf32>
    %2 = nn.tanh %0 {dist.operand_shardings = [#whole], dist.shardings = [#whole]} : tensor<4x24xf32>
    return %0, %1, %2 : tensor<4x24xf32>, tensor<4x24xf32>, tensor<4x24xf32>
  }

  // CHECK-LABEL: @exchanges
  // CHECK-COUNT-2: dist.all_to_all
  func.func @exchanges(%x: tensor<4x6x8xf32> {dist.sharding = #dist.sharding<[<[<4 : ["dp"]>]>, <[<3>, <2 : ["tp"]>]>, <[<8>]>]>})
      -> (tensor<4x6x8xf32> {dist.sharding = #dist.sharding<[<[<4 : ["dp"]>]>, <[<6>]>, <[<2>, <2 : ["tp"]>, <2>]>]>},
          tensor<4x6x8xf32> {dist.sharding = #dist.sharding<[<[<4 : ["dp"]>]>, <[<3>, <2 : ["tp"]>]>, <[<8>]>]>}) {
    %0 = nn.neg %x {dist.operand_shardings = [#dist.sharding<[<[<4 : ["dp"]>]>, <[<6>]>, <[<2>, <2 : ["tp"]>, <2>]>]>], dist.shardings = [#dist.sharding<[<[<4 : ["dp"]>]>, <[<6>]>, <[<2>, <2 : ["tp"]>, <2>]>]>]} : tensor<4x6x8xf32>
    %1 = nn.neg %0 {dist.operand_shardings = [#dist.sharding<[<[<4 : ["dp"]>]>, <[<3>, <2 : ["tp"]>]>, <[<8>]>]>], dist.shardings = [#dist.sharding<[<[<4 : ["dp"]>]>, <[<3>, <2 : ["tp"]>]>, <[<8>]>]>]} : tensor<4x6x8xf32>
    return %0, %1 : tensor<4x6x8xf32>, tensor<4x6x8xf32>
  }

  // CHECK-LABEL: @partial_to_split
  // CHECK: nn.dot_general {{.*}}partial[<"tp", sum>]
  // CHECK: dist.reduce_scatter {{.*}} axis "tp" sum
  func.func @partial_to_split(%a: tensor<6x24xf32> {dist.sharding = #dist.sharding<[<[<6>]>, <[<24 : ["tp"]>]>]>})
      -> (tensor<6x6xf32> {dist.sharding = #dist.sharding<[<[<6>]>, <[<3>, <2 : ["tp"]>]>]>}) {
    %0 = nn.dot_general %a, %a batch [] x [] contract [1] x [1] {dist.shardings = [#dist.sharding<[<[<6>]>, <[<6>]>] partial [<"tp", sum>]>]} : (tensor<6x24xf32>, tensor<6x24xf32>) -> tensor<6x6xf32>
    return %0 : tensor<6x6xf32>
  }
}
