//===-- ColumnKernelTest.cpp - column kernels against plain loops -------------------------------------------------===//

#include "KernelLibrary.h"

#include "gtest/gtest.h"

using namespace shardc;
using namespace shardc::test;

namespace {

std::string str(int64_t value) { return std::to_string(value); }

/// Rows in ascending order within blocks of 64, then the blocks.
float sumInBlocks(const float *values, int64_t rows, int64_t stride) {
  float total = 0;
  for (int64_t begin = 0; begin < rows; begin += 64) {
    float block = 0;
    for (int64_t row = begin; row < std::min(rows, begin + 64); ++row)
      block += values[row * stride];
    total += block;
  }
  return total;
}

TEST(ColumnKernel, SumsRowsInBlocks) {
  std::string text;
  std::vector<std::pair<int64_t, int64_t>> sizes = {{1, 1}, {3, 5}, {64, 16}, {65, 64}, {130, 70}, {200, 200}};
  for (auto [m, n] : sizes)
    text +=
        defineKernel("k" + str(m), "column domain [" + str(m) + ", " + str(n) + "] rows 1 items " + str((n + 63) / 64),
                     "memref<" + str(m) + "x" + str(n) + "xf32>, memref<" + str(n) + "xf32>",
                     "%a: tensor<" + str(m) + "x" + str(n) + "xf32>",
                     "%s = nn.reduce sum, %a dims [0] : tensor<" + str(m) + "x" + str(n) + "xf32> -> tensor<" + str(n) +
                         "xf32>\nexec.yield %s : tensor<" + str(n) + "xf32>");
  auto library = KernelLibrary::compile(text);
  ASSERT_TRUE(library);
  for (auto [m, n] : sizes) {
    auto a = makeValues(m * n);
    std::vector<float> s(n + 16, 7), expected(n + 16, 7);
    for (int64_t column = 0; column < n; ++column)
      expected[column] = sumInBlocks(&a[column], m, n);
    library->run("k" + str(m), {a.data(), s.data()}, (n + 63) / 64, {}, 1);
    EXPECT_TRUE(haveEqualBits(s, expected)) << m << " " << n;
  }
}

// As in the gradients of scale and bias of a layer norm: rows of two dimensions, values of rows and of columns.
TEST(ColumnKernel, ComputesProducersInPlace) {
  auto library = KernelLibrary::compile(
      defineKernel("k", "column domain [5, 30, 40] rows 2 items 1",
                   "memref<5x30x40xf32>, memref<5x30xf32>, memref<40xf32>, memref<40xf32>, memref<40xf32>",
                   "%a: tensor<5x30x40xf32>, %m: tensor<5x30xf32>, %w: tensor<40xf32>", R"(
    %mb = nn.broadcast_in_dim %m dims [0, 1] : tensor<5x30xf32> -> tensor<5x30x40xf32>
    %wb = nn.broadcast_in_dim %w dims [2] : tensor<40xf32> -> tensor<5x30x40xf32>
    %c = nn.sub %a, %mb : tensor<5x30x40xf32>
    %p = nn.mul %c, %wb : tensor<5x30x40xf32>
    %s = nn.reduce sum, %p dims [0, 1] : tensor<5x30x40xf32> -> tensor<40xf32>
    %t = nn.reduce max, %a dims [0, 1] : tensor<5x30x40xf32> -> tensor<40xf32>
    exec.yield %s, %t : tensor<40xf32>, tensor<40xf32>)"));
  ASSERT_TRUE(library);
  auto a = makeValues(5 * 30 * 40), m = makeValues(150, 2), w = makeValues(40, 3);
  std::vector<float> s(40), t(40), expected(40), largest(40, -9), products(a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    products[i] = (a[i] - m[i / 40]) * w[i % 40];
    largest[i % 40] = std::max(largest[i % 40], a[i]);
  }
  for (int64_t column = 0; column < 40; ++column)
    expected[column] = sumInBlocks(&products[column], 150, 40);
  library->run("k", {a.data(), m.data(), w.data(), s.data(), t.data()}, 1);
  EXPECT_TRUE(haveEqualBits(s, expected));
  EXPECT_TRUE(haveEqualBits(t, largest));
}

// Columns of two dimensions whose strides do not merge: runs of 20 and of 32 elements.
TEST(ColumnKernel, WalksStridedColumns) {
  auto define = [](const std::string &name, int64_t n) {
    std::string t = "tensor<9x3x" + str(n) + "xf32>", r = "tensor<3x" + str(n) + "xf32>";
    return defineKernel(name, "column domain [9, 3, " + str(n) + "] rows 1 items " + str((3 * n + 63) / 64),
                        "memref<9x3x" + str(n) + "xf32, strided<[" + str(n) + ", " + str(9 * n) + ", 1]>>, memref<3x" +
                            str(n) + "xf32>",
                        "%a: " + t, "%s = nn.reduce sum, %a dims [0] : " + t + " -> " + r + "\nexec.yield %s : " + r);
  };
  auto library = KernelLibrary::compile(define("short", 20) + define("long", 32));
  ASSERT_TRUE(library);
  for (auto [name, n] : {std::pair("short", 20), std::pair("long", 32)}) {
    auto a = makeValues(27 * n);
    std::vector<float> s(3 * n), expected(3 * n);
    for (int64_t i = 0; i < 3; ++i)
      for (int64_t j = 0; j < n; ++j)
        expected[i * n + j] = sumInBlocks(&a[i * 9 * n + j], 9, n);
    library->run(name, {a.data(), s.data()}, (3 * n + 63) / 64);
    EXPECT_TRUE(haveEqualBits(s, expected)) << name;
  }
}

} // namespace
