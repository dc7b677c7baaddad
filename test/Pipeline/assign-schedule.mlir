// RUN: shardc-opt %s -split-input-file --pipeline-assign-schedule | FileCheck %s

// Two in flight on the first stage, one on the last; both run backwards in order.
// An evaluation goes forward only, in the same slots.
// CHECK-LABEL: module @one_f_one_b
// CHECK: pipe.evaluation =
// CHECK-SAME: [#exec.action<evaluate 0 slot 0>, #exec.action<evaluate 1 slot 1>, #exec.action<evaluate 2 slot 0>, #exec.action<report 0 slot 0>]
// CHECK-SAME: [#exec.action<evaluate 0 slot 0>, #exec.action<evaluate 1 slot 0>, #exec.action<evaluate 2 slot 0>, #exec.action<report 0 slot 0>]
// CHECK-SAME: pipe.schedule =
// CHECK-SAME: [#exec.action<forward 0 slot 0>, #exec.action<forward 1 slot 1>, #exec.action<backward 0 slot 0>, #exec.action<forward 2 slot 0>, #exec.action<backward 1 slot 1>, #exec.action<backward 2 slot 0>, #exec.action<update 0 slot 0>]
// CHECK-SAME: [#exec.action<forward 0 slot 0>, #exec.action<backward 0 slot 0>, #exec.action<forward 1 slot 0>, #exec.action<backward 1 slot 0>, #exec.action<forward 2 slot 0>, #exec.action<backward 2 slot 0>, #exec.action<update 0 slot 0>]
module @one_f_one_b attributes {
  dist.mesh = #dist.mesh<[<"dp" = 1>, <"pp" = 2>, <"tp" = 1>]>,
  nn.training = {schedule = "1f1b", micro_batches = 3 : i64}} {}

// -----

// CHECK-LABEL: module @gpipe
// CHECK: pipe.schedule = {{\[}}[#exec.action<forward 0 slot 0>, #exec.action<forward 1 slot 1>, #exec.action<backward 0 slot 0>, #exec.action<backward 1 slot 1>, #exec.action<update 0 slot 0>]]
module @gpipe attributes {
  dist.mesh = #dist.mesh<[<"dp" = 2>, <"pp" = 1>, <"tp" = 1>]>,
  nn.training = {schedule = "gpipe", micro_batches = 2 : i64}} {}

// -----

// Fewer micro-batches than stages.
// CHECK-LABEL: module @short
// CHECK: pipe.schedule =
// CHECK-COUNT-3: [#exec.action<forward 0 slot 0>, #exec.action<backward 0 slot 0>, #exec.action<update 0 slot 0>]
module @short attributes {
  dist.mesh = #dist.mesh<[<"dp" = 1>, <"pp" = 3>, <"tp" = 1>]>,
  nn.training = {schedule = "1f1b", micro_batches = 1 : i64}} {}
