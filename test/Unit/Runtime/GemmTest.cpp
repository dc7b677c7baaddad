//===-- GemmTest.cpp - matrix products against plain loops --------------------------------------------------------===//

#include "runtime/device/cpu/Gemm.h"
#include "runtime/base/Float16.h"
#include "runtime/device/cpu/Arena.h"
#include "runtime/device/cpu/GemmLayout.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace shardc;
using namespace shardc::rt;

namespace {

struct Case {
  const char *name;
  GemmOperand a, b, c;
  int64_t biasStride = 0; // 0: none
};

GemmOperand dense(std::vector<int64_t> sizes) {
  GemmOperand operand = {sizes, std::vector<int64_t>(sizes.size(), 1)};
  for (size_t i = sizes.size(); i-- > 1;)
    operand.strides[i - 1] = operand.strides[i] * sizes[i];
  return operand;
}

GemmOperand transposed(std::vector<int64_t> sizes) {
  std::swap(sizes[sizes.size() - 1], sizes[sizes.size() - 2]);
  GemmOperand operand = dense(sizes);
  std::swap(operand.sizes[sizes.size() - 1], operand.sizes[sizes.size() - 2]);
  std::swap(operand.strides[sizes.size() - 1], operand.strides[sizes.size() - 2]);
  return operand;
}

std::vector<Case> cases() {
  return {
      {"dense", dense({7, 5}), dense({5, 9}), dense({7, 9})},
      {"dense with bias", dense({7, 5}), dense({5, 9}), dense({7, 9}), 1},
      {"strided bias", dense({7, 5}), dense({5, 9}), dense({7, 9}), 3},
      {"a transposed", transposed({7, 5}), dense({5, 9}), dense({7, 9})},
      {"b transposed", dense({7, 5}), transposed({5, 9}), dense({7, 9}), 1},
      {"c transposed", dense({7, 5}), dense({5, 9}), transposed({7, 9})},
      {"c transposed with bias", dense({7, 5}), dense({5, 9}), transposed({7, 9}), 1},
      {"all transposed", transposed({7, 5}), transposed({5, 9}), transposed({7, 9})},
      {"rows with gaps", {{7, 5}, {11, 1}}, {{5, 9}, {20, 1}}, {{7, 9}, {13, 1}}, 1},
      {"odd strides", {{7, 5}, {23, 2}}, {{5, 9}, {3, 17}}, {{7, 9}, {29, 3}}, 2},
      {"one row", dense({1, 5}), dense({5, 9}), dense({1, 9}), 1},
      {"one column", dense({7, 5}), dense({5, 1}), dense({7, 1}), 1},
      {"inner size one", dense({7, 1}), dense({1, 9}), dense({7, 9})},
      {"all ones", dense({1, 1}), dense({1, 1}), dense({1, 1})},
      {"one column of a wide matrix", {{7, 1}, {12, 1}}, dense({1, 9}), dense({7, 9})},
      {"batch", dense({3, 7, 5}), dense({3, 5, 9}), dense({3, 7, 9})},
      {"two batch dimensions", dense({2, 3, 7, 5}), dense({2, 3, 5, 9}), dense({2, 3, 7, 9})},
      {"b without batch", dense({2, 3, 7, 5}), dense({5, 9}), dense({2, 3, 7, 9}), 1},
      {"b broadcast by stride", dense({3, 7, 5}), {{3, 5, 9}, {0, 9, 1}}, dense({3, 7, 9})},
      {"b broadcast by size", dense({3, 7, 5}), dense({1, 5, 9}), dense({3, 7, 9})},
      {"a broadcast", dense({1, 7, 5}), dense({3, 5, 9}), dense({3, 7, 9})},
      {"a broadcast, columns continue", dense({7, 5}), {{3, 5, 4}, {4, 12, 1}}, {{3, 7, 4}, {4, 12, 1}}},
      {"one row a sample", {{6, 1, 5}, {5, 5, 1}}, dense({5, 9}), dense({6, 1, 9}), 1},
      // Heads of a fused QKV: [batch, heads, seq, d] in [batch, seq, 3, heads, d].
      {"queries and keys", {{2, 4, 6, 8}, {6 * 96, 8, 96, 1}}, {{2, 4, 8, 6}, {6 * 96, 8, 1, 96}}, dense({2, 4, 6, 6})},
      {"attention and values",
       dense({2, 4, 6, 6}),
       {{2, 4, 6, 8}, {6 * 96, 8, 96, 1}},
       {{2, 4, 6, 8}, {6 * 32, 8, 32, 1}}},
      {"gradient of values",
       {{2, 4, 6, 6}, {144, 36, 1, 6}},
       {{2, 4, 6, 8}, {6 * 32, 8, 32, 1}},
       {{2, 4, 6, 8}, {6 * 96, 8, 96, 1}}},
      {"batch with odd strides",
       {{2, 3, 7, 5}, {400, 110, 15, 2}},
       {{2, 3, 5, 9}, {0, 150, 3, 16}},
       {{2, 3, 7, 9}, {900, 290, 40, 4}}},
  };
}

int64_t extent(const GemmOperand &operand) {
  int64_t last = 0;
  for (size_t i = 0; i < operand.sizes.size(); ++i)
    last += (operand.sizes[i] - 1) * operand.strides[i];
  return last + 1;
}

/// Offset of [batch index of c's shape…, row, column] in an operand that may lack or broadcast batch dimensions.
int64_t at(const GemmOperand &operand, const std::vector<int64_t> &batch, int64_t row, int64_t column) {
  size_t rank = operand.sizes.size(), own = rank - 2;
  int64_t offset = row * operand.strides[rank - 2] + column * operand.strides[rank - 1];
  for (size_t i = 0; i < own; ++i)
    if (operand.sizes[i] != 1)
      offset += batch[batch.size() - own + i] * operand.strides[i];
  return offset;
}

template <typename T>
void multiplyPlainly(const GemmSpec &spec, const std::vector<T> &a, const std::vector<T> &b, std::vector<T> &c,
                     const std::vector<T> &bias) {
  size_t rank = spec.c.sizes.size();
  std::vector<int64_t> batch(rank - 2, 0);
  int64_t count = 1;
  for (size_t i = 0; i + 2 < rank; ++i)
    count *= spec.c.sizes[i];
  for (int64_t number = 0; number < count; ++number) {
    int64_t rest = number;
    for (size_t i = rank - 2; i-- > 0; rest /= spec.c.sizes[i])
      batch[i] = rest % spec.c.sizes[i];
    for (int64_t i = 0; i < spec.c.sizes[rank - 2]; ++i)
      for (int64_t j = 0; j < spec.c.sizes[rank - 1]; ++j) {
        double sum = spec.hasBias ? bias[j * spec.biasStride] : 0;
        for (int64_t l = 0; l < spec.a.sizes.back(); ++l)
          sum += static_cast<double>(a[at(spec.a, batch, i, l)]) * b[at(spec.b, batch, l, j)];
        T &result = c[at(spec.c, batch, i, j)];
        result = static_cast<T>(spec.accumulate ? result + sum : sum);
      }
  }
}

template <typename T> std::vector<T> randomValues(int64_t count, int seed) {
  std::mt19937 random(seed);
  std::vector<T> values(count);
  for (T &value : values)
    value = static_cast<T>(static_cast<double>(random() % 2001) / 1000 - 1);
  return values;
}

template <typename T> void check(GemmCache &cache, GemmSpec spec, const char *name) {
  SCOPED_TRACE(name);
  auto gemm = cache.get(spec);
  ASSERT_TRUE(gemm.isOk()) << gemm.status().render();
  auto workspace = Arena::allocate((*gemm)->workspaceBytes());
  ASSERT_TRUE(workspace.isOk());
  int64_t columns = spec.c.sizes.back();
  auto a = randomValues<T>(extent(spec.a), 1), b = randomValues<T>(extent(spec.b), 2);
  auto c = randomValues<T>(extent(spec.c), 3), bias = randomValues<T>((columns - 1) * spec.biasStride + 1, 4);
  std::vector<T> expected = c;
  for (int run = 0; run < 2; ++run) { // prepared once, run twice
    multiplyPlainly(spec, a, b, expected, bias);
    (*gemm)->run(a.data(), b.data(), c.data(), spec.hasBias ? bias.data() : nullptr, workspace->data());
    for (size_t i = 0; i < c.size(); ++i) // gaps must stay as they are
      ASSERT_NEAR(c[i], expected[i], 1e-4) << "element " << i << ", " << (*gemm)->implementation();
  }
}

GemmSpec makeSpec(const Case &test, bool accumulate, plan::ElementType type) {
  GemmSpec spec;
  spec.a = test.a;
  spec.b = test.b;
  spec.c = test.c;
  spec.hasBias = test.biasStride > 0;
  spec.biasStride = std::max<int64_t>(test.biasStride, 1);
  spec.accumulate = accumulate;
  spec.type = type;
  return spec;
}

} // namespace

TEST(Gemm, AgreesWithPlainLoops) {
  for (int threads : {1, 2}) {
    GemmCache cache(threads);
    for (const Case &test : cases())
      for (bool accumulate : {false, true}) {
        check<float>(cache, makeSpec(test, accumulate, plan::F32), test.name);
        check<double>(cache, makeSpec(test, accumulate, plan::F64), test.name);
      }
  }
}

namespace {

/// A product of T with results of R: what plain loops of the same numbers give, rounded once.
template <typename T, typename R>
void checkLow(GemmCache &cache, GemmSpec spec, plan::ElementType type, double rounding, const char *name) {
  SCOPED_TRACE(name);
  spec.type = type;
  spec.widens = !std::is_same_v<T, R>;
  auto gemm = cache.get(spec);
  ASSERT_TRUE(gemm.isOk()) << gemm.status().render();
  auto workspace = Arena::allocate((*gemm)->workspaceBytes());
  ASSERT_TRUE(workspace.isOk());
  auto narrow = [](const std::vector<float> &values, auto example) {
    std::vector<decltype(example)> narrowed;
    for (float value : values)
      narrowed.push_back(decltype(example)(value));
    return narrowed;
  };
  auto a = narrow(randomValues<float>(extent(spec.a), 1), T()), b = narrow(randomValues<float>(extent(spec.b), 2), T());
  auto c = narrow(randomValues<float>(extent(spec.c), 3), R());
  auto bias = narrow(randomValues<float>((spec.c.sizes.back() - 1) * spec.biasStride + 1, 4), R());
  std::vector<float> expected(c.begin(), c.end());
  multiplyPlainly(spec, std::vector<float>(a.begin(), a.end()), std::vector<float>(b.begin(), b.end()), expected,
                  std::vector<float>(bias.begin(), bias.end()));
  (*gemm)->run(a.data(), b.data(), c.data(), spec.hasBias ? bias.data() : nullptr, workspace->data());
  for (size_t i = 0; i < c.size(); ++i)
    ASSERT_NEAR(static_cast<float>(c[i]), expected[i], 1e-5 + rounding * std::abs(expected[i]))
        << "element " << i << ", " << (*gemm)->implementation();
}

} // namespace

TEST(Gemm, SixteenBitFloatsSumInF32) {
  for (int threads : {1, 2}) {
    GemmCache cache(threads);
    for (const Case &test : cases())
      for (bool accumulate : {false, true}) {
        GemmSpec spec = makeSpec(test, accumulate, plan::F32);
        checkLow<BFloat16, BFloat16>(cache, spec, plan::BF16, 0x1p-8, test.name);
        checkLow<BFloat16, float>(cache, spec, plan::BF16, 0, test.name);
        checkLow<Float16, Float16>(cache, spec, plan::F16, 0x1p-11, test.name);
        checkLow<Float16, float>(cache, spec, plan::F16, 0, test.name);
      }
    GemmSpec empty = makeSpec({"k = 0", dense({3, 0}), dense({0, 4}), dense({3, 4})}, false, plan::F32);
    checkLow<BFloat16, float>(cache, empty, plan::BF16, 0, "k = 0");
  }
}

TEST(Gemm, F16IsWidenedAndBf16WhereTheCpuHasNoArithmetic) {
  GemmCache cache(1);
  for (plan::ElementType type : {plan::BF16, plan::F16}) {
    auto gemm = cache.get(makeSpec(cases()[0], false, type));
    ASSERT_TRUE(gemm.isOk());
    bool isWidened = (*gemm)->implementation().starts_with("widened");
    EXPECT_EQ(isWidened, !hasArithmetic(type)) << (*gemm)->implementation();
  }
  EXPECT_FALSE(hasArithmetic(plan::F16));
}

TEST(Gemm, UsesTheFastPathOfTheLibrary) {
  GemmCache cache(1);
  for (const Case &test : cases()) {
    auto gemm = cache.get(makeSpec(test, true, plan::F32));
    ASSERT_TRUE(gemm.isOk());
    EXPECT_EQ((*gemm)->implementation().find("ref"), std::string::npos) << test.name << (*gemm)->implementation();
    EXPECT_NE((*gemm)->implementation(), "loop") << test.name;
  }
}

TEST(Gemm, EmptyProductsAndEmptySums) {
  GemmCache cache(1);
  check<float>(cache, makeSpec({"k = 0", dense({3, 0}), dense({0, 4}), dense({3, 4})}, false, plan::F32), "k = 0");
  auto gemm = cache.get(makeSpec({"m = 0", dense({0, 3}), dense({3, 4}), dense({0, 4})}, false, plan::F32));
  ASSERT_TRUE(gemm.isOk());
  (*gemm)->run(nullptr, nullptr, nullptr, nullptr, nullptr);
}

TEST(Gemm, IsPreparedOnceAndRefusesOtherTypes) {
  GemmCache cache(1);
  GemmSpec spec = makeSpec(cases()[0], false, plan::F32);
  EXPECT_EQ(*cache.get(spec), *cache.get(spec));
  spec.type = plan::I64;
  EXPECT_EQ(cache.get(spec).status().kind(), StatusKind::Unsupported);
}

TEST(GemmLayout, MergesAndFoldsBatchDimensions) {
  GemmSpec spec = makeSpec({"", dense({2, 3, 7, 5}), dense({5, 9}), dense({2, 3, 7, 9}), 1}, false, plan::F32);
  GemmLayout layout = normalizeGemm(spec);
  EXPECT_TRUE(layout.batch.empty());
  EXPECT_EQ(layout.m, 42);
  spec = makeSpec({"", dense({2, 3, 7, 5}), dense({2, 3, 5, 9}), dense({2, 3, 7, 9})}, false, plan::F32);
  layout = normalizeGemm(spec);
  ASSERT_EQ(layout.batch.size(), 1u);
  EXPECT_EQ(layout.batch[0].size, 6);
}

TEST(GemmLayout, ComputesAColumnMajorResultAsItsTranspose) {
  GemmLayout layout = normalizeGemm(makeSpec({"", dense({7, 5}), dense({5, 9}), transposed({7, 9})}, false, plan::F32));
  EXPECT_TRUE(layout.swapped);
  EXPECT_EQ(layout.m, 9);
  EXPECT_EQ(layout.c.columnStride, 1);
}
