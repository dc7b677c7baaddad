// RUN: shardc-opt %s -split-input-file -verify-diagnostics --autodiff-build-update

// expected-error @below {{has no function '@accumulate'}}
module {}

// -----

// expected-error @below {{has no 'nn.training'}}
module {
  func.func @accumulate() {
    return
  }
}

// -----

// expected-error @below {{unknown optimizer 'lion', expected 'sgd' or 'adamw'}}
module attributes {nn.training = {optimizer = "lion", momentum = 0.9 : f64, beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.1 : f64}} {
  func.func @accumulate() {
    return
  }
}

// -----

// expected-error @below {{'nn.training' has no number 'beta2'}}
module attributes {nn.training = {optimizer = "adamw", momentum = 0.9 : f64, beta1 = 0.9 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.1 : f64}} {
  func.func @accumulate() {
    return
  }
}
