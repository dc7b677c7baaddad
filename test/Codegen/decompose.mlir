// RUN: shardc-opt %s --codegen-decompose | FileCheck %s

// CHECK-LABEL: func.func @softmax
// CHECK: %[[M:.*]] = nn.reduce max, %arg0 dims [1] {nn.origin = 5 : i64} : tensor<4x8xf32>
// CHECK: %[[B:.*]] = nn.broadcast_in_dim %[[M]] dims [0]
// CHECK: %[[D:.*]] = nn.sub %arg0, %[[B]]
// CHECK: %[[E:.*]] = nn.exp %[[D]]
// CHECK: nn.reduce sum, %[[E]] dims [1]
// CHECK: nn.div %[[E]], %{{.*}} {dist.shardings = [#dist.sharding<[<[<4>]>, <[<8>]>]>], nn.origin = 5 : i64}
func.func @softmax(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = nn.softmax %x axis 1 {dist.shardings = [#dist.sharding<[<[<4>]>, <[<8>]>]>], nn.origin = 5 : i64} : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// The axis is not the last one: rows are transposed to the end and repeated where they belong.
// CHECK-LABEL: func.func @softmax_middle
// CHECK: nn.transpose %arg0 perm [0, 2, 1]
// CHECK: nn.reduce max, %{{.*}} dims [2]
// CHECK: nn.broadcast_in_dim %{{.*}} dims [0, 2] : tensor<2x8xf32> -> tensor<2x4x8xf32>
func.func @softmax_middle(%x: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %0 = nn.softmax %x axis 1 : tensor<2x4x8xf32>
  return %0 : tensor<2x4x8xf32>
}

// CHECK-LABEL: func.func @powers
func.func @powers(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %two = nn.constant dense<2.0> : tensor<f32>
  %b = nn.broadcast_in_dim %two dims [] : tensor<f32> -> tensor<4xf32>
  %three = nn.constant dense<3.0> : tensor<4xf32>
  %half = nn.constant dense<0.5> : tensor<4xf32>
  // CHECK: %[[A:.*]] = nn.mul %arg0, %arg0
  %0 = nn.pow %x, %b : tensor<4xf32>
  // CHECK: %[[S:.*]] = nn.mul %arg0, %arg0
  // CHECK: %[[C:.*]] = nn.mul %[[S]], %arg0
  %1 = nn.pow %x, %three : tensor<4xf32>
  // CHECK: %[[R:.*]] = nn.sqrt %arg0
  %2 = nn.pow %x, %half : tensor<4xf32>
  // CHECK: %[[P:.*]] = nn.pow %arg0, %arg1
  %3 = nn.pow %x, %y : tensor<4xf32>
  // CHECK: return %[[A]], %[[C]], %[[R]], %[[P]]
  return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// Labels that are ignored have loss 0; padded classes take no part.
// CHECK-LABEL: func.func @cross_entropy
// CHECK: nn.constant dense<6> : tensor<4x8xi64>
// CHECK: nn.constant dense<0xFF800000>
// CHECK: nn.reduce max
// CHECK: nn.log
// CHECK: nn.constant dense<-100> : tensor<4xi64>
// CHECK: nn.select
func.func @cross_entropy(%x: tensor<4x8xf32>, %l: tensor<4xi64>) -> tensor<4xf32> {
  %0, %1 = nn.cross_entropy %x, %l ignore -100 classes 6 : tensor<4x8xf32>, tensor<4xi64> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @scatter_columns
// CHECK: %[[U:.*]] = nn.transpose %arg1 perm [1, 0]
// CHECK: %[[S:.*]] = nn.scatter_add %arg0, %[[U]] axis 0
// CHECK: nn.transpose %[[S]] perm [1, 0]
func.func @scatter_columns(%i: tensor<3xi64>, %u: tensor<4x3xf32>) -> tensor<4x8xf32> {
  %0 = nn.scatter_add %i, %u axis 1 : (tensor<3xi64>, tensor<4x3xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// A sum of paddings that leave a gap stays one.
// CHECK-LABEL: func.func @gap
// CHECK-NOT: nn.concat
// CHECK: nn.add
func.func @gap(%a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<5xf32> {
  %0 = nn.pad %a low [0] high [3] interior [0] value 0.0 : f32 : tensor<2xf32> -> tensor<5xf32>
  %1 = nn.pad %b low [3] high [0] interior [0] value 0.0 : f32 : tensor<2xf32> -> tensor<5xf32>
  %2 = nn.add %0, %1 : tensor<5xf32>
  return %2 : tensor<5xf32>
}
