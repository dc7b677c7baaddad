// RUN: shardc-opt %S/Inputs/mlp.mlir --pipeline-cut-stages --pipeline-outline-stages | FileCheck %s --check-prefix=MLP
// RUN: shardc-opt %s -split-input-file --pipeline-outline-stages | FileCheck %s

// What crosses is one message each way, named alike on both sides.
// MLP: pipe.messages = [#exec.message<"fc0" from 0 forward>, #exec.message<"grad:tanh" from 1 backward>]
// Each op of the model is in one stage.
// MLP-SAME: pipe.ops = [array<i64: 0>, array<i64: 1, 2, 3>]
// MLP-NOT: @accumulate
// MLP-LABEL: func.func @pp0_forward(
// MLP-SAME: exec.bind = #exec.bind<stash "x">, nn.input = "x"
// MLP-SAME: exec.bind = #exec.bind<parameter "fc0.weight">
// MLP-SAME: -> (tensor<4x8xf32> {{{.*}}exec.bind = #exec.bind<message "fc0">})
// The first micro-batch's gradients begin the sums, which the others add to.
// MLP-LABEL: func.func @pp0_backward_first(
// MLP-SAME: #exec.bind<stash "x">
// MLP-SAME: #exec.bind<message "grad:tanh">
// MLP-SAME: -> (tensor<8x8xf32> {{{.*}}partial[<"dp", sum>]>, exec.bind = #exec.bind<gradient "fc0.weight/grad">, nn.gradient = "fc0.weight"})
// MLP-NOT: nn.add
// MLP-LABEL: func.func @pp0_backward(
// MLP-SAME: %[[OLD:arg[0-9]+]]: tensor<8x8xf32> {{{[^}]*}}#exec.bind<gradient "fc0.weight/grad">
// MLP: %[[NEW:.*]] = nn.dot_general
// MLP: %[[SUM:.*]] = nn.add %[[OLD]], %[[NEW]] {dist.shardings = {{.*}}partial[<"dp", sum>]>], nn.backward, nn.origin = 0 : i64}
// MLP: return %[[SUM]]
// An evaluation keeps what it sends, and nothing else.
// MLP-LABEL: func.func @pp0_evaluate(
// MLP-SAME: exec.bind = #exec.bind<stash "x">, nn.input = "x"
// MLP-SAME: -> (tensor<4x8xf32> {{{.*}}exec.bind = #exec.bind<message "fc0">}) {
// The last stage sums S, which is stashed, and W, which is a constant.
// MLP-LABEL: func.func @pp1_forward(
// MLP-SAME: #exec.bind<message "fc0">
// MLP-SAME: #exec.bind<parameter "fc1.weight">
// MLP-SAME: -> (tensor<4x8xf32> {{{.*}}#exec.bind<stash "tanh">}, tensor<4x4xf32> {{{.*}}#exec.bind<stash "fc1">}, tensor<f32> {{{.*}}#exec.bind<stash "loss#2">})
// MLP-LABEL: func.func @pp1_backward_first(
// MLP-SAME: -> (tensor<4x8xf32> {{{[^}]*}}#exec.bind<message "grad:tanh">}
// MLP-SAME: #exec.bind<gradient "fc1.weight/grad">
// MLP-SAME: #exec.bind<gradient "loss.sum">, nn.loss = "sum"
// MLP-SAME: #exec.bind<gradient "loss.weight">, nn.loss = "weight"
// MLP-LABEL: func.func @pp1_backward(
// MLP-LABEL: func.func @pp1_evaluate_first(
// MLP-SAME: -> (tensor<f32> {{{[^}]*}}#exec.bind<gradient "loss.sum">, nn.loss = "sum"}, tensor<f32> {{{[^}]*}}#exec.bind<gradient "loss.weight">, nn.loss = "weight"}) {
// MLP-NOT: nn.add
// MLP-LABEL: func.func @pp1_evaluate(
// MLP-SAME: %[[SUM:arg[0-9]+]]: tensor<f32> {{{[^}]*}}#exec.bind<gradient "loss.sum">
// MLP: %[[S:.*]] = nn.reduce sum
// The sums over micro-batches are no ops of the model: what they add may be another stage's.
// MLP: nn.add %[[SUM]], %[[S]] {{{.*}}nn.origin = -1 : i64

// A value of stage 0 that stage 2 needs is handed through stage 1, in slots; so is its gradient.
// CHECK-LABEL: module @skip
// CHECK-SAME: pipe.messages = [#exec.message<"a" from 0 forward>, #exec.message<"a" from 1 forward>, #exec.message<"b" from 1 forward>, #exec.message<"grad:c" from 1 backward>, #exec.message<"grad:c" from 2 backward>]
// CHECK: func.func @pp0_forward({{.*}}) -> (tensor<4xf32> {exec.bind = #exec.bind<message "a">})
// CHECK: func.func @pp1_forward(%{{.*}}: tensor<4xf32> {exec.bind = #exec.bind<stash "a">}) -> (tensor<4xf32> {exec.bind = #exec.bind<message "b">})
// CHECK: func.func @pp1_backward_first(%{{.*}}: tensor<4xf32> {exec.bind = #exec.bind<stash "grad:c">}) {
// CHECK: func.func @pp2_forward(%{{.*}}: tensor<4xf32> {exec.bind = #exec.bind<stash "a">}, %{{.*}}: tensor<4xf32> {exec.bind = #exec.bind<message "b">})
// CHECK: func.func @pp2_backward_first({{.*}}) -> (tensor<4xf32> {exec.bind = #exec.bind<message "grad:c">}
module @skip attributes {dist.mesh = #dist.mesh<[<"dp" = 1>, <"pp" = 3>, <"tp" = 1>]>} {
  func.func @accumulate(%x: tensor<4xf32> {nn.input = "x"}, %w: tensor<4xf32> {nn.parameter = {name = "w", trainable = true}})
      -> (tensor<f32> {nn.loss = "sum"}, tensor<f32> {nn.loss = "weight"}, tensor<4xf32> {nn.gradient = "w"}) {
    %a = nn.mul %x, %w {nn.origin = 0 : i64, pipe.stage = 0 : i64} : tensor<4xf32> loc("a")
    %b = nn.tanh %a {nn.origin = 1 : i64, pipe.stage = 1 : i64} : tensor<4xf32> loc("b")
    %c = nn.mul %a, %b {nn.origin = 2 : i64, pipe.stage = 2 : i64} : tensor<4xf32> loc("c")
    %s = nn.reduce sum, %c dims [0] {nn.origin = 3 : i64, pipe.stage = 2 : i64} : tensor<4xf32> -> tensor<f32> loc("loss")
    %g = nn.mul %a, %a {nn.origin = 2 : i64, nn.backward, pipe.stage = 2 : i64} : tensor<4xf32> loc("gradient of c")
    %h = nn.mul %g, %x {nn.origin = 0 : i64, nn.backward, pipe.stage = 0 : i64} : tensor<4xf32> loc("gradient of a")
    return %s, %s, %h : tensor<f32>, tensor<f32>, tensor<4xf32>
  }
}

// -----

// The contributions to a tied parameter stay in their stages; what stands behind the sum is done for each.
// CHECK-LABEL: module @tied
// CHECK: func.func @pp0_backward_first({{.*}}) -> (tensor<2x2xf32> {exec.bind = #exec.bind<gradient "w/grad">, nn.gradient = "w"})
// CHECK-NEXT: %[[A:.*]] = nn.mul
// CHECK-NEXT: %[[B:.*]] = nn.reshape %[[A]]
// CHECK-NEXT: return %[[B]]
// CHECK: func.func @pp1_backward_first({{.*}} -> (tensor<4xf32> {{{.*}}#exec.bind<message "grad:b">}, tensor<2x2xf32> {exec.bind = #exec.bind<gradient "w/grad">, nn.gradient = "w"}
// CHECK-NEXT: %[[C:.*]] = nn.mul
// CHECK-NEXT: %[[D:.*]] = nn.exp %[[C]]
// CHECK-NEXT: %[[E:.*]] = nn.add %[[C]], %[[D]] {nn.backward, nn.gradient_sum
// CHECK-NEXT: %[[F:.*]] = nn.reshape %[[E]]
// CHECK-NEXT: return %[[C]], %[[F]]
module @tied attributes {dist.mesh = #dist.mesh<[<"dp" = 1>, <"pp" = 2>, <"tp" = 1>]>} {
  func.func @accumulate(%x: tensor<4xf32> {nn.input = "x"}, %w: tensor<2x2xf32> {nn.parameter = {name = "w", trainable = true}})
      -> (tensor<f32> {nn.loss = "sum"}, tensor<f32> {nn.loss = "weight"}, tensor<2x2xf32> {nn.gradient = "w"}) {
    %r = nn.reshape %w {nn.origin = 0 : i64, pipe.stage = 0 : i64} : tensor<2x2xf32> -> tensor<4xf32> loc("r")
    %a = nn.mul %x, %r {nn.origin = 1 : i64, pipe.stage = 0 : i64} : tensor<4xf32> loc("a")
    %b = nn.mul %a, %r {nn.origin = 2 : i64, pipe.stage = 1 : i64} : tensor<4xf32> loc("b")
    %s = nn.reduce sum, %b dims [0] {nn.origin = 3 : i64, pipe.stage = 1 : i64} : tensor<4xf32> -> tensor<f32> loc("loss")
    %g = nn.mul %a, %a {nn.origin = 2 : i64, nn.backward, pipe.stage = 1 : i64} : tensor<4xf32> loc("gradient of b")
    %g2 = nn.exp %g {nn.origin = 2 : i64, nn.backward, pipe.stage = 1 : i64} : tensor<4xf32> loc("gradient of b")
    %h = nn.mul %g, %x {nn.origin = 1 : i64, nn.backward, pipe.stage = 0 : i64} : tensor<4xf32> loc("gradient of a")
    %sum0 = nn.add %g, %g2 {nn.origin = 1 : i64, nn.backward, nn.gradient_sum, pipe.stage = 1 : i64} : tensor<4xf32> loc("gradient of a")
    %sum = nn.add %sum0, %h {nn.origin = 1 : i64, nn.backward, nn.gradient_sum, pipe.stage = 0 : i64} : tensor<4xf32> loc("gradient of a")
    %back = nn.reshape %sum {nn.origin = 0 : i64, nn.backward, pipe.stage = 0 : i64} : tensor<4xf32> -> tensor<2x2xf32> loc("gradient of r")
    return %s, %s, %back : tensor<f32>, tensor<f32>, tensor<2x2xf32>
  }
}

// -----

// Without dropout a value passes: the select is its true value, the product its first operand; a mask that is used by itself
// is all true. What is only read by them is gone.
// CHECK-LABEL: module @dropout
// CHECK: func.func @pp0_forward
// CHECK: nn.rng_uniform
// CHECK: func.func @pp0_evaluate_first(
// CHECK-NEXT: %[[A:.*]] = nn.mul %arg0, %arg1
// CHECK-NEXT: %[[S:.*]] = nn.reduce sum, %[[A]]
// CHECK-NEXT: %[[ALL:.*]] = nn.constant dense<true> : tensor<4xi1>
// CHECK-NEXT: %[[M:.*]] = nn.convert %[[ALL]]
// CHECK-NEXT: %[[W:.*]] = nn.reduce sum, %[[M]]
// CHECK-NEXT: return %[[S]], %[[W]]
module @dropout attributes {dist.mesh = #dist.mesh<[<"dp" = 1>, <"pp" = 1>, <"tp" = 1>]>} {
  func.func @accumulate(%x: tensor<4xf32> {nn.input = "x"}, %w: tensor<4xf32> {nn.parameter = {name = "w", trainable = true}})
      -> (tensor<f32> {nn.loss = "sum"}, tensor<f32> {nn.loss = "weight"}, tensor<4xf32> {nn.gradient = "w"}) {
    %o = nn.control sample_offset {nn.origin = 0 : i64} : tensor<i64>
    %u = nn.rng_uniform %o id 0 strides [1] {nn.origin = 0 : i64} : tensor<i64> -> tensor<4xf32>
    %p = nn.constant dense<0.5> : tensor<4xf32> {nn.origin = 0 : i64}
    %two = nn.constant dense<2.0> : tensor<4xf32> {nn.origin = 0 : i64}
    %zero = nn.constant dense<0.0> : tensor<4xf32> {nn.origin = 0 : i64}
    %keep = nn.compare ge, %u, %p {nn.origin = 0 : i64, nn.dropout} : tensor<4xf32> -> tensor<4xi1>
    %a = nn.mul %x, %w {nn.origin = 1 : i64, pipe.stage = 0 : i64} : tensor<4xf32>
    %k = nn.select %keep, %a, %zero {nn.origin = 2 : i64, nn.dropout, pipe.stage = 0 : i64} : tensor<4xi1>, tensor<4xf32>
    %d = nn.mul %k, %two {nn.origin = 2 : i64, nn.dropout, pipe.stage = 0 : i64} : tensor<4xf32>
    %s = nn.reduce sum, %d dims [0] {nn.origin = 3 : i64, pipe.stage = 0 : i64} : tensor<4xf32> -> tensor<f32>
    %m = nn.convert %keep {nn.origin = 4 : i64, pipe.stage = 0 : i64} : tensor<4xi1> -> tensor<4xf32>
    %n = nn.reduce sum, %m dims [0] {nn.origin = 4 : i64, pipe.stage = 0 : i64} : tensor<4xf32> -> tensor<f32>
    return %s, %n, %x : tensor<f32>, tensor<f32>, tensor<4xf32>
  }
}
