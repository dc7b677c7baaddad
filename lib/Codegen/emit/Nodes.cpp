//===-- Nodes.cpp - code for one node of a kernel at one position -------------------------------------------------===//

#include "Kernel.h"
#include "Rounding.h"

#include "dialects/nn/fusion/Scalar.h"
#include "shardrt/control.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <cstddef>
#include <limits>

using namespace mlir;
using namespace shardc;
using namespace shardc::codegen;

// The runtime fills this struct and kernels read it: both are compiled against the one header.
static_assert(sizeof(shardrtControl::seed) == 8 && sizeof(shardrtControl::step) == 8 &&
              sizeof(shardrtControl::sampleOffset) == 8 && sizeof(shardrtControl::learningRate) == 4 &&
              sizeof(shardrtControl::lossScale) == 4);

namespace {

Value loadControl(Kernel &kernel, Type type, size_t offset) {
  OpBuilder &builder = kernel.builder;
  Value pointer = kernel.control;
  if (offset)
    pointer = LLVM::GEPOp::create(builder, kernel.loc, pointer.getType(), builder.getI8Type(), pointer,
                                  ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
  return LLVM::LoadOp::create(builder, kernel.loc, type, pointer);
}

/// The elements of a constant as a global of the module, i1 as bytes.
Value buildConstantPointer(Kernel &kernel, nn::ConstantOp constant) {
  auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
  if (!elements) {
    constant.emitOpError("has elements that cannot be read by a kernel");
    return {};
  }
  OpBuilder &builder = kernel.builder;
  if (Operation *known = kernel.constants.lookup(constant))
    return LLVM::AddressOfOp::create(builder, kernel.loc, cast<LLVM::GlobalOp>(known));
  int64_t count = elements.getNumElements();
  Type element = elements.getElementType();
  DenseElementsAttr data = elements.reshape(RankedTensorType::get({count}, element));
  if (element.isInteger(1)) {
    SmallVector<int8_t> bytes;
    for (bool value : elements.getValues<bool>())
      bytes.push_back(value);
    data = DenseElementsAttr::get(RankedTensorType::get({count}, builder.getI8Type()), ArrayRef<int8_t>(bytes));
    element = builder.getI8Type();
  }
  auto function = kernel.control.getParentRegion()->getParentOp();
  std::string name;
  unsigned number = 0;
  do
    name = (kernel.def.getSymName() + ".data" + Twine(number++)).str();
  while (SymbolTable::lookupSymbolIn(function->getParentOp(), name));
  OpBuilder moduleBuilder(function);
  auto global = LLVM::GlobalOp::create(moduleBuilder, kernel.loc, LLVM::LLVMArrayType::get(element, count),
                                       /*isConstant=*/true, LLVM::Linkage::Internal, name, data, /*alignment=*/64);
  kernel.constants[constant] = global;
  return LLVM::AddressOfOp::create(builder, kernel.loc, global);
}

Value loadElement(Kernel &kernel, Type elementType, Value pointer, const Address &address, bool isVector, Value mask) {
  if (isVector)
    return loadVector(kernel.builder, kernel.loc, elementType, pointer, address, mask);
  return loadScalar(kernel.builder, kernel.loc, elementType, pointer, address.base);
}

/// A splat of 16-bit floats in f32.
Value buildWideSplat(Kernel &kernel, nn::ConstantOp constant) {
  APFloat number = cast<DenseFPElementsAttr>(constant.getValue()).getSplatValue<APFloat>();
  bool losesInfo;
  number.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &losesInfo);
  FloatAttr attribute = FloatAttr::get(kernel.builder.getF32Type(), number);
  return nn::buildConstant(kernel.builder, kernel.loc, attribute.getType(), attribute);
}

/// A conversion to a 16-bit float goes through f32; f64 is rounded twice, which no cast of mixed precision asks for.
Value buildConversion(Kernel &kernel, nn::ConvertOp convert, Value input) {
  Type element = getElementTypeOrSelf(convert.getType());
  if (!nn::isLowPrecision(element))
    return convert.buildScalar(kernel.builder, kernel.loc, input);
  Type from = getElementTypeOrSelf(input.getType()), f32 = kernel.builder.getF32Type();
  Type type = nn::withElementType(input.getType(), f32);
  if (from.isF32())
    return input;
  if (from.isF64())
    return arith::TruncFOp::create(kernel.builder, kernel.loc, type, input);
  if (from.isInteger(1))
    return arith::UIToFPOp::create(kernel.builder, kernel.loc, type, input);
  return arith::SIToFPOp::create(kernel.builder, kernel.loc, type, input);
}

} // namespace

Value shardc::codegen::roundResult(Kernel &kernel, const KernelNode &node, Value value) {
  Type element = node.getElementType();
  bool isExact = isa_and_present<nn::BroadcastInDimOp, nn::ConstantOp, nn::SelectOp, nn::NegOp, nn::MaxOp, nn::MinOp>(
      node.getOp());
  if (!value || isExact || !nn::isLowPrecision(element))
    return value;
  return roundToHalf(kernel.builder, kernel.loc, element, value);
}

Value shardc::codegen::loadControlField(Kernel &kernel, nn::ControlField field) {
  Type i64 = kernel.builder.getI64Type(), f32 = kernel.builder.getF32Type();
  switch (field) {
  case nn::ControlField::Seed:
    return loadControl(kernel, i64, offsetof(shardrtControl, seed));
  case nn::ControlField::Step:
    return loadControl(kernel, i64, offsetof(shardrtControl, step));
  case nn::ControlField::SampleOffset:
    return loadControl(kernel, i64, offsetof(shardrtControl, sampleOffset));
  case nn::ControlField::LearningRate:
    return loadControl(kernel, f32, offsetof(shardrtControl, learningRate));
  case nn::ControlField::LossScale:
    return loadControl(kernel, f32, offsetof(shardrtControl, lossScale));
  }
  llvm_unreachable("all fields are handled");
}

Value shardc::codegen::loadCoordinate(Kernel &kernel, Operation *op, StringRef axis) {
  dist::MeshAttr mesh = dist::MeshAttr::of(kernel.def);
  int index = mesh ? mesh.getIndex(axis) : -1;
  if (index < 0 || index >= SHARDRT_MAX_MESH_AXES) {
    op->emitOpError("axis '") << axis << "' is no axis of the module's mesh";
    return {};
  }
  size_t offset = offsetof(shardrtControl, coordinates) + index * sizeof(shardrtControl::coordinates[0]);
  return loadControl(kernel, kernel.builder.getI64Type(), offset);
}

Value shardc::codegen::buildNode(Kernel &kernel, const KernelNode &node, ValueRange operands, const Address &address,
                                 bool isVector, Value mask) {
  Operation *op = node.getOp();
  Type element = node.getElementType();
  if (auto argument = dyn_cast<BlockArgument>(node.value))
    return loadElement(kernel, element, kernel.pointers[argument.getArgNumber()], address, isVector, mask);
  if (auto random = dyn_cast<nn::RngUniformOp>(op)) {
    Value position = buildPosition(kernel.builder, kernel.loc, address, isVector);
    position = arith::AddIOp::create(kernel.builder, kernel.loc, position, operands[0]);
    return roundResult(kernel, node, buildUniform(kernel, position, random.getId(), getRegisterType(element)));
  }
  if (auto index = dyn_cast<dist::AxisIndexOp>(op))
    return loadCoordinate(kernel, op, index.getAxis());

  if (auto convert = dyn_cast<nn::ConvertOp>(op))
    return roundResult(kernel, node, buildConversion(kernel, convert, operands[0]));
  if (isa<nn::IotaOp>(op) && nn::isLowPrecision(element)) {
    Value position = buildPosition(kernel.builder, kernel.loc, address, isVector);
    Type f32 = nn::withElementType(position.getType(), getRegisterType(element));
    return roundResult(kernel, node, arith::SIToFPOp::create(kernel.builder, kernel.loc, f32, position));
  }
  if (auto constant = dyn_cast<nn::ConstantOp>(op); constant && !node.isAccess && nn::isLowPrecision(element))
    return buildWideSplat(kernel, constant);
  SmallVector<Value> scalars(operands);
  if (auto control = dyn_cast<nn::ControlOp>(op))
    scalars.push_back(loadControlField(kernel, control.getField()));
  if (isa<nn::IotaOp>(op))
    scalars.push_back(buildPosition(kernel.builder, kernel.loc, address, isVector));
  if (auto constant = dyn_cast<nn::ConstantOp>(op); constant && node.isAccess) {
    Value pointer = buildConstantPointer(kernel, constant);
    if (!pointer)
      return {};
    scalars.push_back(loadElement(kernel, element, pointer, address, isVector, mask));
  }
  Value result =
      roundResult(kernel, node, cast<nn::FusibleOpInterface>(op).buildScalar(kernel.builder, kernel.loc, scalars));
  if (!result)
    op->emitOpError("cannot be computed in a kernel for element type ")
        << getElementTypeOrSelf(op->getNumOperands() ? op->getOperand(0).getType() : op->getResult(0).getType())
        << " [kernel-type]";
  return result;
}

//===-- Reductions ------------------------------------------------------------------------------------------------===//

Value shardc::codegen::buildNeutral(Kernel &kernel, nn::ReduceOp reduce, bool isVector) {
  Type element = getRegisterType(cast<RankedTensorType>(reduce.getType()).getElementType());
  Type type = isVector ? VectorType::get({kLanes}, element) : element;
  double infinity = std::numeric_limits<double>::infinity();
  bool isBool = element.isInteger(1), isFloat = isa<FloatType>(element);
  auto build = [&](double floatValue, int64_t intValue) {
    return isFloat ? nn::buildFloat(kernel.builder, kernel.loc, type, floatValue)
                   : nn::buildInteger(kernel.builder, kernel.loc, type, intValue);
  };
  unsigned width = element.getIntOrFloatBitWidth();
  switch (reduce.getKind()) {
  case nn::ReduceKind::Sum:
    return build(0.0, 0);
  case nn::ReduceKind::Prod:
    return build(1.0, 1);
  case nn::ReduceKind::Max:
    return build(-infinity, isBool ? 0 : llvm::minIntN(width));
  case nn::ReduceKind::Min:
    return build(infinity, isBool ? 1 : llvm::maxIntN(width));
  }
  llvm_unreachable("all kinds are handled");
}

Value shardc::codegen::buildLaneTree(OpBuilder &builder, Location loc, Value lanes,
                                     function_ref<Value(Value, Value)> combine) {
  for (int64_t half = kLanes / 2; half >= 1; half /= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t lane = 0; lane < half; ++lane) {
      low.push_back(lane);
      high.push_back(lane + half);
    }
    Value lowLanes = vector::ShuffleOp::create(builder, loc, lanes, lanes, low);
    Value highLanes = vector::ShuffleOp::create(builder, loc, lanes, lanes, high);
    lanes = combine(lowLanes, highLanes);
  }
  return vector::ExtractOp::create(builder, loc, lanes, ArrayRef<int64_t>{0});
}
