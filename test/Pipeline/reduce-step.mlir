// RUN: shardc-opt %S/Inputs/mlp.mlir --pipeline-cut-stages --pipeline-outline-stages --pipeline-reduce-step | FileCheck %s
// RUN: shardc-opt %s -split-input-file --pipeline-reduce-step | FileCheck %s --check-prefix=TP
// RUN: shardc-opt %s -split-input-file --pipeline-reduce-step | FileCheck %s --check-prefix=SCALE

// Each stage updates its own parameters; scalar states are everywhere. Reduced gradients replace the sums.
// CHECK-NOT: @update(
// CHECK-LABEL: func.func @pp0_update(
// CHECK-SAME: #exec.bind<gradient "fc0.weight/grad">
// CHECK-SAME: #exec.bind<parameter "fc0.weight">
// CHECK-SAME: #exec.bind<state "fc0.weight/momentum">
// CHECK-SAME: #exec.bind<state "steps">
// CHECK-NOT: fc1.weight
// CHECK: %[[G:.*]] = dist.all_reduce %arg0 axes ["dp"] sum {dist.shardings = [#dist.sharding<[<[<8>]>, <[<8>]>]>], nn.origin = -1 : i64}
// CHECK-DAG: %[[B:.*]] = nn.block_sum_squares %[[G]] block 4096
// One block of fc0, then one of fc1, which is zero here; dp 0 contributes. Two slots each of S and W are zero.
// CHECK: %[[BLOCKS:.*]] = nn.concat %[[B]], %{{.*}} dim 0
// CHECK: nn.select {{.*}}partial[<"dp", sum>, <"pp", sum>]
// CHECK: %[[V:.*]] = nn.concat {{.*}} : (tensor<4xf64>, tensor<2xf64>) -> tensor<6xf64>
// CHECK: %[[W:.*]] = dist.all_reduce %[[V]] axes ["dp", "pp"] sum
// CHECK: nn.slice %[[W]] [0] to [2]
// CHECK: nn.slice %[[W]] [2] to [4]
// CHECK: nn.slice %[[W]] [4] to [6]
// CHECK: return %[[G]]
// A report only brings S and W of an evaluation to all ranks.
// CHECK-LABEL: func.func @pp0_report(
// CHECK-SAME: ) -> (tensor<f64> {{{.*}}#exec.bind<output "evaluation_sum">}, tensor<f64> {{{.*}}#exec.bind<output "evaluation_weight">}) {
// CHECK: dist.all_reduce %{{.*}} axes ["dp", "pp"] sum {{.*}} : tensor<4xf64>
// CHECK-LABEL: func.func @pp1_update(
// CHECK-SAME: #exec.bind<gradient "fc1.weight/grad">
// CHECK-SAME: #exec.bind<gradient "loss.sum">
// CHECK-SAME: #exec.bind<gradient "loss.weight">
// CHECK-NOT: fc0.weight
// CHECK-SAME: #exec.bind<output "loss">
// CHECK-SAME: #exec.bind<output "grad_norm">
// CHECK-SAME: #exec.bind<output "loss_weight">
// CHECK-SAME: #exec.bind<output "gradient_scale">
// CHECK-SAME: #exec.bind<output "skipped">
// CHECK-LABEL: func.func @pp1_report(
// CHECK-SAME: #exec.bind<gradient "loss.sum">
// CHECK-SAME: #exec.bind<gradient "loss.weight">
// CHECK-SAME: -> (tensor<f64> {{{.*}}#exec.bind<output "evaluation_sum">}, tensor<f64> {{{.*}}#exec.bind<output "evaluation_weight">}) {

// A parameter split over tp has a run of blocks for each coordinate; a tied one is reduced over its stages, and the first of
// them contributes it.
// TP-LABEL: module @tied
// TP: func.func @pp0_update
// TP: %[[A:.*]] = dist.all_reduce %arg0 axes ["pp"] sum members [0, 2]
// TP: nn.block_sum_squares %[[A]] block 4096 {{.*}} : tensor<5000xf32> -> tensor<2xf64>
// TP: nn.iota dim 0 {{.*}} : tensor<2x2xi64>
// TP: dist.all_reduce %{{.*}} axes ["pp", "tp"] sum {{.*}} : tensor<6xf64>
// TP: func.func @pp1_update
// TP-NOT: members
// TP-NOT: nn.block_sum_squares
// TP: dist.all_reduce %{{.*}} axes ["pp", "tp"] sum {{.*}} : tensor<6xf64>
// TP: func.func @pp2_update
// TP: dist.all_reduce %arg0 axes ["pp"] sum members [0, 2]
// TP-NOT: nn.block_sum_squares
// TP: dist.all_reduce %{{.*}} axes ["pp", "tp"] sum {{.*}} : tensor<6xf64>
#split = #dist.sharding<[<[<10000 : ["tp"]>]>]>
module @tied attributes {
    dist.mesh = #dist.mesh<[<"dp" = 1>, <"pp" = 3>, <"tp" = 2>]>, nn.training = {loss_seed = 8.0, clip_norm = 0.0}} {
  func.func @pp0_backward_first(%g: tensor<5000xf32>) -> (tensor<5000xf32> {exec.bind = #exec.bind<gradient "w/grad">, nn.gradient = "w", dist.sharding = #split}) {
    return %g : tensor<5000xf32>
  }
  func.func @pp1_backward_first() {
    return
  }
  func.func @pp2_backward_first(%g: tensor<5000xf32>, %s: tensor<f32>) -> (
      tensor<5000xf32> {exec.bind = #exec.bind<gradient "w/grad">, nn.gradient = "w", dist.sharding = #split},
      tensor<f32> {exec.bind = #exec.bind<gradient "loss.sum">, nn.loss = "sum"},
      tensor<f32> {exec.bind = #exec.bind<gradient "loss.weight">, nn.loss = "weight"}) {
    return %g, %s, %s : tensor<5000xf32>, tensor<f32>, tensor<f32>
  }
  func.func @update(%w: tensor<5000xf32> {nn.parameter = {name = "w"}, dist.sharding = #split}, %g: tensor<5000xf32> {nn.gradient = "w", dist.sharding = #split},
                    %scale: tensor<f32> {nn.scalar = "scale"}, %skip: tensor<i1> {nn.scalar = "skip"}) -> (tensor<5000xf32> {nn.parameter = {name = "w"}}) {
    %0 = nn.sub %w, %g : tensor<5000xf32>
    return %0 : tensor<5000xf32>
  }
}

// -----

// With a loss scale: what is not finite is an overflow whatever the weight, W0 is divided by scale · ΣW, and the host reads
// the scale that the step ran with. The states are on the stage.
// SCALE-LABEL: module @scaled
// SCALE: func.func @pp0_update
// SCALE-SAME: #exec.bind<state "next_loss_scale">
// SCALE-SAME: #exec.bind<output "loss_scale">
// SCALE: %[[WEIGHTED:.*]] = nn.compare  ne
// SCALE: %[[FINITE:.*]] = nn.compare  eq
// SCALE: nn.and %[[WEIGHTED]], %[[FINITE]]
// SCALE: %[[CONTROL:.*]] = nn.control  loss_scale
// SCALE: %[[S:.*]] = nn.convert %[[CONTROL]] {{.*}} -> tensor<f64>
// SCALE: %[[DIVISOR:.*]] = nn.mul %{{.*}}, %[[S]]
// SCALE: nn.div %{{.*}}, %[[DIVISOR]]
// SCALE: %[[OVER:.*]] = nn.xor %[[FINITE]], %{{.*}}
// SCALE: nn.select %[[OVER]]
module @scaled attributes {
    dist.mesh = #dist.mesh<[<"dp" = 1>, <"pp" = 1>, <"tp" = 1>]>, nn.training = {loss_seed = 8.0, clip_norm = 0.0}} {
  func.func @pp0_backward_first(%g: tensor<8xf32>, %s: tensor<f32>) -> (
      tensor<8xf32> {exec.bind = #exec.bind<gradient "w/grad">, nn.gradient = "w"},
      tensor<f32> {exec.bind = #exec.bind<gradient "loss.sum">, nn.loss = "sum"},
      tensor<f32> {exec.bind = #exec.bind<gradient "loss.weight">, nn.loss = "weight"}) {
    return %g, %s, %s : tensor<8xf32>, tensor<f32>, tensor<f32>
  }
  func.func @update(%w: tensor<8xf32> {nn.parameter = {name = "w"}}, %g: tensor<8xf32> {nn.gradient = "w"},
                    %s: tensor<f32> {nn.state = {name = "next_loss_scale", initial = 8.0 : f64}},
                    %scale: tensor<f32> {nn.scalar = "scale"}, %skip: tensor<i1> {nn.scalar = "skip"},
                    %overflow: tensor<i1> {nn.scalar = "overflow"})
      -> (tensor<8xf32> {nn.parameter = {name = "w"}}, tensor<f32> {nn.state = {name = "next_loss_scale"}}) {
    %0 = nn.sub %w, %g : tensor<8xf32>
    %1 = nn.add %s, %s : tensor<f32>
    %2 = nn.select %overflow, %1, %s : tensor<i1>, tensor<f32>
    return %0, %2 : tensor<8xf32>, tensor<f32>
  }
}
