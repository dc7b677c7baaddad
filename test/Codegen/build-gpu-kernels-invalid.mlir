// RUN: shardc-opt --codegen-build-gpu-kernels %s -split-input-file -verify-diagnostics

// expected-error @+1 {{operand_types has 1 entries, expected 2: reads, then writes}}
exec.kernel_def @operands row domain [4] rows 1 items 4 attributes {operand_types = [memref<4xf32>]} {
^bb0(%a: tensor<4xf32>):
  exec.yield %a : tensor<4xf32>
}

// -----

exec.kernel_def @f64 row domain [4] rows 1 items 4 attributes {operand_types = [memref<4xf64>, memref<4xf64>]} {
^bb0(%a: tensor<4xf64>):
  // expected-error @+1 {{cannot be computed in a kernel for element type 'f64' [kernel-type]}}
  %0 = nn.exp %a : tensor<4xf64>
  exec.yield %0 : tensor<4xf64>
}

// -----

exec.kernel_def @twice column domain [4, 3] rows 1 items 1
    attributes {operand_types = [memref<4x3xf32>, memref<3xf32>]} {
^bb0(%a: tensor<4x3xf32>):
  %0 = nn.reduce sum, %a dims [0] : tensor<4x3xf32> -> tensor<3xf32>
  %1 = nn.broadcast_in_dim %0 dims [1] : tensor<3xf32> -> tensor<4x3xf32>
  // expected-error @+1 {{in a column kernel must not depend on another reduction}}
  %2 = nn.reduce sum, %1 dims [0] : tensor<4x3xf32> -> tensor<3xf32>
  exec.yield %2 : tensor<3xf32>
}

// -----

exec.kernel_def @axis scatter_add items 1
    attributes {operand_types = [memref<2xi64>, memref<3x2xf32>, memref<3x4xf32>]} {
^bb0(%i: tensor<2xi64>, %u: tensor<3x2xf32>):
  // expected-error @+1 {{has axis 1, expected 0 in a kernel}}
  %g = nn.scatter_add %i, %u axis 1 : (tensor<2xi64>, tensor<3x2xf32>) -> tensor<3x4xf32>
  exec.yield %g : tensor<3x4xf32>
}
