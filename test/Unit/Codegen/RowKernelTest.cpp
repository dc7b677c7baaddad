//===-- RowKernelTest.cpp - row kernels against plain loops -------------------------------------------------------===//

#include "KernelLibrary.h"

#include "gtest/gtest.h"

#include <cmath>
#include <limits>

using namespace shardc;
using namespace shardc::test;

namespace {

const std::vector<int64_t> kSizes = {1, 2, 7, 15, 16, 17, 31, 32, 33, 48, 100};

std::string str(int64_t value) { return std::to_string(value); }
std::string tensor(int64_t rows, int64_t columns, const std::string &element = "f32") {
  return "tensor<" + str(rows) + "x" + str(columns) + "x" + element + ">";
}
std::string memref(int64_t rows, int64_t columns, const std::string &element = "f32") {
  return "memref<" + str(rows) + "x" + str(columns) + "x" + element + ">";
}
std::string head(int64_t rows, int64_t columns) {
  return "row domain [" + str(rows) + ", " + str(columns) + "] rows 1 items " + str(rows);
}

TEST(RowKernel, ElementwiseOfEverySize) {
  std::string text;
  for (int64_t n : kSizes) {
    std::string t = tensor(3, n);
    text += defineKernel("k" + str(n), head(3, n), memref(3, n) + ", memref<" + str(n) + "xf32>, " + memref(3, n),
                         "%a: " + t + ", %b: tensor<" + str(n) + "xf32>",
                         "%bb = nn.broadcast_in_dim %b dims [1] : tensor<" + str(n) + "xf32> -> " + t +
                             "\n%s = nn.add %a, %bb : " + t + "\n%m = nn.mul %s, %a : " + t + "\nexec.yield %m : " + t);
  }
  auto library = KernelLibrary::compile(text);
  ASSERT_TRUE(library);
  for (int64_t n : kSizes) {
    auto a = makeValues(3 * n), b = makeValues(n, 2);
    std::vector<float> c(3 * n + 16, 7), expected(3 * n + 16, 7);
    for (int64_t i = 0; i < 3 * n; ++i)
      expected[i] = (a[i] + b[i % n]) * a[i];
    library->run("k" + str(n), {a.data(), b.data(), c.data()}, 3);
    EXPECT_TRUE(haveEqualBits(c, expected)) << n;
  }
}

TEST(RowKernel, SumFollowsTheLanesAndTheTree) {
  std::string text;
  for (int64_t n : kSizes)
    text += defineKernel("k" + str(n), head(3, n), memref(3, n) + ", memref<3xf32>", "%a: " + tensor(3, n),
                         "%s = nn.reduce sum, %a dims [1] : " + tensor(3, n) +
                             " -> tensor<3xf32>\nexec.yield %s : tensor<3xf32>");
  auto library = KernelLibrary::compile(text);
  ASSERT_TRUE(library);
  for (int64_t n : kSizes) {
    auto a = makeValues(3 * n);
    std::vector<float> s(3), expected(3);
    for (int row = 0; row < 3; ++row)
      expected[row] = sumInLanes(&a[row * n], n, n);
    library->run("k" + str(n), {a.data(), s.data()}, 3);
    EXPECT_TRUE(haveEqualBits(s, expected)) << n;
  }
}

TEST(RowKernel, SumOverSeveralDimensionsStartsEachRunAtLaneZero) {
  auto define = [](const std::string &name, int64_t a, int64_t b) {
    std::string shape = "2x" + str(a) + "x" + str(b) + "xf32";
    return defineKernel(name, "row domain [2, " + str(a) + ", " + str(b) + "] rows 1 items 2",
                        "memref<" + shape + ">, memref<2xf32>", "%a: tensor<" + shape + ">",
                        "%s = nn.reduce sum, %a dims [1, 2] : tensor<" + shape +
                            "> -> tensor<2xf32>\nexec.yield %s : tensor<2xf32>");
  };
  auto library = KernelLibrary::compile(define("odd", 5, 19) + define("even", 5, 32));
  ASSERT_TRUE(library);
  for (auto [name, run] : {std::pair("odd", 19), std::pair("even", 32)}) {
    auto a = makeValues(2 * 5 * run);
    std::vector<float> s(2), expected{sumInLanes(&a[0], 5 * run, run), sumInLanes(&a[5 * run], 5 * run, run)};
    library->run(name, {a.data(), s.data()}, 2);
    EXPECT_TRUE(haveEqualBits(s, expected)) << name;
  }
}

TEST(RowKernel, SoftmaxIsCloseToItsDefinition) {
  std::string t = tensor(5, 37);
  auto library =
      KernelLibrary::compile(defineKernel("k", head(5, 37), memref(5, 37) + ", " + memref(5, 37), "%a: " + t, R"(
    %m = nn.reduce max, %a dims [1] : )" + t + R"( -> tensor<5xf32>
    %mb = nn.broadcast_in_dim %m dims [0] : tensor<5xf32> -> )" + t + R"(
    %c = nn.sub %a, %mb : )" + t + R"(
    %e = nn.exp %c : )" + t + R"(
    %s = nn.reduce sum, %e dims [1] : )" + t + R"( -> tensor<5xf32>
    %sb = nn.broadcast_in_dim %s dims [0] : tensor<5xf32> -> )" + t + R"(
    %d = nn.div %e, %sb : )" + t + R"(
    exec.yield %d : )" + t));
  ASSERT_TRUE(library);
  auto a = makeValues(5 * 37, 1, -8, 8);
  a[3] = -std::numeric_limits<float>::infinity();
  std::vector<float> y(5 * 37);
  library->run("k", {a.data(), y.data()}, 5);
  for (int row = 0; row < 5; ++row) {
    double sum = 0, max = *std::max_element(&a[row * 37], &a[row * 37] + 37);
    for (int i = 0; i < 37; ++i)
      sum += std::exp(a[row * 37 + i] - max);
    for (int i = 0; i < 37; ++i)
      EXPECT_NEAR(y[row * 37 + i], std::exp(a[row * 37 + i] - max) / sum, 1e-6);
  }
  EXPECT_EQ(y[3], 0);
}

} // namespace
