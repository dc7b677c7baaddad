// Two linear layers with tanh between them and S = Σ y², as Sharding leaves it: local types, gradients and losses partial
// over dp. SGD with momentum.
#scalar = #dist.sharding<[]>
#partial = #dist.sharding<[] partial [<"dp", sum>]>
#rows8 = #dist.sharding<[<[<8 : ["dp"]>]>, <[<8>]>]>
#rows4 = #dist.sharding<[<[<8 : ["dp"]>]>, <[<4>]>]>
#w0 = #dist.sharding<[<[<8>]>, <[<8>]>]>
#w1 = #dist.sharding<[<[<8>]>, <[<4>]>]>
#w0g = #dist.sharding<[<[<8>]>, <[<8>]>] partial [<"dp", sum>]>
#w1g = #dist.sharding<[<[<8>]>, <[<4>]>] partial [<"dp", sum>]>
module attributes {
    dist.mesh = #dist.mesh<[<"dp" = 2>, <"pp" = 2>, <"tp" = 1>]>,
    nn.training = {micro_batch = 4 : i64, micro_batches = 4 : i64, global_batch = 32 : i64, schedule = "1f1b",
                   recompute = "none", optimizer = "sgd", learning_rate = 0.1, momentum = 0.9, clip_norm = 1.0,
                   loss_seed = 32.0}} {
  func.func @accumulate(
      %x: tensor<4x8xf32> {nn.input = "x", dist.sharding = #rows8},
      %w0: tensor<8x8xf32> {nn.parameter = {name = "fc0.weight", file = 0 : i64, offset = 0 : i64, bytes = 256 : i64, trainable = true, decays = true}, dist.sharding = #w0},
      %w1: tensor<8x4xf32> {nn.parameter = {name = "fc1.weight", file = 0 : i64, offset = 256 : i64, bytes = 128 : i64, trainable = true, decays = true}, dist.sharding = #w1})
      -> (tensor<f32> {nn.loss = "sum", dist.sharding = #partial},
          tensor<f32> {nn.loss = "weight", dist.sharding = #partial},
          tensor<8x8xf32> {nn.gradient = "fc0.weight", dist.sharding = #w0g},
          tensor<8x4xf32> {nn.gradient = "fc1.weight", dist.sharding = #w1g}) {
    %h = nn.dot_general %x, %w0 batch [] x [] contract [1] x [0] {nn.origin = 0 : i64, dist.shardings = [#rows8]} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32> loc("fc0")
    %t = nn.tanh %h {nn.origin = 1 : i64, dist.shardings = [#rows8]} : tensor<4x8xf32> loc("tanh")
    %y = nn.dot_general %t, %w1 batch [] x [] contract [1] x [0] {nn.origin = 2 : i64, dist.shardings = [#rows4]} : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32> loc("fc1")
    %q = nn.mul %y, %y {nn.origin = 3 : i64, dist.shardings = [#rows4]} : tensor<4x4xf32> loc("loss")
    %s = nn.reduce sum, %q dims [0, 1] {nn.origin = 3 : i64, dist.shardings = [#partial]} : tensor<4x4xf32> -> tensor<f32> loc("loss")
    %w = nn.constant dense<4.0> : tensor<f32> {nn.origin = 3 : i64, dist.shardings = [#partial]} loc("loss")
    %c = nn.constant dense<0.0625> : tensor<f32> {nn.origin = 3 : i64, nn.backward, dist.shardings = [#scalar]} loc("gradient of loss")
    %cb = nn.broadcast_in_dim %c dims [] {nn.origin = 3 : i64, nn.backward, dist.shardings = [#rows4]} : tensor<f32> -> tensor<4x4xf32> loc("gradient of loss")
    %dy = nn.mul %y, %cb {nn.origin = 3 : i64, nn.backward, dist.shardings = [#rows4]} : tensor<4x4xf32> loc("gradient of loss")
    %dw1 = nn.dot_general %t, %dy batch [] x [] contract [0] x [0] {nn.origin = 2 : i64, nn.backward, dist.shardings = [#w1g]} : (tensor<4x8xf32>, tensor<4x4xf32>) -> tensor<8x4xf32> loc("gradient of fc1")
    %dt = nn.dot_general %dy, %w1 batch [] x [] contract [1] x [1] {nn.origin = 2 : i64, nn.backward, dist.shardings = [#rows8]} : (tensor<4x4xf32>, tensor<8x4xf32>) -> tensor<4x8xf32> loc("gradient of fc1")
    %one = nn.constant dense<1.0> : tensor<4x8xf32> {nn.origin = 1 : i64, nn.backward, dist.shardings = [#rows8]} loc("gradient of tanh")
    %tt = nn.mul %t, %t {nn.origin = 1 : i64, nn.backward, dist.shardings = [#rows8]} : tensor<4x8xf32> loc("gradient of tanh")
    %d = nn.sub %one, %tt {nn.origin = 1 : i64, nn.backward, dist.shardings = [#rows8]} : tensor<4x8xf32> loc("gradient of tanh")
    %dh = nn.mul %dt, %d {nn.origin = 1 : i64, nn.backward, dist.shardings = [#rows8]} : tensor<4x8xf32> loc("gradient of tanh")
    %dw0 = nn.dot_general %x, %dh batch [] x [] contract [0] x [0] {nn.origin = 0 : i64, nn.backward, dist.shardings = [#w0g]} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32> loc("gradient of fc0")
    return %s, %w, %dw0, %dw1 : tensor<f32>, tensor<f32>, tensor<8x8xf32>, tensor<8x4xf32>
  }
  func.func @update(
      %w0: tensor<8x8xf32> {nn.parameter = {name = "fc0.weight", file = 0 : i64, offset = 0 : i64, bytes = 256 : i64, trainable = true, decays = true}, dist.sharding = #w0},
      %w1: tensor<8x4xf32> {nn.parameter = {name = "fc1.weight", file = 0 : i64, offset = 256 : i64, bytes = 128 : i64, trainable = true, decays = true}, dist.sharding = #w1},
      %g0: tensor<8x8xf32> {nn.gradient = "fc0.weight", dist.sharding = #w0},
      %g1: tensor<8x4xf32> {nn.gradient = "fc1.weight", dist.sharding = #w1},
      %m0: tensor<8x8xf32> {nn.state = {name = "fc0.weight/momentum", parameter = "fc0.weight", initial = 0.0 : f64}, dist.sharding = #w0},
      %m1: tensor<8x4xf32> {nn.state = {name = "fc1.weight/momentum", parameter = "fc1.weight", initial = 0.0 : f64}, dist.sharding = #w1},
      %steps: tensor<f64> {nn.state = {name = "steps", initial = 0.0 : f64}, dist.sharding = #scalar},
      %scale: tensor<f32> {nn.scalar = "scale", dist.sharding = #scalar},
      %skip: tensor<i1> {nn.scalar = "skip", dist.sharding = #scalar})
      -> (tensor<8x8xf32> {nn.parameter = {name = "fc0.weight"}, dist.sharding = #w0},
          tensor<8x4xf32> {nn.parameter = {name = "fc1.weight"}, dist.sharding = #w1},
          tensor<8x8xf32> {nn.state = {name = "fc0.weight/momentum", parameter = "fc0.weight"}, dist.sharding = #w0},
          tensor<8x4xf32> {nn.state = {name = "fc1.weight/momentum", parameter = "fc1.weight"}, dist.sharding = #w1},
          tensor<f64> {nn.state = {name = "steps"}, dist.sharding = #scalar}) {
    %lr = nn.control learning_rate {nn.origin = -1 : i64} : tensor<f32>
    %lr0 = nn.broadcast_in_dim %lr dims [] {nn.origin = -1 : i64} : tensor<f32> -> tensor<8x8xf32>
    %lr1 = nn.broadcast_in_dim %lr dims [] {nn.origin = -1 : i64} : tensor<f32> -> tensor<8x4xf32>
    %scale0 = nn.broadcast_in_dim %scale dims [] {nn.origin = -1 : i64} : tensor<f32> -> tensor<8x8xf32>
    %scale1 = nn.broadcast_in_dim %scale dims [] {nn.origin = -1 : i64} : tensor<f32> -> tensor<8x4xf32>
    %skip0 = nn.broadcast_in_dim %skip dims [] {nn.origin = -1 : i64} : tensor<i1> -> tensor<8x8xi1>
    %skip1 = nn.broadcast_in_dim %skip dims [] {nn.origin = -1 : i64} : tensor<i1> -> tensor<8x4xi1>
    %mu0 = nn.constant dense<0.9> : tensor<8x8xf32> {nn.origin = -1 : i64}
    %mu1 = nn.constant dense<0.9> : tensor<8x4xf32> {nn.origin = -1 : i64}
    %sg0 = nn.mul %g0, %scale0 {nn.origin = -1 : i64} : tensor<8x8xf32>
    %d0 = nn.mul %m0, %mu0 {nn.origin = -1 : i64} : tensor<8x8xf32>
    %n0 = nn.add %d0, %sg0 {nn.origin = -1 : i64} : tensor<8x8xf32>
    %s0 = nn.mul %n0, %lr0 {nn.origin = -1 : i64} : tensor<8x8xf32>
    %p0 = nn.sub %w0, %s0 {nn.origin = -1 : i64} : tensor<8x8xf32>
    %rp0 = nn.select %skip0, %w0, %p0 {nn.origin = -1 : i64} : tensor<8x8xi1>, tensor<8x8xf32>
    %rm0 = nn.select %skip0, %m0, %n0 {nn.origin = -1 : i64} : tensor<8x8xi1>, tensor<8x8xf32>
    %sg1 = nn.mul %g1, %scale1 {nn.origin = -1 : i64} : tensor<8x4xf32>
    %d1 = nn.mul %m1, %mu1 {nn.origin = -1 : i64} : tensor<8x4xf32>
    %n1 = nn.add %d1, %sg1 {nn.origin = -1 : i64} : tensor<8x4xf32>
    %s1 = nn.mul %n1, %lr1 {nn.origin = -1 : i64} : tensor<8x4xf32>
    %p1 = nn.sub %w1, %s1 {nn.origin = -1 : i64} : tensor<8x4xf32>
    %rp1 = nn.select %skip1, %w1, %p1 {nn.origin = -1 : i64} : tensor<8x4xi1>, tensor<8x4xf32>
    %rm1 = nn.select %skip1, %m1, %n1 {nn.origin = -1 : i64} : tensor<8x4xi1>, tensor<8x4xf32>
    %stepOne = nn.constant dense<1.0> : tensor<f64> {nn.origin = -1 : i64}
    %next = nn.add %steps, %stepOne {nn.origin = -1 : i64} : tensor<f64>
    %rs = nn.select %skip, %steps, %next {nn.origin = -1 : i64} : tensor<i1>, tensor<f64>
    return %rp0, %rp1, %rm0, %rm1, %rs : tensor<8x8xf32>, tensor<8x4xf32>, tensor<8x8xf32>, tensor<8x4xf32>, tensor<f64>
  }
}
