//===-- KernelContractTest.cpp - what never changes a bit: fusion, items, machine; and how operands may lie -------===//

#include "KernelLibrary.h"

#include "gtest/gtest.h"

#include <cstring>

using namespace shardc;
using namespace shardc::test;

namespace {

const std::string kShape = "tensor<6x45xf32>", kMemref = "memref<6x45xf32>";

/// Layer norm's statistics and what follows, as one kernel.
std::string defineNorm(const std::string &name) {
  return defineKernel(name, "row domain [6, 45] rows 1 items 6",
                      kMemref + ", memref<45xf32>, " + kMemref + ", memref<6xf32>, memref<6xf32>",
                      "%a: " + kShape + ", %w: tensor<45xf32>", R"(
    %n = nn.constant dense<45.0> : tensor<6xf32>
    %e = nn.constant dense<1.0e-05> : tensor<6xf32>
    %s = nn.reduce sum, %a dims [1] : tensor<6x45xf32> -> tensor<6xf32>
    %m = nn.div %s, %n : tensor<6xf32>
    %mb = nn.broadcast_in_dim %m dims [0] : tensor<6xf32> -> tensor<6x45xf32>
    %c = nn.sub %a, %mb : tensor<6x45xf32>
    %q = nn.mul %c, %c : tensor<6x45xf32>
    %v = nn.reduce sum, %q dims [1] : tensor<6x45xf32> -> tensor<6xf32>
    %d = nn.div %v, %n : tensor<6xf32>
    %de = nn.add %d, %e : tensor<6xf32>
    %r = nn.rsqrt %de : tensor<6xf32>
    %rb = nn.broadcast_in_dim %r dims [0] : tensor<6xf32> -> tensor<6x45xf32>
    %h = nn.mul %c, %rb : tensor<6x45xf32>
    %wb = nn.broadcast_in_dim %w dims [1] : tensor<45xf32> -> tensor<6x45xf32>
    %y = nn.mul %h, %wb : tensor<6x45xf32>
    %t = nn.tanh %y : tensor<6x45xf32>
    exec.yield %t, %m, %r : tensor<6x45xf32>, tensor<6xf32>, tensor<6xf32>)");
}

/// The same, one kernel an op or two.
std::string defineNormInPieces() {
  std::string row = "row domain [6, 45] rows 1 items 6", vector = "memref<6xf32>";
  return defineKernel(
             "sum", row, kMemref + ", " + vector, "%a: " + kShape,
             "%s = nn.reduce sum, %a dims [1] : tensor<6x45xf32> -> tensor<6xf32>\nexec.yield %s : tensor<6xf32>") +
         defineKernel("mean", "row domain [6] rows 1 items 6", vector + ", " + vector, "%s: tensor<6xf32>", R"(
    %n = nn.constant dense<45.0> : tensor<6xf32>
    %m = nn.div %s, %n : tensor<6xf32>
    exec.yield %m : tensor<6xf32>)") +
         defineKernel("center", row, kMemref + ", " + vector + ", " + kMemref, "%a: " + kShape + ", %m: tensor<6xf32>",
                      R"(
    %mb = nn.broadcast_in_dim %m dims [0] : tensor<6xf32> -> tensor<6x45xf32>
    %c = nn.sub %a, %mb : tensor<6x45xf32>
    exec.yield %c : tensor<6x45xf32>)") +
         defineKernel("square", row, kMemref + ", " + kMemref, "%c: " + kShape, R"(
    %q = nn.mul %c, %c : tensor<6x45xf32>
    exec.yield %q : tensor<6x45xf32>)") +
         defineKernel("rstd", "row domain [6] rows 0 items 1", vector + ", " + vector, "%d: tensor<6xf32>", R"(
    %e = nn.constant dense<1.0e-05> : tensor<6xf32>
    %de = nn.add %d, %e : tensor<6xf32>
    %r = nn.rsqrt %de : tensor<6xf32>
    exec.yield %r : tensor<6xf32>)") +
         defineKernel("scale", row, kMemref + ", " + vector + ", memref<45xf32>, " + kMemref,
                      "%c: " + kShape + ", %r: tensor<6xf32>, %w: tensor<45xf32>", R"(
    %rb = nn.broadcast_in_dim %r dims [0] : tensor<6xf32> -> tensor<6x45xf32>
    %h = nn.mul %c, %rb : tensor<6x45xf32>
    %wb = nn.broadcast_in_dim %w dims [1] : tensor<45xf32> -> tensor<6x45xf32>
    %y = nn.mul %h, %wb : tensor<6x45xf32>
    exec.yield %y : tensor<6x45xf32>)") +
         defineKernel("tanh", "row domain [270] rows 1 items 270", "memref<270xf32>, memref<270xf32>",
                      "%y: tensor<270xf32>", "%t = nn.tanh %y : tensor<270xf32>\nexec.yield %t : tensor<270xf32>");
}

struct Norm {
  std::vector<float> y = std::vector<float>(270), mean = std::vector<float>(6), rstd = std::vector<float>(6);
};

Norm runNorm(KernelLibrary &library, int64_t chunk) {
  Norm norm;
  auto a = makeValues(270), w = makeValues(45, 2);
  library.run("norm", {a.data(), w.data(), norm.y.data(), norm.mean.data(), norm.rstd.data()}, 6, {}, chunk);
  return norm;
}

void expectEqual(const Norm &a, const Norm &b) {
  EXPECT_TRUE(haveEqualBits(a.y, b.y));
  EXPECT_TRUE(haveEqualBits(a.mean, b.mean));
  EXPECT_TRUE(haveEqualBits(a.rstd, b.rstd));
}

TEST(KernelContract, FusionChangesNoBit) {
  auto library = KernelLibrary::compile(defineNorm("norm") + defineNormInPieces());
  ASSERT_TRUE(library);
  Norm fused = runNorm(*library, 6), pieces;
  auto a = makeValues(270), w = makeValues(45, 2);
  std::vector<float> sum(6), variance(6), mean(6), centered(270), squares(270), scaled(270);
  library->run("sum", {a.data(), sum.data()}, 6);
  library->run("mean", {sum.data(), pieces.mean.data()}, 6, {}, 1);
  library->run("center", {a.data(), pieces.mean.data(), centered.data()}, 6);
  library->run("square", {centered.data(), squares.data()}, 6);
  library->run("sum", {squares.data(), sum.data()}, 6);
  library->run("mean", {sum.data(), variance.data()}, 6);
  library->run("rstd", {variance.data(), pieces.rstd.data()}, 1);
  library->run("scale", {centered.data(), pieces.rstd.data(), w.data(), scaled.data()}, 6);
  library->run("tanh", {scaled.data(), pieces.y.data()}, 270, {}, 7);
  expectEqual(fused, pieces);
}

TEST(KernelContract, DividingItemsChangesNoBit) {
  auto library = KernelLibrary::compile(defineNorm("norm"));
  ASSERT_TRUE(library);
  for (int64_t chunk : {1, 2, 5})
    expectEqual(runNorm(*library, chunk), runNorm(*library, 6));
}

TEST(KernelContract, NarrowVectorsChangeNoBit) {
  auto host = KernelLibrary::compile(defineNorm("norm"));
  auto narrow = KernelLibrary::compile(defineNorm("norm"), {"x86-64-v3", {}});
  ASSERT_TRUE(host && narrow);
  expectEqual(runNorm(*host, 6), runNorm(*narrow, 6));
}

TEST(KernelContract, EqualInputGivesEqualBytes) {
  std::string text = defineNorm("norm") + defineNormInPieces();
  auto first = KernelLibrary::compile(text), second = KernelLibrary::compile(text);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->read(), second->read());
}

TEST(KernelContract, TargetsAreChecked) {
  std::string errors;
  EXPECT_FALSE(KernelLibrary::compile(defineNorm("norm"), {"pentium-9", {}}, &errors));
  EXPECT_NE(errors.find("unknown CPU 'pentium-9'"), std::string::npos) << errors;
  EXPECT_FALSE(KernelLibrary::compile(defineNorm("norm"), {"x86-64", {}}, &errors));
  EXPECT_NE(errors.find("has no fused multiply-add"), std::string::npos) << errors;
  EXPECT_EQ(codegen::getRequiredFeatures({"x86-64-v3", {}}),
            (std::vector<std::string>{"sse4.2", "avx", "avx2", "fma", "bmi", "bmi2", "f16c"}));
}

// Items whose bounds fall inside vectors: 21 rows of 5 elements form one run.
TEST(KernelContract, ShortRowsShareVectors) {
  auto library = KernelLibrary::compile(defineKernel("k", "row domain [3, 7, 5] rows 2 items 21",
                                                     "memref<3x7x5xf32>, memref<5xf32>, memref<3x7x5xf32>",
                                                     "%a: tensor<3x7x5xf32>, %b: tensor<5xf32>", R"(
    %r = nn.exp %a : tensor<3x7x5xf32>
    exec.yield %r : tensor<3x7x5xf32>)") +
                                        defineKernel("outer", "row domain [3, 7, 5] rows 2 items 21",
                                                     "memref<3x7x5xf32>, memref<3xf32>, memref<3x7x5xf32>",
                                                     "%a: tensor<3x7x5xf32>, %b: tensor<3xf32>", R"(
    %bb = nn.broadcast_in_dim %b dims [0] : tensor<3xf32> -> tensor<3x7x5xf32>
    %r = nn.add %a, %bb : tensor<3x7x5xf32>
    exec.yield %r : tensor<3x7x5xf32>)"));
  ASSERT_TRUE(library);
  auto a = makeValues(105), b = makeValues(5);
  std::vector<float> whole(105), chunked(121, 7), outer(121, 7), expected(121, 7);
  library->run("k", {a.data(), b.data(), whole.data()}, 21);
  for (int64_t chunk : {1, 2, 4, 20}) {
    library->run("k", {a.data(), b.data(), chunked.data()}, 21, {}, chunk);
    EXPECT_TRUE(haveEqualBits(std::vector<float>(chunked.begin(), chunked.begin() + 105), whole));
    EXPECT_EQ(chunked[105], 7);
    library->run("outer", {a.data(), b.data(), outer.data()}, 21, {}, chunk);
    for (int i = 0; i < 105; ++i)
      expected[i] = a[i] + b[i / 35];
    EXPECT_TRUE(haveEqualBits(outer, expected));
  }
}

TEST(KernelContract, OperandsMayBeStrided) {
  auto library = KernelLibrary::compile(
      defineKernel("k", "row domain [4, 3, 20] rows 2 items 12",
                   "memref<4x3x20xf32, strided<[1, 80, 4]>>, memref<4x3x20xf32, strided<[120, 20, 2]>>, "
                   "memref<4x3x20xf32, strided<[20, 0, 1]>>, memref<4x3x20xf32, strided<[60, 1, 3]>>",
                   "%a: tensor<4x3x20xf32>, %b: tensor<4x3x20xf32>, %c: tensor<4x3x20xf32>", R"(
    %s = nn.add %a, %b : tensor<4x3x20xf32>
    %r = nn.mul %s, %c : tensor<4x3x20xf32>
    exec.yield %r : tensor<4x3x20xf32>)"));
  ASSERT_TRUE(library);
  auto a = makeValues(240), b = makeValues(480, 2), c = makeValues(80, 3);
  std::vector<float> y(240), expected(240);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 20; ++k)
        expected[i * 60 + j + 3 * k] = (a[i + 80 * j + 4 * k] + b[120 * i + 20 * j + 2 * k]) * c[20 * i + k];
  library->run("k", {a.data(), b.data(), c.data(), y.data()}, 12, {}, 5);
  EXPECT_TRUE(haveEqualBits(y, expected));
}

// softmax over its own input: the store must wait for the last pass that reads.
TEST(KernelContract, InPlaceResultsOverwriteTheirOperand) {
  auto library = KernelLibrary::compile(defineKernel("k", "row domain [6, 45] rows 1 items 6",
                                                     kMemref + ", " + kMemref + ", memref<6xf32>", "%a: " + kShape, R"(
    %e = nn.exp %a : tensor<6x45xf32>
    %s = nn.reduce sum, %a dims [1] : tensor<6x45xf32> -> tensor<6xf32>
    %sb = nn.broadcast_in_dim %s dims [0] : tensor<6xf32> -> tensor<6x45xf32>
    %c = nn.mul %a, %sb : tensor<6x45xf32>
    %t = nn.reduce sum, %c dims [1] : tensor<6x45xf32> -> tensor<6xf32>
    exec.yield %e, %t : tensor<6x45xf32>, tensor<6xf32>)",
                                                     ", in_place = array<i64: 0, 0>"));
  ASSERT_TRUE(library);
  auto a = makeValues(270), b = a;
  std::vector<float> e(270), t(6), u(6);
  library->run("k", {a.data(), e.data(), t.data()}, 6);
  library->run("k", {b.data(), b.data(), u.data()}, 6);
  EXPECT_TRUE(haveEqualBits(b, e));
  EXPECT_TRUE(haveEqualBits(u, t));
}

// A causal mask: one iota seen along two dimensions; a table of constants; a result that rows share.
TEST(KernelContract, PositionsAndConstants) {
  auto library = KernelLibrary::compile(
      "module attributes {dist.mesh = #dist.mesh<[<\"dp\" = 2>, <\"pp\" = 1>, <\"tp\" = 2>]>} {\n" +
      defineKernel("k", "row domain [2, 5, 5] rows 2 items 10", "memref<2x5x5xf32>, memref<5xf32>, memref<i64>", "", R"(
    %i = nn.iota dim 0 : tensor<5xi64>
    %row = nn.broadcast_in_dim %i dims [1] : tensor<5xi64> -> tensor<2x5x5xi64>
    %column = nn.broadcast_in_dim %i dims [2] : tensor<5xi64> -> tensor<2x5x5xi64>
    %visible = nn.compare le, %column, %row : tensor<2x5x5xi64> -> tensor<2x5x5xi1>
    %table = nn.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<5xf32>
    %tb = nn.broadcast_in_dim %table dims [2] : tensor<5xf32> -> tensor<2x5x5xf32>
    %zero = nn.constant dense<0.0> : tensor<2x5x5xf32>
    %r = nn.select %visible, %tb, %zero : tensor<2x5x5xi1>, tensor<2x5x5xf32>
    %double = nn.add %table, %table : tensor<5xf32>
    %coordinate = dist.axis_index "tp" : tensor<i64>
    exec.yield %r, %double, %coordinate : tensor<2x5x5xf32>, tensor<5xf32>, tensor<i64>)") +
      "}");
  ASSERT_TRUE(library);
  std::vector<float> y(50), expected(50), twice(5);
  int64_t coordinate = -1;
  shardrtControl control = {};
  control.coordinates[2] = 1;
  for (int i = 0; i < 50; ++i)
    expected[i] = i % 5 <= i / 5 % 5 ? i % 5 + 1 : 0;
  library->run("k", {y.data(), twice.data(), &coordinate}, 10, control, 3);
  EXPECT_TRUE(haveEqualBits(y, expected));
  EXPECT_TRUE(haveEqualBits(twice, {2, 4, 6, 8, 10}));
  EXPECT_EQ(coordinate, 1);
}

} // namespace
