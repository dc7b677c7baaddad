//===-- PartitionedModel.cpp - an example model before and after partitioning -------------------------------------===//

#include "PartitionedModel.h"

#include "shardc/Autodiff/Passes.h"
#include "shardc/Import/Import.h"
#include "shardc/Sharding/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::test;

namespace {

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

importer::ImportOptions getOptions(const std::string &loss, Layout layout) {
  importer::ImportOptions options;
  options.loss = loss;
  options.dropout = loss.empty() ? 0.1 : -1;
  options.dataParallel = layout.dp;
  options.microBatch = 4 / layout.dp;
  return options;
}

} // namespace

PartitionedModel::PartitionedModel(const std::string &file, const std::string &loss, Layout layout) {
  DialectRegistry registry;
  registry.insert<dist::DistDialect, nn::NNDialect, func::FuncDialect>();
  context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  FailureOr<OwningOpRef<ModuleOp>> module =
      importer::importOnnx(context.get(), SHARDC_SOURCE_DIR "/examples/" + file, getOptions(loss, layout));
  if (failed(module))
    return;
  (**module)->setAttr(dist::kMeshAttr, getMesh(context.get(), layout));
  (**module)->setAttr("nn.training", getTraining(context.get()));

  PassManager differentiate(context.get()), partition(context.get());
  differentiate.addPass(autodiff::createBuildGradientsPass());
  differentiate.addPass(autodiff::createBuildUpdatePass());
  differentiate.addPass(createCSEPass());
  partition.addPass(sharding::createAnnotatePass());
  partition.addPass(sharding::createPartitionPass());
  partition.addPass(createCSEPass());
  if (failed(differentiate.run(**module)))
    return;
  global = (*module)->clone();
  if (succeeded(partition.run(**module)))
    local = std::move(*module);
}

bool PartitionedModel::isEqual(StringRef name) {
  func::FuncOp sequential = getGlobal(name);
  nn::ControlValues control{42, 3, 8, 1e-3, 1};
  return succeeded(nn::checkSequentialEqualsParallel(sequential, getLocal(name), getArguments(sequential), control));
}
