//===-- ModelsTest.cpp - sequential = parallel for the example models --------------------------------------------===//
//
// Each model is imported, differentiated and partitioned, its dropout on; @accumulate and @update on all virtual ranks
// must give what the unpartitioned functions give on one, in fp64.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "shardc/Autodiff/Passes.h"
#include "shardc/Import/Import.h"
#include "shardc/Sharding/Passes.h"

#include "dialects/nn/EvaluateSharded.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace shardc;

namespace {

struct Layout {
  int64_t dp, tp;
};

struct Model {
  std::string name, file, loss;
  Layout layout;
};

void PrintTo(const Model &model, std::ostream *os) { *os << model.name; }

dist::MeshAttr getMesh(MLIRContext *context, Layout layout) {
  return dist::MeshAttr::get(context,
                             {dist::AxisAttr::get(context, "dp", layout.dp), dist::AxisAttr::get(context, "pp", 1),
                              dist::AxisAttr::get(context, "tp", layout.tp)});
}

DictionaryAttr getTraining(MLIRContext *context) {
  Builder builder(context);
  NamedAttrList training;
  training.set("optimizer", builder.getStringAttr("adamw"));
  training.set("micro_batches", builder.getI64IntegerAttr(2));
  std::pair<StringRef, double> numbers[] = {
      {"momentum", 0.9}, {"beta1", 0.9}, {"beta2", 0.999}, {"epsilon", 1e-8}, {"weight_decay", 0.1}};
  for (auto [name, number] : numbers)
    training.set(name, builder.getF64FloatAttr(number));
  return training.getDictionary(context);
}

/// Arguments with parameters of the size that models have.
nn::Tensors getArguments(func::FuncOp function) {
  nn::Tensors arguments = nn::makeArguments(function, 5);
  for (auto [index, tensor] : llvm::enumerate(arguments))
    if (function.getArgAttr(index, nn::kParameterAttr))
      for (double &x : tensor.floats)
        x *= 0.2;
  return arguments;
}

class Models : public testing::TestWithParam<Model> {};

TEST_P(Models, SequentialEqualsParallel) {
  const Model &model = GetParam();
  DialectRegistry registry;
  registry.insert<dist::DistDialect, nn::NNDialect, func::FuncDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  importer::ImportOptions options;
  options.loss = model.loss;
  options.dropout = model.loss.empty() ? 0.1 : -1;
  options.dataParallel = model.layout.dp;
  options.microBatch = 4 / model.layout.dp;
  FailureOr<OwningOpRef<ModuleOp>> module =
      importer::importOnnx(&context, SHARDC_SOURCE_DIR "/examples/" + model.file, options);
  ASSERT_TRUE(succeeded(module));
  (**module)->setAttr(dist::kMeshAttr, getMesh(&context, model.layout));
  (**module)->setAttr("nn.training", getTraining(&context));

  PassManager before(&context), after(&context);
  before.addPass(autodiff::createBuildGradientsPass());
  before.addPass(autodiff::createBuildUpdatePass());
  before.addPass(createCSEPass());
  ASSERT_TRUE(succeeded(before.run(**module)));
  OwningOpRef<ModuleOp> global = (*module)->clone();
  after.addPass(sharding::createAnnotatePass());
  after.addPass(sharding::createPartitionPass());
  after.addPass(createCSEPass());
  ASSERT_TRUE(succeeded(after.run(**module)));

  nn::ControlValues control{42, 3, 8, 1e-3, 1};
  for (StringRef name : {"accumulate", "update"}) {
    auto sequential = global->lookupSymbol<func::FuncOp>(name);
    auto parallel = (*module)->lookupSymbol<func::FuncOp>(name);
    EXPECT_TRUE(succeeded(nn::checkSequentialEqualsParallel(sequential, parallel, getArguments(sequential), control)))
        << name.str();
  }
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

} // namespace
