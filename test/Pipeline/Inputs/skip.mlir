// Four linear layers; the first one's output is added to the last one's, so that it travels through every stage between.
module attributes {
    dist.mesh = #dist.mesh<[<"dp" = 1>, <"pp" = 1>, <"tp" = 1>]>,
    nn.inputs = [{name = "x", role = "data"}],
    nn.training = {micro_batch = 4 : i64, micro_batches = 5 : i64, global_batch = 20 : i64, schedule = "1f1b",
                   recompute = "none", optimizer = "sgd", learning_rate = 0.01, momentum = 0.9, beta1 = 0.9, beta2 = 0.95,
                   epsilon = 1.0e-8, weight_decay = 0.0, clip_norm = 0.0, lr_schedule = "constant", warmup_steps = 0 : i64,
                   total_steps = 10 : i64, dropout = -1.0}} {
  func.func @forward(
      %x: tensor<4x8xf32> {nn.input = "x"},
      %w0: tensor<8x8xf32> {nn.parameter = {name = "fc0.weight", file = 0 : i64, offset = 0 : i64, bytes = 256 : i64, trainable = true, decays = true}},
      %w1: tensor<8x8xf32> {nn.parameter = {name = "fc1.weight", file = 0 : i64, offset = 256 : i64, bytes = 256 : i64, trainable = true, decays = true}},
      %w2: tensor<8x8xf32> {nn.parameter = {name = "fc2.weight", file = 0 : i64, offset = 512 : i64, bytes = 256 : i64, trainable = true, decays = true}},
      %w3: tensor<8x8xf32> {nn.parameter = {name = "fc3.weight", file = 0 : i64, offset = 768 : i64, bytes = 256 : i64, trainable = true, decays = true}})
      -> (tensor<f32> {nn.loss = "sum"}, tensor<f32> {nn.loss = "weight"}) {
    %0 = nn.dot_general %x, %w0 batch [] x [] contract [1] x [0] {nn.origin = 0 : i64} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32> loc("fc0")
    %1 = nn.tanh %0 {nn.origin = 1 : i64} : tensor<4x8xf32> loc("tanh0")
    %2 = nn.dot_general %1, %w1 batch [] x [] contract [1] x [0] {nn.origin = 2 : i64} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32> loc("fc1")
    %3 = nn.tanh %2 {nn.origin = 3 : i64} : tensor<4x8xf32> loc("tanh1")
    %4 = nn.dot_general %3, %w2 batch [] x [] contract [1] x [0] {nn.origin = 4 : i64} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32> loc("fc2")
    %5 = nn.tanh %4 {nn.origin = 5 : i64} : tensor<4x8xf32> loc("tanh2")
    %6 = nn.dot_general %5, %w3 batch [] x [] contract [1] x [0] {nn.origin = 6 : i64} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32> loc("fc3")
    %7 = nn.tanh %6 {nn.origin = 7 : i64} : tensor<4x8xf32> loc("tanh3")
    %8 = nn.add %7, %1 {nn.origin = 8 : i64} : tensor<4x8xf32> loc("skip")
    %9 = nn.mul %8, %8 {nn.origin = 9 : i64} : tensor<4x8xf32> loc("loss")
    %10 = nn.reduce sum, %9 dims [0, 1] {nn.origin = 9 : i64} : tensor<4x8xf32> -> tensor<f32> loc("loss")
    %11 = nn.constant dense<4.0> : tensor<f32> {nn.origin = 9 : i64} loc("loss")
    return %10, %11 : tensor<f32>, tensor<f32>
  }
}
