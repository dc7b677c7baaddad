// RUN: shardc-opt %s --sharding-pad-vocabularies -split-input-file | FileCheck %s

// The table, its gradient, the logits and the classes grow together; what is summed over the vocabulary is masked.
// CHECK-LABEL: @accumulate
// CHECK-SAME: %[[IDS:.*]]: tensor<4xi64> {nn.input = "ids"}
// CHECK-SAME: tensor<6x8xf32> {nn.parameter = {logical_shape = array<i64: 5, 8>, name = "t"}}
// CHECK-SAME: tensor<6x8xf32> {nn.gradient = "t"}
// CHECK: %[[LOGITS:.*]] = nn.dot_general {{.*}} -> tensor<4x6xf32>
// CHECK: nn.cross_entropy %[[LOGITS]], %{{.*}} ignore -100 classes 5
// CHECK: %[[P:.*]] = nn.exp
// CHECK: %[[INDEX:.*]] = nn.iota dim 1 : tensor<4x6xi64>
// CHECK: %[[LIMIT:.*]] = nn.constant dense<5> : tensor<4x6xi64>
// CHECK: %[[LOGICAL:.*]] = nn.compare lt, %[[INDEX]], %[[LIMIT]]
// CHECK: %[[MASKED:.*]] = nn.select %[[LOGICAL]], %[[P]]
// CHECK: nn.dot_general %[[MASKED]], {{.*}} -> tensor<6x8xf32>
// CHECK-LABEL: @update
// CHECK-SAME: tensor<6x8xf32> {nn.parameter = {logical_shape = array<i64: 5, 8>, name = "t"}}
module attributes {dist.mesh = #dist.mesh<[<"dp" = 1>, <"pp" = 1>, <"tp" = 2>]>} {
  func.func @accumulate(%ids: tensor<4xi64> {nn.input = "ids"}, %t: tensor<5x8xf32> {nn.parameter = {name = "t"}})
      -> (tensor<4xf32>, tensor<5x8xf32> {nn.gradient = "t"}) {
    %e = nn.gather %t, %ids axis 0 : (tensor<5x8xf32>, tensor<4xi64>) -> tensor<4x8xf32>
    %l = nn.dot_general %e, %t batch [] x [] contract [1] x [1] : (tensor<4x8xf32>, tensor<5x8xf32>) -> tensor<4x5xf32>
    %loss, %lse = nn.cross_entropy %l, %ids ignore -100 : tensor<4x5xf32>, tensor<4xi64> -> tensor<4xf32>
    %p = nn.exp %l : tensor<4x5xf32>
    %g = nn.dot_general %p, %e batch [] x [] contract [0] x [0] : (tensor<4x5xf32>, tensor<4x8xf32>) -> tensor<5x8xf32>
    return %loss, %g : tensor<4xf32>, tensor<5x8xf32>
  }
  func.func @update(%t: tensor<5x8xf32> {nn.parameter = {name = "t"}}, %g: tensor<5x8xf32> {nn.gradient = "t"})
      -> (tensor<5x8xf32> {nn.parameter = {name = "t"}}) {
    %c = nn.constant dense<0.5> : tensor<5x8xf32>
    %s = nn.mul %g, %c : tensor<5x8xf32>
    %n = nn.sub %t, %s : tensor<5x8xf32>
    return %n : tensor<5x8xf32>
  }
}

// -----

// A softmax over the vocabulary cannot do with zeros: nothing is padded, and the plan says so.
// CHECK: nn.notes = ["vocabulary not padded to a multiple of tp=2 in t: {{.*}} ('nn.softmax') cannot do with zeros in it"]
// CHECK-LABEL: @accumulate
// CHECK-SAME: tensor<5x8xf32>
// CHECK: nn.softmax {{.*}} : tensor<4x5xf32>
module attributes {dist.mesh = #dist.mesh<[<"dp" = 1>, <"pp" = 1>, <"tp" = 2>]>} {
  func.func @accumulate(%ids: tensor<4xi64> {nn.input = "ids"}, %t: tensor<5x8xf32> {nn.parameter = {name = "t"}})
      -> (tensor<4x5xf32>) {
    %e = nn.gather %t, %ids axis 0 : (tensor<5x8xf32>, tensor<4xi64>) -> tensor<4x8xf32>
    %l = nn.dot_general %e, %t batch [] x [] contract [1] x [1] : (tensor<4x8xf32>, tensor<5x8xf32>) -> tensor<4x5xf32>
    %p = nn.softmax %l axis 1 : tensor<4x5xf32>
    return %p : tensor<4x5xf32>
  }
}

// -----

// A classifier has no vocabulary.
// CHECK-LABEL: @accumulate
// CHECK-SAME: tensor<5x8xf32>
module attributes {dist.mesh = #dist.mesh<[<"dp" = 1>, <"pp" = 1>, <"tp" = 2>]>} {
  func.func @accumulate(%x: tensor<4x8xf32> {nn.input = "x"}, %labels: tensor<4xi64> {nn.input = "labels"},
                        %w: tensor<5x8xf32> {nn.parameter = {name = "w"}}) -> (tensor<4xf32>) {
    %l = nn.dot_general %x, %w batch [] x [] contract [1] x [1] : (tensor<4x8xf32>, tensor<5x8xf32>) -> tensor<4x5xf32>
    %loss, %lse = nn.cross_entropy %l, %labels ignore -100 : tensor<4x5xf32>, tensor<4xi64> -> tensor<4xf32>
    return %loss : tensor<4xf32>
  }
}
