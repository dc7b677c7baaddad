//===-- BuildGradients.cpp - @forward becomes @accumulate ---------------------------------------------------------===//

#include "Precision.h"
#include "ReverseMode.h"

#include "dialects/nn/Builders.h"
#include "shardc/Autodiff/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/SetVector.h"

#include <cmath>

namespace shardc::autodiff {
#define GEN_PASS_DEF_BUILDGRADIENTSPASS
#include "shardc/Autodiff/Passes.h.inc"
} // namespace shardc::autodiff

using namespace mlir;
using namespace shardc;
using namespace shardc::autodiff;

namespace {

/// The result of `function` that carries `nn.loss = kind`; null where none does.
Value findLoss(func::FuncOp function, StringRef kind) {
  for (unsigned index = 0; index < function.getNumResults(); ++index)
    if (auto loss = function.getResultAttrOfType<StringAttr>(index, nn::kLossAttr); loss && loss.getValue() == kind)
      return function.getBody().front().getTerminator()->getOperand(index);
  return {};
}

bool isFloatScalar(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getRank() == 0 && isa<FloatType>(type.getElementType());
}

LogicalResult checkLosses(func::FuncOp function) {
  for (StringRef kind : {"sum", "weight"}) {
    Value loss = findLoss(function, kind);
    if (!loss)
      return function.emitError("'forward' has no result with ") << nn::kLossAttr << " = \"" << kind << "\"";
    if (!isFloatScalar(loss))
      return function.emitError("the ") << kind << " of the loss has type " << loss.getType()
                                        << ", expected a float scalar [training-67]";
  }
  return success();
}

SmallVector<BlockArgument> findTrainable(func::FuncOp function) {
  SmallVector<BlockArgument> parameters;
  for (BlockArgument argument : function.getArguments()) {
    auto parameter = function.getArgAttrOfType<DictionaryAttr>(argument.getArgNumber(), nn::kParameterAttr);
    auto trainable = parameter ? parameter.getAs<BoolAttr>("trainable") : BoolAttr();
    if (trainable && trainable.getValue())
      parameters.push_back(argument);
  }
  return parameters;
}

StringAttr getParameterName(func::FuncOp function, BlockArgument argument) {
  auto parameter = function.getArgAttrOfType<DictionaryAttr>(argument.getArgNumber(), nn::kParameterAttr);
  return parameter.getAs<StringAttr>("name");
}

/// The number of labels (or else samples) of one micro-batch over all replicas.
int64_t countLabels(func::FuncOp function) {
  auto inputs = function->getParentOp()->getAttrOfType<ArrayAttr>("nn.inputs");
  int64_t samples = 1;
  for (BlockArgument argument : llvm::reverse(function.getArguments())) {
    auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), nn::kInputAttr);
    auto type = cast<RankedTensorType>(argument.getType());
    if (!name)
      continue;
    if (type.getRank() > 0)
      samples = type.getDimSize(0);
    if (!inputs)
      continue;
    for (auto input : inputs.getAsRange<DictionaryAttr>())
      if (auto role = input.getAs<StringAttr>("role"); input.get("name") == name && role && role == "labels")
        return type.getNumElements();
  }
  return samples;
}

/// The power of two nearest `count`, the larger one halfway between two.
double getNearestPowerOfTwo(int64_t count) {
  double power = 1;
  while (power * 1.5 <= count)
    power *= 2;
  return power;
}

struct BuildGradientsPass : autodiff::impl::BuildGradientsPassBase<BuildGradientsPass> {
  using BuildGradientsPassBase::BuildGradientsPassBase;

  void runOnOperation() override {
    auto function = getOperation().lookupSymbol<func::FuncOp>("forward");
    if (!function || !function.getBody().hasOneBlock()) {
      getOperation().emitError("has no function '@forward' of one block");
      return signalPassFailure();
    }
    if (failed(checkLosses(function)) || failed(differentiate(function)))
      return signalPassFailure();
    dropUnused(function.getBody().front());
    function.setName("accumulate");
  }

  LogicalResult differentiate(func::FuncOp function) {
    SmallVector<BlockArgument> parameters = findTrainable(function);
    if (parameters.empty())
      return function.emitError("no parameter is trainable [training-69]");
    Block &block = function.getBody().front();
    assignOrigins(block);
    ReverseMode reverse(block, parameters);
    Value sum = findLoss(function, "sum");
    if (!sum.getDefiningOp() || !reverse.isActive(sum))
      return function.emitError("the loss depends on no trainable parameter [training-68]");
    FailureOr<Precision> precision = Precision::read(getOperation());
    if (failed(precision))
      return failure();
    reverse.seed(sum, 1 / recordSeed(function), precision->lossScaling.has_value());
    if (failed(reverse.run()) || failed(addGradients(function, reverse, parameters)))
      return failure();
    if (precision->low)
      readRounded(block);
    return success();
  }

  /// Where mixed precision rounds a value for all its uses, the backward reads what was stored, too.
  void readRounded(Block &block) {
    OpBuilder builder(&getContext());
    for (auto convert : llvm::make_early_inc_range(block.getOps<nn::ConvertOp>())) {
      Value value = convert.getInput();
      if (convert->hasAttr(nn::kBackwardAttr) || isa<BlockArgument>(value) ||
          !nn::isLowPrecision(nn::getTensorType(convert.getResult()).getElementType()))
        continue;
      llvm::SmallSetVector<Operation *, 4> users(value.getUsers().begin(), value.getUsers().end());
      users.remove(convert);
      if (!llvm::all_of(users, [](Operation *user) { return user->hasAttr(nn::kBackwardAttr); }))
        continue;
      for (Operation *user : users) {
        builder.setInsertionPoint(user);
        auto wide = nn::ConvertOp::create(builder, user->getLoc(), value.getType(), convert.getResult());
        nn::copyOrigin(user, wide);
        user->replaceUsesOfWith(value, wide);
      }
    }
  }

  /// Writes W0 to `nn.training` and returns it.
  double recordSeed(func::FuncOp function) {
    NamedAttrList training(getOperation()->getAttrOfType<DictionaryAttr>("nn.training"));
    auto microBatches = dyn_cast_if_present<IntegerAttr>(training.get("micro_batches"));
    double seed = getNearestPowerOfTwo(countLabels(function) * (microBatches ? microBatches.getInt() : 1));
    training.set("loss_seed", Builder(&getContext()).getF64FloatAttr(seed));
    getOperation()->setAttr("nn.training", training.getDictionary(&getContext()));
    return seed;
  }

  /// One error for all parameters without a gradient; a long list is cut.
  static LogicalResult reportUnreached(func::FuncOp function, ArrayRef<StringAttr> names) {
    constexpr size_t kMostNames = 10;
    InFlightDiagnostic diagnostic = function.emitError(names.size() == 1 ? "parameter " : "parameters ");
    llvm::interleaveComma(names.take_front(kMostNames), diagnostic);
    if (names.size() > kMostNames)
      diagnostic << " and " << names.size() - kMostNames << " more";
    diagnostic << (names.size() == 1 ? " is trainable, but does" : " are trainable, but do")
               << " not reach the loss [training-71]";
    diagnostic.attachNote()
        << "every way from there to the loss ends at an op that is constant between steps, such as a "
           "comparison or a rounding: --freeze GLOB leaves parameters out";
    return diagnostic;
  }

  LogicalResult addGradients(func::FuncOp function, ReverseMode &reverse, ArrayRef<BlockArgument> parameters) {
    Operation *terminator = function.getBody().front().getTerminator();
    SmallVector<Type> types(function.getResultTypes());
    SmallVector<DictionaryAttr> attributes;
    function.getAllResultAttrs(attributes);
    SmallVector<Value> gradients;
    SmallVector<StringAttr> unreached;
    for (BlockArgument parameter : parameters) {
      StringAttr name = getParameterName(function, parameter);
      Value gradient = reverse.getGradient(parameter);
      if (!gradient) {
        unreached.push_back(name);
        continue;
      }
      gradients.push_back(gradient);
      types.push_back(gradient.getType());
      attributes.push_back(DictionaryAttr::get(&getContext(), NamedAttribute(nn::kGradientAttr, name)));
    }
    if (!unreached.empty())
      return reportUnreached(function, unreached);
    terminator->insertOperands(terminator->getNumOperands(), gradients);
    function.setType(FunctionType::get(&getContext(), function.getArgumentTypes(), types));
    function.setAllResultAttrs(attributes);
    return success();
  }

  void dropUnused(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op))
        op.erase();
  }
};

} // namespace
