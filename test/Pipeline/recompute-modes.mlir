// What the backward of an attention-like model keeps and computes again. Three equal layers, each with two products of
// activations (the scores, and what they weigh) and a product with a parameter behind them.

// RUN: sed s/MODE/none/ %s | shardc-opt --autodiff-build-gradients --autodiff-build-update -o %t.none
// RUN: sed s/MODE/selective/ %s | shardc-opt --autodiff-build-gradients --autodiff-build-update -o %t.selective
// RUN: sed s/MODE/full/ %s | shardc-opt --autodiff-build-gradients --autodiff-build-update -o %t.full

// RUN: shardc-opt %t.none --pipeline-cut-stages --pipeline-recompute | FileCheck %s --check-prefix=NONE
// NONE-LABEL: func.func @accumulate
// NONE-NOT: nn.dot_general {{.*}}pipe.recomputed
// NONE: return

// Scores and weights, but nothing from another layer: paths through a product with a parameter do not count.
// RUN: shardc-opt %t.selective --pipeline-cut-stages --pipeline-recompute | FileCheck %s --check-prefix=SELECTIVE
// SELECTIVE-LABEL: func.func @accumulate
// SELECTIVE-NOT: pipe.recomputed
// SELECTIVE: nn.dot_general {{.*}}nn.origin = 16 : i64, pipe.recomputed
// SELECTIVE-NEXT: nn.exp {{.*}}nn.origin = 17 : i64, pipe.recomputed
// SELECTIVE-NOT: pipe.recomputed
// SELECTIVE: nn.dot_general {{.*}}nn.origin = 9 : i64, pipe.recomputed
// SELECTIVE-NEXT: nn.exp {{.*}}nn.origin = 10 : i64, pipe.recomputed
// SELECTIVE-NOT: pipe.recomputed
// SELECTIVE: nn.dot_general {{.*}}nn.origin = 2 : i64, pipe.recomputed
// SELECTIVE-NEXT: nn.exp {{.*}}nn.origin = 3 : i64, pipe.recomputed
// SELECTIVE-NOT: pipe.recomputed
// SELECTIVE: return

// Layer after layer, the last one first, from the inputs of the layers: what is computed again before its layer is reached
// would have to be kept for longer.
// RUN: shardc-opt %t.full --pipeline-cut-stages --pipeline-recompute | FileCheck %s --check-prefix=FULL
// FULL-LABEL: func.func @accumulate
// FULL: %[[LAYER0:.*]] = nn.add {{.*}}nn.origin = 6 :
// FULL: %[[LAYER1:.*]] = nn.add {{.*}}nn.origin = 13 :
// FULL-NOT: pipe.recomputed
// FULL: nn.dot_general %[[LAYER1]], {{.*}}nn.origin = 14 : i64, pipe.recomputed
// FULL: nn.dot_general %[[LAYER1]], {{.*}}nn.origin = 15 : i64, pipe.recomputed
// FULL-NOT: nn.origin = 7 : i64, pipe.recomputed
// FULL: nn.dot_general {{.*}}nn.backward, nn.origin = 14 : i64, pipe.stage
// FULL: nn.dot_general %[[LAYER0]], {{.*}}nn.origin = 7 : i64, pipe.recomputed
// FULL-NOT: nn.origin = 0 : i64, pipe.recomputed
// FULL: nn.dot_general {{.*}}nn.backward, nn.origin = 7 : i64, pipe.stage
// FULL: nn.dot_general {{.*}}nn.origin = 0 : i64, pipe.recomputed
// FULL-NOT: nn.add {{.*}}pipe.recomputed
// FULL: return

// What is kept for one micro-batch; the loss's scalars are.
// RUN: shardc-opt %t.none --test-pipeline="pp=1 verbose" -o /dev/null | FileCheck %s --check-prefix=KEPT-NONE
// RUN: shardc-opt %t.selective --test-pipeline="pp=1 verbose" -o /dev/null | FileCheck %s --check-prefix=KEPT-SELECTIVE
// RUN: shardc-opt %t.full --test-pipeline="pp=1 verbose" -o /dev/null | FileCheck %s --check-prefix=KEPT-FULL
// RUN: shardc-opt %t.full --test-pipeline="pp=2 verbose" -o /dev/null | FileCheck %s --check-prefix=KEPT-CUT
// KEPT-NONE-COUNT-3: tensor<2x4x4xf32>
// KEPT-NONE: pp 0 stashes 16 tensors, 865 elements, 3460 bytes; repeats 0 ops
// KEPT-NONE: pipelined = sequential
// KEPT-SELECTIVE-NOT: tensor<2x4x4xf32>
// KEPT-SELECTIVE: pp 0 stashes 13 tensors, 769 elements, 3076 bytes; repeats 6 ops
// KEPT-SELECTIVE: pipelined = sequential
// KEPT-FULL: op#13 tensor
// KEPT-FULL-NEXT: op#21 tensor
// KEPT-FULL-NEXT: op#6 tensor
// KEPT-FULL-NEXT: x tensor
// KEPT-FULL-NEXT: pp 0 stashes 4 tensors, 193 elements, 772 bytes; repeats 15 ops
// KEPT-FULL-NEXT: pipelined = sequential
// KEPT-CUT: op#6 tensor
// KEPT-CUT-NEXT: x tensor
// KEPT-CUT-NEXT: pp 0 stashes 2 tensors, 128 elements, 512 bytes; repeats 10 ops
// KEPT-CUT-NEXT: op#13 tensor
// KEPT-CUT-NEXT: op#21 tensor
// KEPT-CUT-NEXT: pp 1 stashes 2 tensors, 65 elements, 260 bytes; repeats 5 ops
// KEPT-CUT-NEXT: pipelined = sequential

module attributes {
    dist.mesh = #dist.mesh<[<"dp" = 1>, <"pp" = 1>, <"tp" = 1>]>,
    nn.inputs = [{name = "x", role = "data"}],
    nn.training = {micro_batch = 2 : i64, micro_batches = 3 : i64, global_batch = 6 : i64, schedule = "1f1b",
                   recompute = "MODE", optimizer = "sgd", learning_rate = 0.01, momentum = 0.9, beta1 = 0.9, beta2 = 0.95,
                   epsilon = 1.0e-8, weight_decay = 0.0, clip_norm = 0.0, lr_schedule = "constant", warmup_steps = 0 : i64,
                   total_steps = 10 : i64, dropout = -1.0}} {
  func.func @forward(
      %x: tensor<2x4x8xf32> {nn.input = "x"},
      %q0: tensor<8x8xf32> {nn.parameter = {name = "q0", file = 0 : i64, offset = 0 : i64, bytes = 256 : i64, trainable = true, decays = true}},
      %k0: tensor<8x8xf32> {nn.parameter = {name = "k0", file = 0 : i64, offset = 256 : i64, bytes = 256 : i64, trainable = true, decays = true}},
      %p0: tensor<8x8xf32> {nn.parameter = {name = "p0", file = 0 : i64, offset = 512 : i64, bytes = 256 : i64, trainable = true, decays = true}},
      %q1: tensor<8x8xf32> {nn.parameter = {name = "q1", file = 0 : i64, offset = 768 : i64, bytes = 256 : i64, trainable = true, decays = true}},
      %k1: tensor<8x8xf32> {nn.parameter = {name = "k1", file = 0 : i64, offset = 1024 : i64, bytes = 256 : i64, trainable = true, decays = true}},
      %p1: tensor<8x8xf32> {nn.parameter = {name = "p1", file = 0 : i64, offset = 1280 : i64, bytes = 256 : i64, trainable = true, decays = true}},
      %q2: tensor<8x8xf32> {nn.parameter = {name = "q2", file = 0 : i64, offset = 1536 : i64, bytes = 256 : i64, trainable = true, decays = true}},
      %k2: tensor<8x8xf32> {nn.parameter = {name = "k2", file = 0 : i64, offset = 1792 : i64, bytes = 256 : i64, trainable = true, decays = true}},
      %p2: tensor<8x8xf32> {nn.parameter = {name = "p2", file = 0 : i64, offset = 2048 : i64, bytes = 256 : i64, trainable = true, decays = true}})
      -> (tensor<f32> {nn.loss = "sum"}, tensor<f32> {nn.loss = "weight"}) {
    %query0 = nn.dot_general %x, %q0 batch [] x [] contract [2] x [0] : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
    %key0 = nn.dot_general %x, %k0 batch [] x [] contract [2] x [0] : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
    %scores0 = nn.dot_general %query0, %key0 batch [0] x [0] contract [2] x [2] : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x4xf32>
    %weights0 = nn.exp %scores0 : tensor<2x4x4xf32>
    %out0 = nn.dot_general %weights0, %key0 batch [0] x [0] contract [2] x [1] : (tensor<2x4x4xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %proj0 = nn.dot_general %out0, %p0 batch [] x [] contract [2] x [0] : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
    %layer0 = nn.add %x, %proj0 : tensor<2x4x8xf32>
    %query1 = nn.dot_general %layer0, %q1 batch [] x [] contract [2] x [0] : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
    %key1 = nn.dot_general %layer0, %k1 batch [] x [] contract [2] x [0] : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
    %scores1 = nn.dot_general %query1, %key1 batch [0] x [0] contract [2] x [2] : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x4xf32>
    %weights1 = nn.exp %scores1 : tensor<2x4x4xf32>
    %out1 = nn.dot_general %weights1, %key1 batch [0] x [0] contract [2] x [1] : (tensor<2x4x4xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %proj1 = nn.dot_general %out1, %p1 batch [] x [] contract [2] x [0] : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
    %layer1 = nn.add %layer0, %proj1 : tensor<2x4x8xf32>
    %query2 = nn.dot_general %layer1, %q2 batch [] x [] contract [2] x [0] : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
    %key2 = nn.dot_general %layer1, %k2 batch [] x [] contract [2] x [0] : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
    %scores2 = nn.dot_general %query2, %key2 batch [0] x [0] contract [2] x [2] : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x4xf32>
    %weights2 = nn.exp %scores2 : tensor<2x4x4xf32>
    %out2 = nn.dot_general %weights2, %key2 batch [0] x [0] contract [2] x [1] : (tensor<2x4x4xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %proj2 = nn.dot_general %out2, %p2 batch [] x [] contract [2] x [0] : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
    %layer2 = nn.add %layer1, %proj2 : tensor<2x4x8xf32>
    %loss = nn.reduce sum, %layer2 dims [0, 1, 2] : tensor<2x4x8xf32> -> tensor<f32>
    %weight = nn.constant dense<2.0> : tensor<f32>
    return %loss, %weight : tensor<f32>, tensor<f32>
  }
}
