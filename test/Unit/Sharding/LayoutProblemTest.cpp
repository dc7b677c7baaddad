//===-- LayoutProblemTest.cpp - the solver's layouts against brute force over all of them -------------------------===//

#include "lib/Sharding/LayoutProblem.h"
#include "lib/Sharding/Parameters.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/STLExtras.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::sharding;

namespace {

/// Hardware on which different layouts win.
constexpr dist::Hardware kSlowLinks = {"slow links", 100e9, 10e9, 1e8, 1e-6, 1e-6};
constexpr dist::Hardware kFastLinks = {"fast links", 1e9, 1e8, 1e12, 1e-9, 1e-9};

/// Two linear layers with a residual connection, forward and backward.
constexpr llvm::StringLiteral kBlock = R"mlir(
func.func @accumulate(%x: tensor<8x4xf32> {nn.input = "x"}, %w1: tensor<4x8xf32> {nn.parameter = {name = "w1"}},
    %b1: tensor<8xf32> {nn.parameter = {name = "b1"}}, %w2: tensor<8x4xf32> {nn.parameter = {name = "w2"}})
    -> (tensor<f32> {nn.loss = "sum"}, tensor<4x8xf32> {nn.gradient = "w1"}, tensor<8xf32> {nn.gradient = "b1"},
        tensor<8x4xf32> {nn.gradient = "w2"}) {
  %h = nn.dot_general %x, %w1 batch [] x [] contract [1] x [0] : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %b = nn.broadcast_in_dim %b1 dims [1] : tensor<8xf32> -> tensor<8x8xf32>
  %z = nn.add %h, %b : tensor<8x8xf32>
  %a = nn.tanh %z : tensor<8x8xf32>
  %y = nn.dot_general %a, %w2 batch [] x [] contract [1] x [0] : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %r = nn.add %y, %x : tensor<8x4xf32>
  %q = nn.exp %r : tensor<8x4xf32>
  %s = nn.reduce sum, %q dims [0, 1] : tensor<8x4xf32> -> tensor<f32>
  %dw2 = nn.dot_general %a, %q batch [] x [] contract [0] x [0] : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %da = nn.dot_general %q, %w2 batch [] x [] contract [1] x [1] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x8xf32>
  %dz = nn.mul %da, %a : tensor<8x8xf32>
  %db1 = nn.reduce sum, %dz dims [0] : tensor<8x8xf32> -> tensor<8xf32>
  %dw1 = nn.dot_general %x, %dz batch [] x [] contract [0] x [0] : (tensor<8x4xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  return %s, %dw1, %db1, %dw2 : tensor<f32>, tensor<4x8xf32>, tensor<8xf32>, tensor<8x4xf32>
})mlir";

/// A tied table: looked up, and multiplied with at the end.
constexpr llvm::StringLiteral kTied = R"mlir(
func.func @accumulate(%ids: tensor<8xi64> {nn.input = "ids"}, %t: tensor<16x4xf32> {nn.parameter = {name = "t"}},
    %g: tensor<4xf32> {nn.parameter = {name = "g"}})
    -> (tensor<f32> {nn.loss = "sum"}, tensor<16x4xf32> {nn.gradient = "t"}, tensor<4xf32> {nn.gradient = "g"}) {
  %e = nn.gather %t, %ids axis 0 : (tensor<16x4xf32>, tensor<8xi64>) -> tensor<8x4xf32>
  %b = nn.broadcast_in_dim %g dims [1] : tensor<4xf32> -> tensor<8x4xf32>
  %m = nn.mul %e, %b : tensor<8x4xf32>
  %l = nn.dot_general %m, %t batch [] x [] contract [1] x [1] : (tensor<8x4xf32>, tensor<16x4xf32>) -> tensor<8x16xf32>
  %loss, %lse = nn.cross_entropy %l, %ids ignore -100 : tensor<8x16xf32>, tensor<8xi64> -> tensor<8xf32>
  %s = nn.reduce sum, %loss dims [0] : tensor<8xf32> -> tensor<f32>
  %spread = nn.broadcast_in_dim %lse dims [0] : tensor<8xf32> -> tensor<8x16xf32>
  %d = nn.sub %l, %spread : tensor<8x16xf32>
  %dt1 = nn.dot_general %d, %m batch [] x [] contract [0] x [0] : (tensor<8x16xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
  %dm = nn.dot_general %d, %t batch [] x [] contract [1] x [0] : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  %de = nn.mul %dm, %b : tensor<8x4xf32>
  %dt2 = nn.scatter_add %ids, %de axis 0 : (tensor<8xi64>, tensor<8x4xf32>) -> tensor<16x4xf32>
  %dt = nn.add %dt1, %dt2 {nn.gradient_sum} : tensor<16x4xf32>
  %p = nn.mul %dm, %e : tensor<8x4xf32>
  %dg = nn.reduce sum, %p dims [0] : tensor<8x4xf32> -> tensor<4xf32>
  return %s, %dt, %dg : tensor<f32>, tensor<16x4xf32>, tensor<4xf32>
})mlir";

class LayoutProblemTest : public testing::Test {
protected:
  LayoutProblem build(StringRef text, int64_t ranks, const dist::CostModel &costModel) {
    context.loadDialect<func::FuncDialect, nn::NNDialect, dist::DistDialect>();
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    function = *module->getOps<func::FuncOp>().begin();
    SmallVector<std::pair<Value, Value>> equal;
    Operation *terminator = function.getBody().front().getTerminator();
    for (auto [index, value] : llvm::enumerate(terminator->getOperands()))
      if (int parameter = getParameterOfGradient(function, index); parameter >= 0)
        equal.push_back({function.getArgument(parameter), value});
    subDimensions.emplace(function, equal);
    std::vector<bool> batch(subDimensions->getNumClasses(), false);
    batch[subDimensions->getAtoms(function.getArgument(0))[0].atomClass] = true;
    auto problem = LayoutProblem::build(function, *subDimensions, batch, 1, ranks, 1, costModel);
    EXPECT_TRUE(succeeded(problem));
    return std::move(*problem);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
  std::optional<SubDimensions> subDimensions;
};

/// The cheapest of all assignments of strategies.
int64_t findBest(const LayoutProblem &problem) {
  std::vector<int> choices(problem.getNodes().size(), 0);
  int64_t best = kInfeasible;
  while (true) {
    best = std::min(best, problem.evaluate(choices));
    size_t node = 0;
    while (node < choices.size() && ++choices[node] == static_cast<int>(problem.getNodes()[node].strategies.size()))
      choices[node++] = 0;
    if (node == choices.size())
      return best;
  }
}

TEST_F(LayoutProblemTest, SolvesABlockAsWellAsBruteForce) {
  for (const dist::Hardware *hardware : {&kSlowLinks, &kFastLinks, dist::findHardware("cpu")})
    for (int64_t ranks : {2, 4}) {
      dist::CostModel costModel(*hardware);
      LayoutProblem problem = build(kBlock, ranks, costModel);
      auto solution = problem.solve();
      ASSERT_TRUE(succeeded(solution));
      EXPECT_EQ(problem.evaluate(solution->values), solution->cost);
      EXPECT_EQ(solution->cost, findBest(problem)) << hardware->name.str() << ", " << ranks;
    }
}

TEST_F(LayoutProblemTest, SolvesATiedTableAsWellAsBruteForce) {
  for (const dist::Hardware *hardware : {&kSlowLinks, &kFastLinks, dist::findHardware("a100")}) {
    dist::CostModel costModel(*hardware);
    LayoutProblem problem = build(kTied, 2, costModel);
    auto solution = problem.solve();
    ASSERT_TRUE(succeeded(solution));
    EXPECT_EQ(problem.evaluate(solution->values), solution->cost);
    EXPECT_EQ(solution->cost, findBest(problem)) << hardware->name.str();
  }
}

} // namespace
