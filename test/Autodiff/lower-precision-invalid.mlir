// RUN: shardc-opt %s -split-input-file -verify-diagnostics --autodiff-lower-precision

// expected-error @below {{unknown precision "fp8", expected fp32, bf16 or fp16}}
module attributes {nn.training = {precision = "fp8"}} {}

// -----

// expected-error @below {{'nn.training' has precision fp16, but no number 'loss_scale_growth_interval'}}
module attributes {nn.training = {precision = "fp16", loss_scale_init = 8.0 : f64}} {}

// -----

// expected-error @below {{has no function '@forward' of one block}}
module attributes {nn.training = {precision = "bf16"}} {}
