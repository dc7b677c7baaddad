//===-- PropagateAxis.cpp - a layout that follows from what is split ----------------------------------------------===//

#include "lib/Sharding/PropagateAxis.h"

#include "lib/Sharding/Diagnostics.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::sharding;

namespace {

class Propagation {
public:
  Propagation(const SubDimensions &subDimensions, const std::vector<bool> &splitClasses, StringRef axis, int64_t size)
      : subDimensions(subDimensions), splitClasses(splitClasses), axis(axis), size(size) {}

  LogicalResult run(func::FuncOp function) {
    for (Value argument : function.getArguments())
      layout.arguments.push_back(getSplit(argument));
    for (Operation &op : function.getBody().front().without_terminator())
      visit(&op);
    for (Value value : function.getBody().front().getTerminator()->getOperands())
      layout.returned.push_back(layout.get(value));
    return success(!hasFailed);
  }

  AxisLayout layout;

private:
  Placement getSplit(Value value) {
    for (const Atom &atom : subDimensions.getAtoms(value))
      if (splitClasses[atom.atomClass])
        return Placement::split(atom.part);
    return {};
  }

  void visit(Operation *op) {
    OpPlacement &placement = layout.ops[op];
    placement.operands.resize(op->getNumOperands());
    placement.results.resize(op->getNumResults());
    SmallVector<const OpAtom *> split;
    for (const OpAtom &atom : subDimensions.getOpAtoms(op))
      if (splitClasses[atom.atomClass])
        split.push_back(&atom);
    // What came after a failure would only repeat it.
    if (llvm::any_of(op->getOperands(), [&](Value operand) { return failedValues.contains(operand); }))
      return fail(op);
    if (split.empty())
      return passPartial(op, placement);
    if (split.size() > 1 || (split[0]->kind != nn::FactorKind::Parallel && split[0]->kind != nn::FactorKind::Reduction))
      return reportMixing(op);
    place(op, *split[0], placement);
  }

  void place(Operation *op, const OpAtom &atom, OpPlacement &placement) {
    for (auto [index, part] : llvm::enumerate(atom.operands)) {
      if (part)
        placement.operands[index] = Placement::split(part);
      if (layout.get(op->getOperand(index)).isPartial())
        return reportNonLinear(op);
    }
    for (auto [index, part] : llvm::enumerate(atom.results)) {
      if (part)
        placement.results[index] = Placement::split(part);
      else if (atom.kind == nn::FactorKind::Reduction)
        placement.results[index] = Placement::partial(atom.reduction);
    }
  }

  /// Hands partial operands on through a linear op.
  void passPartial(Operation *op, OpPlacement &placement) {
    SmallVector<unsigned> partial;
    for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
      Placement source = layout.get(operand);
      if (source.isPartial())
        partial.push_back(index);
      if (source.kind == Placement::PartialMax)
        return reportNonLinear(op);
    }
    if (partial.empty())
      return;
    for (const SmallVector<unsigned> &set : cast<nn::ShardableOpInterface>(op).getLinearOperands()) {
      bool fits = llvm::all_of(partial, [&](unsigned index) { return llvm::is_contained(set, index); });
      for (unsigned index : set)
        fits &= llvm::is_contained(partial, index) || nn::isZeroTensor(op->getOperand(index));
      if (!fits)
        continue;
      for (unsigned index : set)
        placement.operands[index].kind = Placement::PartialSum;
      for (Placement &result : placement.results)
        result.kind = Placement::PartialSum;
      return;
    }
    reportNonLinear(op);
  }

  void reportMixing(Operation *op) {
    fail(op);
    InFlightDiagnostic error = emitError(op->getLoc());
    error << describeNode(op) << ": '" << op->getName() << "' mixes elements of a dimension that " << axis << '='
          << size << " splits [shard-2]";
    error.attachNote() << "samples must not depend on one another: " << axis << "=1 works";
  }

  void reportNonLinear(Operation *op) {
    fail(op);
    InFlightDiagnostic error = emitError(op->getLoc());
    error << describeNode(op) << ": '" << op->getName() << "' uses a sum over the batch in a way that is not linear, "
          << "expected sums over samples only in the loss, got one that " << axis << '=' << size
          << " leaves partial [shard-3]";
    error.attachNote() << "the model is batch-coupled: " << axis << "=1 works";
  }

  void fail(Operation *op) {
    hasFailed = true;
    failedValues.insert_range(op->getResults());
  }

  const SubDimensions &subDimensions;
  const std::vector<bool> &splitClasses;
  StringRef axis;
  int64_t size;
  bool hasFailed = false;
  DenseSet<Value> failedValues;
};

} // namespace

FailureOr<AxisLayout> shardc::sharding::propagateAxis(func::FuncOp function, const SubDimensions &subDimensions,
                                                      const std::vector<bool> &splitClasses, StringRef axis,
                                                      int64_t size) {
  Propagation propagation(subDimensions, splitClasses, axis, size);
  if (failed(propagation.run(function)))
    return failure();
  return std::move(propagation.layout);
}
