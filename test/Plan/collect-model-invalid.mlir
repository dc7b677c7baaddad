// RUN: shardc-opt %s --plan-collect-model -verify-diagnostics

// expected-error @below {{there is no function 'accumulate'}}
module {
}
