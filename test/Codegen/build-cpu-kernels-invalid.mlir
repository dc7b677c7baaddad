// RUN: shardc-opt --codegen-build-cpu-kernels -split-input-file -verify-diagnostics %s

// expected-error @below {{has 3 items, expected 4}}
exec.kernel_def @k row domain [4, 5] rows 1 items 3 attributes {operand_types = [memref<4x5xf32>, memref<4x5xf32>]} {
^bb0(%a: tensor<4x5xf32>):
  %0 = nn.exp %a : tensor<4x5xf32>
  exec.yield %0 : tensor<4x5xf32>
}

// -----

// expected-error @below {{operand_types has 1 entries, expected 2: reads, then writes}}
exec.kernel_def @k row domain [4, 5] rows 1 items 4 attributes {operand_types = [memref<4x5xf32>]} {
^bb0(%a: tensor<4x5xf32>):
  %0 = nn.exp %a : tensor<4x5xf32>
  exec.yield %0 : tensor<4x5xf32>
}

// -----

// expected-error @below {{operand type 'memref<5x4xf32>' does not match 'tensor<4x5xf32>'}}
exec.kernel_def @k row domain [4, 5] rows 1 items 4 attributes {operand_types = [memref<4x5xf32>, memref<5x4xf32>]} {
^bb0(%a: tensor<4x5xf32>):
  %0 = nn.exp %a : tensor<4x5xf32>
  exec.yield %0 : tensor<4x5xf32>
}

// -----

// expected-error @below {{in_place pair (0, 0) differs in type or strides}}
exec.kernel_def @k row domain [4, 5] rows 1 items 4
    attributes {operand_types = [memref<4x5xf32, strided<[1, 4]>>, memref<4x5xf32>], in_place = array<i64: 0, 0>} {
^bb0(%a: tensor<4x5xf32>):
  %0 = nn.exp %a : tensor<4x5xf32>
  exec.yield %0 : tensor<4x5xf32>
}

// -----

// expected-error @below {{a result of type 'tensor<7xf32>' has dimensions that the domain lacks}}
exec.kernel_def @k row domain [4, 5] rows 1 items 4 attributes {operand_types = [memref<7xf32>, memref<7xf32>]} {
^bb0(%a: tensor<7xf32>):
  %0 = nn.exp %a : tensor<7xf32>
  exec.yield %0 : tensor<7xf32>
}

// -----

exec.kernel_def @k row domain [4, 5, 6] rows 1 items 4 attributes {operand_types = [memref<4x5x6xf32>, memref<4x5xf32>]} {
^bb0(%a: tensor<4x5x6xf32>):
  // expected-error @below {{in a kernel must keep the dimensions that the kernel does not reduce}}
  %0 = nn.reduce sum, %a dims [2] : tensor<4x5x6xf32> -> tensor<4x5xf32>
  exec.yield %0 : tensor<4x5xf32>
}

// -----

exec.kernel_def @k row domain [4, 5] rows 1 items 4 attributes {operand_types = [memref<4x5xf64>, memref<4x5xf64>]} {
^bb0(%a: tensor<4x5xf64>):
  // expected-error @below {{cannot be computed in a kernel for element type 'f64' [kernel-type]}}
  %0 = nn.log %a : tensor<4x5xf64>
  exec.yield %0 : tensor<4x5xf64>
}

// -----

exec.kernel_def @k row domain [4, 5] rows 1 items 4 attributes {operand_types = [memref<5x4xf32>, memref<4x5xf32>]} {
^bb0(%a: tensor<5x4xf32>):
  // expected-error @below {{cannot be part of a row or column kernel}}
  %0 = nn.transpose %a perm [1, 0] : tensor<5x4xf32> -> tensor<4x5xf32>
  exec.yield %0 : tensor<4x5xf32>
}

// -----

exec.kernel_def @k row domain [4] rows 1 items 4 attributes {operand_types = [memref<i64>]} {
^bb0:
  // expected-error @below {{axis 'tp' is no axis of the module's mesh}}
  %0 = dist.axis_index "tp" : tensor<i64>
  exec.yield %0 : tensor<i64>
}

// -----

// expected-error @below {{must consist of one nn.gather whose result it yields}}
exec.kernel_def @k gather items 4 attributes {operand_types = [memref<4x5xf32>, memref<4x5xf32>]} {
^bb0(%a: tensor<4x5xf32>):
  %0 = nn.exp %a : tensor<4x5xf32>
  exec.yield %0 : tensor<4x5xf32>
}

// -----

exec.kernel_def @k scatter_add items 1 attributes {operand_types = [memref<3xi64>, memref<3x4xbf16>, memref<8x4xbf16>]} {
^bb0(%i: tensor<3xi64>, %u: tensor<3x4xbf16>):
  // expected-error @below {{cannot sum up in element type 'bf16', expected f32 [kernel-type]}}
  %0 = nn.scatter_add %i, %u axis 0 : (tensor<3xi64>, tensor<3x4xbf16>) -> tensor<8x4xbf16>
  exec.yield %0 : tensor<8x4xbf16>
}
