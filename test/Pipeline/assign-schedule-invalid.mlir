// RUN: shardc-opt %s -split-input-file -verify-diagnostics --pipeline-assign-schedule

// expected-error @below {{schedule 'zigzag': not known}}
// expected-note @below {{gpipe and 1f1b are}}
module attributes {
  dist.mesh = #dist.mesh<[<"dp" = 1>, <"pp" = 2>, <"tp" = 1>]>,
  nn.training = {schedule = "zigzag", micro_batches = 3 : i64}} {}

// -----

// expected-error @below {{schedule '1f1b': expected at least one micro-batch a step, got 0}}
module attributes {
  dist.mesh = #dist.mesh<[<"dp" = 1>, <"pp" = 2>, <"tp" = 1>]>,
  nn.training = {schedule = "1f1b", micro_batches = 0 : i64}} {}

// -----

// expected-error @below {{'nn.training' has no 'micro_batches' of the expected type}}
module attributes {
  dist.mesh = #dist.mesh<[<"dp" = 1>, <"pp" = 2>, <"tp" = 1>]>,
  nn.training = {schedule = "1f1b"}} {}

// -----

// expected-error @below {{module has no 'dist.mesh'}}
module attributes {nn.training = {schedule = "1f1b", micro_batches = 1 : i64}} {}
