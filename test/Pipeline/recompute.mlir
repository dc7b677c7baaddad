// RUN: shardc-opt %s -split-input-file --pipeline-recompute | FileCheck %s

// Both t and e are needed by the backward: one is stored, the other is computed again from it, which repeats fewer ops than
// to store h.
// CHECK-LABEL: module @elementwise
// CHECK: %[[T:.*]] = nn.tanh
// CHECK: %[[D:.*]] = nn.dot_general {{.*}}nn.backward
// CHECK-NEXT: %[[A:.*]] = nn.mul %[[D]], %[[T]]
// CHECK-NEXT: %[[E:.*]] = nn.exp %[[T]] {nn.backward, nn.origin = 2 : i64, pipe.recomputed, pipe.stage = 0 : i64}
// CHECK-NEXT: nn.mul %[[A]], %[[E]]
module @elementwise attributes {dist.mesh = #dist.mesh<[<"dp" = 1>, <"pp" = 1>, <"tp" = 1>]>, nn.training = {recompute = "none"}} {
  func.func @accumulate(%x: tensor<4x4xf32> {nn.input = "x"}, %w: tensor<4x4xf32> {nn.parameter = {name = "w", trainable = true}})
      -> (tensor<f32> {nn.loss = "sum"}, tensor<4x4xf32> {nn.gradient = "w"}) {
    %h = nn.dot_general %x, %w batch [] x [] contract [1] x [0] {nn.origin = 0 : i64, pipe.stage = 0 : i64} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %t = nn.tanh %h {nn.origin = 1 : i64, pipe.stage = 0 : i64} : tensor<4x4xf32>
    %e = nn.exp %t {nn.origin = 2 : i64, pipe.stage = 0 : i64} : tensor<4x4xf32>
    %s = nn.reduce sum, %e dims [0, 1] {nn.origin = 3 : i64, pipe.stage = 0 : i64} : tensor<4x4xf32> -> tensor<f32>
    %d = nn.dot_general %x, %w batch [] x [] contract [1] x [0] {nn.origin = 3 : i64, nn.backward, pipe.stage = 0 : i64} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %a = nn.mul %d, %t {nn.origin = 2 : i64, nn.backward, pipe.stage = 0 : i64} : tensor<4x4xf32>
    %g = nn.mul %a, %e {nn.origin = 2 : i64, nn.backward, pipe.stage = 0 : i64} : tensor<4x4xf32>
    return %s, %g : tensor<f32>, tensor<4x4xf32>
  }
}

// -----

// One value is needed, and storing it costs as much as storing what it is made from: nothing is computed again. A view is:
// its source is stored.
// CHECK-LABEL: module @ties
// CHECK: %[[H:.*]] = nn.dot_general
// CHECK: %[[T:.*]] = nn.tanh %[[H]]
// CHECK: %[[V:.*]] = nn.transpose %[[T]] perm [1, 0] {nn.backward, {{.*}}pipe.recomputed
// CHECK-NEXT: nn.mul %[[V]], %[[V]]
// CHECK-NOT: pipe.recomputed
module @ties attributes {dist.mesh = #dist.mesh<[<"dp" = 1>, <"pp" = 1>, <"tp" = 1>]>, nn.training = {recompute = "none"}} {
  func.func @accumulate(%x: tensor<4x4xf32> {nn.input = "x"}, %w: tensor<4x4xf32> {nn.parameter = {name = "w", trainable = true}})
      -> (tensor<f32> {nn.loss = "sum"}, tensor<4x4xf32> {nn.gradient = "w"}) {
    %h = nn.dot_general %x, %w batch [] x [] contract [1] x [0] {nn.origin = 0 : i64, pipe.stage = 0 : i64} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %t = nn.tanh %h {nn.origin = 1 : i64, pipe.stage = 0 : i64} : tensor<4x4xf32>
    %v = nn.transpose %t perm [1, 0] {nn.origin = 2 : i64, pipe.stage = 0 : i64} : tensor<4x4xf32> -> tensor<4x4xf32>
    %s = nn.reduce sum, %v dims [0, 1] {nn.origin = 3 : i64, pipe.stage = 0 : i64} : tensor<4x4xf32> -> tensor<f32>
    %g = nn.mul %v, %v {nn.origin = 2 : i64, nn.backward, pipe.stage = 0 : i64} : tensor<4x4xf32>
    return %s, %g : tensor<f32>, tensor<4x4xf32>
  }
}
