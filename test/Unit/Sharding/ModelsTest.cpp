//===-- ModelsTest.cpp - sequential = parallel for the example models ---------------------------------------------===//
//
// @accumulate and @update of each model on all virtual ranks must give what the unpartitioned functions give on one, in
// fp64; and must not, once a fault is planted.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "PartitionedModel.h"

#include "dialects/nn/Builders.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace shardc;
using shardc::test::Layout;
using shardc::test::PartitionedModel;

namespace {

struct Model {
  std::string name, file, loss;
  Layout layout;
};

void PrintTo(const Model &model, std::ostream *os) { *os << model.name; }

class Models : public testing::TestWithParam<Model> {};

TEST_P(Models, SequentialEqualsParallel) {
  PartitionedModel model(GetParam().file, GetParam().loss, GetParam().layout);
  ASSERT_TRUE(model.isComplete());
  EXPECT_TRUE(model.isEqual("accumulate"));
  EXPECT_TRUE(model.isEqual("update"));
}

INSTANTIATE_TEST_SUITE_P(
    Examples, Models,
    testing::Values(Model{"mlp_dp2", "models/mlp_ts17.onnx", "cross_entropy", {2, 1}},
                    Model{"mlp_tp2", "models/mlp_ts17.onnx", "cross_entropy", {1, 2}},
                    Model{"mlp_tp4", "models/mlp_dynamo18.onnx", "cross_entropy", {1, 4}},
                    Model{"functions_mlp_dp2_tp2", "models/functions_mlp.onnx", "cross_entropy", {2, 2}},
                    Model{"tied_tp2", "tinygpt.onnx", "", {1, 2}}, Model{"tied_dp2_tp2", "tinygpt.onnx", "", {2, 2}},
                    Model{"untied_dp4", "models/tinygpt_untied_ts17.onnx", "", {4, 1}},
                    Model{"untied_tp4", "models/tinygpt_untied_ts17.onnx", "", {1, 4}},
                    Model{"untied_dynamo_tp2", "models/tinygpt_untied_dynamo20.onnx", "", {1, 2}}),
    [](const auto &info) { return info.param.name; });

//===-- Planted faults --------------------------------------------------------------------------------------------===//

/// The tied decoder on two by two ranks, with a fault to be planted in one function.
class PlantedFault : public testing::Test {
protected:
  PlantedFault() : model("tinygpt.onnx", "", {2, 2}) {}

  void SetUp() override { ASSERT_TRUE(model.isComplete()); }

  /// Whether the check tells `name` from what it should be; what it reports is not shown.
  bool isFound(StringRef name) {
    ScopedDiagnosticHandler quiet(model.context.get(), [](Diagnostic &) { return success(); });
    return !model.isEqual(name);
  }

  Operation *getReturn(StringRef name) { return model.getLocal(name).getBody().front().getTerminator(); }

  /// The first op of the kind in the local function for which `matches` holds.
  template <typename OpTy> OpTy find(StringRef name, llvm::function_ref<bool(OpTy)> matches) {
    for (OpTy op : model.getLocal(name).getBody().front().getOps<OpTy>())
      if (matches(op))
        return op;
    return {};
  }

  PartitionedModel model;
};

TEST_F(PlantedFault, GradientDoubledOnOneAxis) {
  func::FuncOp accumulate = model.getLocal("accumulate");
  Operation *terminator = getReturn("accumulate");
  OpBuilder builder(terminator);
  for (unsigned index = 2; index < terminator->getNumOperands(); ++index) {
    auto sharding = accumulate.getResultAttrOfType<dist::ShardingAttr>(index, dist::kShardingAttr);
    if (sharding.isSplitOver("tp") || sharding.getPartial("tp"))
      continue;
    Value gradient = terminator->getOperand(index);
    Value doubled =
        dist::AllReduceOp::create(builder, gradient.getLoc(), gradient.getType(), gradient,
                                  builder.getStrArrayAttr({"tp"}), dist::ReductionKind::Sum, DenseI64ArrayAttr());
    terminator->setOperand(index, doubled);
    EXPECT_TRUE(isFound("accumulate"));
    return;
  }
  FAIL() << "no gradient is replicated over tp";
}

TEST_F(PlantedFault, AllReduceLeftOutInTheForward) {
  auto reduce = find<dist::AllReduceOp>("accumulate", [](auto op) { return !op->hasAttr(nn::kBackwardAttr); });
  ASSERT_TRUE(reduce);
  reduce.replaceAllUsesWith(reduce.getInput());
  reduce.erase();
  EXPECT_TRUE(isFound("accumulate"));
}

TEST_F(PlantedFault, AllReduceLeftOutInTheBackward) {
  auto reduce = find<dist::AllReduceOp>("accumulate", [](auto op) { return op->hasAttr(nn::kBackwardAttr); });
  ASSERT_TRUE(reduce);
  reduce.replaceAllUsesWith(reduce.getInput());
  reduce.erase();
  EXPECT_TRUE(isFound("accumulate"));
}

TEST_F(PlantedFault, LossWeightDividedByTheReplicas) {
  Operation *terminator = getReturn("accumulate");
  OpBuilder builder(terminator);
  Value weight = terminator->getOperand(1);
  terminator->setOperand(1, nn::TensorBuilder(builder, weight.getLoc()).mul(weight, 0.5));
  EXPECT_TRUE(isFound("accumulate"));
}

TEST_F(PlantedFault, TiedGradientAddedOnce) {
  auto sum = find<nn::AddOp>("accumulate", [](auto op) { return op->hasAttr(nn::kGradientSumAttr); });
  ASSERT_TRUE(sum);
  sum.replaceAllUsesWith(sum.getLhs());
  EXPECT_TRUE(isFound("accumulate"));
}

TEST_F(PlantedFault, DecayTwiceOnTheTiedParameter) {
  // The tied table is the first parameter; its first product is that with 1 − η · decay.
  BlockArgument table = model.getLocal("update").getArgument(0);
  auto decayed = find<nn::MulOp>("update", [&](nn::MulOp op) { return op.getLhs() == table; });
  ASSERT_TRUE(decayed);
  OpBuilder builder(decayed->getBlock(), std::next(decayed->getIterator()));
  Value twice = nn::TensorBuilder(builder, decayed.getLoc()).mul(decayed, decayed.getRhs());
  decayed.getResult().replaceAllUsesExcept(twice, twice.getDefiningOp());
  EXPECT_TRUE(isFound("update"));
}

TEST_F(PlantedFault, RandomNumbersThatDependOnTheReplica) {
  auto random = find<nn::RngUniformOp>("accumulate", [](auto) { return true; });
  ASSERT_TRUE(random);
  OpBuilder builder(random);
  nn::TensorBuilder build(builder, random.getLoc());
  auto index = dist::AxisIndexOp::create(builder, random.getLoc(), random.getBase().getType(), "dp");
  random.getBaseMutable().assign(build.add(random.getBase(), index));
  EXPECT_TRUE(isFound("accumulate"));
}

} // namespace
