//===-- OptimizerTest.cpp - three steps of @update against PyTorch's numbers --------------------------------------===//
//
// The expected numbers are torch.optim's (2.15, float64) for w = [1, −0.5, 0.25], which decays, and b = [0.5, 2], which
// does not, under the gradients below.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "TestModule.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace shardc;

namespace {

using Numbers = std::vector<double>;

constexpr double kTolerance = 1e-7; // settings are f32 in the module

/// @update of two parameters, run step by step. Arguments: w, b, two gradients, states, scale, skip.
class Stepper {
public:
  explicit Stepper(const std::string &settings)
      : test("module attributes {nn.training = {beta1 = 0.9 : f64, beta2 = 0.99 : f64, epsilon = 1.0e-6 : f64, " +
             settings +
             "}} {\nfunc.func @accumulate("
             "%w: tensor<3xf32> {nn.parameter = {name = \"w\", trainable = true, decays = true}}, "
             "%b: tensor<2xf32> {nn.parameter = {name = \"b\", trainable = true, decays = false}}) {\nreturn\n}\n}\n") {
    if (!test.run(autodiff::createBuildUpdatePass()))
      return;
    update = test.lookUp("update");
    for (auto [index, type] : llvm::enumerate(update.getArgumentTypes())) {
      arguments.push_back(nn::Tensor::getZeros(cast<RankedTensorType>(type)));
      if (auto state = update.getArgAttrOfType<DictionaryAttr>(index, "nn.state"))
        for (double &x : arguments.back().floats)
          x = state.getAs<FloatAttr>("initial").getValueAsDouble();
    }
    arguments[0].floats = {1, -0.5, 0.25};
    arguments[1].floats = {0.5, 2};
  }

  /// One step; gradients are multiplied by 1/scale first.
  void step(Numbers w, Numbers b, double learningRate, double scale = 1, bool skip = false) {
    for (double &x : w)
      x /= scale;
    for (double &x : b)
      x /= scale;
    arguments[2].floats = w;
    arguments[3].floats = b;
    arguments[arguments.size() - 2].floats = {scale};
    arguments[arguments.size() - 1].integers = {skip};
    nn::ControlValues control;
    control.learningRate = learningRate;
    FailureOr<nn::Tensors> results = nn::evaluate(update, arguments, control);
    ASSERT_TRUE(succeeded(results));
    for (size_t i = 0; i < results->size(); ++i)
      arguments[i < 2 ? i : i + 2] = (*results)[i];
  }

  void runAll(double learningRate) {
    step({0.1, -0.2, 0.3}, {1, -2}, learningRate);
    step({0, 0.5, -0.1}, {0.25, 0.125}, learningRate, /*scale=*/0.25);
    step({-0.3, 0.2, 0.7}, {0, 3}, learningRate, /*scale=*/4);
  }

  void expect(size_t argument, const Numbers &expected) {
    ASSERT_EQ(arguments[argument].floats.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(arguments[argument].floats[i], expected[i], kTolerance) << "argument " << argument << ", " << i;
  }

  test::TestModule test;
  func::FuncOp update;
  nn::Tensors arguments;
};

TEST(Optimizer, SGDWithMomentumAndDecay) {
  Stepper stepper("optimizer = \"sgd\", momentum = 0.9 : f64, weight_decay = 0.01 : f64");
  stepper.runAll(0.1);
  stepper.expect(0, {0.997332789, -0.5580233795, 0.11640266975});
  stepper.expect(1, {0.1815, 2.21825});
  stepper.expect(4, {-0.19221789, 0.474528795, 0.8590258025});
  stepper.expect(5, {1.035, 1.4925});
}

TEST(Optimizer, PlainSGD) {
  Stepper stepper("optimizer = \"sgd\", momentum = 0.0 : f64, weight_decay = 0.0 : f64");
  stepper.runAll(0.1);
  stepper.expect(0, {1.02, -0.55, 0.16});
  stepper.expect(1, {0.375, 1.8875});
  EXPECT_EQ(stepper.arguments.size(), 6u);
}

TEST(Optimizer, AdamW) {
  Stepper stepper("optimizer = \"adamw\", momentum = 0.0 : f64, weight_decay = 0.1 : f64");
  stepper.runAll(0.01);
  stepper.expect(0, {0.984722595191744, -0.498361512199736, 0.228191831530939});
  stepper.expect(1, {0.475229375552797, 2.0135981655245});
  stepper.expect(4, {-0.0219, 0.0488, 0.0853});
  stepper.expect(5, {0.000998010000000001, 0.00326704, 0.00588109});
  stepper.expect(6, {0.1035, 0.14925});
  stepper.expect(7, {0.01041975, 0.1293586875});
  stepper.expect(8, {0.729});
  stepper.expect(9, {0.970299});
}

// A skipped step leaves everything as it is, the powers of β too, even when gradients are no numbers.
TEST(Optimizer, SkippedStepChangesNothing) {
  for (const char *optimizer : {"adamw", "sgd"}) {
    Stepper stepper("optimizer = \"" + std::string(optimizer) + "\", momentum = 0.9 : f64, weight_decay = 0.1 : f64");
    stepper.runAll(0.01);
    nn::Tensors before = stepper.arguments;
    double nan = std::numeric_limits<double>::quiet_NaN();
    stepper.step({nan, 1, nan}, {nan, nan}, 0.01, 1, /*skip=*/true);
    for (size_t i = 0; i + 2 < before.size(); ++i)
      if (i != 2 && i != 3) {
        EXPECT_EQ(before[i].floats, stepper.arguments[i].floats) << optimizer << ", argument " << i;
      }
  }
}

} // namespace
