// RUN: shardc-opt %s --codegen-select-calls --verify-diagnostics

func.func @integers(%x: tensor<8x64xi64>, %y: tensor<64x32xi64>) -> tensor<8x32xi64> {
  // expected-error @+1 {{products need element type f32, bf16 or f16, got 'i64' [kernel-type]}}
  %0 = nn.dot_general %x, %y batch [] x [] contract [1] x [0] : (tensor<8x64xi64>, tensor<64x32xi64>) -> tensor<8x32xi64>
  return %0 : tensor<8x32xi64>
}
