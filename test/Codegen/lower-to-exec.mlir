// RUN: shardc-opt %s --codegen-decompose --codegen-select-calls --codegen-fuse --codegen-lower-to-exec --codegen-assign-streams --codegen-dedup-kernels | FileCheck %s

// Two linear layers over two stages, three micro-batches, tp = 2: the first layer is split by columns, the second by
// rows, so that its result is reduced over tp.
module attributes {
    dist.mesh = #dist.mesh<[<"dp" = 1>, <"pp" = 2>, <"tp" = 2>]>,
    pipe.messages = [#exec.message<"h" from 0 forward>, #exec.message<"grad:h" from 1 backward>],
    pipe.schedule = [
      [#exec.action<forward 0 slot 0>, #exec.action<forward 1 slot 1>, #exec.action<backward 0 slot 0>,
       #exec.action<backward 1 slot 1>, #exec.action<update 0 slot 0>],
      [#exec.action<forward 0 slot 0>, #exec.action<backward 0 slot 0>, #exec.action<forward 1 slot 0>,
       #exec.action<backward 1 slot 0>, #exec.action<update 0 slot 0>]]} {

// CHECK: exec.kernel_def @k0 row domain [4, 32] rows 1 items 4
// CHECK-LABEL: exec.program @pp0 pp 0
// CHECK-SAME: schedule = [#exec.entry<@forward [0, 0]>, #exec.entry<@communicate_forward_none [0, 0, 1, 1]>,
// CHECK-SAME: #exec.entry<@forward [1, 1]>, #exec.entry<@communicate_forward_backward [1, 1, 0, 0]>,
// CHECK-SAME: #exec.entry<@backward_first [0, 0]>, #exec.entry<@communicate_none_backward [0, 0, 1, 1]>,
// CHECK-SAME: #exec.entry<@backward [1, 1]>, #exec.entry<@update [0, 0]>]
// CHECK-DAG: %[[X:.*]] = exec.buffer "x" stash slots 2 {nn.input = "x"} : memref<4x64xf32>
// CHECK-DAG: %[[W:.*]] = exec.buffer "w" parameter {{.*}}parameter = "w"{{.*}} : memref<32x64xf32>
// CHECK-DAG: %[[H:.*]] = exec.buffer "h" message : memref<4x32xf32>
// CHECK-DAG: %[[G:.*]] = exec.buffer "w.grad" gradient {{.*}}parameter = "w"{{.*}} : memref<32x64xf32>
// CHECK-DAG: %[[P:.*]] = exec.buffer "forward/0" scratch {block = @forward} : memref<4x32xf32>

// CHECK: exec.block @forward forward
// CHECK: %[[XS:.*]] = exec.slot %[[X]] register 0
// CHECK: exec.load_input "x" into %[[XS]]
// CHECK: %[[WT:.*]] = exec.view %[[W]] : memref<32x64xf32> -> memref<64x32xf32, strided<[1, 64]>>
// CHECK: exec.gemm %[[XS]], %[[WT]] into %[[P]]
// CHECK: exec.kernel @k0 reads(%[[P]], %{{.*}} : memref<4x32xf32>, memref<32xf32>) writes(%{{.*}}, %[[H]]
// CHECK-SAME: in_place = array<i64: 0, 0, 0, 1>

// The weight's gradient is summed by the product; the old value is what the buffer holds.
// CHECK: exec.block @backward_first backward
// CHECK: exec.gemm %{{.*}}, %{{.*}} into %[[G]] {
// CHECK: exec.block @backward backward
// CHECK: exec.gemm %{{.*}}, %{{.*}} into %[[G]] accumulate
// CHECK-SAME: partial_reads = {{\[\[}}], [], [#dist.partial<"dp", sum>]]
// CHECK: exec.block @update update
// CHECK: exec.kernel @{{.*}} reads(%[[W]], %{{.*}}) writes(%[[W]]
// CHECK: exec.block @communicate_forward_none communicate
// CHECK: exec.group
// CHECK-NEXT: exec.send %[[H]] "h" to 1 forward : memref<4x32xf32>
// CHECK: exec.block @communicate_forward_backward communicate
// CHECK: exec.group
// CHECK-NEXT: exec.send %[[H]] "h" to 1 forward
// CHECK-NEXT: exec.recv %{{.*}} "grad:h" from 1 backward

func.func @pp0_forward(%x: tensor<4x64xf32> {exec.bind = #exec.bind<stash "x">, nn.input = "x"},
                       %w: tensor<32x64xf32> {exec.bind = #exec.bind<parameter "w">, nn.parameter = {name = "w"}},
                       %b: tensor<32xf32> {exec.bind = #exec.bind<parameter "b">, nn.parameter = {name = "b"}})
    -> (tensor<4x32xf32> {exec.bind = #exec.bind<stash "z">}, tensor<4x32xf32> {exec.bind = #exec.bind<message "h">}) {
  %0 = nn.dot_general %x, %w batch [] x [] contract [1] x [1] : (tensor<4x64xf32>, tensor<32x64xf32>) -> tensor<4x32xf32>
  %1 = nn.broadcast_in_dim %b dims [1] : tensor<32xf32> -> tensor<4x32xf32>
  %2 = nn.add %0, %1 : tensor<4x32xf32>
  %3 = nn.tanh %2 : tensor<4x32xf32>
  return %2, %3 : tensor<4x32xf32>, tensor<4x32xf32>
}
func.func @pp0_backward_first(%x: tensor<4x64xf32> {exec.bind = #exec.bind<stash "x">},
                              %z: tensor<4x32xf32> {exec.bind = #exec.bind<stash "z">},
                              %dh: tensor<4x32xf32> {exec.bind = #exec.bind<message "grad:h">})
    -> (tensor<32x64xf32> {exec.bind = #exec.bind<gradient "w.grad">, nn.gradient = "w"},
        tensor<32xf32> {exec.bind = #exec.bind<gradient "b.grad">, nn.gradient = "b"}) {
  %0 = nn.mul %z, %dh : tensor<4x32xf32>
  %1 = nn.dot_general %0, %x batch [] x [] contract [0] x [0] : (tensor<4x32xf32>, tensor<4x64xf32>) -> tensor<32x64xf32>
  %2 = nn.reduce sum, %0 dims [0] : tensor<4x32xf32> -> tensor<32xf32>
  return %1, %2 : tensor<32x64xf32>, tensor<32xf32>
}
func.func @pp0_backward(%x: tensor<4x64xf32> {exec.bind = #exec.bind<stash "x">},
                        %z: tensor<4x32xf32> {exec.bind = #exec.bind<stash "z">},
                        %dh: tensor<4x32xf32> {exec.bind = #exec.bind<message "grad:h">},
                        %gw: tensor<32x64xf32> {exec.bind = #exec.bind<gradient "w.grad">, nn.gradient = "w",
                                                dist.sharding = #dist.sharding<[<[<64 : ["tp"]>]>, <[<64>]>] partial [<"dp", sum>]>},
                        %gb: tensor<32xf32> {exec.bind = #exec.bind<gradient "b.grad">, nn.gradient = "b"})
    -> (tensor<32x64xf32> {exec.bind = #exec.bind<gradient "w.grad">, nn.gradient = "w"},
        tensor<32xf32> {exec.bind = #exec.bind<gradient "b.grad">, nn.gradient = "b"}) {
  %0 = nn.mul %z, %dh : tensor<4x32xf32>
  %1 = nn.dot_general %0, %x batch [] x [] contract [0] x [0] : (tensor<4x32xf32>, tensor<4x64xf32>) -> tensor<32x64xf32>
  %2 = nn.reduce sum, %0 dims [0] : tensor<4x32xf32> -> tensor<32xf32>
  %3 = nn.add %gw, %1 : tensor<32x64xf32>
  %4 = nn.add %gb, %2 : tensor<32xf32>
  return %3, %4 : tensor<32x64xf32>, tensor<32xf32>
}
func.func @pp0_update(%w: tensor<32x64xf32> {exec.bind = #exec.bind<parameter "w">, nn.parameter = {name = "w"}},
                      %gw: tensor<32x64xf32> {exec.bind = #exec.bind<gradient "w.grad">, nn.gradient = "w"})
    -> (tensor<32x64xf32> {exec.bind = #exec.bind<parameter "w">, nn.parameter = {name = "w"}}) {
  %0 = dist.all_reduce %gw axes ["dp"] sum : tensor<32x64xf32>
  %1 = nn.control learning_rate : tensor<f32>
  %2 = nn.broadcast_in_dim %1 dims [] : tensor<f32> -> tensor<32x64xf32>
  %3 = nn.mul %0, %2 : tensor<32x64xf32>
  %4 = nn.sub %w, %3 : tensor<32x64xf32>
  return %4 : tensor<32x64xf32>
}

// CHECK-LABEL: exec.program @pp1 pp 1
// CHECK-SAME: #exec.entry<@communicate_none_forward [0, 0, 0, 0]>, #exec.entry<@forward [0, 0]>, #exec.entry<@backward_first [0, 0]>
// CHECK: exec.block @forward forward
// CHECK: exec.gemm %{{.*}} into %[[Y:[0-9]+]] {{.*}}stream = 0
// CHECK: exec.collective "all_reduce" %[[Y]] into %[[Y]] axes ["tp"] sum {{.*}}partial_reads = {{\[\[}}#dist.partial<"tp", sum>]], partial_writes = {{\[\[}}]], records = [[E:[0-9]+]] : i32, stream = 1 : i32, waits = array<i32: {{[0-9]+}}>
// CHECK: exec.kernel {{.*}}waits = array<i32: [[E]]>
// CHECK: exec.block @communicate_none_forward communicate
// CHECK: exec.slot %{{.*}} register 1
// CHECK-NEXT: exec.group
// CHECK-NEXT: exec.recv %{{.*}} "h" from 0 forward
func.func @pp1_forward(%h: tensor<4x32xf32> {exec.bind = #exec.bind<stash "h">},
                       %v: tensor<16x32xf32> {exec.bind = #exec.bind<parameter "v">, nn.parameter = {name = "v"}})
    -> (tensor<f32> {exec.bind = #exec.bind<stash "S">}) {
  %0 = nn.dot_general %h, %v batch [] x [] contract [1] x [1] {dist.shardings = [#dist.sharding<[<[<4>]>, <[<16>]>] partial [<"tp", sum>]>]} : (tensor<4x32xf32>, tensor<16x32xf32>) -> tensor<4x16xf32>
  %1 = dist.all_reduce %0 axes ["tp"] sum {dist.shardings = [#dist.sharding<[<[<4>]>, <[<16>]>]>]} : tensor<4x16xf32>
  %2 = nn.reduce sum, %1 dims [0, 1] : tensor<4x16xf32> -> tensor<f32>
  return %2 : tensor<f32>
}
func.func @pp1_backward_first(%h: tensor<4x32xf32> {exec.bind = #exec.bind<stash "h">},
                              %s: tensor<f32> {exec.bind = #exec.bind<stash "S">})
    -> (tensor<4x32xf32> {exec.bind = #exec.bind<message "grad:h">},
        tensor<f32> {exec.bind = #exec.bind<gradient "loss.sum">}) {
  %0 = nn.broadcast_in_dim %s dims [] : tensor<f32> -> tensor<4x32xf32>
  %1 = nn.mul %h, %0 : tensor<4x32xf32>
  return %1, %s : tensor<4x32xf32>, tensor<f32>
}
func.func @pp1_backward(%h: tensor<4x32xf32> {exec.bind = #exec.bind<stash "h">},
                        %s: tensor<f32> {exec.bind = #exec.bind<stash "S">},
                        %sum: tensor<f32> {exec.bind = #exec.bind<gradient "loss.sum">})
    -> (tensor<4x32xf32> {exec.bind = #exec.bind<message "grad:h">},
        tensor<f32> {exec.bind = #exec.bind<gradient "loss.sum">}) {
  %0 = nn.broadcast_in_dim %s dims [] : tensor<f32> -> tensor<4x32xf32>
  %1 = nn.mul %h, %0 : tensor<4x32xf32>
  %2 = nn.add %sum, %s : tensor<f32>
  return %1, %2 : tensor<4x32xf32>, tensor<f32>
}
func.func @pp1_update(%sum: tensor<f32> {exec.bind = #exec.bind<gradient "loss.sum">})
    -> (tensor<f32> {exec.bind = #exec.bind<output "loss">}) {
  // CHECK: exec.output "loss"
  %0 = nn.neg %sum : tensor<f32>
  return %0 : tensor<f32>
}
}
