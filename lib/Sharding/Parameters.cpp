//===-- Parameters.cpp - the arguments and results of training functions by what they are -------------------------===//

#include "lib/Sharding/Parameters.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::sharding;

namespace {

StringRef getNameIn(DictionaryAttr dictionary, StringRef key) {
  auto name = dictionary ? dictionary.getAs<StringAttr>(key) : StringAttr();
  return name ? name.getValue() : StringRef();
}

/// Whether the op hands one operand through linearly and sums nothing.
bool isLayoutOp(Operation *op) {
  auto shardable = dyn_cast_or_null<nn::ShardableOpInterface>(op);
  return shardable && op->getNumOperands() == 1 && !shardable.getLinearOperands().empty() && !hasReduction(op);
}

} // namespace

StringRef shardc::sharding::getParameterName(func::FuncOp function, unsigned index) {
  return getNameIn(function.getArgAttrOfType<DictionaryAttr>(index, nn::kParameterAttr), "name");
}

StringRef shardc::sharding::getOwnerName(func::FuncOp function, unsigned index) {
  if (StringRef name = getParameterName(function, index); !name.empty())
    return name;
  if (auto gradient = function.getArgAttrOfType<StringAttr>(index, nn::kGradientAttr))
    return gradient.getValue();
  return getNameIn(function.getArgAttrOfType<DictionaryAttr>(index, kStateAttr), "parameter");
}

int shardc::sharding::getParameterOfGradient(func::FuncOp function, unsigned index) {
  auto gradient = function.getResultAttrOfType<StringAttr>(index, nn::kGradientAttr);
  if (!gradient)
    return -1;
  for (unsigned argument = 0; argument < function.getNumArguments(); ++argument)
    if (getParameterName(function, argument) == gradient.getValue())
      return argument;
  return -1;
}

bool shardc::sharding::hasReduction(Operation *op) {
  return llvm::any_of(cast<nn::ShardableOpInterface>(op).getFactors(),
                      [](const nn::Factor &factor) { return factor.kind == nn::FactorKind::Reduction; });
}

BlockArgument shardc::sharding::findMatrixParameter(func::FuncOp function, Value value) {
  while (isLayoutOp(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || getParameterName(function, argument.getArgNumber()).empty() ||
      cast<RankedTensorType>(argument.getType()).getRank() < 2)
    return {};
  return argument;
}

SmallVector<Operation *> shardc::sharding::findGradientProducts(Value gradient) {
  SmallVector<Operation *> products;
  SmallVector<Value> work{gradient};
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    auto shardable = dyn_cast_or_null<nn::ShardableOpInterface>(op);
    if (!shardable)
      continue;
    SmallVector<SmallVector<unsigned>> linear = shardable.getLinearOperands();
    if (isLayoutOp(op))
      work.push_back(op->getOperand(0));
    else if (op->getNumOperands() > 1 && hasReduction(op))
      products.push_back(op);
    else if (!linear.empty() && linear[0].size() == op->getNumOperands())
      llvm::append_range(work, op->getOperands());
  }
  return products;
}

bool shardc::sharding::dependsOnArguments(Value value) {
  SmallVector<Value> work{value};
  DenseSet<Value> seen;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    if (isa<BlockArgument>(next))
      return true;
    llvm::append_range(work, next.getDefiningOp()->getOperands());
  }
  return false;
}
