// RUN: shardc-opt %s -split-input-file --test-evaluate="function=f" -o %t | FileCheck %s

// CHECK: result 0: tensor<2x2xf32> [8, 9, 14, 18]
func.func @f() -> tensor<2x2xf32> {
  %a = nn.iota dim 1 : tensor<2x3xf32>
  %b = nn.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %0 = nn.add %a, %b : tensor<2x3xf32>
  %c = nn.constant dense<[[0.0, 1.0, 1.0], [1.0, 1.0, 1.0]]> : tensor<2x3xf32>
  %1 = nn.dot_general %0, %c batch [] x [] contract [1] x [1] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32>
  %two = nn.constant dense<[[0.0, 1.0], [2.0, 8.0]]> : tensor<2x2xf32>
  %2 = nn.sub %1, %two : tensor<2x2xf32>
  %3 = nn.add %2, %two : tensor<2x2xf32>
  return %3 : tensor<2x2xf32>
}

// -----

// Moving elements.
// CHECK: result 0: tensor<3x2xi64> [0, 3, 1, 4, 2, 5]
// CHECK: result 1: tensor<2x2xi64> [0, 2, 3, 5]
// CHECK: result 2: tensor<2x5xi64> [7, 0, 7, 2, 7, 7, 3, 7, 5, 7]
// CHECK: result 3: tensor<2x4xi64> [0, 2, 0, 1, 3, 5, 3, 4]
// CHECK: result 4: tensor<3x3xi64> [3, 4, 5, 0, 0, 0, 3, 4, 5]
// CHECK: result 5: tensor<2x3xi64> [0, 0, 0, 6, 8, 10]
func.func @f() -> (tensor<3x2xi64>, tensor<2x2xi64>, tensor<2x5xi64>, tensor<2x4xi64>, tensor<3x3xi64>, tensor<2x3xi64>) {
  %x = nn.constant dense<[[0, 1, 2], [3, 4, 5]]> : tensor<2x3xi64>
  %0 = nn.transpose %x perm [1, 0] : tensor<2x3xi64> -> tensor<3x2xi64>
  %1 = nn.slice %x [0, 0] to [2, 3] by [1, 2] : tensor<2x3xi64> -> tensor<2x2xi64>
  %2 = nn.pad %1 low [0, 1] high [0, 1] interior [0, 1] value 7 : i64 : tensor<2x2xi64> -> tensor<2x5xi64>
  %3 = nn.slice %x [0, 0] to [2, 2] by [1, 1] : tensor<2x3xi64> -> tensor<2x2xi64>
  %4 = nn.concat %1, %3 dim 1 : (tensor<2x2xi64>, tensor<2x2xi64>) -> tensor<2x4xi64>
  // An index out of range reads zeros.
  %indices = nn.constant dense<[1, 5, 1]> : tensor<3xi64>
  %5 = nn.gather %x, %indices axis 0 : (tensor<2x3xi64>, tensor<3xi64>) -> tensor<3x3xi64>
  // … and is dropped by its adjoint.
  %6 = nn.scatter_add %indices, %5 axis 0 : (tensor<3xi64>, tensor<3x3xi64>) -> tensor<2x3xi64>
  return %0, %1, %2, %4, %5, %6 : tensor<3x2xi64>, tensor<2x2xi64>, tensor<2x5xi64>, tensor<2x4xi64>, tensor<3x3xi64>, tensor<2x3xi64>
}

// -----

// Statistics. A padded class counts for nothing, and an ignored row has no loss.
// CHECK: result 0: tensor<2xf32> [1.31326, 0]
// CHECK: result 1: tensor<2xf32> [2.31326, 3.12531]
// CHECK: result 2: tensor<2x3xf32> [0.268941, 0.731059, 0, 0.0420101, 0.114195, 0.843795]
// CHECK: result 3: tensor<1x4xf32> [-1.3411, -0.447035, 0.447035, 1.3411]
// CHECK: result 4: tensor<1x4xf32> [0.365148, 0.730297, 1.09545, 1.46059]
func.func @f() -> (tensor<2xf32>, tensor<2xf32>, tensor<2x3xf32>, tensor<1x4xf32>, tensor<1x4xf32>) {
  %x = nn.constant dense<[[1.0, 2.0, 99.0], [2.0, 2.732937, 5.0]]> : tensor<2x3xf32>
  %labels = nn.constant dense<[0, -100]> : tensor<2xi64>
  %l, %s = nn.cross_entropy %x, %labels ignore -100 classes 2 : tensor<2x3xf32>, tensor<2xi64> -> tensor<2xf32>
  %y = nn.constant dense<[[1.0, 2.0, 0xFF800000], [2.0, 3.0, 5.0]]> : tensor<2x3xf32>
  %0 = nn.softmax %y axis 1 : tensor<2x3xf32>
  %z = nn.constant dense<[[1.0, 2.0, 3.0, 4.0]]> : tensor<1x4xf32>
  %n, %m, %r = nn.norm layer, %z axis 1 epsilon 1.0e-03 : tensor<1x4xf32>, tensor<1xf32>
  %o, %p, %q = nn.norm rms, %z axis 1 epsilon 0.0 : tensor<1x4xf32>, tensor<1xf32>
  return %l, %s, %0, %n, %o : tensor<2xf32>, tensor<2xf32>, tensor<2x3xf32>, tensor<1x4xf32>, tensor<1x4xf32>
}
