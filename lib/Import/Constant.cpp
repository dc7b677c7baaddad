//===-- Constant.cpp - tensors whose elements are known at import -------------------------------------------------===//

#include "Constant.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace shardc::importer;
using onnx::TensorProto;

namespace {

double decodeSmallFloat(const llvm::fltSemantics &semantics, uint16_t bits) {
  llvm::APFloat value(semantics, llvm::APInt(16, bits));
  bool lossy = false;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &lossy);
  return value.convertToDouble();
}

double roundToSemantics(const llvm::fltSemantics &semantics, double value) {
  llvm::APFloat rounded(value);
  bool lossy = false;
  rounded.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &lossy);
  rounded.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &lossy);
  return rounded.convertToDouble();
}

template <typename T> T readElement(StringRef bytes, int64_t index) {
  return llvm::support::endian::read<T, llvm::endianness::little>(bytes.bytes_begin() +
                                                                  index * static_cast<int64_t>(sizeof(T)));
}

} // namespace

bool shardc::importer::isFloatType(int32_t type) {
  return type == TensorProto::FLOAT || type == TensorProto::DOUBLE || type == TensorProto::FLOAT16 ||
         type == TensorProto::BFLOAT16;
}

std::optional<int64_t> shardc::importer::getElementBytes(int32_t type) {
  switch (type) {
  case TensorProto::BOOL:
  case TensorProto::INT8:
  case TensorProto::UINT8:
    return 1;
  case TensorProto::INT16:
  case TensorProto::UINT16:
  case TensorProto::FLOAT16:
  case TensorProto::BFLOAT16:
    return 2;
  case TensorProto::INT32:
  case TensorProto::UINT32:
  case TensorProto::FLOAT:
    return 4;
  case TensorProto::INT64:
  case TensorProto::UINT64:
  case TensorProto::DOUBLE:
    return 8;
  default:
    return std::nullopt;
  }
}

Type shardc::importer::getElementType(MLIRContext *context, int32_t type) {
  switch (type) {
  case TensorProto::FLOAT:
    return Float32Type::get(context);
  case TensorProto::DOUBLE:
    return Float64Type::get(context);
  case TensorProto::INT32:
    return IntegerType::get(context, 32);
  case TensorProto::INT64:
    return IntegerType::get(context, 64);
  case TensorProto::BOOL:
    return IntegerType::get(context, 1);
  default:
    return {};
  }
}

int32_t shardc::importer::getOnnxType(Type type) {
  if (type.isF64())
    return TensorProto::DOUBLE;
  if (type.isF32())
    return TensorProto::FLOAT;
  if (type.isInteger(32))
    return TensorProto::INT32;
  return type.isInteger(1) ? TensorProto::BOOL : TensorProto::INT64;
}

std::optional<int64_t> shardc::importer::countElements(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t dim : shape)
    if (dim < 0 || llvm::MulOverflow(count, dim, count))
      return std::nullopt;
  return count;
}

std::string shardc::importer::formatShape(ArrayRef<int64_t> shape) {
  if (shape.empty())
    return "scalar";
  std::string text;
  for (int64_t dim : shape)
    text += (text.empty() ? "" : "x") + std::to_string(dim);
  return text;
}

SmallVector<int64_t> shardc::importer::getBroadcastStrides(ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  SmallVector<int64_t> strides(to.size(), 0);
  int64_t stride = 1;
  for (size_t i = 0; i < from.size(); ++i) {
    size_t f = from.size() - 1 - i, t = to.size() - 1 - i;
    strides[t] = from[f] == 1 && to[t] != 1 ? 0 : stride;
    stride *= from[f];
  }
  return strides;
}

std::optional<SmallVector<int64_t>> shardc::importer::broadcastShapes(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  SmallVector<int64_t> shape(std::max(a.size(), b.size()));
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1)
      return std::nullopt;
    shape[shape.size() - 1 - i] = x == 1 ? y : x;
  }
  return shape;
}

Constant Constant::make(int32_t type, ArrayRef<int64_t> shape) {
  Constant constant;
  constant.type = type;
  constant.shape.assign(shape.begin(), shape.end());
  auto count = static_cast<size_t>(countElements(shape).value_or(0));
  if (isFloatType(type))
    constant.floats.resize(count);
  else
    constant.ints.resize(count);
  return constant;
}

Constant Constant::makeFloats(int32_t type, ArrayRef<int64_t> shape, std::vector<double> values) {
  Constant constant;
  constant.type = type;
  constant.shape.assign(shape.begin(), shape.end());
  constant.floats = std::move(values);
  return constant;
}

Constant Constant::makeInts(int32_t type, ArrayRef<int64_t> shape, std::vector<int64_t> values) {
  Constant constant;
  constant.type = type;
  constant.shape.assign(shape.begin(), shape.end());
  constant.ints = std::move(values);
  return constant;
}

bool Constant::isFloat() const { return isFloatType(type); }

int64_t Constant::getNumElements() const { return static_cast<int64_t>(isFloat() ? floats.size() : ints.size()); }

void Constant::setFrom(int64_t index, const Constant &other, int64_t from) {
  if (isFloat())
    floats[index] = other.getFloat(from);
  else
    ints[index] = other.getInt(from);
}

void Constant::setFloat(int64_t index, double value) {
  if (type == TensorProto::FLOAT)
    value = static_cast<float>(value);
  else if (type == TensorProto::FLOAT16)
    value = roundToSemantics(llvm::APFloat::IEEEhalf(), value);
  else if (type == TensorProto::BFLOAT16)
    value = roundToSemantics(llvm::APFloat::BFloat(), value);
  floats[index] = value;
}

void Constant::setInt(int64_t index, int64_t value) {
  switch (type) {
  case TensorProto::BOOL:
    value = value != 0;
    break;
  case TensorProto::INT8:
    value = llvm::SignExtend64<8>(static_cast<uint64_t>(value));
    break;
  case TensorProto::UINT8:
    value = static_cast<uint8_t>(value);
    break;
  case TensorProto::INT16:
    value = static_cast<int16_t>(value);
    break;
  case TensorProto::UINT16:
    value = static_cast<uint16_t>(value);
    break;
  case TensorProto::INT32:
    value = static_cast<int32_t>(value);
    break;
  case TensorProto::UINT32:
    value = static_cast<uint32_t>(value);
    break;
  default:
    break;
  }
  ints[index] = value;
}

DenseElementsAttr Constant::getAttr(MLIRContext *context) const {
  auto tensor = RankedTensorType::get(shape, getElementType(context, type));
  switch (type) {
  case TensorProto::FLOAT: {
    SmallVector<float> values(floats.begin(), floats.end());
    return DenseElementsAttr::get(tensor, ArrayRef<float>(values));
  }
  case TensorProto::DOUBLE:
    return DenseElementsAttr::get(tensor, ArrayRef<double>(floats));
  case TensorProto::INT32: {
    SmallVector<int32_t> values(ints.begin(), ints.end());
    return DenseElementsAttr::get(tensor, ArrayRef<int32_t>(values));
  }
  case TensorProto::BOOL: {
    SmallVector<bool> values;
    for (int64_t value : ints)
      values.push_back(value != 0);
    return DenseElementsAttr::get(tensor, ArrayRef<bool>(values));
  }
  default:
    return DenseElementsAttr::get(tensor, ArrayRef<int64_t>(ints));
  }
}

Constant shardc::importer::decodeBytes(int32_t type, ArrayRef<int64_t> shape, StringRef bytes) {
  Constant constant = Constant::make(type, shape);
  int64_t count = constant.getNumElements();
  auto fillInts = [&]<typename T>(T) {
    for (int64_t i = 0; i < count; ++i)
      constant.ints[i] = static_cast<int64_t>(readElement<T>(bytes, i));
  };
  for (int64_t i = 0; i < count && isFloatType(type); ++i) {
    if (type == TensorProto::FLOAT)
      constant.floats[i] = llvm::bit_cast<float>(readElement<uint32_t>(bytes, i));
    else if (type == TensorProto::DOUBLE)
      constant.floats[i] = llvm::bit_cast<double>(readElement<uint64_t>(bytes, i));
    else
      constant.floats[i] =
          decodeSmallFloat(type == TensorProto::FLOAT16 ? llvm::APFloat::IEEEhalf() : llvm::APFloat::BFloat(),
                           readElement<uint16_t>(bytes, i));
  }
  switch (type) {
  case TensorProto::BOOL:
    for (int64_t i = 0; i < count; ++i)
      constant.ints[i] = bytes[i] != 0;
    break;
  case TensorProto::INT8:
    fillInts(int8_t());
    break;
  case TensorProto::UINT8:
    fillInts(uint8_t());
    break;
  case TensorProto::INT16:
    fillInts(int16_t());
    break;
  case TensorProto::UINT16:
    fillInts(uint16_t());
    break;
  case TensorProto::INT32:
    fillInts(int32_t());
    break;
  case TensorProto::UINT32:
    fillInts(uint32_t());
    break;
  case TensorProto::INT64:
  case TensorProto::UINT64:
    fillInts(int64_t());
    break;
  default:
    break;
  }
  return constant;
}
