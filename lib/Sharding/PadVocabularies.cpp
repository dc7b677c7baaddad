//===-- PadVocabularies.cpp - makes vocabularies divide over tp ---------------------------------------------------===//

#include "dialects/nn/Builders.h"
#include "lib/Sharding/CopyMakers.h"
#include "lib/Sharding/Diagnostics.h"
#include "lib/Sharding/Notes.h"
#include "lib/Sharding/Parameters.h"
#include "lib/Sharding/Vocabulary.h"
#include "shardc/Sharding/Passes.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

namespace shardc::sharding {
#define GEN_PASS_DEF_PADVOCABULARIESPASS
#include "shardc/Sharding/Passes.h.inc"
} // namespace shardc::sharding

using namespace mlir;
using namespace shardc;
using namespace shardc::sharding;

namespace {

/// The dimensions of one function that grow: those whose atom is of a padded class.
class Padding {
public:
  Padding(func::FuncOp function, const SubDimensions &subDimensions, int64_t ranks)
      : function(function), subDimensions(subDimensions), ranks(ranks), padded(subDimensions.getNumClasses(), false) {}

  void add(int atomClass) { padded[atomClass] = true; }
  bool isEmpty() const { return !llvm::is_contained(padded, true); }
  bool grows(Value value) const {
    return llvm::any_of(subDimensions.getAtoms(value), [&](const Atom &atom) { return padded[atom.atomClass]; });
  }

  /// The first op that cannot be padded, or null.
  Operation *findObstacle() {
    for (BlockArgument argument : function.getArguments())
      for (const Atom &atom : subDimensions.getAtoms(argument))
        if (padded[atom.atomClass] && atom.size != getShape(argument)[atom.part.dim])
          return function;
    for (Operation &op : function.getBody().front().without_terminator()) {
      for (const OpAtom &atom : subDimensions.getOpAtoms(&op))
        if (padded[atom.atomClass] && !canPad(&op, atom))
          return &op;
      for (Value result : op.getResults())
        for (const Atom &atom : subDimensions.getAtoms(result))
          if (padded[atom.atomClass] && atom.size != getShape(result)[atom.part.dim])
            return &op;
    }
    return nullptr;
  }

  void run() {
    Block &block = function.getBody().front();
    for (BlockArgument argument : block.getArguments())
      growArgument(argument);
    for (Operation &op : llvm::make_early_inc_range(block.without_terminator()))
      growOp(&op);
    // Only now: shapes before are what tells which dimensions are padded.
    for (auto &[value, type] : types)
      value.setType(type);
    function.setFunctionType(
        FunctionType::get(function.getContext(), block.getArgumentTypes(), block.getTerminator()->getOperandTypes()));
  }

private:
  static ArrayRef<int64_t> getShape(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }

  /// Sums and products read zeros in the padding, look-ups never reach it; what else combines elements is not padded.
  bool canPad(Operation *op, const OpAtom &atom) {
    if (auto constant = dyn_cast<nn::ConstantOp>(op))
      return isa<SplatElementsAttr>(constant.getValue());
    switch (atom.kind) {
    case nn::FactorKind::Parallel:
      return true;
    case nn::FactorKind::Reduction:
      return atom.reduction == dist::ReductionKind::Sum;
    case nn::FactorKind::Combined:
      return isa<nn::CrossEntropyOp>(op);
    case nn::FactorKind::Blocked:
    case nn::FactorKind::Cut:
      return false;
    }
    llvm_unreachable("all kinds are above");
  }

  int findPaddedDim(Value value) {
    for (const Atom &atom : subDimensions.getAtoms(value))
      if (padded[atom.atomClass])
        return atom.part.dim;
    return -1;
  }

  RankedTensorType getPaddedType(Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> shape(type.getShape());
    for (const Atom &atom : subDimensions.getAtoms(value))
      if (padded[atom.atomClass])
        shape[atom.part.dim] = llvm::alignTo(shape[atom.part.dim], ranks);
    return RankedTensorType::get(shape, type.getElementType());
  }

  void growArgument(BlockArgument argument) {
    if (findPaddedDim(argument) < 0)
      return;
    unsigned index = argument.getArgNumber();
    if (auto parameter = function.getArgAttrOfType<DictionaryAttr>(index, nn::kParameterAttr))
      function.setArgAttr(index, nn::kParameterAttr, withLogicalShape(parameter, getShape(argument)));
    types.insert({argument, getPaddedType(argument)});
  }

  static DictionaryAttr withLogicalShape(DictionaryAttr parameter, ArrayRef<int64_t> shape) {
    NamedAttrList list(parameter);
    list.set("logical_shape", DenseI64ArrayAttr::get(parameter.getContext(), shape));
    return list.getDictionary(parameter.getContext());
  }

  void growOp(Operation *op) {
    if (auto loss = dyn_cast<nn::CrossEntropyOp>(op))
      if (int dim = findPaddedDim(loss.getLogits()); dim >= 0 && !loss.getClasses())
        loss.setClasses(getShape(loss.getLogits())[dim]);
    if (hasReduction(op))
      for (OpOperand &operand : op->getOpOperands())
        maskOperand(op, operand);
    for (Value result : op->getResults()) {
      if (findPaddedDim(result) < 0)
        continue;
      RankedTensorType type = getPaddedType(result);
      types.insert({result, type});
      if (auto constant = dyn_cast<nn::ConstantOp>(op))
        constant.setValueAttr(
            DenseElementsAttr::get(type, cast<SplatElementsAttr>(constant.getValue()).getSplatValue<Attribute>()));
    }
  }

  /// Puts zeros into the padding of what is summed over, and of what makes a gradient. Parameters have zeros there.
  void maskOperand(Operation *op, OpOperand &operand) {
    Value value = operand.get();
    int dim = findPaddedDim(value);
    if (dim < 0 || findMatrixParameter(function, value) || !isa<FloatType>(getElementTypeOrSelf(value.getType())))
      return;
    Value &masked = masks[value];
    if (!masked) {
      OpBuilder builder(op);
      RankedTensorType type = getPaddedType(value);
      nn::TensorBuilder build(builder, op->getLoc());
      Value index = build.iota(type.getShape(), builder.getI64Type(), dim);
      Value isLogical = build.compare(nn::CompareDirection::LT, index, static_cast<double>(getShape(value)[dim]));
      Value zero = build.splat(type, 0);
      masked = nn::SelectOp::create(builder, op->getLoc(), type, isLogical, zero, zero);
      // The operand gets its padded type later.
      masked.getDefiningOp()->setOperand(1, value);
      for (Value made : {index, isLogical, zero, masked})
        nn::copyOrigin(op, made.getDefiningOp());
      nn::copyOrigin(op, isLogical.getDefiningOp()->getOperand(1).getDefiningOp());
    }
    operand.set(masked);
  }

  func::FuncOp function;
  const SubDimensions &subDimensions;
  int64_t ranks;
  std::vector<bool> padded;
  llvm::MapVector<Value, RankedTensorType> types;
  DenseMap<Value, Value> masks;
};

class PadVocabulariesPass : public sharding::impl::PadVocabulariesPassBase<PadVocabulariesPass> {
public:
  using PadVocabulariesPassBase::PadVocabulariesPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto mesh = module->getAttrOfType<dist::MeshAttr>(dist::kMeshAttr);
    auto accumulate = module.lookupSymbol<func::FuncOp>("accumulate");
    if (!mesh || !accumulate || mesh.getSize("tp") == 1)
      return;
    llvm::StringMap<SmallVector<int64_t>> grown;
    if (!pad(accumulate, mesh.getSize("tp"), grown))
      return;
    if (auto update = module.lookupSymbol<func::FuncOp>("update"))
      padUpdate(update, mesh.getSize("tp"), grown);
  }

private:
  static int64_t getRank(Value value) { return cast<RankedTensorType>(value.getType()).getRank(); }

  bool pad(func::FuncOp function, int64_t ranks, llvm::StringMap<SmallVector<int64_t>> &grown) {
    copyMakers(function);
    SmallVector<std::pair<Value, Value>> equal;
    Operation *terminator = function.getBody().front().getTerminator();
    for (auto [index, value] : llvm::enumerate(terminator->getOperands()))
      if (int parameter = getParameterOfGradient(function, index); parameter >= 0)
        equal.push_back({function.getArgument(parameter), value});
    SubDimensions subDimensions(function, equal);
    Padding padding(function, subDimensions, ranks);
    std::vector<bool> vocabularies = findVocabularies(function, subDimensions);
    for (BlockArgument argument : function.getArguments())
      for (const Atom &atom : subDimensions.getAtoms(argument))
        if (vocabularies[atom.atomClass] && atom.size % ranks != 0)
          padding.add(atom.atomClass);
    if (padding.isEmpty())
      return false;
    if (Operation *obstacle = padding.findObstacle()) {
      noteSkipped(function, padding, obstacle);
      return false;
    }
    SmallVector<Type> before(function.getArgumentTypes());
    padding.run();
    for (auto [index, types] : llvm::enumerate(llvm::zip_equal(before, function.getArgumentTypes()))) {
      auto [old, padded] = types;
      if (old != padded)
        grown[getParameterName(function, index)] = llvm::to_vector(cast<RankedTensorType>(padded).getShape());
    }
    return true;
  }

  /// Says which parameters keep a vocabulary that does not divide, and why.
  void noteSkipped(func::FuncOp function, const Padding &padding, Operation *obstacle) {
    std::string names;
    for (BlockArgument argument : function.getArguments())
      if (StringRef name = getParameterName(function, argument.getArgNumber());
          !name.empty() && padding.grows(argument))
        names += (names.empty() ? "" : ", ") + name.str();
    auto mesh = getOperation()->getAttrOfType<dist::MeshAttr>(dist::kMeshAttr);
    std::string reason = obstacle == function
                             ? "an argument has it as a part of a dimension"
                             : describeNode(obstacle) + " ('" + obstacle->getName().getStringRef().str() +
                                   "') cannot do with zeros in it";
    Notes notes(mesh);
    notes.addLine("vocabulary not padded to a multiple of tp=" + std::to_string(mesh.getSize("tp")) + " in " + names +
                  ": " + reason);
    notes.append(getOperation());
  }

  void padUpdate(func::FuncOp function, int64_t ranks, const llvm::StringMap<SmallVector<int64_t>> &grown) {
    copyMakers(function);
    SubDimensions subDimensions(function, {});
    Padding padding(function, subDimensions, ranks);
    for (BlockArgument argument : function.getArguments()) {
      auto entry = grown.find(getOwnerName(function, argument.getArgNumber()));
      if (entry == grown.end() || getRank(argument) != static_cast<int64_t>(entry->second.size()))
        continue;
      for (const Atom &atom : subDimensions.getAtoms(argument))
        if (cast<RankedTensorType>(argument.getType()).getDimSize(atom.part.dim) != entry->second[atom.part.dim])
          padding.add(atom.atomClass);
    }
    padding.run();
    // Results are the arguments of the same name.
    for (unsigned result = 0; result < function.getNumResults(); ++result) {
      auto parameter = function.getResultAttrOfType<DictionaryAttr>(result, nn::kParameterAttr);
      for (unsigned index = 0; parameter && index < function.getNumArguments(); ++index)
        if (getParameterName(function, index) == parameter.getAs<StringAttr>("name").getValue())
          function.setResultAttr(result, nn::kParameterAttr, function.getArgAttr(index, nn::kParameterAttr));
    }
  }
};

} // namespace
