//===-- GradientTest.cpp - every cotangent against central differences in fp64 ------------------------------------===//

#include "TestModule.h"

#include "gtest/gtest.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using namespace shardc;

namespace {

/// A parameter of a case: its shape and the interval that its elements come from.
struct Parameter {
  std::vector<int64_t> shape;
  double low = -1, high = 1;
};

/// Ops that make %y from the parameters %p0, %p1, …
struct Case {
  std::string name;
  std::vector<Parameter> parameters;
  std::vector<int64_t> shape;
  std::string body;
};

void PrintTo(const Case &c, std::ostream *os) { *os << c.name; }

std::string getType(const std::vector<int64_t> &shape) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + "f32>";
}

/// @forward with the loss Σ y · r, where r is an input.
std::string getModule(const Case &c) {
  std::string type = getType(c.shape), arguments, dims;
  for (size_t i = 0; i < c.parameters.size(); ++i)
    arguments += ", %p" + std::to_string(i) + ": " + getType(c.parameters[i].shape) + " {nn.parameter = {name = \"p" +
                 std::to_string(i) + "\", trainable = true}}";
  for (size_t i = 0; i < c.shape.size(); ++i)
    dims += (i ? ", " : "") + std::to_string(i);
  return "module attributes {nn.training = {micro_batches = 1 : i64}} {\n"
         "func.func @forward(%r: " +
         type + " {nn.input = \"r\"}" + arguments +
         ")"
         " -> (tensor<f32> {nn.loss = \"sum\"}, tensor<f32> {nn.loss = \"weight\"}) {\n" +
         c.body +
         "\n"
         "%product = nn.mul %y, %r : " +
         type +
         "\n"
         "%sum = nn.reduce sum, %product dims [" +
         dims + "] : " + type +
         " -> tensor<f32>\n"
         "%weight = nn.constant dense<1.0> : tensor<f32>\n"
         "return %sum, %weight : tensor<f32>, tensor<f32>\n}\n}\n";
}

nn::Tensors getArguments(const Case &c, func::FuncOp function) {
  nn::Tensors arguments = nn::makeArguments(function, 7);
  for (size_t i = 0; i < c.parameters.size(); ++i) {
    auto [shape, low, high] = c.parameters[i];
    for (double &x : arguments[i + 1].floats)
      x = low + (x + 1) / 2 * (high - low);
  }
  return arguments;
}

double evaluateLoss(func::FuncOp function, const nn::Tensors &arguments) {
  FailureOr<nn::Tensors> results = nn::evaluate(function, arguments, {});
  return succeeded(results) ? results->front().floats[0] : std::nan("");
}

double getDerivative(func::FuncOp function, nn::Tensors arguments, size_t argument, size_t element) {
  constexpr double kStep = 1e-5;
  double &x = arguments[argument].floats[element];
  double center = x;
  x = center + kStep;
  double above = evaluateLoss(function, arguments);
  x = center - kStep;
  return (above - evaluateLoss(function, arguments)) / (2 * kStep);
}

/// Gradients of the parameters of a case, the loss seed divided out again.
FailureOr<nn::Tensors> getGradients(test::TestModule &test, const nn::Tensors &arguments) {
  if (!test.run(autodiff::createBuildGradientsPass()))
    return failure();
  FailureOr<nn::Tensors> results = nn::evaluate(test.lookUp("accumulate"), arguments, {});
  if (failed(results))
    return failure();
  auto training = test.module->getOperation()->getAttrOfType<DictionaryAttr>("nn.training");
  double seed = training.getAs<FloatAttr>("loss_seed").getValueAsDouble();
  nn::Tensors gradients(results->begin() + 2, results->end());
  for (nn::Tensor &gradient : gradients)
    for (double &x : gradient.floats)
      x *= seed;
  return gradients;
}

class Gradient : public testing::TestWithParam<Case> {};

TEST_P(Gradient, EqualsCentralDifference) {
  const Case &c = GetParam();
  test::TestModule before(getModule(c)), after(getModule(c));
  ASSERT_TRUE(before.module) << getModule(c);
  func::FuncOp forward = before.lookUp("forward");
  nn::Tensors arguments = getArguments(c, forward);
  nn::Tensors otherArguments = getArguments(c, after.lookUp("forward"));
  FailureOr<nn::Tensors> gradients = getGradients(after, otherArguments);
  ASSERT_TRUE(succeeded(gradients));
  ASSERT_EQ(gradients->size(), c.parameters.size());
  for (size_t p = 0; p < c.parameters.size(); ++p) {
    double largest = 0;
    for (size_t i = 0; i < arguments[p + 1].floats.size(); ++i) {
      double expected = getDerivative(forward, arguments, p + 1, i);
      largest = std::max(largest, std::abs(expected));
      EXPECT_NEAR((*gradients)[p].floats[i], expected, 2e-7 * std::max(1.0, std::abs(expected)))
          << "parameter " << p << ", element " << i;
    }
    EXPECT_GT(largest, 1e-3) << "parameter " << p << " has no gradient to speak of: the case tests nothing";
  }
}

const std::vector<int64_t> k2x3{2, 3};

Case makeUnary(std::string op, double low = -1, double high = 1) {
  return {op, {{k2x3, low, high}}, k2x3, "%y = nn." + op + " %p0 : tensor<2x3xf32>"};
}

Case makeBinary(std::string op, Parameter lhs = {k2x3}, Parameter rhs = {k2x3}) {
  return {op, {lhs, rhs}, k2x3, "%y = nn." + op + " %p0, %p1 : tensor<2x3xf32>"};
}

INSTANTIATE_TEST_SUITE_P(
    Elementwise, Gradient,
    testing::Values(makeUnary("neg"), makeUnary("exp"), makeUnary("log", 0.5, 2), makeUnary("sqrt", 0.5, 2),
                    makeUnary("rsqrt", 0.5, 2), makeUnary("tanh", -2, 2), makeUnary("erf", -2, 2),
                    makeUnary("logistic", -3, 3), makeUnary("sin", -3, 3), makeUnary("cos", -3, 3), makeBinary("add"),
                    makeBinary("sub"), makeBinary("mul"), makeBinary("div", {k2x3}, {k2x3, 0.5, 2}), makeBinary("max"),
                    makeBinary("min"), makeBinary("pow", {k2x3, 0.5, 2}, {k2x3, -2, 3}),
                    Case{"square",
                         {{k2x3}},
                         k2x3,
                         "%two = nn.constant dense<2.0> : tensor<f32>\n"
                         "%e = nn.broadcast_in_dim %two dims [] : tensor<f32> -> tensor<2x3xf32>\n"
                         "%y = nn.pow %p0, %e : tensor<2x3xf32>"},
                    Case{"cube",
                         {{k2x3}},
                         k2x3,
                         "%e = nn.constant dense<3.0> : tensor<2x3xf32>\n%y = nn.pow %p0, %e : tensor<2x3xf32>"},
                    Case{"identity_power",
                         {{k2x3}},
                         k2x3,
                         "%e = nn.constant dense<1.0> : tensor<2x3xf32>\n%y = nn.pow %p0, %e : tensor<2x3xf32>"},
                    Case{"root",
                         {{k2x3, 0.5, 2}},
                         k2x3,
                         "%e = nn.constant dense<0.5> : tensor<2x3xf32>\n%y = nn.pow %p0, %e : tensor<2x3xf32>"},
                    Case{"select",
                         {{k2x3}, {k2x3}},
                         k2x3,
                         "%c = nn.constant dense<[[true, false, true], [false, false, true]]> : tensor<2x3xi1>\n"
                         "%y = nn.select %c, %p0, %p1 : tensor<2x3xi1>, tensor<2x3xf32>"},
                    Case{"convert",
                         {{k2x3}},
                         k2x3,
                         "%d = nn.convert %p0 : tensor<2x3xf32> -> tensor<2x3xf64>\n%e = nn.exp %d : tensor<2x3xf64>\n"
                         "%y = nn.convert %e : tensor<2x3xf64> -> tensor<2x3xf32>"},
                    Case{"same_operand_twice",
                         {{k2x3}},
                         k2x3,
                         "%a = nn.mul %p0, %p0 : tensor<2x3xf32>\n%b = nn.sub %a, %p0 : tensor<2x3xf32>\n"
                         "%y = nn.div %b, %a : tensor<2x3xf32>"}),
    [](const auto &info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Shape, Gradient,
    testing::Values(
        Case{"broadcast_new_dims",
             {{{3}}},
             {2, 3, 2},
             "%y = nn.broadcast_in_dim %p0 dims [1] : tensor<3xf32> -> tensor<2x3x2xf32>"},
        Case{"broadcast_widened",
             {{{2, 1, 2}}},
             {2, 3, 2},
             "%y = nn.broadcast_in_dim %p0 dims [0, 1, 2] : tensor<2x1x2xf32> -> tensor<2x3x2xf32>"},
        Case{"broadcast_both",
             {{{1, 2}}},
             {2, 3, 2},
             "%y = nn.broadcast_in_dim %p0 dims [1, 2] : tensor<1x2xf32> -> tensor<2x3x2xf32>"},
        Case{"broadcast_scalar",
             {{{}}},
             {2, 3},
             "%y = nn.broadcast_in_dim %p0 dims [] : tensor<f32> -> tensor<2x3xf32>"},
        Case{"reshape", {{k2x3}}, {3, 2}, "%y = nn.reshape %p0 : tensor<2x3xf32> -> tensor<3x2xf32>"},
        Case{"transpose",
             {{{2, 3, 4}}},
             {4, 2, 3},
             "%y = nn.transpose %p0 perm [2, 0, 1] : tensor<2x3x4xf32> -> tensor<4x2x3xf32>"},
        Case{"slice",
             {{{4, 7}}},
             {2, 3},
             "%y = nn.slice %p0 [1, 1] to [3, 6] by [1, 2] : tensor<4x7xf32> -> tensor<2x3xf32>"},
        Case{"slice_to_the_end", {{{6}}}, {3}, "%y = nn.slice %p0 [1] to [6] by [2] : tensor<6xf32> -> tensor<3xf32>"},
        Case{"pad",
             {{k2x3}},
             {5, 7},
             "%y = nn.pad %p0 low [1, 0] high [1, 2] interior [1, 1] value 3.0 : f32 : tensor<2x3xf32> -> "
             "tensor<5x7xf32>"},
        Case{"concat",
             {{{2, 3}}, {{2, 1}}},
             {2, 4},
             "%y = nn.concat %p0, %p1 dim 1 : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>"},
        Case{"split",
             {{{2, 6}}},
             {2, 2},
             "%a = nn.slice %p0 [0, 0] to [2, 2] by [1, 1] : tensor<2x6xf32> -> tensor<2x2xf32>\n"
             "%b = nn.slice %p0 [0, 2] to [2, 4] by [1, 1] : tensor<2x6xf32> -> tensor<2x2xf32>\n"
             "%c = nn.slice %p0 [0, 4] to [2, 6] by [1, 1] : tensor<2x6xf32> -> tensor<2x2xf32>\n"
             "%d = nn.mul %c, %a : tensor<2x2xf32>\n%e = nn.sin %b : tensor<2x2xf32>\n"
             "%y = nn.mul %d, %e : tensor<2x2xf32>"},
        Case{"split_and_whole",
             {{{2, 4}}},
             {2, 4},
             "%a = nn.slice %p0 [0, 0] to [2, 2] by [1, 1] : tensor<2x4xf32> -> tensor<2x2xf32>\n"
             "%b = nn.slice %p0 [0, 2] to [2, 4] by [1, 1] : tensor<2x4xf32> -> tensor<2x2xf32>\n"
             "%c = nn.concat %b, %a dim 1 : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x4xf32>\n"
             "%y = nn.mul %c, %p0 : tensor<2x4xf32>"}),
    [](const auto &info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(Contraction, Gradient,
                         testing::Values(Case{"matmul",
                                              {{{2, 3}}, {{3, 4}}},
                                              {2, 4},
                                              "%y = nn.dot_general %p0, %p1 batch [] x [] contract [1] x [0] : "
                                              "(tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>"},
                                         Case{"linear",
                                              {{{2, 3}}, {{4, 3}}},
                                              {2, 4},
                                              "%y = nn.dot_general %p0, %p1 batch [] x [] contract [1] x [1] : "
                                              "(tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>"},
                                         Case{"transposed_lhs",
                                              {{{3, 2}}, {{3, 4}}},
                                              {2, 4},
                                              "%y = nn.dot_general %p0, %p1 batch [] x [] contract [0] x [0] : "
                                              "(tensor<3x2xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>"},
                                         Case{"batched",
                                              {{{2, 3, 4}}, {{2, 4, 5}}},
                                              {2, 3, 5},
                                              "%y = nn.dot_general %p0, %p1 batch [0] x [0] contract [2] x [1] : "
                                              "(tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>"},
                                         Case{"batch_inside",
                                              {{{3, 2, 4}}, {{4, 5, 2}}},
                                              {2, 3, 5},
                                              "%y = nn.dot_general %p0, %p1 batch [1] x [2] contract [2] x [0] : "
                                              "(tensor<3x2x4xf32>, tensor<4x5x2xf32>) -> tensor<2x3x5xf32>"},
                                         Case{"crossed_contraction",
                                              {{{3, 2, 4}}, {{4, 3, 5}}},
                                              {2, 5},
                                              "%y = nn.dot_general %p0, %p1 batch [] x [] contract [0, 2] x [1, 0] : "
                                              "(tensor<3x2x4xf32>, tensor<4x3x5xf32>) -> tensor<2x5xf32>"},
                                         Case{"two_batches",
                                              {{{2, 3, 4}}, {{3, 4, 2}}},
                                              {3, 2},
                                              "%y = nn.dot_general %p0, %p1 batch [1, 0] x [0, 2] contract [2] x [1] : "
                                              "(tensor<2x3x4xf32>, tensor<3x4x2xf32>) -> tensor<3x2xf32>"},
                                         Case{"outer",
                                              {{{2}}, {{3}}},
                                              {2, 3},
                                              "%y = nn.dot_general %p0, %p1 batch [] x [] contract [] x [] : "
                                              "(tensor<2xf32>, tensor<3xf32>) -> tensor<2x3xf32>"},
                                         Case{"inner",
                                              {{{3}}, {{3}}},
                                              {},
                                              "%y = nn.dot_general %p0, %p1 batch [] x [] contract [0] x [0] : "
                                              "(tensor<3xf32>, tensor<3xf32>) -> tensor<f32>"}),
                         [](const auto &info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Reduction, Gradient,
    testing::Values(
        Case{"sum", {{{2, 3, 4}}}, {3}, "%y = nn.reduce sum, %p0 dims [0, 2] : tensor<2x3x4xf32> -> tensor<3xf32>"},
        Case{"max", {{{2, 3, 4}}}, {3}, "%y = nn.reduce max, %p0 dims [0, 2] : tensor<2x3x4xf32> -> tensor<3xf32>"},
        Case{"min", {{{2, 3, 4}}}, {3}, "%y = nn.reduce min, %p0 dims [0, 2] : tensor<2x3x4xf32> -> tensor<3xf32>"},
        Case{"prod", {{{2, 3}, 0.5, 2}}, {2}, "%y = nn.reduce prod, %p0 dims [1] : tensor<2x3xf32> -> tensor<2xf32>"},
        Case{"gather",
             {{{3, 4, 2}}},
             {3, 2, 3, 2},
             "%i = nn.constant dense<[[0, 3, 0], [2, 9, 0]]> : tensor<2x3xi64>\n"
             "%y = nn.gather %p0, %i axis 1 : (tensor<3x4x2xf32>, tensor<2x3xi64>) -> tensor<3x2x3x2xf32>"},
        Case{"scatter_add",
             {{{2, 4, 2}}},
             {2, 3, 2},
             "%i = nn.constant dense<[2, 0, 2, 7]> : tensor<4xi64>\n"
             "%y = nn.scatter_add %i, %p0 axis 1 : (tensor<4xi64>, tensor<2x4x2xf32>) -> tensor<2x3x2xf32>"}),
    [](const auto &info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Statistics, Gradient,
    testing::Values(
        Case{"softmax_last", {{{2, 5}, -3, 3}}, {2, 5}, "%y = nn.softmax %p0 axis 1 : tensor<2x5xf32>"},
        Case{"softmax_inner", {{{2, 5, 2}, -3, 3}}, {2, 5, 2}, "%y = nn.softmax %p0 axis 1 : tensor<2x5x2xf32>"},
        Case{"layer_norm",
             {{{2, 3, 4}}, {{4}}, {{4}}},
             {2, 3, 4},
             "%y, %m, %s = nn.norm layer, %p0 scale %p1 bias %p2 axis 2 epsilon 1.0e-05 : tensor<2x3x4xf32>, "
             "tensor<2x3xf32> scale tensor<4xf32> bias tensor<4xf32>"},
        Case{"layer_norm_two_dims",
             {{{2, 3, 4}}, {{3, 4}}, {{3, 4}}},
             {2, 3, 4},
             "%y, %m, %s = nn.norm layer, %p0 scale %p1 bias %p2 axis 1 epsilon 1.0e-05 : tensor<2x3x4xf32>, "
             "tensor<2xf32> scale tensor<3x4xf32> bias tensor<3x4xf32>"},
        Case{"layer_norm_plain",
             {{{2, 5}}},
             {2, 5},
             "%y, %m, %s = nn.norm layer, %p0 axis 1 epsilon 1.0e-02 : tensor<2x5xf32>, tensor<2xf32>"},
        Case{"layer_norm_bias_only",
             {{{2, 5}}, {{5}}},
             {2, 5},
             "%y, %m, %s = nn.norm layer, %p0 bias %p1 axis 1 epsilon 1.0e-02 : tensor<2x5xf32>, tensor<2xf32> bias "
             "tensor<5xf32>"},
        Case{"rms_norm",
             {{{2, 3, 4}}, {{4}}},
             {2, 3, 4},
             "%y, %m, %s = nn.norm rms, %p0 scale %p1 axis 2 epsilon 1.0e-05 : tensor<2x3x4xf32>, tensor<2x3xf32> "
             "scale tensor<4xf32>"},
        Case{"rms_norm_bias",
             {{{2, 4}}, {{4}}, {{4}}},
             {2, 4},
             "%y, %m, %s = nn.norm rms, %p0 scale %p1 bias %p2 axis 1 epsilon 1.0e-05 : tensor<2x4xf32>, tensor<2xf32> "
             "scale tensor<4xf32> bias tensor<4xf32>"},
        Case{"cross_entropy",
             {{{2, 3, 5}, -3, 3}},
             {2, 3},
             "%i = nn.constant dense<[[0, 4, -100], [2, 2, 1]]> : tensor<2x3xi64>\n"
             "%y, %s = nn.cross_entropy %p0, %i ignore -100 : tensor<2x3x5xf32>, tensor<2x3xi64> -> tensor<2x3xf32>"},
        Case{"cross_entropy_padded",
             {{{3, 8}, -3, 3}},
             {3},
             "%i = nn.constant dense<[0, 4, 3]> : tensor<3xi32>\n"
             "%y, %s = nn.cross_entropy %p0, %i ignore 3 classes 5 : tensor<3x8xf32>, tensor<3xi32> -> tensor<3xf32>"}),
    [](const auto &info) { return info.param.name; });

//===-- Where differences have no meaning -------------------------------------------------------------------------===//

/// The gradients of a case whose parameters have these elements and whose r is 1 everywhere.
std::vector<std::vector<double>> getGradientsAt(const Case &c, std::vector<std::vector<double>> elements) {
  test::TestModule test(getModule(c));
  if (!test.module)
    return {};
  nn::Tensors arguments = getArguments(c, test.lookUp("forward"));
  arguments[0].floats.assign(arguments[0].floats.size(), 1);
  for (size_t p = 0; p < elements.size(); ++p)
    arguments[p + 1].floats = elements[p];
  FailureOr<nn::Tensors> gradients = getGradients(test, arguments);
  std::vector<std::vector<double>> result;
  if (succeeded(gradients))
    for (nn::Tensor &gradient : *gradients)
      result.push_back(gradient.floats);
  return result;
}

using Numbers = std::vector<std::vector<double>>;

TEST(GradientEdges, TiesOfMaxAndMinGiveHalves) {
  for (std::string op : {"max", "min"}) {
    Case c{op, {{{2}}, {{2}}}, {2}, "%y = nn." + op + " %p0, %p1 : tensor<2xf32>"};
    EXPECT_EQ(getGradientsAt(c, {{1, 2}, {1, 2}}), (Numbers{{0.5, 0.5}, {0.5, 0.5}}));
  }
}

TEST(GradientEdges, TiesOfReductionsShare) {
  Case c{"max", {{{4}}}, {}, "%y = nn.reduce max, %p0 dims [0] : tensor<4xf32> -> tensor<f32>"};
  EXPECT_EQ(getGradientsAt(c, {{2, 1, 2, 0}}), (Numbers{{0.5, 0, 0.5, 0}}));
}

TEST(GradientEdges, PowIsGuardedAtZero) {
  Case c{"pow", {{{4}}, {{4}}}, {4}, "%y = nn.pow %p0, %p1 : tensor<4xf32>"};
  // 0⁰, 0², (−2)², and one where all is well.
  double e = std::exp(1);
  Numbers gradients = getGradientsAt(c, {{0, 0, -2, e}, {0, 2, 2, 1}});
  ASSERT_EQ(gradients.size(), 2u);
  EXPECT_EQ(gradients[0], (std::vector<double>{0, 0, -4, 1}));
  EXPECT_EQ(gradients[1], (std::vector<double>{0, 0, 0, e}));
}

TEST(GradientEdges, ProductOfRowsWithZeros) {
  Case c{"prod", {{{3, 3}}}, {3}, "%y = nn.reduce prod, %p0 dims [1] : tensor<3x3xf32> -> tensor<3xf32>"};
  EXPECT_EQ(getGradientsAt(c, {{2, 3, 4, 2, 0, 4, 0, 0, 4}}), (Numbers{{12, 8, 6, 0, 8, 0, 0, 0, 0}}));
}

TEST(GradientEdges, SelectStopsWhatIsNotChosen) {
  // 0 · ∞ would make NaN of the other branch.
  Case c{"select",
         {{{2}}, {{2}}},
         {2},
         "%z = nn.constant dense<0.0> : tensor<2xf32>\n%c = nn.compare gt, %p0, %z : tensor<2xf32> -> tensor<2xi1>\n"
         "%y = nn.select %c, %p0, %p1 : tensor<2xi1>, tensor<2xf32>"};
  double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(getGradientsAt(c, {{1, -1}, {infinity, 2}}), (Numbers{{1, 0}, {0, 1}}));
}

TEST(GradientEdges, IgnoredRowsHaveNoCotangent) {
  Case c{"cross_entropy",
         {{{2, 2}}},
         {2},
         "%i = nn.constant dense<[1, -100]> : tensor<2xi64>\n"
         "%y, %s = nn.cross_entropy %p0, %i ignore -100 : tensor<2x2xf32>, tensor<2xi64> -> tensor<2xf32>"};
  EXPECT_EQ(getGradientsAt(c, {{0, 0, 5, 1}}), (Numbers{{0.5, -0.5, 0, 0}}));
}

} // namespace
