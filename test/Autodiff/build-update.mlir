// RUN: shardc-opt %s -split-input-file --autodiff-build-update | FileCheck %s

// AdamW: two states a parameter, the powers of both β for all; only what decays decays; the frozen one is left out.
// CHECK-LABEL: func.func @update
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<3x2xf32> {nn.parameter = {decays = true, name = "w", trainable = true}},
// CHECK-SAME: %[[B:[a-z0-9]+]]: tensor<3xf32> {nn.parameter = {decays = false, name = "b", trainable = true}},
// CHECK-SAME: %[[GW:[a-z0-9]+]]: tensor<3x2xf32> {nn.gradient = "w"}, %[[GB:[a-z0-9]+]]: tensor<3xf32> {nn.gradient = "b"},
// CHECK-SAME: %[[MW:[a-z0-9]+]]: tensor<3x2xf32> {nn.state = {initial = 0.000000e+00 : f64, name = "w/exp_avg", parameter = "w"}},
// CHECK-SAME: %[[VW:[a-z0-9]+]]: tensor<3x2xf32> {nn.state = {initial = 0.000000e+00 : f64, name = "w/exp_avg_sq", parameter = "w"}},
// CHECK-SAME: {nn.state = {initial = 0.000000e+00 : f64, name = "b/exp_avg", parameter = "b"}},
// CHECK-SAME: {nn.state = {initial = 0.000000e+00 : f64, name = "b/exp_avg_sq", parameter = "b"}},
// CHECK-SAME: %[[P1:[a-z0-9]+]]: tensor<f64> {nn.state = {initial = 1.000000e+00 : f64, name = "beta1_power"}},
// CHECK-SAME: %[[P2:[a-z0-9]+]]: tensor<f64> {nn.state = {initial = 1.000000e+00 : f64, name = "beta2_power"}},
// CHECK-SAME: %[[SCALE:[a-z0-9]+]]: tensor<f32> {nn.scalar = "scale"}, %[[SKIP:[a-z0-9]+]]: tensor<i1> {nn.scalar = "skip"})
// CHECK-SAME: -> (tensor<3x2xf32> {nn.parameter = {decays = true, name = "w", trainable = true}}, tensor<3xf32> {nn.parameter = {decays = false, name = "b", trainable = true}}, tensor<3x2xf32> {nn.state
// CHECK: nn.control {{.*}}learning_rate {nn.origin = -1 : i64}
// CHECK: nn.mul %[[W]], %{{.*}} {nn.origin = -1 : i64}
// CHECK: %[[KEPT:.*]] = nn.select %{{.*}}, %[[W]], %{{.*}} {nn.origin = -1 : i64}
// CHECK-NOT: nn.mul %[[B]],
// CHECK: return %[[KEPT]]
module attributes {nn.training = {optimizer = "adamw", momentum = 0.9 : f64, beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.1 : f64}} {
  func.func @accumulate(%w: tensor<3x2xf32> {nn.parameter = {name = "w", trainable = true, decays = true}},
                        %b: tensor<3xf32> {nn.parameter = {name = "b", trainable = true, decays = false}},
                        %f: tensor<3xf32> {nn.parameter = {name = "f", trainable = false, decays = false}}) {
    return
  }
}

// -----

// SGD without momentum keeps nothing.
// CHECK-LABEL: func.func @update
// CHECK-SAME: (%[[W:[a-z0-9]+]]: tensor<3xf32> {{.*}}, %{{.*}}: tensor<3xf32> {nn.gradient = "w"}, %{{.*}}: tensor<f32> {nn.scalar = "scale"}, %{{.*}}: tensor<i1> {nn.scalar = "skip"})
// CHECK-SAME: -> (tensor<3xf32> {nn.parameter = {decays = true, name = "w", trainable = true}})
module attributes {nn.training = {optimizer = "sgd", momentum = 0.0 : f64, beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.0 : f64}} {
  func.func @accumulate(%w: tensor<3xf32> {nn.parameter = {name = "w", trainable = true, decays = true}}) {
    return
  }
}

// -----

// With momentum there is one state.
// CHECK-LABEL: func.func @update
// CHECK-SAME: nn.state = {initial = 0.000000e+00 : f64, name = "w/momentum_buffer", parameter = "w"}
// CHECK-NOT: power
module attributes {nn.training = {optimizer = "sgd", momentum = 0.9 : f64, beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.0 : f64}} {
  func.func @accumulate(%w: tensor<3xf32> {nn.parameter = {name = "w", trainable = true, decays = true}}) {
    return
  }
}

// -----

// fp16: the loss scale and the number of good steps are states behind the optimizer's, overflow the last argument. An
// overflow shrinks the scale, a step that is skipped for another reason leaves all as it is, enough good ones grow it.
// CHECK-LABEL: func.func @update
// CHECK-SAME: %[[S:[a-z0-9]+]]: tensor<f32> {nn.state = {initial = 8.000000e+00 : f64, name = "next_loss_scale"}}
// CHECK-SAME: %[[N:[a-z0-9]+]]: tensor<f32> {nn.state = {initial = 0.000000e+00 : f64, name = "good_steps"}}
// CHECK-SAME: %{{.*}}: tensor<f32> {nn.scalar = "scale"}, %[[SKIP:[a-z0-9]+]]: tensor<i1> {nn.scalar = "skip"}, %[[OVER:[a-z0-9]+]]: tensor<i1> {nn.scalar = "overflow"})
// CHECK-DAG: %[[SMALLER:.*]] = nn.max
// CHECK-DAG: %[[LARGER:.*]] = nn.min
// CHECK: %[[GROWS:.*]] = nn.compare  ge, %[[STEPS:.*]], %{{.*}}
// CHECK: %[[NEXT:.*]] = nn.select %[[GROWS]], %[[LARGER]], %[[S]]
// CHECK: %[[COUNT:.*]] = nn.select %[[GROWS]], %{{.*}}, %[[STEPS]]
// CHECK: %[[KEPT:.*]] = nn.select %[[SKIP]], %[[S]], %[[NEXT]]
// CHECK: %[[KEPTSTEPS:.*]] = nn.select %[[SKIP]], %[[N]], %[[COUNT]]
// CHECK: %[[SCALE:.*]] = nn.select %[[OVER]], %[[SMALLER]], %[[KEPT]]
// CHECK: %[[GOOD:.*]] = nn.select %[[OVER]], %{{.*}}, %[[KEPTSTEPS]]
// CHECK: return %{{.*}}, %[[SCALE]], %[[GOOD]]
module attributes {nn.training = {optimizer = "sgd", momentum = 0.0 : f64, beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.0 : f64,
    precision = "fp16", loss_scale_init = 8.0 : f64, loss_scale_growth_interval = 5.0 : f64, loss_scale_growth_factor = 2.0 : f64, loss_scale_backoff_factor = 0.5 : f64}} {
  func.func @accumulate(%w: tensor<3xf32> {nn.parameter = {name = "w", trainable = true, decays = true}}) {
    return
  }
}
