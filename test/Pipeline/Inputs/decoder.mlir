// A decoder of four layers with attention, dropout and a tied embedding.
module attributes {
    dist.mesh = #dist.mesh<[<"dp" = 1>, <"pp" = 1>, <"tp" = 1>]>,
    nn.inputs = [{name = "tokens", role = "tokens", index_bound = 8 : i64},
                 {name = "labels", role = "labels", index_bound = 8 : i64, ignore_value = -100 : i64}],
    nn.training = {micro_batch = 2 : i64, micro_batches = 4 : i64, global_batch = 8 : i64, schedule = "1f1b",
                   recompute = "none", optimizer = "adamw", learning_rate = 0.01, momentum = 0.9, beta1 = 0.9,
                   beta2 = 0.95, epsilon = 1.0e-8, weight_decay = 0.1, clip_norm = 1.0, lr_schedule = "constant",
                   warmup_steps = 0 : i64, total_steps = 10 : i64, dropout = 0.25}} {
  func.func @forward(
      %tokens: tensor<2x4xi64> {nn.input = "tokens"},
      %labels: tensor<2x4xi64> {nn.input = "labels"},
      %wte: tensor<8x8xf32> {nn.parameter = {name = "wte", file = 0 : i64, offset = 0 : i64, bytes = 256 : i64, trainable = true, decays = true}},
      %h_0_g1: tensor<8xf32> {nn.parameter = {name = "h.0.g1", file = 0 : i64, offset = 256 : i64, bytes = 32 : i64, trainable = true, decays = false}},
      %h_0_b1: tensor<8xf32> {nn.parameter = {name = "h.0.b1", file = 0 : i64, offset = 288 : i64, bytes = 32 : i64, trainable = true, decays = false}},
      %h_0_qkv: tensor<24x8xf32> {nn.parameter = {name = "h.0.qkv", file = 0 : i64, offset = 320 : i64, bytes = 768 : i64, trainable = true, decays = true}},
      %h_0_out: tensor<8x8xf32> {nn.parameter = {name = "h.0.out", file = 0 : i64, offset = 1088 : i64, bytes = 256 : i64, trainable = true, decays = true}},
      %h_0_g2: tensor<8xf32> {nn.parameter = {name = "h.0.g2", file = 0 : i64, offset = 1344 : i64, bytes = 32 : i64, trainable = true, decays = false}},
      %h_0_b2: tensor<8xf32> {nn.parameter = {name = "h.0.b2", file = 0 : i64, offset = 1376 : i64, bytes = 32 : i64, trainable = true, decays = false}},
      %h_0_fc: tensor<16x8xf32> {nn.parameter = {name = "h.0.fc", file = 0 : i64, offset = 1408 : i64, bytes = 512 : i64, trainable = true, decays = true}},
      %h_0_proj: tensor<8x16xf32> {nn.parameter = {name = "h.0.proj", file = 0 : i64, offset = 1920 : i64, bytes = 512 : i64, trainable = true, decays = true}},
      %h_1_g1: tensor<8xf32> {nn.parameter = {name = "h.1.g1", file = 0 : i64, offset = 2432 : i64, bytes = 32 : i64, trainable = true, decays = false}},
      %h_1_b1: tensor<8xf32> {nn.parameter = {name = "h.1.b1", file = 0 : i64, offset = 2464 : i64, bytes = 32 : i64, trainable = true, decays = false}},
      %h_1_qkv: tensor<24x8xf32> {nn.parameter = {name = "h.1.qkv", file = 0 : i64, offset = 2496 : i64, bytes = 768 : i64, trainable = true, decays = true}},
      %h_1_out: tensor<8x8xf32> {nn.parameter = {name = "h.1.out", file = 0 : i64, offset = 3264 : i64, bytes = 256 : i64, trainable = true, decays = true}},
      %h_1_g2: tensor<8xf32> {nn.parameter = {name = "h.1.g2", file = 0 : i64, offset = 3520 : i64, bytes = 32 : i64, trainable = true, decays = false}},
      %h_1_b2: tensor<8xf32> {nn.parameter = {name = "h.1.b2", file = 0 : i64, offset = 3552 : i64, bytes = 32 : i64, trainable = true, decays = false}},
      %h_1_fc: tensor<16x8xf32> {nn.parameter = {name = "h.1.fc", file = 0 : i64, offset = 3584 : i64, bytes = 512 : i64, trainable = true, decays = true}},
      %h_1_proj: tensor<8x16xf32> {nn.parameter = {name = "h.1.proj", file = 0 : i64, offset = 4096 : i64, bytes = 512 : i64, trainable = true, decays = true}},
      %h_2_g1: tensor<8xf32> {nn.parameter = {name = "h.2.g1", file = 0 : i64, offset = 4608 : i64, bytes = 32 : i64, trainable = true, decays = false}},
      %h_2_b1: tensor<8xf32> {nn.parameter = {name = "h.2.b1", file = 0 : i64, offset = 4640 : i64, bytes = 32 : i64, trainable = true, decays = false}},
      %h_2_qkv: tensor<24x8xf32> {nn.parameter = {name = "h.2.qkv", file = 0 : i64, offset = 4672 : i64, bytes = 768 : i64, trainable = true, decays = true}},
      %h_2_out: tensor<8x8xf32> {nn.parameter = {name = "h.2.out", file = 0 : i64, offset = 5440 : i64, bytes = 256 : i64, trainable = true, decays = true}},
      %h_2_g2: tensor<8xf32> {nn.parameter = {name = "h.2.g2", file = 0 : i64, offset = 5696 : i64, bytes = 32 : i64, trainable = true, decays = false}},
      %h_2_b2: tensor<8xf32> {nn.parameter = {name = "h.2.b2", file = 0 : i64, offset = 5728 : i64, bytes = 32 : i64, trainable = true, decays = false}},
      %h_2_fc: tensor<16x8xf32> {nn.parameter = {name = "h.2.fc", file = 0 : i64, offset = 5760 : i64, bytes = 512 : i64, trainable = true, decays = true}},
      %h_2_proj: tensor<8x16xf32> {nn.parameter = {name = "h.2.proj", file = 0 : i64, offset = 6272 : i64, bytes = 512 : i64, trainable = true, decays = true}},
      %h_3_g1: tensor<8xf32> {nn.parameter = {name = "h.3.g1", file = 0 : i64, offset = 6784 : i64, bytes = 32 : i64, trainable = true, decays = false}},
      %h_3_b1: tensor<8xf32> {nn.parameter = {name = "h.3.b1", file = 0 : i64, offset = 6816 : i64, bytes = 32 : i64, trainable = true, decays = false}},
      %h_3_qkv: tensor<24x8xf32> {nn.parameter = {name = "h.3.qkv", file = 0 : i64, offset = 6848 : i64, bytes = 768 : i64, trainable = true, decays = true}},
      %h_3_out: tensor<8x8xf32> {nn.parameter = {name = "h.3.out", file = 0 : i64, offset = 7616 : i64, bytes = 256 : i64, trainable = true, decays = true}},
      %h_3_g2: tensor<8xf32> {nn.parameter = {name = "h.3.g2", file = 0 : i64, offset = 7872 : i64, bytes = 32 : i64, trainable = true, decays = false}},
      %h_3_b2: tensor<8xf32> {nn.parameter = {name = "h.3.b2", file = 0 : i64, offset = 7904 : i64, bytes = 32 : i64, trainable = true, decays = false}},
      %h_3_fc: tensor<16x8xf32> {nn.parameter = {name = "h.3.fc", file = 0 : i64, offset = 7936 : i64, bytes = 512 : i64, trainable = true, decays = true}},
      %h_3_proj: tensor<8x16xf32> {nn.parameter = {name = "h.3.proj", file = 0 : i64, offset = 8448 : i64, bytes = 512 : i64, trainable = true, decays = true}},
      %gf: tensor<8xf32> {nn.parameter = {name = "gf", file = 0 : i64, offset = 8960 : i64, bytes = 32 : i64, trainable = true, decays = false}},
      %bf: tensor<8xf32> {nn.parameter = {name = "bf", file = 0 : i64, offset = 8992 : i64, bytes = 32 : i64, trainable = true, decays = false}})
      -> (tensor<f32> {nn.loss = "sum"}, tensor<f32> {nn.loss = "weight"}) {
    %0 = nn.gather %wte, %tokens axis 0 {nn.origin = 0 : i64} : (tensor<8x8xf32>, tensor<2x4xi64>) -> tensor<2x4x8xf32> loc("wte/Gather")
    %1 = nn.control sample_offset {nn.origin = 1 : i64} : tensor<i64> loc("dropout")
    %2:3 = nn.norm layer, %0 scale %h_0_g1 bias %h_0_b1 axis 2 epsilon 1.0e-05 {nn.origin = 2 : i64} : tensor<2x4x8xf32>, tensor<2x4xf32> scale tensor<8xf32> bias tensor<8xf32> loc("h.0/ln_1")
    %3 = nn.dot_general %2#0, %h_0_qkv batch [] x [] contract [2] x [1] {nn.origin = 3 : i64} : (tensor<2x4x8xf32>, tensor<24x8xf32>) -> tensor<2x4x24xf32> loc("h.0/attn/qkv")
    %4 = nn.slice %3 [0, 0, 0] to [2, 4, 8] by [1, 1, 1] {nn.origin = 4 : i64} : tensor<2x4x24xf32> -> tensor<2x4x8xf32> loc("h.0/attn/Split_q")
    %5 = nn.reshape %4 {nn.origin = 5 : i64} : tensor<2x4x8xf32> -> tensor<2x4x2x4xf32> loc("h.0/attn/Reshape_q")
    %6 = nn.transpose %5 perm [0, 2, 1, 3] {nn.origin = 6 : i64} : tensor<2x4x2x4xf32> -> tensor<2x2x4x4xf32> loc("h.0/attn/Transpose_q")
    %7 = nn.slice %3 [0, 0, 8] to [2, 4, 16] by [1, 1, 1] {nn.origin = 7 : i64} : tensor<2x4x24xf32> -> tensor<2x4x8xf32> loc("h.0/attn/Split_k")
    %8 = nn.reshape %7 {nn.origin = 8 : i64} : tensor<2x4x8xf32> -> tensor<2x4x2x4xf32> loc("h.0/attn/Reshape_k")
    %9 = nn.transpose %8 perm [0, 2, 1, 3] {nn.origin = 9 : i64} : tensor<2x4x2x4xf32> -> tensor<2x2x4x4xf32> loc("h.0/attn/Transpose_k")
    %10 = nn.slice %3 [0, 0, 16] to [2, 4, 24] by [1, 1, 1] {nn.origin = 10 : i64} : tensor<2x4x24xf32> -> tensor<2x4x8xf32> loc("h.0/attn/Split_v")
    %11 = nn.reshape %10 {nn.origin = 11 : i64} : tensor<2x4x8xf32> -> tensor<2x4x2x4xf32> loc("h.0/attn/Reshape_v")
    %12 = nn.transpose %11 perm [0, 2, 1, 3] {nn.origin = 12 : i64} : tensor<2x4x2x4xf32> -> tensor<2x2x4x4xf32> loc("h.0/attn/Transpose_v")
    %13 = nn.dot_general %6, %9 batch [0, 1] x [0, 1] contract [3] x [3] {nn.origin = 13 : i64} : (tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32> loc("h.0/attn/MatMul")
    %14 = nn.constant dense<0.5> : tensor<2x2x4x4xf32> {nn.origin = 14 : i64} loc("h.0/attn/Mul")
    %15 = nn.mul %13, %14 {nn.origin = 14 : i64} : tensor<2x2x4x4xf32> loc("h.0/attn/Mul")
    %16 = nn.iota dim 2 {nn.origin = 15 : i64} : tensor<2x2x4x4xi64> loc("h.0/attn/Where")
    %17 = nn.iota dim 3 {nn.origin = 15 : i64} : tensor<2x2x4x4xi64> loc("h.0/attn/Where")
    %18 = nn.compare ge, %16, %17 {nn.origin = 15 : i64} : tensor<2x2x4x4xi64> -> tensor<2x2x4x4xi1> loc("h.0/attn/Where")
    %19 = nn.constant dense<-1.0e9> : tensor<2x2x4x4xf32> {nn.origin = 15 : i64} loc("h.0/attn/Where")
    %20 = nn.select %18, %15, %19 {nn.origin = 15 : i64} : tensor<2x2x4x4xi1>, tensor<2x2x4x4xf32> loc("h.0/attn/Where")
    %21 = nn.softmax %20 axis 3 {nn.origin = 16 : i64} : tensor<2x2x4x4xf32> loc("h.0/attn/Softmax")
    %22 = nn.constant dense<32> : tensor<i64> {nn.origin = 17 : i64} loc("h.0/attn/Dropout")
    %23 = nn.mul %1, %22 {nn.origin = 17 : i64} : tensor<i64> loc("h.0/attn/Dropout")
    %24 = nn.rng_uniform %23 id 0 strides [32, 16, 4, 1] {nn.origin = 17 : i64} : tensor<i64> -> tensor<2x2x4x4xf32> loc("h.0/attn/Dropout")
    %25 = nn.constant dense<0.25> : tensor<2x2x4x4xf32> {nn.origin = 17 : i64} loc("h.0/attn/Dropout")
    %26 = nn.compare ge, %24, %25 {nn.origin = 17 : i64} : tensor<2x2x4x4xf32> -> tensor<2x2x4x4xi1> loc("h.0/attn/Dropout")
    %27 = nn.constant dense<0.0> : tensor<2x2x4x4xf32> {nn.origin = 17 : i64} loc("h.0/attn/Dropout")
    %28 = nn.select %26, %21, %27 {nn.origin = 17 : i64} : tensor<2x2x4x4xi1>, tensor<2x2x4x4xf32> loc("h.0/attn/Dropout")
    %29 = nn.dot_general %28, %12 batch [0, 1] x [0, 1] contract [3] x [2] {nn.origin = 18 : i64} : (tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32> loc("h.0/attn/MatMul_1")
    %30 = nn.transpose %29 perm [0, 2, 1, 3] {nn.origin = 19 : i64} : tensor<2x2x4x4xf32> -> tensor<2x4x2x4xf32> loc("h.0/attn/Transpose_3")
    %31 = nn.reshape %30 {nn.origin = 20 : i64} : tensor<2x4x2x4xf32> -> tensor<2x4x8xf32> loc("h.0/attn/Reshape_3")
    %32 = nn.dot_general %31, %h_0_out batch [] x [] contract [2] x [1] {nn.origin = 21 : i64} : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32> loc("h.0/attn/out")
    %33 = nn.add %0, %32 {nn.origin = 22 : i64} : tensor<2x4x8xf32> loc("h.0/Add")
    %34:3 = nn.norm layer, %33 scale %h_0_g2 bias %h_0_b2 axis 2 epsilon 1.0e-05 {nn.origin = 23 : i64} : tensor<2x4x8xf32>, tensor<2x4xf32> scale tensor<8xf32> bias tensor<8xf32> loc("h.0/ln_2")
    %35 = nn.dot_general %34#0, %h_0_fc batch [] x [] contract [2] x [1] {nn.origin = 24 : i64} : (tensor<2x4x8xf32>, tensor<16x8xf32>) -> tensor<2x4x16xf32> loc("h.0/mlp/fc")
    %36 = nn.logistic %35 {nn.origin = 25 : i64} : tensor<2x4x16xf32> loc("h.0/mlp/Sigmoid")
    %37 = nn.mul %35, %36 {nn.origin = 26 : i64} : tensor<2x4x16xf32> loc("h.0/mlp/Mul")
    %38 = nn.dot_general %37, %h_0_proj batch [] x [] contract [2] x [1] {nn.origin = 27 : i64} : (tensor<2x4x16xf32>, tensor<8x16xf32>) -> tensor<2x4x8xf32> loc("h.0/mlp/proj")
    %39 = nn.add %33, %38 {nn.origin = 28 : i64} : tensor<2x4x8xf32> loc("h.0/Add_1")
    %40:3 = nn.norm layer, %39 scale %h_1_g1 bias %h_1_b1 axis 2 epsilon 1.0e-05 {nn.origin = 29 : i64} : tensor<2x4x8xf32>, tensor<2x4xf32> scale tensor<8xf32> bias tensor<8xf32> loc("h.1/ln_1")
    %41 = nn.dot_general %40#0, %h_1_qkv batch [] x [] contract [2] x [1] {nn.origin = 30 : i64} : (tensor<2x4x8xf32>, tensor<24x8xf32>) -> tensor<2x4x24xf32> loc("h.1/attn/qkv")
    %42 = nn.slice %41 [0, 0, 0] to [2, 4, 8] by [1, 1, 1] {nn.origin = 31 : i64} : tensor<2x4x24xf32> -> tensor<2x4x8xf32> loc("h.1/attn/Split_q")
    %43 = nn.reshape %42 {nn.origin = 32 : i64} : tensor<2x4x8xf32> -> tensor<2x4x2x4xf32> loc("h.1/attn/Reshape_q")
    %44 = nn.transpose %43 perm [0, 2, 1, 3] {nn.origin = 33 : i64} : tensor<2x4x2x4xf32> -> tensor<2x2x4x4xf32> loc("h.1/attn/Transpose_q")
    %45 = nn.slice %41 [0, 0, 8] to [2, 4, 16] by [1, 1, 1] {nn.origin = 34 : i64} : tensor<2x4x24xf32> -> tensor<2x4x8xf32> loc("h.1/attn/Split_k")
    %46 = nn.reshape %45 {nn.origin = 35 : i64} : tensor<2x4x8xf32> -> tensor<2x4x2x4xf32> loc("h.1/attn/Reshape_k")
    %47 = nn.transpose %46 perm [0, 2, 1, 3] {nn.origin = 36 : i64} : tensor<2x4x2x4xf32> -> tensor<2x2x4x4xf32> loc("h.1/attn/Transpose_k")
    %48 = nn.slice %41 [0, 0, 16] to [2, 4, 24] by [1, 1, 1] {nn.origin = 37 : i64} : tensor<2x4x24xf32> -> tensor<2x4x8xf32> loc("h.1/attn/Split_v")
    %49 = nn.reshape %48 {nn.origin = 38 : i64} : tensor<2x4x8xf32> -> tensor<2x4x2x4xf32> loc("h.1/attn/Reshape_v")
    %50 = nn.transpose %49 perm [0, 2, 1, 3] {nn.origin = 39 : i64} : tensor<2x4x2x4xf32> -> tensor<2x2x4x4xf32> loc("h.1/attn/Transpose_v")
    %51 = nn.dot_general %44, %47 batch [0, 1] x [0, 1] contract [3] x [3] {nn.origin = 40 : i64} : (tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32> loc("h.1/attn/MatMul")
    %52 = nn.constant dense<0.5> : tensor<2x2x4x4xf32> {nn.origin = 41 : i64} loc("h.1/attn/Mul")
    %53 = nn.mul %51, %52 {nn.origin = 41 : i64} : tensor<2x2x4x4xf32> loc("h.1/attn/Mul")
    %54 = nn.iota dim 2 {nn.origin = 42 : i64} : tensor<2x2x4x4xi64> loc("h.1/attn/Where")
    %55 = nn.iota dim 3 {nn.origin = 42 : i64} : tensor<2x2x4x4xi64> loc("h.1/attn/Where")
    %56 = nn.compare ge, %54, %55 {nn.origin = 42 : i64} : tensor<2x2x4x4xi64> -> tensor<2x2x4x4xi1> loc("h.1/attn/Where")
    %57 = nn.constant dense<-1.0e9> : tensor<2x2x4x4xf32> {nn.origin = 42 : i64} loc("h.1/attn/Where")
    %58 = nn.select %56, %53, %57 {nn.origin = 42 : i64} : tensor<2x2x4x4xi1>, tensor<2x2x4x4xf32> loc("h.1/attn/Where")
    %59 = nn.softmax %58 axis 3 {nn.origin = 43 : i64} : tensor<2x2x4x4xf32> loc("h.1/attn/Softmax")
    %60 = nn.constant dense<32> : tensor<i64> {nn.origin = 44 : i64} loc("h.1/attn/Dropout")
    %61 = nn.mul %1, %60 {nn.origin = 44 : i64} : tensor<i64> loc("h.1/attn/Dropout")
    %62 = nn.rng_uniform %61 id 1 strides [32, 16, 4, 1] {nn.origin = 44 : i64} : tensor<i64> -> tensor<2x2x4x4xf32> loc("h.1/attn/Dropout")
    %63 = nn.constant dense<0.25> : tensor<2x2x4x4xf32> {nn.origin = 44 : i64} loc("h.1/attn/Dropout")
    %64 = nn.compare ge, %62, %63 {nn.origin = 44 : i64} : tensor<2x2x4x4xf32> -> tensor<2x2x4x4xi1> loc("h.1/attn/Dropout")
    %65 = nn.constant dense<0.0> : tensor<2x2x4x4xf32> {nn.origin = 44 : i64} loc("h.1/attn/Dropout")
    %66 = nn.select %64, %59, %65 {nn.origin = 44 : i64} : tensor<2x2x4x4xi1>, tensor<2x2x4x4xf32> loc("h.1/attn/Dropout")
    %67 = nn.dot_general %66, %50 batch [0, 1] x [0, 1] contract [3] x [2] {nn.origin = 45 : i64} : (tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32> loc("h.1/attn/MatMul_1")
    %68 = nn.transpose %67 perm [0, 2, 1, 3] {nn.origin = 46 : i64} : tensor<2x2x4x4xf32> -> tensor<2x4x2x4xf32> loc("h.1/attn/Transpose_3")
    %69 = nn.reshape %68 {nn.origin = 47 : i64} : tensor<2x4x2x4xf32> -> tensor<2x4x8xf32> loc("h.1/attn/Reshape_3")
    %70 = nn.dot_general %69, %h_1_out batch [] x [] contract [2] x [1] {nn.origin = 48 : i64} : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32> loc("h.1/attn/out")
    %71 = nn.add %39, %70 {nn.origin = 49 : i64} : tensor<2x4x8xf32> loc("h.1/Add")
    %72:3 = nn.norm layer, %71 scale %h_1_g2 bias %h_1_b2 axis 2 epsilon 1.0e-05 {nn.origin = 50 : i64} : tensor<2x4x8xf32>, tensor<2x4xf32> scale tensor<8xf32> bias tensor<8xf32> loc("h.1/ln_2")
    %73 = nn.dot_general %72#0, %h_1_fc batch [] x [] contract [2] x [1] {nn.origin = 51 : i64} : (tensor<2x4x8xf32>, tensor<16x8xf32>) -> tensor<2x4x16xf32> loc("h.1/mlp/fc")
    %74 = nn.logistic %73 {nn.origin = 52 : i64} : tensor<2x4x16xf32> loc("h.1/mlp/Sigmoid")
    %75 = nn.mul %73, %74 {nn.origin = 53 : i64} : tensor<2x4x16xf32> loc("h.1/mlp/Mul")
    %76 = nn.dot_general %75, %h_1_proj batch [] x [] contract [2] x [1] {nn.origin = 54 : i64} : (tensor<2x4x16xf32>, tensor<8x16xf32>) -> tensor<2x4x8xf32> loc("h.1/mlp/proj")
    %77 = nn.add %71, %76 {nn.origin = 55 : i64} : tensor<2x4x8xf32> loc("h.1/Add_1")
    %78:3 = nn.norm layer, %77 scale %h_2_g1 bias %h_2_b1 axis 2 epsilon 1.0e-05 {nn.origin = 56 : i64} : tensor<2x4x8xf32>, tensor<2x4xf32> scale tensor<8xf32> bias tensor<8xf32> loc("h.2/ln_1")
    %79 = nn.dot_general %78#0, %h_2_qkv batch [] x [] contract [2] x [1] {nn.origin = 57 : i64} : (tensor<2x4x8xf32>, tensor<24x8xf32>) -> tensor<2x4x24xf32> loc("h.2/attn/qkv")
    %80 = nn.slice %79 [0, 0, 0] to [2, 4, 8] by [1, 1, 1] {nn.origin = 58 : i64} : tensor<2x4x24xf32> -> tensor<2x4x8xf32> loc("h.2/attn/Split_q")
    %81 = nn.reshape %80 {nn.origin = 59 : i64} : tensor<2x4x8xf32> -> tensor<2x4x2x4xf32> loc("h.2/attn/Reshape_q")
    %82 = nn.transpose %81 perm [0, 2, 1, 3] {nn.origin = 60 : i64} : tensor<2x4x2x4xf32> -> tensor<2x2x4x4xf32> loc("h.2/attn/Transpose_q")
    %83 = nn.slice %79 [0, 0, 8] to [2, 4, 16] by [1, 1, 1] {nn.origin = 61 : i64} : tensor<2x4x24xf32> -> tensor<2x4x8xf32> loc("h.2/attn/Split_k")
    %84 = nn.reshape %83 {nn.origin = 62 : i64} : tensor<2x4x8xf32> -> tensor<2x4x2x4xf32> loc("h.2/attn/Reshape_k")
    %85 = nn.transpose %84 perm [0, 2, 1, 3] {nn.origin = 63 : i64} : tensor<2x4x2x4xf32> -> tensor<2x2x4x4xf32> loc("h.2/attn/Transpose_k")
    %86 = nn.slice %79 [0, 0, 16] to [2, 4, 24] by [1, 1, 1] {nn.origin = 64 : i64} : tensor<2x4x24xf32> -> tensor<2x4x8xf32> loc("h.2/attn/Split_v")
    %87 = nn.reshape %86 {nn.origin = 65 : i64} : tensor<2x4x8xf32> -> tensor<2x4x2x4xf32> loc("h.2/attn/Reshape_v")
    %88 = nn.transpose %87 perm [0, 2, 1, 3] {nn.origin = 66 : i64} : tensor<2x4x2x4xf32> -> tensor<2x2x4x4xf32> loc("h.2/attn/Transpose_v")
    %89 = nn.dot_general %82, %85 batch [0, 1] x [0, 1] contract [3] x [3] {nn.origin = 67 : i64} : (tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32> loc("h.2/attn/MatMul")
    %90 = nn.constant dense<0.5> : tensor<2x2x4x4xf32> {nn.origin = 68 : i64} loc("h.2/attn/Mul")
    %91 = nn.mul %89, %90 {nn.origin = 68 : i64} : tensor<2x2x4x4xf32> loc("h.2/attn/Mul")
    %92 = nn.iota dim 2 {nn.origin = 69 : i64} : tensor<2x2x4x4xi64> loc("h.2/attn/Where")
    %93 = nn.iota dim 3 {nn.origin = 69 : i64} : tensor<2x2x4x4xi64> loc("h.2/attn/Where")
    %94 = nn.compare ge, %92, %93 {nn.origin = 69 : i64} : tensor<2x2x4x4xi64> -> tensor<2x2x4x4xi1> loc("h.2/attn/Where")
    %95 = nn.constant dense<-1.0e9> : tensor<2x2x4x4xf32> {nn.origin = 69 : i64} loc("h.2/attn/Where")
    %96 = nn.select %94, %91, %95 {nn.origin = 69 : i64} : tensor<2x2x4x4xi1>, tensor<2x2x4x4xf32> loc("h.2/attn/Where")
    %97 = nn.softmax %96 axis 3 {nn.origin = 70 : i64} : tensor<2x2x4x4xf32> loc("h.2/attn/Softmax")
    %98 = nn.constant dense<32> : tensor<i64> {nn.origin = 71 : i64} loc("h.2/attn/Dropout")
    %99 = nn.mul %1, %98 {nn.origin = 71 : i64} : tensor<i64> loc("h.2/attn/Dropout")
    %100 = nn.rng_uniform %99 id 2 strides [32, 16, 4, 1] {nn.origin = 71 : i64} : tensor<i64> -> tensor<2x2x4x4xf32> loc("h.2/attn/Dropout")
    %101 = nn.constant dense<0.25> : tensor<2x2x4x4xf32> {nn.origin = 71 : i64} loc("h.2/attn/Dropout")
    %102 = nn.compare ge, %100, %101 {nn.origin = 71 : i64} : tensor<2x2x4x4xf32> -> tensor<2x2x4x4xi1> loc("h.2/attn/Dropout")
    %103 = nn.constant dense<0.0> : tensor<2x2x4x4xf32> {nn.origin = 71 : i64} loc("h.2/attn/Dropout")
    %104 = nn.select %102, %97, %103 {nn.origin = 71 : i64} : tensor<2x2x4x4xi1>, tensor<2x2x4x4xf32> loc("h.2/attn/Dropout")
    %105 = nn.dot_general %104, %88 batch [0, 1] x [0, 1] contract [3] x [2] {nn.origin = 72 : i64} : (tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32> loc("h.2/attn/MatMul_1")
    %106 = nn.transpose %105 perm [0, 2, 1, 3] {nn.origin = 73 : i64} : tensor<2x2x4x4xf32> -> tensor<2x4x2x4xf32> loc("h.2/attn/Transpose_3")
    %107 = nn.reshape %106 {nn.origin = 74 : i64} : tensor<2x4x2x4xf32> -> tensor<2x4x8xf32> loc("h.2/attn/Reshape_3")
    %108 = nn.dot_general %107, %h_2_out batch [] x [] contract [2] x [1] {nn.origin = 75 : i64} : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32> loc("h.2/attn/out")
    %109 = nn.add %77, %108 {nn.origin = 76 : i64} : tensor<2x4x8xf32> loc("h.2/Add")
    %110:3 = nn.norm layer, %109 scale %h_2_g2 bias %h_2_b2 axis 2 epsilon 1.0e-05 {nn.origin = 77 : i64} : tensor<2x4x8xf32>, tensor<2x4xf32> scale tensor<8xf32> bias tensor<8xf32> loc("h.2/ln_2")
    %111 = nn.dot_general %110#0, %h_2_fc batch [] x [] contract [2] x [1] {nn.origin = 78 : i64} : (tensor<2x4x8xf32>, tensor<16x8xf32>) -> tensor<2x4x16xf32> loc("h.2/mlp/fc")
    %112 = nn.logistic %111 {nn.origin = 79 : i64} : tensor<2x4x16xf32> loc("h.2/mlp/Sigmoid")
    %113 = nn.mul %111, %112 {nn.origin = 80 : i64} : tensor<2x4x16xf32> loc("h.2/mlp/Mul")
    %114 = nn.dot_general %113, %h_2_proj batch [] x [] contract [2] x [1] {nn.origin = 81 : i64} : (tensor<2x4x16xf32>, tensor<8x16xf32>) -> tensor<2x4x8xf32> loc("h.2/mlp/proj")
    %115 = nn.add %109, %114 {nn.origin = 82 : i64} : tensor<2x4x8xf32> loc("h.2/Add_1")
    %116:3 = nn.norm layer, %115 scale %h_3_g1 bias %h_3_b1 axis 2 epsilon 1.0e-05 {nn.origin = 83 : i64} : tensor<2x4x8xf32>, tensor<2x4xf32> scale tensor<8xf32> bias tensor<8xf32> loc("h.3/ln_1")
    %117 = nn.dot_general %116#0, %h_3_qkv batch [] x [] contract [2] x [1] {nn.origin = 84 : i64} : (tensor<2x4x8xf32>, tensor<24x8xf32>) -> tensor<2x4x24xf32> loc("h.3/attn/qkv")
    %118 = nn.slice %117 [0, 0, 0] to [2, 4, 8] by [1, 1, 1] {nn.origin = 85 : i64} : tensor<2x4x24xf32> -> tensor<2x4x8xf32> loc("h.3/attn/Split_q")
    %119 = nn.reshape %118 {nn.origin = 86 : i64} : tensor<2x4x8xf32> -> tensor<2x4x2x4xf32> loc("h.3/attn/Reshape_q")
    %120 = nn.transpose %119 perm [0, 2, 1, 3] {nn.origin = 87 : i64} : tensor<2x4x2x4xf32> -> tensor<2x2x4x4xf32> loc("h.3/attn/Transpose_q")
    %121 = nn.slice %117 [0, 0, 8] to [2, 4, 16] by [1, 1, 1] {nn.origin = 88 : i64} : tensor<2x4x24xf32> -> tensor<2x4x8xf32> loc("h.3/attn/Split_k")
    %122 = nn.reshape %121 {nn.origin = 89 : i64} : tensor<2x4x8xf32> -> tensor<2x4x2x4xf32> loc("h.3/attn/Reshape_k")
    %123 = nn.transpose %122 perm [0, 2, 1, 3] {nn.origin = 90 : i64} : tensor<2x4x2x4xf32> -> tensor<2x2x4x4xf32> loc("h.3/attn/Transpose_k")
    %124 = nn.slice %117 [0, 0, 16] to [2, 4, 24] by [1, 1, 1] {nn.origin = 91 : i64} : tensor<2x4x24xf32> -> tensor<2x4x8xf32> loc("h.3/attn/Split_v")
    %125 = nn.reshape %124 {nn.origin = 92 : i64} : tensor<2x4x8xf32> -> tensor<2x4x2x4xf32> loc("h.3/attn/Reshape_v")
    %126 = nn.transpose %125 perm [0, 2, 1, 3] {nn.origin = 93 : i64} : tensor<2x4x2x4xf32> -> tensor<2x2x4x4xf32> loc("h.3/attn/Transpose_v")
    %127 = nn.dot_general %120, %123 batch [0, 1] x [0, 1] contract [3] x [3] {nn.origin = 94 : i64} : (tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32> loc("h.3/attn/MatMul")
    %128 = nn.constant dense<0.5> : tensor<2x2x4x4xf32> {nn.origin = 95 : i64} loc("h.3/attn/Mul")
    %129 = nn.mul %127, %128 {nn.origin = 95 : i64} : tensor<2x2x4x4xf32> loc("h.3/attn/Mul")
    %130 = nn.iota dim 2 {nn.origin = 96 : i64} : tensor<2x2x4x4xi64> loc("h.3/attn/Where")
    %131 = nn.iota dim 3 {nn.origin = 96 : i64} : tensor<2x2x4x4xi64> loc("h.3/attn/Where")
    %132 = nn.compare ge, %130, %131 {nn.origin = 96 : i64} : tensor<2x2x4x4xi64> -> tensor<2x2x4x4xi1> loc("h.3/attn/Where")
    %133 = nn.constant dense<-1.0e9> : tensor<2x2x4x4xf32> {nn.origin = 96 : i64} loc("h.3/attn/Where")
    %134 = nn.select %132, %129, %133 {nn.origin = 96 : i64} : tensor<2x2x4x4xi1>, tensor<2x2x4x4xf32> loc("h.3/attn/Where")
    %135 = nn.softmax %134 axis 3 {nn.origin = 97 : i64} : tensor<2x2x4x4xf32> loc("h.3/attn/Softmax")
    %136 = nn.constant dense<32> : tensor<i64> {nn.origin = 98 : i64} loc("h.3/attn/Dropout")
    %137 = nn.mul %1, %136 {nn.origin = 98 : i64} : tensor<i64> loc("h.3/attn/Dropout")
    %138 = nn.rng_uniform %137 id 3 strides [32, 16, 4, 1] {nn.origin = 98 : i64} : tensor<i64> -> tensor<2x2x4x4xf32> loc("h.3/attn/Dropout")
    %139 = nn.constant dense<0.25> : tensor<2x2x4x4xf32> {nn.origin = 98 : i64} loc("h.3/attn/Dropout")
    %140 = nn.compare ge, %138, %139 {nn.origin = 98 : i64} : tensor<2x2x4x4xf32> -> tensor<2x2x4x4xi1> loc("h.3/attn/Dropout")
    %141 = nn.constant dense<0.0> : tensor<2x2x4x4xf32> {nn.origin = 98 : i64} loc("h.3/attn/Dropout")
    %142 = nn.select %140, %135, %141 {nn.origin = 98 : i64} : tensor<2x2x4x4xi1>, tensor<2x2x4x4xf32> loc("h.3/attn/Dropout")
    %143 = nn.dot_general %142, %126 batch [0, 1] x [0, 1] contract [3] x [2] {nn.origin = 99 : i64} : (tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32> loc("h.3/attn/MatMul_1")
    %144 = nn.transpose %143 perm [0, 2, 1, 3] {nn.origin = 100 : i64} : tensor<2x2x4x4xf32> -> tensor<2x4x2x4xf32> loc("h.3/attn/Transpose_3")
    %145 = nn.reshape %144 {nn.origin = 101 : i64} : tensor<2x4x2x4xf32> -> tensor<2x4x8xf32> loc("h.3/attn/Reshape_3")
    %146 = nn.dot_general %145, %h_3_out batch [] x [] contract [2] x [1] {nn.origin = 102 : i64} : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32> loc("h.3/attn/out")
    %147 = nn.add %115, %146 {nn.origin = 103 : i64} : tensor<2x4x8xf32> loc("h.3/Add")
    %148:3 = nn.norm layer, %147 scale %h_3_g2 bias %h_3_b2 axis 2 epsilon 1.0e-05 {nn.origin = 104 : i64} : tensor<2x4x8xf32>, tensor<2x4xf32> scale tensor<8xf32> bias tensor<8xf32> loc("h.3/ln_2")
    %149 = nn.dot_general %148#0, %h_3_fc batch [] x [] contract [2] x [1] {nn.origin = 105 : i64} : (tensor<2x4x8xf32>, tensor<16x8xf32>) -> tensor<2x4x16xf32> loc("h.3/mlp/fc")
    %150 = nn.logistic %149 {nn.origin = 106 : i64} : tensor<2x4x16xf32> loc("h.3/mlp/Sigmoid")
    %151 = nn.mul %149, %150 {nn.origin = 107 : i64} : tensor<2x4x16xf32> loc("h.3/mlp/Mul")
    %152 = nn.dot_general %151, %h_3_proj batch [] x [] contract [2] x [1] {nn.origin = 108 : i64} : (tensor<2x4x16xf32>, tensor<8x16xf32>) -> tensor<2x4x8xf32> loc("h.3/mlp/proj")
    %153 = nn.add %147, %152 {nn.origin = 109 : i64} : tensor<2x4x8xf32> loc("h.3/Add_1")
    %154:3 = nn.norm layer, %153 scale %gf bias %bf axis 2 epsilon 1.0e-05 {nn.origin = 110 : i64} : tensor<2x4x8xf32>, tensor<2x4xf32> scale tensor<8xf32> bias tensor<8xf32> loc("ln_f")
    %155 = nn.dot_general %154#0, %wte batch [] x [] contract [2] x [1] {nn.origin = 111 : i64} : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32> loc("head")
    %156:2 = nn.cross_entropy %155, %labels ignore -100 {nn.origin = 112 : i64} : tensor<2x4x8xf32>, tensor<2x4xi64> -> tensor<2x4xf32> loc("loss")
    %157 = nn.reduce sum, %156#0 dims [0, 1] {nn.origin = 112 : i64} : tensor<2x4xf32> -> tensor<f32> loc("loss")
    %158 = nn.constant dense<-100> : tensor<2x4xi64> {nn.origin = 112 : i64} loc("loss")
    %159 = nn.compare ne, %labels, %158 {nn.origin = 112 : i64} : tensor<2x4xi64> -> tensor<2x4xi1> loc("loss")
    %160 = nn.convert %159 {nn.origin = 112 : i64} : tensor<2x4xi1> -> tensor<2x4xf32> loc("loss")
    %161 = nn.reduce sum, %160 dims [0, 1] {nn.origin = 112 : i64} : tensor<2x4xf32> -> tensor<f32> loc("loss")
    return %157, %161 : tensor<f32>, tensor<f32>
  }
}
