// RUN: shardc-opt %s -split-input-file --pipeline-cut-stages | FileCheck %s

// Products weigh most: one in each stage. Backward ops go with their forward op, constants go nowhere.
// What each stage got is noted, with the hardware that the estimate is for: two products of 18 kB each move through memory
// at 10 GB/s.
// CHECK-LABEL: @chain
// CHECK-SAME: nn.notes = ["hardware cpu: 100 GFLOP/s, memory 10 GB/s, link 5 GB/s, message 2 us, collective 5 us",
// CHECK-SAME: "stage 0: 'op#0' to 'op#1', estimated
// CHECK-SAME: % of the work; sends 1 value to stage 1, 4.4 us with the gradients",
// CHECK-SAME: "stage 1: 'op#2' to 'op#3', estimated
// CHECK: nn.dot_general {{.*}} pipe.stage = 0
// CHECK: nn.tanh {{.*}} pipe.stage = 0
// CHECK: nn.dot_general {{.*}} pipe.stage = 1
// CHECK: nn.reduce {{.*}} pipe.stage = 1
// CHECK: nn.constant
// CHECK-NOT: pipe.stage
// CHECK: nn.broadcast_in_dim
// CHECK-NOT: pipe.stage
// CHECK: nn.dot_general {{.*}}nn.backward{{.*}} pipe.stage = 1
// CHECK: nn.mul {{.*}}nn.backward{{.*}} pipe.stage = 0
// CHECK: nn.dot_general {{.*}}nn.backward{{.*}} pipe.stage = 0
module @chain attributes {dist.mesh = #dist.mesh<[<"dp" = 1>, <"pp" = 2>, <"tp" = 1>]>} {
  func.func @accumulate(%x: tensor<4x64xf32> {nn.input = "x"}, %a: tensor<64x64xf32> {nn.parameter = {name = "a", trainable = true}},
                        %b: tensor<64x64xf32> {nn.parameter = {name = "b", trainable = true}}) -> (tensor<f32>, tensor<64x64xf32>) {
    %0 = nn.dot_general %x, %a batch [] x [] contract [1] x [0] {nn.origin = 0 : i64} : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
    %1 = nn.tanh %0 {nn.origin = 1 : i64} : tensor<4x64xf32>
    %2 = nn.dot_general %1, %b batch [] x [] contract [1] x [0] {nn.origin = 2 : i64} : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
    %3 = nn.reduce sum, %2 dims [0, 1] {nn.origin = 3 : i64} : tensor<4x64xf32> -> tensor<f32>
    %4 = nn.constant dense<1.0> : tensor<f32> {nn.origin = 3 : i64, nn.backward}
    %5 = nn.broadcast_in_dim %4 dims [] {nn.origin = 3 : i64, nn.backward} : tensor<f32> -> tensor<4x64xf32>
    %6 = nn.dot_general %5, %b batch [] x [] contract [1] x [1] {nn.origin = 2 : i64, nn.backward} : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
    %7 = nn.mul %6, %1 {nn.origin = 1 : i64, nn.backward} : tensor<4x64xf32>
    %8 = nn.dot_general %x, %7 batch [] x [] contract [0] x [0] {nn.origin = 0 : i64, nn.backward} : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<64x64xf32>
    return %3, %8 : tensor<f32>, tensor<64x64xf32>
  }
}

// -----

// The cut is where the residual alone crosses, not in the middle of a block.
// CHECK-LABEL: @residual
// CHECK: nn.dot_general {{.*}}nn.origin = 0 {{.*}}pipe.stage = 0
// CHECK: nn.dot_general {{.*}}nn.origin = 1 {{.*}}pipe.stage = 0
// CHECK: nn.add {{.*}}nn.origin = 2 {{.*}}pipe.stage = 0
// CHECK: nn.dot_general {{.*}}nn.origin = 3 {{.*}}pipe.stage = 1
// CHECK: nn.add {{.*}}nn.origin = 4 {{.*}}pipe.stage = 1
module @residual attributes {dist.mesh = #dist.mesh<[<"dp" = 1>, <"pp" = 2>, <"tp" = 1>]>} {
  func.func @accumulate(%x: tensor<4x64xf32> {nn.input = "x"}, %w: tensor<64x64xf32> {nn.parameter = {name = "w", trainable = true}}) -> tensor<4x64xf32> {
    %0 = nn.dot_general %x, %w batch [] x [] contract [1] x [0] {nn.origin = 0 : i64} : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
    %1 = nn.dot_general %0, %w batch [] x [] contract [1] x [0] {nn.origin = 1 : i64} : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
    %2 = nn.add %0, %1 {nn.origin = 2 : i64} : tensor<4x64xf32>
    %3 = nn.dot_general %2, %w batch [] x [] contract [1] x [0] {nn.origin = 3 : i64} : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
    %4 = nn.add %2, %3 {nn.origin = 4 : i64} : tensor<4x64xf32>
    return %4 : tensor<4x64xf32>
  }
}

// -----

// Masks depend on nothing but the position: they are cloned where they are used.
// CHECK-LABEL: @mask
// CHECK: nn.rng_uniform
// CHECK-NOT: pipe.stage
// CHECK: nn.compare
// CHECK-NOT: pipe.stage
// CHECK: nn.select {{.*}}pipe.stage = 0
module @mask attributes {dist.mesh = #dist.mesh<[<"dp" = 1>, <"pp" = 1>, <"tp" = 1>]>} {
  func.func @accumulate(%x: tensor<4xf32> {nn.input = "x"}) -> tensor<4xf32> {
    %0 = nn.control sample_offset {nn.origin = 0 : i64} : tensor<i64>
    %1 = nn.rng_uniform %0 id 0 strides [1] {nn.origin = 0 : i64} : tensor<i64> -> tensor<4xf32>
    %2 = nn.constant dense<0.5> : tensor<4xf32> {nn.origin = 0 : i64}
    %3 = nn.compare lt, %1, %2 {nn.origin = 0 : i64} : tensor<4xf32> -> tensor<4xi1>
    %4 = nn.select %3, %x, %2 {nn.origin = 1 : i64} : tensor<4xi1>, tensor<4xf32>
    return %4 : tensor<4xf32>
  }
}

// -----

// A sum over tp that is not complete is not sent: the cut comes after what completes it.
// CHECK-LABEL: @partial
// CHECK: nn.dot_general {{.*}}nn.origin = 0 {{.*}}pipe.stage = 0
// CHECK: nn.neg {{.*}}nn.origin = 1 {{.*}}pipe.stage = 0
// CHECK: dist.all_reduce {{.*}}pipe.stage = 0
// CHECK: nn.tanh {{.*}}nn.origin = 2 {{.*}}pipe.stage = 1
module @partial attributes {dist.mesh = #dist.mesh<[<"dp" = 1>, <"pp" = 2>, <"tp" = 2>]>} {
  func.func @accumulate(%x: tensor<4x64xf32> {nn.input = "x"}, %w: tensor<64x64xf32> {nn.parameter = {name = "w", trainable = true}}) -> tensor<4x64xf32> {
    %0 = nn.dot_general %x, %w batch [] x [] contract [1] x [0] {dist.shardings = [#dist.sharding<[<[<4>]>, <[<64>]>] partial[<"tp", sum>]>], nn.origin = 0 : i64} : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
    %1 = nn.neg %0 {dist.shardings = [#dist.sharding<[<[<4>]>, <[<64>]>] partial[<"tp", sum>]>], nn.origin = 1 : i64} : tensor<4x64xf32>
    %2 = dist.all_reduce %1 axes ["tp"] sum {dist.shardings = [#dist.sharding<[<[<4>]>, <[<64>]>]>], nn.origin = 1 : i64} : tensor<4x64xf32>
    %3 = nn.tanh %2 {dist.shardings = [#dist.sharding<[<[<4>]>, <[<64>]>]>], nn.origin = 2 : i64} : tensor<4x64xf32>
    return %3 : tensor<4x64xf32>
  }
}

// -----

// The ops of one origin keep together: what adds a later op's result to one of its own moves to that op's stage with it.
// CHECK-LABEL: @together
// CHECK: nn.dot_general {{.*}}nn.origin = 0 {{.*}}pipe.stage = 0
// CHECK: nn.tanh {{.*}}nn.origin = 1 {{.*}}pipe.stage = 1
// CHECK: nn.dot_general {{.*}}nn.origin = 2 {{.*}}pipe.stage = 1
// CHECK: nn.add {{.*}}nn.origin = 1 {{.*}}pipe.stage = 1
module @together attributes {dist.mesh = #dist.mesh<[<"dp" = 1>, <"pp" = 2>, <"tp" = 1>]>} {
  func.func @accumulate(%x: tensor<4x64xf32> {nn.input = "x"}, %w: tensor<64x64xf32> {nn.parameter = {name = "w", trainable = true}}) -> tensor<4x64xf32> {
    %0 = nn.dot_general %x, %w batch [] x [] contract [1] x [0] {nn.origin = 0 : i64} : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
    %1 = nn.tanh %0 {nn.origin = 1 : i64} : tensor<4x64xf32>
    %2 = nn.dot_general %x, %w batch [] x [] contract [1] x [0] {nn.origin = 2 : i64} : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
    %3 = nn.add %1, %2 {nn.origin = 1 : i64} : tensor<4x64xf32>
    return %3 : tensor<4x64xf32>
  }
}

// -----

// What the second stage takes from a value of the first, its gradient there takes too, and makes it itself.
// CHECK-LABEL: @later
// CHECK: %[[A:.*]] = nn.dot_general {{.*}}nn.origin = 0 {{.*}}pipe.stage = 0
// CHECK: nn.neg {{.*}}nn.origin = 1 {{.*}}pipe.stage = 1
// CHECK: nn.dot_general {{.*}}nn.origin = 1 {{.*}}pipe.stage = 1
// CHECK: %[[B:.*]] = nn.neg %[[A]] {nn.backward, nn.origin = 1 : i64, pipe.stage = 0
// CHECK-NEXT: nn.dot_general %[[B]], %[[B]] {{.*}}nn.origin = 0 : i64, pipe.stage = 0
// CHECK-NEXT: nn.exp %[[B]] {nn.backward, nn.origin = 0 : i64, pipe.stage = 0
module @later attributes {dist.mesh = #dist.mesh<[<"dp" = 1>, <"pp" = 2>, <"tp" = 1>]>} {
  func.func @accumulate(%x: tensor<64x64xf32> {nn.input = "x"}, %w: tensor<64x64xf32> {nn.parameter = {name = "w", trainable = true}})
      -> (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) {
    %0 = nn.dot_general %x, %w batch [] x [] contract [1] x [0] {nn.origin = 0 : i64} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %1 = nn.neg %0 {nn.origin = 1 : i64} : tensor<64x64xf32>
    %2 = nn.dot_general %1, %w batch [] x [] contract [1] x [0] {nn.origin = 1 : i64} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %3 = nn.dot_general %1, %1 batch [] x [] contract [1] x [0] {nn.origin = 0 : i64, nn.backward} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %4 = nn.exp %1 {nn.origin = 0 : i64, nn.backward} : tensor<64x64xf32>
    return %2, %3, %4 : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
  }
}
