// RUN: shardc-opt %s --codegen-lower-to-exec --split-input-file --verify-diagnostics

// expected-error @+1 {{has no 'pipe.schedule' for pp coordinate 0}}
module {
  func.func @pp0_update() {
    return
  }
}

// -----

module attributes {pipe.schedule = [[#exec.action<update 0 slot 0>]]} {
  // expected-error @+1 {{argument #0 has no 'exec.bind'}}
  func.func @pp0_update(%x: tensor<4xf32>) {
    return
  }
}

// -----

// expected-error @+1 {{pp coordinate 0 is scheduled to run backward, but there is no function for it}}
module attributes {pipe.schedule = [[#exec.action<backward 1 slot 0>]]} {
  func.func @pp0_update() {
    return
  }
}

// -----

module attributes {pipe.schedule = [[#exec.action<update 0 slot 0>]]} {
  // expected-error @+1 {{argument #1 is bound to buffer 'x', whose type is 'memref<4xf32>' elsewhere, got 'memref<8xf32>'}}
  func.func @pp0_update(%x: tensor<4xf32> {exec.bind = #exec.bind<state "x">},
                        %y: tensor<8xf32> {exec.bind = #exec.bind<state "x">}) {
    return
  }
}

// -----

module attributes {pipe.schedule = [[#exec.action<update 0 slot 0>]]} {
  // expected-error @+1 {{is bound to buffer 'x', which is state elsewhere, got gradient}}
  func.func @pp0_update(%x: tensor<4xf32> {exec.bind = #exec.bind<state "x">},
                        %y: tensor<4xf32> {exec.bind = #exec.bind<gradient "x">}) {
    return
  }
}

// -----

module attributes {pipe.schedule = [[#exec.action<update 0 slot 0>]]} {
  func.func @pp0_update(%x: tensor<4xf32> {exec.bind = #exec.bind<state "x">})
      -> (tensor<4xf32> {exec.bind = #exec.bind<state "x">}) {
    // expected-error @+1 {{'nn.exp' op cannot become an instruction}}
    %0 = nn.exp %x : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

module attributes {pipe.schedule = [[#exec.action<update 0 slot 0>]]} {
  // expected-error @+1 {{results exchange the buffers 'y' and 'x'}}
  func.func @pp0_update(%x: tensor<4xf32> {exec.bind = #exec.bind<state "x">},
                        %y: tensor<4xf32> {exec.bind = #exec.bind<state "y">})
      -> (tensor<4xf32> {exec.bind = #exec.bind<state "y">}, tensor<4xf32> {exec.bind = #exec.bind<state "x">}) {
    return %x, %y : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// expected-error @+1 {{message 'h' has no buffer on pp coordinate 0}}
module attributes {pipe.schedule = [[#exec.action<forward 0 slot 0>]], pipe.messages = [#exec.message<"h" from 0 forward>]} {
  func.func @pp0_forward(%x: tensor<4xf32> {exec.bind = #exec.bind<stash "x">}) {
    return
  }
}

// -----

module attributes {pipe.schedule = [[]]} {
  // expected-error @+1 {{is not a function of a pipelined module}}
  func.func @forward() {
    return
  }
}
