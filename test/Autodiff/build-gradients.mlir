// RUN: shardc-opt %s -split-input-file --autodiff-build-gradients | FileCheck %s
// RUN: shardc-opt %s -split-input-file --autodiff-build-gradients -mlir-print-debuginfo | FileCheck %s --check-prefix=LOC

// A linear layer. 8 labels in 3 micro-batches are 24 in a step, halfway between two powers of two.
// CHECK: nn.training = {loss_seed = 3.200000e+01 : f64, micro_batches = 3 : i64}
// CHECK-LABEL: func.func @accumulate
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8x4xf32> {nn.input = "x"}
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<2x4xf32> {nn.parameter = {{{.*}}name = "w"
// CHECK-SAME: %[[B:[a-z0-9]+]]: tensor<2xf32>
// CHECK-SAME: -> (tensor<f32> {nn.loss = "sum"}, tensor<f32> {nn.loss = "weight"}, tensor<2x4xf32> {nn.gradient = "w"}, tensor<2xf32> {nn.gradient = "b"})
module attributes {nn.training = {micro_batches = 3 : i64}, nn.inputs = [{name = "x", role = "data"}, {name = "y", role = "labels"}]} {
  func.func @forward(%x: tensor<8x4xf32> {nn.input = "x"}, %y: tensor<8xi64> {nn.input = "y"},
                     %w: tensor<2x4xf32> {nn.parameter = {name = "w", trainable = true}},
                     %b: tensor<2xf32> {nn.parameter = {name = "b", trainable = true}},
                     %frozen: tensor<2xf32> {nn.parameter = {name = "frozen", trainable = false}})
      -> (tensor<f32> {nn.loss = "sum"}, tensor<f32> {nn.loss = "weight"}) {
    // CHECK: %[[P:.*]] = nn.dot_general {{.*}} {nn.origin = 0 : i64}
    %0 = nn.dot_general %x, %w batch [] x [] contract [1] x [1] : (tensor<8x4xf32>, tensor<2x4xf32>) -> tensor<8x2xf32> loc("fc/MatMul")
    %1 = nn.broadcast_in_dim %b dims [1] : tensor<2xf32> -> tensor<8x2xf32> loc("fc/Bias")
    %2 = nn.add %0, %1 : tensor<8x2xf32> loc("fc/Add")
    %3 = nn.broadcast_in_dim %frozen dims [1] : tensor<2xf32> -> tensor<8x2xf32>
    %4 = nn.mul %2, %3 : tensor<8x2xf32>
    %5 = nn.reduce sum, %4 dims [0, 1] : tensor<8x2xf32> -> tensor<f32>
    %6 = nn.constant dense<8.0> : tensor<f32>
    // What nothing needs is dropped.
    // CHECK-NOT: nn.tanh
    %7 = nn.tanh %6 : tensor<f32>
    // CHECK: %[[SEED:.*]] = nn.constant dense<3.125000e-02> : tensor<f32> {nn.backward, nn.origin = 5 : i64}
    // CHECK: %[[G:.*]] = nn.broadcast_in_dim %[[SEED]] dims [] {nn.backward, nn.origin = 5 : i64}
    // CHECK: %[[H:.*]] = nn.mul %[[G]], %{{.*}} {nn.backward, nn.origin = 4 : i64}
    // CHECK-NOT: nn.mul
    // CHECK: %[[DB:.*]] = nn.reduce sum, %[[H]] dims [0] {nn.backward, nn.origin = 1 : i64}
    // CHECK: %[[DW:.*]] = nn.dot_general %[[H]], %[[X]] batch [] x [] contract [0] x [0] {nn.backward, nn.origin = 0 : i64}
    // CHECK: return %{{.*}}, %{{.*}}, %[[DW]], %[[DB]]
    // LOC-DAG: loc("gradient of fc/MatMul"(
    // LOC-DAG: loc("gradient of fc/Bias"(
    // LOC-DAG: loc("gradient of nn.mul"(
    return %5, %6 : tensor<f32>, tensor<f32>
  }
}

// -----

// A parameter that is used three times: cotangents are added in reverse order of the uses, each where its use is.
// CHECK-LABEL: func.func @accumulate
module attributes {nn.training = {micro_batches = 1 : i64}} {
  func.func @forward(%x: tensor<4xf32> {nn.input = "x"}, %w: tensor<4xf32> {nn.parameter = {name = "w", trainable = true}})
      -> (tensor<f32> {nn.loss = "sum"}, tensor<f32> {nn.loss = "weight"}) {
    %0 = nn.exp %w {nn.origin = 10 : i64} : tensor<4xf32>
    %1 = nn.mul %0, %w {nn.origin = 20 : i64} : tensor<4xf32>
    %2 = nn.sin %w {nn.origin = 30 : i64} : tensor<4xf32>
    %3 = nn.mul %1, %2 {nn.origin = 40 : i64} : tensor<4xf32>
    %4 = nn.reduce sum, %3 dims [0] {nn.origin = 50 : i64} : tensor<4xf32> -> tensor<f32>
    %5 = nn.constant dense<1.0> : tensor<f32> {nn.origin = 60 : i64}
    // CHECK: %[[SIN:.*]] = nn.mul {{.*}} {nn.backward, nn.origin = 30 : i64}
    // CHECK: nn.mul {{.*}} {nn.backward, nn.origin = 20 : i64}
    // CHECK: %[[MUL:.*]] = nn.mul {{.*}} {nn.backward, nn.origin = 20 : i64}
    // CHECK: %[[TWO:.*]] = nn.add %[[SIN]], %[[MUL]] {nn.backward, nn.gradient_sum, nn.origin = 20 : i64}
    // CHECK: %[[EXP:.*]] = nn.mul {{.*}} {nn.backward, nn.origin = 10 : i64}
    // CHECK: %[[ALL:.*]] = nn.add %[[TWO]], %[[EXP]] {nn.backward, nn.gradient_sum, nn.origin = 10 : i64}
    // CHECK: return %{{.*}}, %{{.*}}, %[[ALL]]
    return %4, %5 : tensor<f32>, tensor<f32>
  }
}

// -----

// The gradient of a split is one concat.
// CHECK-LABEL: func.func @accumulate
module attributes {nn.training = {micro_batches = 1 : i64}} {
  func.func @forward(%x: tensor<4xf32> {nn.input = "x"}, %w: tensor<4x6xf32> {nn.parameter = {name = "w", trainable = true}})
      -> (tensor<f32> {nn.loss = "sum"}, tensor<f32> {nn.loss = "weight"}) {
    %0 = nn.exp %w : tensor<4x6xf32>
    %q = nn.slice %0 [0, 0] to [4, 2] by [1, 1] : tensor<4x6xf32> -> tensor<4x2xf32>
    %k = nn.slice %0 [0, 2] to [4, 4] by [1, 1] : tensor<4x6xf32> -> tensor<4x2xf32>
    %v = nn.slice %0 [0, 4] to [4, 6] by [1, 1] : tensor<4x6xf32> -> tensor<4x2xf32>
    %1 = nn.mul %q, %k : tensor<4x2xf32>
    %2 = nn.mul %1, %v : tensor<4x2xf32>
    %3 = nn.reduce sum, %2 dims [0, 1] : tensor<4x2xf32> -> tensor<f32>
    %4 = nn.constant dense<1.0> : tensor<f32>
    // CHECK: nn.mul %{{.*}} {nn.backward, nn.origin = 5 : i64}
    // CHECK: %[[DV:.*]] = nn.mul %{{.*}} {nn.backward, nn.origin = 5 : i64}
    // CHECK: %[[DQ:.*]] = nn.mul %{{.*}} {nn.backward, nn.origin = 4 : i64}
    // CHECK: %[[DK:.*]] = nn.mul %{{.*}} {nn.backward, nn.origin = 4 : i64}
    // CHECK-NOT: nn.pad
    // CHECK: %[[D:.*]] = nn.concat %[[DQ]], %[[DK]], %[[DV]] dim 1 {nn.backward, nn.origin = 1 : i64}
    // CHECK: nn.mul %[[D]], %{{.*}} {nn.backward, nn.origin = 0 : i64}
    return %3, %4 : tensor<f32>, tensor<f32>
  }
}

// -----

// Slices that overlap, or leave a gap, do not tile.
// CHECK-LABEL: func.func @accumulate
// CHECK-NOT: nn.concat
module attributes {nn.training = {micro_batches = 1 : i64}} {
  func.func @forward(%w: tensor<6xf32> {nn.parameter = {name = "w", trainable = true}})
      -> (tensor<f32> {nn.loss = "sum"}, tensor<f32> {nn.loss = "weight"}) {
    %a = nn.slice %w [0] to [3] by [1] : tensor<6xf32> -> tensor<3xf32>
    %b = nn.slice %w [2] to [5] by [1] : tensor<6xf32> -> tensor<3xf32>
    %1 = nn.mul %a, %b : tensor<3xf32>
    %3 = nn.reduce sum, %1 dims [0] : tensor<3xf32> -> tensor<f32>
    %4 = nn.constant dense<1.0> : tensor<f32>
    return %3, %4 : tensor<f32>, tensor<f32>
  }
}
