//===-- Compile.cpp - the whole way from a model to a plan --------------------------------------------------------===//

#include "shardc/Driver/Compile.h"
#include "PlanFolder.h"
#include "shardc/Driver/Pipelines.h"
#include "shardc/Import/Import.h"
#include "shardc/Memory/PlaceBuffers.h"

#include "dialects/dist/Dist.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::driver;

namespace {

importer::ImportOptions getImportOptions(const Options &options) {
  importer::ImportOptions import;
  import.dims = options.dims;
  import.shapes = options.shapes;
  import.loss = options.loss;
  import.dropout = options.dropout;
  import.trainable = options.trainable;
  import.freeze = options.freeze;
  import.tie = options.tie;
  import.untie = options.untie;
  import.externalDataRoot = options.externalDataRoot;
  import.microBatch = options.microBatch;
  import.dataParallel = options.dp;
  return import;
}

dist::MeshAttr getMesh(MLIRContext *context, const Options &options) {
  SmallVector<StringRef> names;
  StringRef(options.meshOrder).split(names, ',');
  SmallVector<dist::AxisAttr> axes;
  for (StringRef name : names)
    axes.push_back(dist::AxisAttr::get(context, name,
                                       name == "dp"   ? options.dp
                                       : name == "pp" ? options.pp
                                                      : options.tp));
  return dist::MeshAttr::get(context, axes);
}

/// docs/phases.md lists the entries.
DictionaryAttr getTraining(MLIRContext *context, const Options &options) {
  Builder builder(context);
  NamedAttrList list;
  auto setInteger = [&](StringRef name, int64_t value) { list.set(name, builder.getI64IntegerAttr(value)); };
  auto setFloat = [&](StringRef name, double value) { list.set(name, builder.getF64FloatAttr(value)); };
  auto setString = [&](StringRef name, StringRef value) { list.set(name, builder.getStringAttr(value)); };
  setInteger("micro_batch", options.microBatch);
  setInteger("micro_batches", options.getMicroBatches());
  setInteger("global_batch", options.getGlobalBatch());
  setString("schedule", options.schedule);
  setString("recompute", options.recompute);
  setString("optimizer", options.optimizer);
  setFloat("learning_rate", options.learningRate);
  setFloat("momentum", options.momentum);
  setFloat("beta1", options.beta1);
  setFloat("beta2", options.beta2);
  setFloat("epsilon", options.epsilon);
  setFloat("weight_decay", options.getWeightDecay());
  setFloat("clip_norm", options.clipNorm);
  setString("lr_schedule", options.lrSchedule);
  setInteger("warmup_steps", options.warmupSteps);
  setInteger("total_steps", options.totalSteps.value_or(0));
  setFloat("dropout", options.dropout);
  setString("precision", options.precision);
  if (options.precision == "fp16") {
    setFloat("loss_scale_init", options.getLossScaleInit());
    setFloat("loss_scale_growth_interval", options.getLossScaleGrowthInterval());
    setFloat("loss_scale_growth_factor", options.getLossScaleGrowthFactor());
    setFloat("loss_scale_backoff_factor", options.getLossScaleBackoffFactor());
  }
  return list.getDictionary(context);
}

} // namespace

LogicalResult shardc::driver::compile(MLIRContext &context, const Options &options, llvm::raw_ostream &out,
                                      const PhaseHook &hook) {
  if (std::optional<OptionError> error = checkOptions(options)) {
    InFlightDiagnostic diagnostic = emitError(UnknownLoc::get(&context), error->message);
    if (!error->note.empty())
      diagnostic.attachNote() << error->note;
    return diagnostic;
  }
  if (options.emit == Emit::Plan && failed(checkPlanFolder(&context, options.output)))
    return failure();
  FailureOr<KernelTarget> target = getKernelTarget(&context, options);
  if (failed(target))
    return failure();

  FailureOr<OwningOpRef<ModuleOp>> imported = importer::importOnnx(&context, options.model, getImportOptions(options));
  if (failed(imported))
    return failure();
  ModuleOp module = imported->get();
  module->setAttr(dist::kMeshAttr, getMesh(&context, options));
  module->setAttr("nn.training", getTraining(&context, options));
  if (failed(verify(module)))
    return failure();

  PassManager passes(&context);
  passes.enableVerifier(true);
  addPasses(passes, options.emit, hook, options.target == "cuda" ? memory::kGpuAlignment : memory::kAlignment);
  if (failed(passes.run(module)))
    return failure();
  if (options.emit != Emit::Plan) {
    module->print(out, OpPrintingFlags().elideLargeElementsAttrs(64));
    out << "\n";
    return success();
  }
  return writePlanFolder(module, options.output, *target);
}
