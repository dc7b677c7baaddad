// RUN: shardc-opt %s --codegen-select-calls --split-input-file | FileCheck %s

// Attention scores: two batch dimensions, the contracted one last on both sides.
// CHECK-LABEL: func.func @scores
// CHECK: %[[K:.*]] = nn.transpose %arg1 perm [0, 1, 3, 2]
// CHECK: exec.product %arg0, %[[K]] : (tensor<2x4x16x8xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x16x16xf32>
func.func @scores(%q: tensor<2x4x16x8xf32>, %k: tensor<2x4x16x8xf32>) -> tensor<2x4x16x16xf32> {
  %0 = nn.dot_general %q, %k batch [0, 1] x [0, 1] contract [3] x [3] : (tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>) -> tensor<2x4x16x16xf32>
  return %0 : tensor<2x4x16x16xf32>
}

// -----

// A weight's gradient contracts rows and columns of the batch; its transpose is accumulated in the other orientation.
// CHECK-LABEL: func.func @accumulate
// CHECK: %[[OLD:.*]] = nn.transpose %arg2 perm [1, 0]
// CHECK: %[[P:.*]] = exec.product %{{.*}}, %{{.*}} plus %[[OLD]] : (tensor<64x8xf32>, tensor<8x32xf32>, tensor<64x32xf32>)
// CHECK: %[[R:.*]] = nn.transpose %[[P]] perm [1, 0]
// CHECK: return %[[R]]
func.func @accumulate(%x: tensor<2x4x64xf32>, %dy: tensor<2x4x32xf32>,
                      %old: tensor<32x64xf32> {exec.bind = #exec.bind<gradient "w.grad">})
    -> (tensor<32x64xf32> {exec.bind = #exec.bind<gradient "w.grad">}) {
  %0 = nn.dot_general %x, %dy batch [] x [] contract [0, 1] x [0, 1] : (tensor<2x4x64xf32>, tensor<2x4x32xf32>) -> tensor<64x32xf32>
  %1 = nn.transpose %0 perm [1, 0] : tensor<64x32xf32> -> tensor<32x64xf32>
  %2 = nn.add %old, %1 : tensor<32x64xf32>
  return %2 : tensor<32x64xf32>
}

// -----

// Not the same buffer: the addition stays.
// CHECK-LABEL: func.func @other_buffer
// CHECK-NOT: plus
// CHECK: nn.add
func.func @other_buffer(%x: tensor<8x64xf32>, %dy: tensor<8x32xf32>,
                        %old: tensor<64x32xf32> {exec.bind = #exec.bind<gradient "v.grad">})
    -> (tensor<64x32xf32> {exec.bind = #exec.bind<gradient "w.grad">}) {
  %0 = nn.dot_general %x, %dy batch [] x [] contract [0] x [0] : (tensor<8x64xf32>, tensor<8x32xf32>) -> tensor<64x32xf32>
  %1 = nn.add %old, %0 : tensor<64x32xf32>
  return %1 : tensor<64x32xf32>
}

// -----

// The product has another use: the addition stays.
// CHECK-LABEL: func.func @other_use
// CHECK-NOT: plus
// CHECK: nn.add
func.func @other_use(%x: tensor<8x64xf32>, %dy: tensor<8x32xf32>,
                     %old: tensor<64x32xf32> {exec.bind = #exec.bind<gradient "w.grad">})
    -> (tensor<64x32xf32> {exec.bind = #exec.bind<gradient "w.grad">}, tensor<64x32xf32>) {
  %0 = nn.dot_general %x, %dy batch [] x [] contract [0] x [0] : (tensor<8x64xf32>, tensor<8x32xf32>) -> tensor<64x32xf32>
  %1 = nn.add %old, %0 : tensor<64x32xf32>
  return %1, %0 : tensor<64x32xf32>, tensor<64x32xf32>
}
