//===-- IndexKernelTest.cpp - gather, scatter_add, local_slice, block_sum_squares ---------------------------------===//

#include "KernelLibrary.h"

#include "gtest/gtest.h"

using namespace shardc;
using namespace shardc::test;

namespace {

TEST(IndexKernel, GatherReadsSlicesAndZeros) {
  auto library = KernelLibrary::compile(
      defineKernel("rows", "gather items 4", "memref<6x37xf32>, memref<2x2xi64>, memref<2x2x37xf32>",
                   "%t: tensor<6x37xf32>, %i: tensor<2x2xi64>",
                   "%g = nn.gather %t, %i axis 0 : (tensor<6x37xf32>, tensor<2x2xi64>) -> tensor<2x2x37xf32>\n"
                   "exec.yield %g : tensor<2x2x37xf32>") +
      defineKernel("last", "gather items 9", "memref<3x4xi1>, memref<3xi32>, memref<3x3xi1>",
                   "%t: tensor<3x4xi1>, %i: tensor<3xi32>",
                   "%g = nn.gather %t, %i axis 1 : (tensor<3x4xi1>, tensor<3xi32>) -> tensor<3x3xi1>\n"
                   "exec.yield %g : tensor<3x3xi1>"));
  ASSERT_TRUE(library);
  auto table = makeValues(6 * 37);
  std::vector<int64_t> indices = {5, -1, 0, 6};
  std::vector<float> y(4 * 37, 7), expected(4 * 37, 0);
  for (int j = 0; j < 37; ++j) {
    expected[j] = table[5 * 37 + j];
    expected[2 * 37 + j] = table[j];
  }
  library->run("rows", {table.data(), indices.data(), y.data()}, 4, {}, 3);
  EXPECT_TRUE(haveEqualBits(y, expected));

  std::vector<uint8_t> bits = {1, 0, 0, 1, 0, 1, 0, 1, 1, 1, 1, 0}, z(9, 9);
  std::vector<int32_t> columns = {3, 4, 1};
  library->run("last", {bits.data(), columns.data(), z.data()}, 9);
  EXPECT_EQ(z, (std::vector<uint8_t>{1, 0, 0, 1, 0, 1, 0, 0, 1}));
}

TEST(IndexKernel, ScatterAddAddsInOrderAndDrops) {
  auto library = KernelLibrary::compile(
      defineKernel("k", "scatter_add items 2", "memref<2x3xi64>, memref<2x3x70xf32>, memref<4x70xf32>",
                   "%i: tensor<2x3xi64>, %u: tensor<2x3x70xf32>",
                   "%g = nn.scatter_add %i, %u axis 0 : (tensor<2x3xi64>, tensor<2x3x70xf32>) -> tensor<4x70xf32>\n"
                   "exec.yield %g : tensor<4x70xf32>"));
  ASSERT_TRUE(library);
  auto updates = makeValues(6 * 70);
  std::vector<int64_t> indices = {2, 4, 2, 0, -7, 2};
  std::vector<float> y(4 * 70, 7), expected(4 * 70, 0);
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 70; ++j)
      if (indices[i] >= 0 && indices[i] < 4)
        expected[indices[i] * 70 + j] += updates[i * 70 + j];
  library->run("k", {indices.data(), updates.data(), y.data()}, 2, {}, 1);
  EXPECT_TRUE(haveEqualBits(y, expected));
}

TEST(IndexKernel, LocalSliceTakesTheBlockOfTheCoordinate) {
  auto library = KernelLibrary::compile(
      "module attributes {dist.mesh = #dist.mesh<[<\"dp\" = 2>, <\"pp\" = 1>, <\"tp\" = 3>]>} {\n" +
      defineKernel("k", "local_slice items 1", "memref<3x5x7xf32>, memref<5x7xf32, strided<[1, 5]>>",
                   "%a: tensor<3x5x7xf32>",
                   "%s = dist.local_slice %a axis \"tp\" : tensor<3x5x7xf32> -> tensor<5x7xf32>\n"
                   "exec.yield %s : tensor<5x7xf32>") +
      "}");
  ASSERT_TRUE(library);
  auto a = makeValues(3 * 35);
  std::vector<float> y(35), expected(35);
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 7; ++j)
      expected[j * 5 + i] = a[2 * 35 + i * 7 + j];
  shardrtControl control = {};
  control.coordinates[0] = 1;
  control.coordinates[2] = 2;
  library->run("k", {a.data(), y.data()}, 1, control);
  EXPECT_TRUE(haveEqualBits(y, expected));
}

TEST(IndexKernel, BlockSumSquaresFollowsTheLanes) {
  std::string text;
  for (auto [block, n] : {std::pair(64, 1000), std::pair(40, 1000), std::pair(4096, 7), std::pair(32, 64)}) {
    std::string t = "5x" + std::to_string(n / 5) + "xf32", r = std::to_string((n / 5 * 5 + block - 1) / block) + "xf64";
    text += defineKernel("k" + std::to_string(block),
                         "block_sum_squares items " + std::to_string((n / 5 * 5 + block - 1) / block),
                         "memref<" + t + ">, memref<" + r + ">", "%a: tensor<" + t + ">",
                         "%s = nn.block_sum_squares %a block " + std::to_string(block) + " : tensor<" + t +
                             "> -> tensor<" + r + ">\nexec.yield %s : tensor<" + r + ">");
  }
  auto library = KernelLibrary::compile(text);
  ASSERT_TRUE(library);
  for (auto [block, size] : {std::pair(64, 1000), std::pair(40, 1000), std::pair(4096, 7), std::pair(32, 64)}) {
    int n = size / 5 * 5, blocks = (n + block - 1) / block;
    auto a = makeValues(n);
    std::vector<double> s(blocks);
    library->run("k" + std::to_string(block), {a.data(), s.data()}, blocks, {}, 2);
    for (int b = 0; b < blocks; ++b) {
      double lanes[16] = {};
      for (int i = b * block; i < std::min(n, (b + 1) * block); ++i)
        lanes[(i - b * block) % 16] += static_cast<double>(a[i]) * a[i];
      for (int half = 8; half >= 1; half /= 2)
        for (int lane = 0; lane < half; ++lane)
          lanes[lane] += lanes[lane + half];
      EXPECT_EQ(s[b], lanes[0]) << block << " " << b;
    }
  }
}

} // namespace
