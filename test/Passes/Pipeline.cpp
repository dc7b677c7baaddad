//===-- Pipeline.cpp - --test-pipeline: pipelined = sequential ----------------------------------------------------===//
//
// Takes a module with partitioned @accumulate and @update, runs one step of it micro-batch after micro-batch without
// stages, and again as Pipeline cuts it into `pp` stages, action by action in the order of its schedule, on virtual
// ranks with buffers and messages. Reports every gradient, parameter, state and output that differs. Buffers that
// nobody has written and stash slots that a backward is done with cannot be read.
//
// The sequential run reduces, clips and scales by its own plain code.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "test/Passes/PipelinedStep.h"
#include "test/Passes/SequentialStep.h"
#include "test/Passes/TestPasses.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

#include <map>

using namespace mlir;
using namespace shardc;
using namespace shardc::test;
using nn::Tensor;

namespace {

struct PipelinePass : PassWrapper<PipelinePass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PipelinePass)

  PipelinePass() = default;
  PipelinePass(const PipelinePass &other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "test-pipeline"; }
  StringRef getDescription() const override { return "Compare a pipelined step with a sequential one"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<nn::NNDialect, dist::DistDialect, exec::ExecDialect, func::FuncDialect>();
  }

  void runOnOperation() override {
    if (failed(compare()))
      signalPassFailure();
  }

  LogicalResult compare() {
    dist::MeshAttr mesh = dist::MeshAttr::of(getOperation());
    OwningOpRef<ModuleOp> flat = getOperation().clone(), deep = getOperation().clone();
    (*flat)->setAttr(dist::kMeshAttr, withStages(mesh, 1));
    (*deep)->setAttr(dist::kMeshAttr, withStages(mesh, stages));
    Training training = configure(*deep);
    if (failed(runPasses(*deep)))
      return failure();
    Data data(flat->lookupSymbol<func::FuncOp>("accumulate"), flat->lookupSymbol<func::FuncOp>("update"));
    SequentialStep sequential(*flat, data, training);
    PipelinedStep pipelined(*deep, data, training);
    if (failed(sequential.run()) || failed(pipelined.runMicroBatches()))
      return failure();
    compareSums(*deep, sequential, pipelined);
    if (failed(pipelined.runUpdate()))
      return failure();
    compareUpdate(*deep, sequential, pipelined);
    reportStashes(pipelined);
    if (different)
      return failure();
    llvm::outs() << "pipelined = sequential: pp=" << stages << ", " << compared << " tensors\n";
    return success();
  }

  /// Sets the options in nn.training.
  Training configure(ModuleOp module) {
    NamedAttrList list(module->getAttrOfType<DictionaryAttr>("nn.training"));
    OpBuilder builder(module.getContext());
    if (!schedule.empty())
      list.set("schedule", builder.getStringAttr(schedule));
    if (!recompute.empty())
      list.set("recompute", builder.getStringAttr(recompute));
    if (microBatches > 0)
      list.set("micro_batches", builder.getI64IntegerAttr(microBatches));
    module->setAttr("nn.training", list.getDictionary(module.getContext()));
    auto integer = [&](StringRef name) { return cast<IntegerAttr>(list.get(name)).getInt(); };
    auto number = [&](StringRef name) { return cast<FloatAttr>(list.get(name)).getValueAsDouble(); };
    return {integer("micro_batches"), integer("micro_batch") * dist::MeshAttr::of(module).getSize("dp"),
            number("loss_seed"), number("clip_norm")};
  }

  LogicalResult runPasses(ModuleOp module) {
    PassManager manager(module.getContext());
    StringRef pipeline = "pipeline-assign-schedule,pipeline-cut-stages,pipeline-recompute,pipeline-outline-stages,"
                         "pipeline-reduce-step";
    if (failed(parsePassPipeline(pipeline, manager)))
      return failure();
    return manager.run(module);
  }

  void check(ModuleOp module, const Tensor &actual, const Tensor &expected, double tolerance, const Twine &what) {
    ++compared;
    double difference = nn::getDifference(actual, expected);
    if (difference <= tolerance)
      return;
    different = true;
    module.emitError("pipelined step: ") << what << ": expected a difference of at most " << tolerance << ", got "
                                         << difference;
  }

  /// Sums over the micro-batches of every stage: equal bits, but for parameters that several stages share.
  void compareSums(ModuleOp module, SequentialStep &sequential, PipelinedStep &pipelined) {
    dist::MeshAttr mesh = dist::MeshAttr::of(module), flat = withStages(mesh, 1);
    for (auto [rank, sums] : llvm::enumerate(sequential.sums))
      for (const auto &[name, expected] : sums) {
        Coordinates at = locate(flat, rank);
        std::string buffer = StringRef(name).starts_with("loss.") ? name : name + "/grad";
        std::optional<Tensor> total;
        int64_t parts = 0;
        for (at["pp"] = 0; at["pp"] < stages; ++at["pp"]) {
          auto &buffers = pipelined.buffers[getRank(mesh, at)];
          auto found = buffers.find({buffer, 0});
          if (found == buffers.end())
            continue;
          ++parts;
          if (total)
            addTo(*total, found->second);
          else
            total = found->second;
        }
        if (total)
          check(module, *total, expected, parts > 1 ? 1e-5 : 0, "sum '" + name + "'");
        else
          module.emitError("pipelined step: no stage sums '") << name << "'", different = true;
      }
  }

  void compareUpdate(ModuleOp module, SequentialStep &sequential, PipelinedStep &pipelined) {
    dist::MeshAttr mesh = dist::MeshAttr::of(module), flat = withStages(mesh, 1);
    for (auto [rank, buffers] : llvm::enumerate(pipelined.buffers)) {
      Coordinates at = locate(mesh, rank);
      at["pp"] = 0;
      for (const auto &[name, expected] : sequential.persistent[getRank(flat, at)])
        if (auto found = buffers.find({name, 0}); found != buffers.end())
          check(module, found->second, expected, 1e-5, "'" + name + "' after the update");
      for (const auto &[name, expected] : sequential.outputs)
        check(module, buffers.at({name, 0}), makeScalar(&getContext(), Float32Type::get(&getContext()), expected), 1e-5,
              "output '" + name + "'");
    }
  }

  /// What each stage keeps for one micro-batch.
  void reportStashes(PipelinedStep &pipelined) {
    for (int64_t stage = 0; stage < stages; ++stage) {
      std::map<std::string, RankedTensorType> stashes;
      int64_t repeated = 0;
      func::FuncOp backward = pipelined.getFunction(stage, "backward");
      backward.walk([&](Operation *op) { repeated += op->hasAttr("pipe.recomputed"); });
      for (func::FuncOp function : {pipelined.getFunction(stage, "forward"), backward}) {
        SmallVector<exec::BindAttr> bindings = PipelinedStep::getBindings(function);
        SmallVector<Type> types(function.getArgumentTypes());
        llvm::append_range(types, function.getResultTypes());
        for (auto [bind, type] : llvm::zip_equal(bindings, types))
          if (bind.getRegion() == exec::Region::Stash)
            stashes[bind.getName().str()] = cast<RankedTensorType>(type);
      }
      int64_t elements = 0, bytes = 0;
      for (const auto &[name, type] : stashes) {
        elements += type.getNumElements();
        bytes += type.getNumElements() * ((type.getElementTypeBitWidth() + 7) / 8);
        if (verbose)
          llvm::outs() << "  " << name << " " << type << "\n";
      }
      llvm::outs() << "pp " << stage << " stashes " << stashes.size() << " tensors, " << elements << " elements, "
                   << bytes << " bytes; repeats " << repeated << " ops\n";
    }
  }

  Option<int64_t> stages{*this, "pp", llvm::cl::desc("Number of stages"), llvm::cl::init(2)};
  Option<std::string> schedule{*this, "schedule", llvm::cl::desc("Instead of nn.training's")};
  Option<std::string> recompute{*this, "recompute", llvm::cl::desc("Instead of nn.training's")};
  Option<int64_t> microBatches{*this, "micro-batches", llvm::cl::desc("Instead of nn.training's")};
  Option<bool> verbose{*this, "verbose", llvm::cl::desc("List what is stashed"), llvm::cl::init(false)};
  int64_t compared = 0;
  bool different = false;
};

} // namespace

void shardc::test::registerPipelinePass() { PassRegistration<PipelinePass>(); }
