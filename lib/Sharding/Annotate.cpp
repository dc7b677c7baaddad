//===-- Annotate.cpp - decides where every value of the training step lives ---------------------------------------===//

#include "dialects/nn/sharding/Reshard.h"
#include "lib/Sharding/CopyMakers.h"
#include "lib/Sharding/LayoutProblem.h"
#include "lib/Sharding/Notes.h"
#include "lib/Sharding/Parameters.h"
#include "lib/Sharding/PropagateAxis.h"
#include "shardc/Sharding/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace shardc::sharding {
#define GEN_PASS_DEF_ANNOTATEPASS
#include "shardc/Sharding/Passes.h.inc"
} // namespace shardc::sharding

using namespace mlir;
using namespace shardc;
using namespace shardc::sharding;

namespace {

/// The layouts along the axes, each with its name; absent for axes of size 1.
using Layouts = SmallVector<std::pair<StringRef, const AxisLayout *>>;

/// Writes layouts as attributes.
class Writer {
public:
  Writer(func::FuncOp function, const SubDimensions &subDimensions, Layouts layouts)
      : function(function), subDimensions(subDimensions), layouts(std::move(layouts)) {}

  void run() {
    for (BlockArgument argument : function.getArguments())
      dist::setSharding(argument, getSource(argument));
    for (Operation &op : function.getBody().front().without_terminator())
      write(&op);
    for (auto [index, value] : llvm::enumerate(function.getBody().front().getTerminator()->getOperands()))
      function.setResultAttr(index, dist::kShardingAttr,
                             combine(value, [&](const AxisLayout &layout) { return layout.returned[index]; }));
  }

private:
  dist::ShardingAttr combine(Value value, llvm::function_ref<Placement(const AxisLayout &)> get) {
    MLIRContext *context = function.getContext();
    SmallVector<std::pair<nn::FactorPart, StringAttr>> splits;
    SmallVector<dist::PartialAttr> partial;
    for (auto [name, layout] : layouts) {
      Placement placement = get(*layout);
      auto axis = StringAttr::get(context, name);
      if (placement.kind == Placement::Split)
        splits.push_back({placement.part, axis});
      if (placement.isPartial())
        partial.push_back(dist::PartialAttr::get(context, axis,
                                                 placement.kind == Placement::PartialMax ? dist::ReductionKind::Max
                                                                                         : dist::ReductionKind::Sum));
    }
    return subDimensions.getSharding(value, splits, partial);
  }

  dist::ShardingAttr getSource(Value value) {
    return combine(value, [&](const AxisLayout &layout) { return layout.get(value); });
  }

  void write(Operation *op) {
    SmallVector<Attribute> operands, results;
    bool differs = false;
    for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
      operands.push_back(combine(operand, [&](const AxisLayout &layout) {
        auto entry = layout.ops.find(op);
        return entry == layout.ops.end() ? Placement() : entry->second.operands[index];
      }));
      differs |= operands.back() != getSource(operand);
    }
    for (Value result : op->getResults())
      results.push_back(getSource(result));
    op->setAttr(dist::kShardingsAttr, ArrayAttr::get(op->getContext(), results));
    if (differs)
      op->setAttr(dist::kOperandShardingsAttr, ArrayAttr::get(op->getContext(), operands));
  }

  func::FuncOp function;
  const SubDimensions &subDimensions;
  Layouts layouts;
};

class AnnotatePass : public sharding::impl::AnnotatePassBase<AnnotatePass> {
public:
  using AnnotatePassBase::AnnotatePassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    mesh = module->getAttrOfType<dist::MeshAttr>(dist::kMeshAttr);
    hardwareRow = dist::findHardware(hardware);
    if (failed(checkOptions(module)))
      return signalPassFailure();
    Notes notes(mesh);
    auto accumulate = module.lookupSymbol<func::FuncOp>("accumulate");
    auto update = module.lookupSymbol<func::FuncOp>("update");
    if (accumulate && failed(annotateAccumulate(accumulate, notes)))
      return signalPassFailure();
    if (accumulate && update && failed(annotateUpdate(accumulate, update)))
      return signalPassFailure();
    notes.append(module);
  }

private:
  LogicalResult checkOptions(ModuleOp module) {
    if (!mesh)
      return module.emitError("module has no '") << dist::kMeshAttr << "'";
    if (hardwareRow)
      return success();
    InFlightDiagnostic error = module.emitError("hardware '") << hardware << "' is not in the built-in table";
    for (const dist::Hardware &row : dist::getHardwareTable())
      error.attachNote() << dist::describe(row);
    return failure();
  }

  int64_t getMicroBatches() {
    auto training = getOperation()->getAttrOfType<DictionaryAttr>("nn.training");
    auto count = training ? training.getAs<IntegerAttr>("micro_batches") : IntegerAttr();
    return count ? std::max<int64_t>(count.getInt(), 1) : 1;
  }

  /// The classes of the outermost atoms of the inputs' leading dimensions.
  FailureOr<std::vector<bool>> findBatch(func::FuncOp function, const SubDimensions &subDimensions) {
    std::vector<bool> batch(subDimensions.getNumClasses(), false);
    int64_t ranks = mesh.getSize("dp");
    for (BlockArgument argument : function.getArguments()) {
      unsigned index = argument.getArgNumber();
      if (!function.getArgAttr(index, nn::kInputAttr) || cast<RankedTensorType>(argument.getType()).getRank() == 0)
        continue;
      ArrayRef<Atom> atoms = subDimensions.getAtoms(argument);
      bool hasBatch = !atoms.empty() && atoms[0].part.dim == 0;
      int64_t size = hasBatch ? atoms[0].size : 1;
      if (size % ranks != 0)
        return function.emitError("input ")
               << function.getArgAttr(index, nn::kInputAttr) << ": the batch has the sub-dimension " << size
               << ", which does not divide over dp=" << ranks << " [shard-5]";
      if (hasBatch)
        batch[atoms[0].atomClass] = true;
    }
    return batch;
  }

  LogicalResult reportNoLayout(func::FuncOp function, int64_t ranks) {
    InFlightDiagnostic error = function.emitError("function '");
    error << function.getName() << "': no layout over tp=" << ranks << " meets all orders [shard-6]";
    error.attachNote() << "some op needs whole what must stay split, as a norm over a vocabulary does: tp=1 works";
    return failure();
  }

  LogicalResult annotateAccumulate(func::FuncOp function, Notes &notes) {
    copyMakers(function);
    SmallVector<std::pair<Value, Value>> equal;
    Operation *terminator = function.getBody().front().getTerminator();
    for (auto [index, value] : llvm::enumerate(terminator->getOperands()))
      if (int parameter = getParameterOfGradient(function, index); parameter >= 0)
        equal.push_back({function.getArgument(parameter), value});
    SubDimensions subDimensions(function, equal);
    FailureOr<std::vector<bool>> batch = findBatch(function, subDimensions);
    if (failed(batch))
      return failure();

    Layouts layouts;
    int64_t dp = mesh.getSize("dp"), tp = mesh.getSize("tp");
    FailureOr<AxisLayout> data, tensor;
    if (dp > 1) {
      data = propagateAxis(function, subDimensions, *batch, "dp", dp);
      if (failed(data))
        return failure();
      layouts.push_back({"dp", &*data});
    }
    if (tp > 1) {
      dist::CostModel costModel(*hardwareRow);
      FailureOr<LayoutProblem> problem =
          LayoutProblem::build(function, subDimensions, *batch, dp, tp, getMicroBatches(), costModel);
      if (failed(problem))
        return failure();
      FailureOr<CostNetwork::Solution> solution = problem->solve();
      if (failed(solution))
        return reportNoLayout(function, tp);
      tensor = problem->getLayout(function, solution->values);
      layouts.push_back({"tp", &*tensor});
      notes.addSolution(*hardwareRow, solution->cost);
    }
    Writer(function, subDimensions, layouts).run();
    if (tp > 1)
      notes.addParameters(function);
    return success();
  }

  /// Parameters, gradients and states are where the parameter is; all between follows.
  LogicalResult annotateUpdate(func::FuncOp accumulate, func::FuncOp function) {
    copyMakers(function);
    llvm::StringMap<dist::ShardingAttr> shardings;
    for (BlockArgument argument : accumulate.getArguments())
      if (StringRef name = getParameterName(accumulate, argument.getArgNumber()); !name.empty())
        shardings[name] = dist::getSharding(argument);
    SmallVector<std::pair<Value, dist::ShardingAttr>> seeds;
    for (BlockArgument argument : function.getArguments()) {
      dist::ShardingAttr sharding = shardings.lookup(getOwnerName(function, argument.getArgNumber()));
      if (sharding &&
          sharding.getDims().size() == static_cast<size_t>(cast<RankedTensorType>(argument.getType()).getRank()))
        seeds.push_back({argument, sharding});
    }
    SubDimensions subDimensions(function, {}, seeds);
    std::vector<bool> split(subDimensions.getNumClasses(), false);
    for (auto [value, sharding] : seeds)
      for (auto [dim, attr] : llvm::enumerate(sharding.getDims())) {
        int64_t inner = 1;
        for (dist::SubDimAttr sub : llvm::reverse(attr.getSubDims())) {
          const Atom *atom = subDimensions.findAtom(value, {static_cast<int>(dim), inner});
          if (atom && !sub.getAxes().empty())
            split[atom->atomClass] = true;
          inner *= sub.getSize();
        }
      }
    Layouts layouts;
    FailureOr<AxisLayout> tensor;
    if (int64_t tp = mesh.getSize("tp"); tp > 1) {
      tensor = propagateAxis(function, subDimensions, split, "tp", tp);
      if (failed(tensor))
        return failure();
      layouts.push_back({"tp", &*tensor});
    }
    Writer(function, subDimensions, layouts).run();
    return success();
  }

  dist::MeshAttr mesh;
  const dist::Hardware *hardwareRow = nullptr;
};

} // namespace
