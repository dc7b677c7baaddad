// RUN: shardc-opt %s -split-input-file --autodiff-widen-gradients | FileCheck %s

// A parameter that was sliced, used in two products each of which is its own piece, and looked up besides: products, the
// concat and the sum become f32, the cast goes; the table's part was f32 already.
// CHECK-LABEL: func.func @accumulate
// CHECK: %[[A:.*]] = nn.dot_general {{.*}} -> tensor<4x4xf32>
// CHECK: %[[B:.*]] = nn.dot_general {{.*}} -> tensor<4x4xf32>
// CHECK: %[[T:.*]] = nn.transpose %[[B]] {{.*}} : tensor<4x4xf32>
// CHECK: %[[C:.*]] = nn.concat %[[A]], %[[T]] {{.*}} -> tensor<8x4xf32>
// CHECK-NOT: nn.convert
// CHECK: nn.add %[[C]], %{{.*}} {nn.backward, nn.gradient_sum} : tensor<8x4xf32>
func.func @accumulate(%x: tensor<2x4xbf16>, %g: tensor<2x4xbf16>, %t: tensor<8x4xf32>) -> (tensor<8x4xf32> {nn.gradient = "w"}) {
  %0 = nn.dot_general %x, %g batch [] x [] contract [0] x [0] {nn.backward} : (tensor<2x4xbf16>, tensor<2x4xbf16>) -> tensor<4x4xbf16>
  %1 = nn.dot_general %g, %x batch [] x [] contract [0] x [0] {nn.backward} : (tensor<2x4xbf16>, tensor<2x4xbf16>) -> tensor<4x4xbf16>
  %2 = nn.transpose %1 perm [1, 0] {nn.backward} : tensor<4x4xbf16> -> tensor<4x4xbf16>
  %3 = nn.concat %0, %2 dim 0 {nn.backward} : (tensor<4x4xbf16>, tensor<4x4xbf16>) -> tensor<8x4xbf16>
  %4 = nn.convert %3 {nn.backward} : tensor<8x4xbf16> -> tensor<8x4xf32>
  %5 = nn.add %4, %t {nn.backward, nn.gradient_sum} : tensor<8x4xf32>
  return %5 : tensor<8x4xf32>
}

// -----

// Sums of low products become f32, and what a pad fills with, too.
// CHECK-LABEL: func.func @accumulate
// CHECK: nn.pad {{.*}} value 0.000000e+00 : f32 {{.*}} -> tensor<6x4xf32>
// CHECK: nn.add %{{.*}} {nn.backward, nn.gradient_sum} : tensor<6x4xf32>
// CHECK-NOT: nn.convert
func.func @accumulate(%x: tensor<2x4xf16>, %y: tensor<2x6xf16>) -> (tensor<6x4xf32> {nn.gradient = "w"}) {
  %0 = nn.dot_general %x, %x batch [] x [] contract [0] x [0] {nn.backward} : (tensor<2x4xf16>, tensor<2x4xf16>) -> tensor<4x4xf16>
  %1 = nn.pad %0 low [1, 0] high [1, 0] interior [0, 0] value 0.0 : f16 {nn.backward} : tensor<4x4xf16> -> tensor<6x4xf16>
  %2 = nn.dot_general %y, %x batch [] x [] contract [0] x [0] {nn.backward} : (tensor<2x6xf16>, tensor<2x4xf16>) -> tensor<6x4xf16>
  %3 = nn.add %1, %2 {nn.backward} : tensor<6x4xf16>
  %4 = nn.convert %3 {nn.backward} : tensor<6x4xf16> -> tensor<6x4xf32>
  return %4 : tensor<6x4xf32>
}

// -----

// A product that something else reads, too, stays low, and so does the cotangent of an activation.
// CHECK-LABEL: func.func @accumulate
// CHECK: %[[P:.*]] = nn.dot_general {{.*}} -> tensor<4x4xbf16>
// CHECK: nn.convert %[[P]]
// CHECK: nn.convert %[[P]]
func.func @accumulate(%x: tensor<2x4xbf16>) -> (tensor<4x4xf32> {nn.gradient = "w"}, tensor<4x4xf32> {nn.loss = "sum"}) {
  %0 = nn.dot_general %x, %x batch [] x [] contract [0] x [0] {nn.backward} : (tensor<2x4xbf16>, tensor<2x4xbf16>) -> tensor<4x4xbf16>
  %1 = nn.convert %0 {nn.backward} : tensor<4x4xbf16> -> tensor<4x4xf32>
  %2 = nn.convert %0 : tensor<4x4xbf16> -> tensor<4x4xf32>
  %3 = nn.exp %2 : tensor<4x4xf32>
  return %1, %3 : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// A parameter whose cast two products read: the sum was rounded once, and is not any more.
// CHECK-LABEL: func.func @accumulate
// CHECK: %[[A:.*]] = nn.dot_general {{.*}} -> tensor<4x4xf32>
// CHECK: %[[B:.*]] = nn.dot_general {{.*}} -> tensor<4x4xf32>
// CHECK: %[[SUM:.*]] = nn.add %[[A]], %[[B]] {nn.backward, nn.gradient_sum}
// CHECK: return %[[SUM]]
func.func @accumulate(%x: tensor<2x4xbf16>, %y: tensor<2x4xbf16>) -> (tensor<4x4xf32> {nn.gradient = "w"}) {
  %0 = nn.dot_general %x, %x batch [] x [] contract [0] x [0] {nn.backward} : (tensor<2x4xbf16>, tensor<2x4xbf16>) -> tensor<4x4xbf16>
  %1 = nn.convert %0 {nn.backward} : tensor<4x4xbf16> -> tensor<4x4xf32>
  %2 = nn.dot_general %y, %y batch [] x [] contract [0] x [0] {nn.backward} : (tensor<2x4xbf16>, tensor<2x4xbf16>) -> tensor<4x4xbf16>
  %3 = nn.convert %2 {nn.backward} : tensor<4x4xbf16> -> tensor<4x4xf32>
  %4 = nn.add %1, %3 {nn.backward} : tensor<4x4xf32>
  %5 = nn.convert %4 {nn.backward} : tensor<4x4xf32> -> tensor<4x4xbf16>
  %6 = nn.convert %5 {nn.backward} : tensor<4x4xbf16> -> tensor<4x4xf32>
  return %6 : tensor<4x4xf32>
}
