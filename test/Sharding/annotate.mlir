// RUN: shardc-opt %s --sharding-annotate | FileCheck %s
// RUN: shardc-opt %s --sharding-annotate --sharding-partition | FileCheck %s --check-prefix=LOCAL
// RUN: shardc-opt %s --sharding-annotate --sharding-partition --test-evaluate="function=accumulate reference=%s" | FileCheck %s --check-prefix=SAME
// RUN: shardc-opt %s --sharding-annotate --sharding-partition --test-evaluate="function=update reference=%s" | FileCheck %s --check-prefix=SAME
// SAME: sequential = parallel

// Two linear layers under dp and tp: the first is split by columns, the second by rows, so that one all-reduce of the
// second's result is all there is; the hidden bias is split with its columns, the last bias stays whole. Gradients are
// where their parameters are, and partial over dp.

// CHECK: nn.notes = ["hardware cpu: {{.*}}", "layout over tp=2: {{[^"]*}}", "parameters, by the factors of their dimensions (3*4/tp*16: the 4 is split over tp):", "w1: 32/tp x 16", "b1: 32/tp", "w2: 16 x 32/tp", "replicated over tp: 1 parameters, 64 bytes on each rank"]
module attributes {dist.mesh = #dist.mesh<[<"dp" = 2>, <"pp" = 1>, <"tp" = 2>]>, nn.training = {micro_batches = 4 : i64},
                   nn.inputs = [{name = "x", role = "data"}, {name = "labels", role = "labels", index_bound = 16 : i64, ignore_value = -100 : i64}]} {
  // CHECK-LABEL: @accumulate
  // CHECK-SAME: tensor<8x16xf32> {dist.sharding = #dist.sharding<{{\[}}<[<8 : ["dp"]>]>, <[<16>]>]>, nn.input = "x"}
  // CHECK-SAME: tensor<32x16xf32> {dist.sharding = #dist.sharding<{{\[}}<[<32 : ["tp"]>]>, <[<16>]>]>, nn.parameter = {name = "w1"}}
  // CHECK-SAME: tensor<16x32xf32> {dist.sharding = #dist.sharding<{{\[}}<[<16>]>, <[<32 : ["tp"]>]>]>, nn.parameter = {name = "w2"}}
  // CHECK-SAME: tensor<16xf32> {dist.sharding = #dist.sharding<{{\[}}<[<16>]>]>, nn.parameter = {name = "b2"}}
  // CHECK-SAME: -> (tensor<f32> {dist.sharding = #dist.sharding<[] partial[<"dp", sum>]>, nn.loss = "sum"}
  // CHECK-SAME: tensor<32x16xf32> {dist.sharding = #dist.sharding<{{\[}}<[<32 : ["tp"]>]>, <[<16>]>] partial[<"dp", sum>]>, nn.gradient = "w1"}
  // LOCAL-LABEL: @accumulate
  // LOCAL-SAME: tensor<4x16xf32>
  // LOCAL-SAME: tensor<16x16xf32>
  func.func @accumulate(%x: tensor<8x16xf32> {nn.input = "x"}, %labels: tensor<8xi64> {nn.input = "labels"},
      %w1: tensor<32x16xf32> {nn.parameter = {name = "w1"}}, %b1: tensor<32xf32> {nn.parameter = {name = "b1"}},
      %w2: tensor<16x32xf32> {nn.parameter = {name = "w2"}}, %b2: tensor<16xf32> {nn.parameter = {name = "b2"}})
      -> (tensor<f32> {nn.loss = "sum"}, tensor<f32> {nn.loss = "weight"}, tensor<32x16xf32> {nn.gradient = "w1"},
          tensor<32xf32> {nn.gradient = "b1"}, tensor<16x32xf32> {nn.gradient = "w2"}, tensor<16xf32> {nn.gradient = "b2"}) {
    // CHECK: nn.dot_general %{{.*}}, %{{.*}} contract [1] x [1] {dist.shardings = [#dist.sharding<{{\[}}<[<8 : ["dp"]>]>, <[<32 : ["tp"]>]>]>]}
    %h = nn.dot_general %x, %w1 batch [] x [] contract [1] x [1] : (tensor<8x16xf32>, tensor<32x16xf32>) -> tensor<8x32xf32>
    %bb1 = nn.broadcast_in_dim %b1 dims [1] : tensor<32xf32> -> tensor<8x32xf32>
    %hb = nn.add %h, %bb1 : tensor<8x32xf32>
    %z = nn.constant dense<0.0> : tensor<8x32xf32>
    %pos = nn.compare gt, %hb, %z : tensor<8x32xf32> -> tensor<8x32xi1>
    %a = nn.select %pos, %hb, %z : tensor<8x32xi1>, tensor<8x32xf32>
    // CHECK: nn.dot_general {{.*}}partial[<"tp", sum>]>], nn.origin = 4 : i64} : (tensor<8x32xf32>, tensor<16x32xf32>)
    // LOCAL: %[[Y:.*]] = nn.dot_general {{.*}} nn.origin = 4 : i64} : (tensor<4x16xf32>, tensor<16x16xf32>)
    // LOCAL-NEXT: dist.all_reduce %[[Y]] axes ["tp"] sum {{.*}}nn.origin = 4
    // LOCAL-NOT: dist.all_reduce
    %y = nn.dot_general %a, %w2 batch [] x [] contract [1] x [1] {nn.origin = 4 : i64} : (tensor<8x32xf32>, tensor<16x32xf32>) -> tensor<8x16xf32>
    %bb2 = nn.broadcast_in_dim %b2 dims [1] : tensor<16xf32> -> tensor<8x16xf32>
    %logits = nn.add %y, %bb2 : tensor<8x16xf32>
    %loss, %lse = nn.cross_entropy %logits, %labels ignore -100 : tensor<8x16xf32>, tensor<8xi64> -> tensor<8xf32>
    %s = nn.reduce sum, %loss dims [0] : tensor<8xf32> -> tensor<f32>
    %ign = nn.constant dense<-100> : tensor<8xi64>
    %valid = nn.compare ne, %labels, %ign : tensor<8xi64> -> tensor<8xi1>
    %vf = nn.convert %valid : tensor<8xi1> -> tensor<8xf32>
    %w = nn.reduce sum, %vf dims [0] : tensor<8xf32> -> tensor<f32>
    %seed = nn.constant dense<0.125> : tensor<8xf32>
    %zr = nn.constant dense<0.0> : tensor<8xf32>
    %g = nn.select %valid, %seed, %zr : tensor<8xi1>, tensor<8xf32>
    %lseb = nn.broadcast_in_dim %lse dims [0] : tensor<8xf32> -> tensor<8x16xf32>
    %d = nn.sub %logits, %lseb : tensor<8x16xf32>
    %p = nn.exp %d : tensor<8x16xf32>
    %iota = nn.iota dim 1 : tensor<8x16xi64>
    %lb = nn.broadcast_in_dim %labels dims [0] : tensor<8xi64> -> tensor<8x16xi64>
    %eq = nn.compare eq, %iota, %lb : tensor<8x16xi64> -> tensor<8x16xi1>
    %oh = nn.convert %eq : tensor<8x16xi1> -> tensor<8x16xf32>
    %pd = nn.sub %p, %oh : tensor<8x16xf32>
    %gb = nn.broadcast_in_dim %g dims [0] : tensor<8xf32> -> tensor<8x16xf32>
    %dl = nn.mul %pd, %gb : tensor<8x16xf32>
    %db2 = nn.reduce sum, %dl dims [0] : tensor<8x16xf32> -> tensor<16xf32>
    %dw2 = nn.dot_general %dl, %a batch [] x [] contract [0] x [0] : (tensor<8x16xf32>, tensor<8x32xf32>) -> tensor<16x32xf32>
    %da = nn.dot_general %dl, %w2 batch [] x [] contract [1] x [0] : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
    %dh = nn.select %pos, %da, %z : tensor<8x32xi1>, tensor<8x32xf32>
    %db1 = nn.reduce sum, %dh dims [0] : tensor<8x32xf32> -> tensor<32xf32>
    %dw1 = nn.dot_general %dh, %x batch [] x [] contract [0] x [0] : (tensor<8x32xf32>, tensor<8x16xf32>) -> tensor<32x16xf32>
    return %s, %w, %dw1, %db1, %dw2, %db2 : tensor<f32>, tensor<f32>, tensor<32x16xf32>, tensor<32xf32>, tensor<16x32xf32>, tensor<16xf32>
  }

  // One broadcast serves two parameters that are split differently: each gets its own.
  // LOCAL-LABEL: @update
  // LOCAL-DAG: nn.broadcast_in_dim {{.*}} -> tensor<16x16xf32>
  // LOCAL: nn.mul {{.*}} : tensor<16x16xf32>
  func.func @update(%w1: tensor<32x16xf32> {nn.parameter = {name = "w1"}}, %w2: tensor<16x32xf32> {nn.parameter = {name = "w2"}},
                    %g1: tensor<32x16xf32> {nn.gradient = "w1"}, %g2: tensor<16x32xf32> {nn.gradient = "w2"},
                    %scale: tensor<f32> {nn.scalar = "scale"})
      -> (tensor<32x16xf32> {nn.parameter = {name = "w1"}}, tensor<16x32xf32> {nn.parameter = {name = "w2"}}) {
    %s1 = nn.broadcast_in_dim %scale dims [] : tensor<f32> -> tensor<32x16xf32>
    %u1 = nn.mul %g1, %s1 : tensor<32x16xf32>
    %n1 = nn.sub %w1, %u1 : tensor<32x16xf32>
    %s2 = nn.broadcast_in_dim %scale dims [] : tensor<f32> -> tensor<16x32xf32>
    %u2 = nn.mul %g2, %s2 : tensor<16x32xf32>
    %n2 = nn.sub %w2, %u2 : tensor<16x32xf32>
    return %n1, %n2 : tensor<32x16xf32>, tensor<16x32xf32>
  }
}
