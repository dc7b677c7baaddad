//===-- StageGraph.cpp - what the passes know about the ops of @accumulate ----------------------------------------===//

#include "StageGraph.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::pipeline;

//===-- Ops -------------------------------------------------------------------------------------------------------===//

bool shardc::pipeline::isView(Operation *op) { return isa<nn::ReshapeOp, nn::TransposeOp, nn::SliceOp>(op); }

bool shardc::pipeline::isCheap(Operation *op) {
  if (isa<nn::ReduceOp>(op))
    return false;
  return isView(op) ||
         isa<nn::FusibleOpInterface, nn::PadOp, nn::ConcatOp, nn::RngUniformOp, dist::AxisIndexOp, dist::LocalSliceOp>(
             op);
}

bool shardc::pipeline::isCollective(Operation *op) {
  return isa<dist::AllReduceOp, dist::AllGatherOp, dist::ReduceScatterOp, dist::AllToAllOp>(op);
}

bool shardc::pipeline::isBackward(Operation *op) { return op->hasAttr(nn::kBackwardAttr); }

int64_t shardc::pipeline::getStage(Operation *op) {
  auto stage = op->getAttrOfType<IntegerAttr>(kStageAttr);
  return stage ? stage.getInt() : -1;
}

void shardc::pipeline::setStage(Operation *op, int64_t stage) {
  op->setAttr(kStageAttr, IntegerAttr::get(IntegerType::get(op->getContext(), 64), stage));
}

int64_t shardc::pipeline::getOrigin(Operation *op) {
  auto origin = op->getAttrOfType<IntegerAttr>(nn::kOriginAttr);
  return origin ? origin.getInt() : -1;
}

llvm::DenseSet<Operation *> shardc::pipeline::findFreeOps(func::FuncOp function) {
  llvm::DenseSet<Operation *> free;
  for (Operation &op : function.getBody().front().without_terminator())
    if (isCheap(&op) && llvm::all_of(op.getOperands(), [&](Value operand) {
          return operand.getDefiningOp() && free.contains(operand.getDefiningOp());
        }))
      free.insert(&op);
  return free;
}

void shardc::pipeline::eraseUnusedOps(func::FuncOp function, llvm::function_ref<bool(Operation *)> keep) {
  SmallVector<Operation *> ops;
  for (Operation &op : function.getBody().front().without_terminator())
    ops.push_back(&op);
  for (Operation *op : llvm::reverse(ops))
    if (op->use_empty() && !keep(op))
      op->erase();
}

//===-- Values ----------------------------------------------------------------------------------------------------===//

static DictionaryAttr getParameter(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto function = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  return function ? function.getArgAttrOfType<DictionaryAttr>(argument.getArgNumber(), nn::kParameterAttr)
                  : DictionaryAttr();
}

bool shardc::pipeline::isParameter(Value value) { return getParameter(value) != nullptr; }

bool shardc::pipeline::isTrainable(Value value) {
  DictionaryAttr parameter = getParameter(value);
  auto trainable = parameter ? parameter.getAs<BoolAttr>("trainable") : BoolAttr();
  return trainable && trainable.getValue();
}

int64_t shardc::pipeline::getBytes(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getNumElements() * ((type.getElementTypeBitWidth() + 7) / 8);
}

//===-- The module ------------------------------------------------------------------------------------------------===//

FailureOr<func::FuncOp> shardc::pipeline::findFunction(ModuleOp module, StringRef name) {
  auto function = module.lookupSymbol<func::FuncOp>(name);
  if (!function)
    return module.emitError("module has no function '") << name << "'";
  if (!function.getBody().hasOneBlock())
    return function.emitError("function '")
           << name << "': expected one block, got " << function.getBody().getBlocks().size();
  return function;
}

FailureOr<dist::MeshAttr> shardc::pipeline::findMesh(ModuleOp module) {
  dist::MeshAttr mesh = dist::MeshAttr::of(module);
  if (!mesh)
    return module.emitError("module has no '") << dist::kMeshAttr << "'";
  return mesh;
}

template <typename AttrTy> static FailureOr<AttrTy> readTraining(ModuleOp module, StringRef name) {
  auto training = module->getAttrOfType<DictionaryAttr>("nn.training");
  if (!training)
    return module.emitError("module has no 'nn.training'");
  auto value = training.getAs<AttrTy>(name);
  if (!value)
    return module.emitError("'nn.training' has no '") << name << "' of the expected type";
  return value;
}

FailureOr<int64_t> shardc::pipeline::readTrainingInteger(ModuleOp module, StringRef name) {
  FailureOr<IntegerAttr> value = readTraining<IntegerAttr>(module, name);
  if (failed(value))
    return failure();
  return value->getInt();
}

FailureOr<double> shardc::pipeline::readTrainingFloat(ModuleOp module, StringRef name) {
  FailureOr<FloatAttr> value = readTraining<FloatAttr>(module, name);
  if (failed(value))
    return failure();
  return value->getValueAsDouble();
}

FailureOr<StringRef> shardc::pipeline::readTrainingString(ModuleOp module, StringRef name) {
  FailureOr<StringAttr> value = readTraining<StringAttr>(module, name);
  if (failed(value))
    return failure();
  return value->getValue();
}
