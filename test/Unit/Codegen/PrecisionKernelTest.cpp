//===-- PrecisionKernelTest.cpp - kernels on bf16 and f16 ---------------------------------------------------------===//
//
// The runtime's conversions, which have tests of their own, say what the bits must be.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "KernelLibrary.h"
#include "runtime/base/Float16.h"

#include "gtest/gtest.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>

using namespace shardc;
using namespace shardc::test;
using rt::BFloat16;
using rt::Float16;

namespace {

/// f32 of every kind: random bits, ties, denormals, infinities and NaN; `count` of them.
std::vector<float> makeHardValues(size_t count) {
  std::mt19937 random(3);
  std::vector<float> values = {0.0f,          -0.0f,       std::numeric_limits<float>::infinity(),
                               1e-40f,        -1e-40f,     65504.0f,
                               65520.0f,      -65519.0f,   0x1p-24f,
                               0x1p-25f,      0x1.8p-25f,  3.0e38f,
                               std::nanf(""), 1 + 0x1p-8f, 1 + 0x3p-8f};
  while (values.size() < count) {
    uint32_t word = random();
    values.push_back(std::bit_cast<float>(values.size() % 2 ? word & 0xFFFF8000 : word));
  }
  values.resize(count);
  return values;
}

template <typename T> std::vector<T> narrow(const std::vector<float> &values) {
  std::vector<T> result;
  for (float value : values)
    result.push_back(T(value));
  return result;
}

/// Equal bits, any NaN equal to any other.
template <typename T>
void expectEqual(const std::vector<T> &got, const std::vector<T> &expected, const std::string &what) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(static_cast<float>(expected[i])))
      ASSERT_TRUE(std::isnan(static_cast<float>(got[i]))) << what << ", element " << i;
    else
      ASSERT_EQ(std::bit_cast<uint16_t>(got[i]), std::bit_cast<uint16_t>(expected[i])) << what << ", element " << i;
  }
}

std::string shape(int64_t rows, int64_t columns, const std::string &type) {
  return std::to_string(rows) + "x" + std::to_string(columns) + "x" + type;
}

template <typename T> class PrecisionKernel : public ::testing::Test {
public:
  static constexpr bool kIsBf16 = std::is_same_v<T, BFloat16>;
  static std::string name() { return kIsBf16 ? "bf16" : "f16"; }
  static codegen::CpuTarget machine(const std::string &cpu) { return {cpu, {}}; }
};

using Types = ::testing::Types<BFloat16, Float16>;
TYPED_TEST_SUITE(PrecisionKernel, Types);

/// From f32 to the low type and back, contiguous with a tail, as on this machine and on the oldest one.
TYPED_TEST(PrecisionKernel, ConvertsAsTheRuntimeDoes) {
  std::string low = this->name();
  for (int64_t n : {1, 15, 16, 17, 100}) {
    std::string wide = shape(3, n, "f32"), narrowed = shape(3, n, low);
    std::string text = defineKernel(
        "k", "row domain [3, " + std::to_string(n) + "] rows 1 items 3",
        "memref<" + wide + ">, memref<" + narrowed + ">, memref<" + wide + ">", "%a: tensor<" + wide + ">",
        "%l = nn.convert %a : tensor<" + wide + "> -> tensor<" + narrowed + ">\n%u = nn.convert %l : tensor<" +
            narrowed + "> -> tensor<" + wide + ">\nexec.yield %l, %u : tensor<" + narrowed + ">, tensor<" + wide + ">");
    for (const codegen::CpuTarget &target : {codegen::getHostTarget(), codegen::CpuTarget{"x86-64-v3", {}}}) {
      auto library = KernelLibrary::compile(text, target);
      ASSERT_TRUE(library);
      auto a = makeHardValues(3 * n);
      std::vector<TypeParam> l(3 * n + 16, TypeParam(7.0f)), expected = narrow<TypeParam>(a);
      std::vector<float> u(3 * n), expectedWide(expected.begin(), expected.end());
      expected.resize(3 * n + 16, TypeParam(7.0f)); // nothing is written behind the end
      library->run("k", {a.data(), l.data(), u.data()}, 3);
      expectEqual(l, expected, target.cpu);
      EXPECT_TRUE(haveEqualBits(u, expectedWide)) << n;
    }
  }
}

/// Arithmetic on low values: in f32, rounded after each op.
TYPED_TEST(PrecisionKernel, RoundsAfterEachOp) {
  std::string t = "tensor<" + shape(3, 37, this->name()) + ">", m = "memref<" + shape(3, 37, this->name()) + ">";
  std::string column = "memref<3x37x" + this->name() + ", strided<[1, 3]>>";
  auto library = KernelLibrary::compile(defineKernel(
      "k", "row domain [3, 37] rows 1 items 3", m + ", " + column + ", " + m, "%a: " + t + ", %b: " + t,
      "%s = nn.add %a, %b : " + t + "\n%p = nn.mul %s, %a : " + t + "\n%c = nn.constant dense<0.333> : " + t +
          "\n%r = nn.sub %p, %c : " + t + "\nexec.yield %r : " + t));
  ASSERT_TRUE(library);
  auto a = narrow<TypeParam>(makeValues(3 * 37)), b = narrow<TypeParam>(makeValues(3 * 37, 2));
  std::vector<TypeParam> r(3 * 37), expected(3 * 37);
  for (int row = 0; row < 3; ++row)
    for (int i = 0; i < 37; ++i) {
      float x = a[row * 37 + i], y = b[i * 3 + row];
      TypeParam sum(x + y), product(sum * x);
      expected[row * 37 + i] = TypeParam(product - TypeParam(0.333f));
    }
  library->run("k", {a.data(), b.data(), r.data()}, 3);
  expectEqual(r, expected, "row");
}

/// Reductions of low values sum in f32 and round at the end.
TYPED_TEST(PrecisionKernel, ReducesInF32) {
  std::string low = this->name(), t = "tensor<" + shape(4, 50, low) + ">", m = "memref<" + shape(4, 50, low) + ">";
  std::string rows = "tensor<4x" + low + ">", columns = "tensor<50x" + low + ">";
  auto library = KernelLibrary::compile(
      defineKernel("row", "row domain [4, 50] rows 1 items 4", m + ", memref<4x" + low + ">", "%a: " + t,
                   "%s = nn.reduce sum, %a dims [1] : " + t + " -> " + rows + "\nexec.yield %s : " + rows) +
      defineKernel("column", "column domain [4, 50] rows 1 items 1", m + ", memref<50x" + low + ">", "%a: " + t,
                   "%s = nn.reduce sum, %a dims [0] : " + t + " -> " + columns + "\nexec.yield %s : " + columns));
  ASSERT_TRUE(library);
  auto a = narrow<TypeParam>(makeValues(4 * 50));
  std::vector<float> wide(a.begin(), a.end());
  std::vector<TypeParam> sums(4), columnSums(50), expected, expectedColumns;
  for (int row = 0; row < 4; ++row)
    expected.push_back(TypeParam(sumInLanes(&wide[row * 50], 50, 50)));
  for (int i = 0; i < 50; ++i)
    expectedColumns.push_back(TypeParam(((wide[i] + wide[50 + i]) + wide[100 + i]) + wide[150 + i]));
  library->run("row", {a.data(), sums.data()}, 4);
  library->run("column", {a.data(), columnSums.data()}, 1);
  expectEqual(sums, expected, "row");
  expectEqual(columnSums, expectedColumns, "column");
}

/// Slices move without change, and an index out of range gives zeros.
TYPED_TEST(PrecisionKernel, GathersSlices) {
  std::string low = this->name();
  auto library = KernelLibrary::compile(defineKernel(
      "k", "gather domain [3, 20] rows 1 items 3", "memref<5x20x" + low + ">, memref<3xi64>, memref<3x20x" + low + ">",
      "%t: tensor<5x20x" + low + ">, %i: tensor<3xi64>",
      "%r = nn.gather %t, %i axis 0 : (tensor<5x20x" + low + ">, tensor<3xi64>) -> tensor<3x20x" + low +
          ">\nexec.yield %r : tensor<3x20x" + low + ">"));
  ASSERT_TRUE(library);
  auto table = narrow<TypeParam>(makeValues(5 * 20));
  std::vector<int64_t> indices = {4, 9, 0};
  std::vector<TypeParam> r(60, TypeParam(1.0f)), expected(60, TypeParam(0.0f));
  std::copy(table.begin() + 80, table.end(), expected.begin());
  std::copy(table.begin(), table.begin() + 20, expected.begin() + 40);
  library->run("k", {table.data(), indices.data(), r.data()}, 3);
  expectEqual(r, expected, "gather");
}

} // namespace
