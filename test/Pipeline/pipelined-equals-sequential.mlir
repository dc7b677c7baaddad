// One step, cut into stages and run action by action, against the same step without stages: sums of gradients have equal
// bits (unless a parameter is tied across stages), losses, norm, parameters and states agree.

// RUN: shardc-opt %S/Inputs/mlp.mlir --test-pipeline="pp=1" -o /dev/null | FileCheck %s
// RUN: shardc-opt %S/Inputs/mlp.mlir --test-pipeline="pp=2" -o /dev/null | FileCheck %s
// RUN: shardc-opt %S/Inputs/mlp.mlir --test-pipeline="pp=4 schedule=gpipe recompute=full" -o /dev/null | FileCheck %s

// A value that skips stages.
// RUN: shardc-opt %S/Inputs/skip.mlir --autodiff-build-gradients --autodiff-build-update -o %t.skip
// RUN: shardc-opt %t.skip --test-pipeline="pp=2" -o /dev/null | FileCheck %s
// RUN: shardc-opt %t.skip --test-pipeline="pp=4" -o /dev/null | FileCheck %s
// RUN: shardc-opt %t.skip --test-pipeline="pp=4 micro-batches=1" -o /dev/null | FileCheck %s
// RUN: shardc-opt %t.skip --test-pipeline="pp=6 schedule=gpipe recompute=full" -o /dev/null | FileCheck %s

// Attention, dropout, tied embedding.
// RUN: shardc-opt %S/Inputs/decoder.mlir --autodiff-build-gradients --autodiff-build-update -o %t.decoder
// RUN: shardc-opt %t.decoder --test-pipeline="pp=1" -o /dev/null | FileCheck %s
// RUN: shardc-opt %t.decoder --test-pipeline="pp=2 recompute=selective" -o /dev/null | FileCheck %s
// RUN: shardc-opt %t.decoder --test-pipeline="pp=4 recompute=full" -o /dev/null | FileCheck %s
// RUN: shardc-opt %t.decoder --test-pipeline="pp=3 schedule=gpipe" -o /dev/null | FileCheck %s

// CHECK: pipelined = sequential
