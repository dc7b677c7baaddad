// RUN: shardc-opt %s -verify-diagnostics --autodiff-widen-gradients

// expected-error @below {{has no function '@accumulate' of one block}}
module {}
