// RUN: shardc-opt %s -split-input-file -verify-diagnostics --pipeline-recompute

// expected-error @below {{recompute 'some': not known}}
// expected-note @below {{none, selective and full are}}
module attributes {dist.mesh = #dist.mesh<[<"dp" = 1>, <"pp" = 1>, <"tp" = 1>]>, nn.training = {recompute = "some"}} {
  func.func @accumulate() {
    return
  }
}
