//===-- ScalarBodyTest.cpp - what elementwise ops compute, against C++ --------------------------------------------===//

#include "KernelLibrary.h"

#include "gtest/gtest.h"

#include <cmath>
#include <functional>
#include <limits>

using namespace shardc;
using namespace shardc::test;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

std::string defineElementwise(const std::string &name, int64_t n, const std::vector<std::string> &from,
                              const std::string &to, const std::string &op) {
  std::string size = std::to_string(n), types, arguments;
  for (size_t i = 0; i < from.size(); ++i) {
    types += "memref<" + size + "x" + from[i] + ">, ";
    arguments += (i ? ", %" : "%") + std::string(1, char('a' + i)) + ": tensor<" + size + "x" + from[i] + ">";
  }
  return defineKernel(name, "row domain [" + size + "] rows 1 items " + size, types + "memref<" + size + "x" + to + ">",
                      arguments, op + "\nexec.yield %r : tensor<" + size + "x" + to + ">");
}

/// Runs `%r = op` on equally long inputs.
template <typename To, typename... From>
std::vector<To> compute(const std::string &op, const std::vector<std::string> &from, const std::string &to,
                        const std::vector<From> &...inputs) {
  int64_t n = std::min({inputs.size()...});
  auto library = KernelLibrary::compile(defineElementwise("k", n, from, to, op));
  std::vector<To> result(n);
  if (library)
    library->run("k", {inputs.data()..., result.data()}, n);
  return result;
}

std::string ofType(const std::string &op, int64_t n, const std::string &element) {
  return op + " : tensor<" + std::to_string(n) + "x" + element + ">";
}

/// The distance of `value` from `exact` in units of the last place of f32.
double getUlps(float value, double exact) {
  float nearest = static_cast<float>(exact);
  if (std::isnan(exact) || std::isinf(nearest))
    return std::isnan(value) == std::isnan(exact) && (std::isnan(exact) || value == nearest) ? 0 : 1e9;
  double ulp = std::max<double>(std::nextafter(std::abs(nearest), kInfinity) - std::abs(nearest), 0x1p-149);
  return std::abs(value - exact) / ulp;
}

struct Function {
  std::string name;
  std::function<double(double)> exact;
  float low, high;
  double ulps;
};

TEST(ScalarBody, FunctionsAreAccurate) {
  const std::vector<Function> functions = {
      {"exp", [](double x) { return std::exp(x); }, -86, 88, 2},
      {"log", [](double x) { return std::log(x); }, 0, 1000, 2},
      {"tanh", [](double x) { return std::tanh(x); }, -10, 10, 6},
      {"erf", [](double x) { return std::erf(x); }, -5, 5, 6},
      {"logistic", [](double x) { return 1 / (1 + std::exp(-x)); }, -30, 30, 4},
      {"sqrt", [](double x) { return std::sqrt(x); }, 0, 100, 0.5},
      {"rsqrt", [](double x) { return 1 / std::sqrt(x); }, 0, 100, 1.5},
  };
  for (const Function &function : functions) {
    auto x = makeValues(40000, 1, function.low, function.high);
    auto y = compute<float>(ofType("%r = nn." + function.name + " %a", x.size(), "f32"), {"f32"}, "f32", x);
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i)
      worst = std::max(worst, getUlps(y[i], function.exact(x[i])));
    EXPECT_LE(worst, function.ulps) << function.name;
  }
}

// Sine and cosine are accurate in absolute terms only: their argument is reduced in f32.
TEST(ScalarBody, WavesAreAccurateNearTheirZeros) {
  auto x = makeValues(40000, 1, -10, 10);
  auto sin = compute<float>(ofType("%r = nn.sin %a", x.size(), "f32"), {"f32"}, "f32", x);
  auto cos = compute<float>(ofType("%r = nn.cos %a", x.size(), "f32"), {"f32"}, "f32", x);
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_NEAR(sin[i], std::sin(double(x[i])), 1e-6) << x[i];
    ASSERT_NEAR(cos[i], std::cos(double(x[i])), 1e-6) << x[i];
  }
}

TEST(ScalarBody, FunctionsKeepSpecialValues) {
  std::vector<float> x = {kInfinity, -kInfinity, kNaN, 0.0f, -0.0f, 1000, -1000};
  auto run = [&](const std::string &name) {
    return compute<float>(ofType("%r = nn." + name + " %a", x.size(), "f32"), {"f32"}, "f32", x);
  };
  EXPECT_TRUE(haveEqualBits(run("exp"), {kInfinity, 0, kNaN, 1, 1, kInfinity, 0}));
  EXPECT_TRUE(haveEqualBits(run("tanh"), {1, -1, kNaN, 0, -0.0f, 1, -1}));
  // MLIR's erf loses the sign of zero.
  EXPECT_TRUE(haveEqualBits(run("erf"), {1, -1, kNaN, 0, 0, 1, -1}));
  EXPECT_TRUE(haveEqualBits(run("logistic"), {1, 0, kNaN, 0.5, 0.5, 1, 0}));
  auto log = run("log");
  EXPECT_EQ(log[0], kInfinity);
  EXPECT_TRUE(std::isnan(log[1]) && std::isnan(log[2]) && std::isnan(log[6]));
  EXPECT_EQ(log[3], -kInfinity);
  EXPECT_EQ(run("rsqrt")[0], 0);
  EXPECT_EQ(run("rsqrt")[3], kInfinity);
}

TEST(ScalarBody, PowerIsRoundedWell) {
  auto a = makeValues(20000, 1, 0, 30), b = makeValues(20000, 2, -20, 20);
  auto y = compute<float>(ofType("%r = nn.pow %a, %b", a.size(), "f32"), {"f32", "f32"}, "f32", a, b);
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i)
    worst = std::max(worst, getUlps(y[i], std::pow(double(a[i]), double(b[i]))));
  EXPECT_LE(worst, 0.51);
}

TEST(ScalarBody, PowerHasTheSpecialCasesOfC) {
  std::vector<float> values = {0.0f, -0.0f, 1,         -1,         2,    -2,    3,          -3,
                               0.5,  -0.5,  kInfinity, -kInfinity, kNaN, 1e30f, 16777215.0f};
  std::vector<float> a, b, expected;
  for (float x : values)
    for (float y : values) {
      a.push_back(x);
      b.push_back(y);
      expected.push_back(std::pow(x, y));
    }
  auto y = compute<float>(ofType("%r = nn.pow %a, %b", a.size(), "f32"), {"f32", "f32"}, "f32", a, b);
  for (size_t i = 0; i < a.size(); ++i)
    EXPECT_TRUE(haveEqualBits({y[i]}, {expected[i]})) << a[i] << " " << b[i] << " " << y[i] << " " << expected[i];
}

TEST(ScalarBody, ComparisonsAreOrdered) {
  std::vector<float> a = {1, 2, kNaN, kNaN, -0.0f}, b = {2, 1, 1, kNaN, 0.0f};
  auto run = [&](const std::string &direction) {
    return compute<uint8_t>("%r = nn.compare " + direction + ", %a, %b : tensor<5xf32> -> tensor<5xi1>", {"f32", "f32"},
                            "i1", a, b);
  };
  EXPECT_EQ(run("eq"), (std::vector<uint8_t>{0, 0, 0, 0, 1}));
  EXPECT_EQ(run("ne"), (std::vector<uint8_t>{1, 1, 1, 1, 0}));
  EXPECT_EQ(run("lt"), (std::vector<uint8_t>{1, 0, 0, 0, 0}));
  EXPECT_EQ(run("ge"), (std::vector<uint8_t>{0, 1, 0, 0, 1}));
}

TEST(ScalarBody, NaNWinsInExtrema) {
  std::vector<float> a = {1, kNaN, 3, -kInfinity}, b = {2, 1, kNaN, 5};
  auto max = compute<float>("%r = nn.max %a, %b : tensor<4xf32>", {"f32", "f32"}, "f32", a, b);
  auto min = compute<float>("%r = nn.min %a, %b : tensor<4xf32>", {"f32", "f32"}, "f32", a, b);
  EXPECT_TRUE(haveEqualBits(max, {2, kNaN, kNaN, 5}));
  EXPECT_TRUE(haveEqualBits(min, {1, kNaN, kNaN, -kInfinity}));
}

TEST(ScalarBody, IntegersDivideTowardsZeroAndNeverTrap) {
  int64_t least = std::numeric_limits<int64_t>::min();
  std::vector<int64_t> a = {7, -7, 7, least, 5, 9}, b = {2, 2, -2, -1, 0, 3};
  auto quotients = compute<int64_t>("%r = nn.div %a, %b : tensor<6xi64>", {"i64", "i64"}, "i64", a, b);
  EXPECT_EQ(quotients, (std::vector<int64_t>{3, -3, -3, least, 5, 3}));
}

TEST(ScalarBody, ConversionsSaturate) {
  std::vector<float> x = {1.9f, -1.9f, 1e20f, -1e20f, kNaN, kInfinity, 0, 9.2233720368547758e18f};
  int64_t least = std::numeric_limits<int64_t>::min(), most = std::numeric_limits<int64_t>::max();
  auto wide = compute<int64_t>("%r = nn.convert %a : tensor<8xf32> -> tensor<8xi64>", {"f32"}, "i64", x);
  EXPECT_EQ(wide, (std::vector<int64_t>{1, -1, most, least, 0, most, 0, most}));
  auto narrow = compute<int32_t>("%r = nn.convert %a : tensor<8xf32> -> tensor<8xi32>", {"f32"}, "i32", x);
  EXPECT_EQ(narrow, (std::vector<int32_t>{1, -1, INT32_MAX, INT32_MIN, 0, INT32_MAX, 0, INT32_MAX}));
  auto bits = compute<uint8_t>("%r = nn.convert %a : tensor<8xf32> -> tensor<8xi1>", {"f32"}, "i1", x);
  EXPECT_EQ(bits, (std::vector<uint8_t>{1, 1, 1, 1, 1, 1, 0, 1}));
  auto back = compute<float>("%r = nn.convert %a : tensor<8xi64> -> tensor<8xf32>", {"i64"}, "f32", wide);
  EXPECT_EQ(back[0], 1.0f);
  EXPECT_EQ(back[2], 9223372036854775808.0f);
  auto ones = compute<float>("%r = nn.convert %a : tensor<8xi1> -> tensor<8xf32>", {"i1"}, "f32", bits);
  EXPECT_TRUE(haveEqualBits(ones, {1, 1, 1, 1, 1, 1, 0, 1}));
  auto doubles = compute<double>("%r = nn.convert %a : tensor<8xf32> -> tensor<8xf64>", {"f32"}, "f64", x);
  EXPECT_EQ(doubles[0], double(1.9f));
}

TEST(ScalarBody, DoublesComputeInDouble) {
  std::vector<double> a = {0.1, 1e300, 2, -5}, b = {0.2, 1e10, 3, 7};
  auto y = compute<double>("%s = nn.mul %a, %b : tensor<4xf64>\n%q = nn.sqrt %b : tensor<4xf64>\n"
                           "%d = nn.div %s, %q : tensor<4xf64>\n%r = nn.max %d, %a : tensor<4xf64>",
                           {"f64", "f64"}, "f64", a, b);
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(y[i], std::max(a[i] * b[i] / std::sqrt(b[i]), a[i]));
}

TEST(ScalarBody, UnsupportedTypesAreErrors) {
  std::string errors;
  auto library = KernelLibrary::compile(defineElementwise("k", 4, {"f64"}, "f64", "%r = nn.exp %a : tensor<4xf64>"),
                                        codegen::getHostTarget(), &errors);
  EXPECT_FALSE(library);
  EXPECT_NE(errors.find("cannot be computed in a kernel for element type 'f64'"), std::string::npos) << errors;
}

//===-- Random numbers --------------------------------------------------------------------------------------------===//

/// The known answers of the paper's library (Random123), whose first words a draw shows.
TEST(RandomNumbers, MatchKnownAnswers) {
  struct Case {
    uint64_t seed, step;
    int64_t index, id;
    uint32_t word;
  };
  for (const Case &known :
       {Case{0, 0, 0, 0, 0x6627e8d5}, Case{~0ull, ~0ull, -1, 0xffffffff, 0x408f276d},
        Case{0x299f31d0a4093822, 0x13198a2e, static_cast<int64_t>(0x85a308d3243f6a88), 0x03707344, 0xd16cfe09}}) {
    auto library = KernelLibrary::compile(
        defineKernel("k", "row domain [1] rows 0 items 1", "memref<i64>, memref<1xf32>", "%b: tensor<i64>",
                     "%r = nn.rng_uniform %b id " + std::to_string(known.id) +
                         " strides [1] : tensor<i64> -> tensor<1xf32>\nexec.yield %r : tensor<1xf32>"));
    ASSERT_TRUE(library);
    shardrtControl control = {};
    control.seed = known.seed;
    control.step = static_cast<int64_t>(known.step);
    float value;
    library->run("k", {&known.index, &value}, 1, control);
    EXPECT_EQ(value, static_cast<float>(known.word >> 8) * 0x1p-24f);
  }
}

TEST(RandomNumbers, DependOnTheIndexInTheStepAlone) {
  std::string body = R"(
    %o = nn.control sample_offset : tensor<i64>
    %n = nn.constant dense<12> : tensor<i64>
    %b = nn.mul %o, %n : tensor<i64>
    %r = nn.rng_uniform %b id 3 strides [12, 1] : tensor<i64> -> tensor<ROWSx12xf32>
    exec.yield %r : tensor<ROWSx12xf32>)";
  auto define = [&](const std::string &name, const std::string &rows) {
    std::string text = body;
    for (size_t at; (at = text.find("ROWS")) != std::string::npos;)
      text.replace(at, 4, rows);
    return defineKernel(name, "row domain [" + rows + ", 12] rows 1 items " + rows, "memref<" + rows + "x12xf32>", "",
                        text);
  };
  auto library = KernelLibrary::compile(define("all", "6") + define("part", "2"));
  ASSERT_TRUE(library);
  std::vector<float> all(72), part(24);
  shardrtControl control = {};
  control.seed = 5;
  control.step = 2;
  library->run("all", {all.data()}, 6, control, 1);
  control.sampleOffset = 4;
  library->run("part", {part.data()}, 2, control);
  EXPECT_TRUE(haveEqualBits(part, std::vector<float>(all.begin() + 48, all.end())));
  EXPECT_NE(all[0], all[1]);
  for (float value : all)
    EXPECT_TRUE(value >= 0 && value < 1);
}

} // namespace
