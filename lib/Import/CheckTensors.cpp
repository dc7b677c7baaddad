//===-- CheckTensors.cpp - the tensors of the file ----------------------------------------------------------------===//

#include "Tensors.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

#include <cerrno>
#include <cstring>
#include <unistd.h>

using namespace mlir;
using namespace shardc::importer;
using onnx::TensorProto;

namespace {

/// Checks one tensor; the first fault is told.
class TensorChecker {
public:
  TensorChecker(Diagnostics &diagnostics, ExternalData &externalData, const OnnxFile &file, const TensorProto &proto,
                TensorPlace place, StringRef name)
      : diagnostics(diagnostics), externalData(externalData), proto(proto) {
    tensor.name = name.str();
    tensor.proto = &proto;
    tensor.type = proto.data_type();
    tensor.shape.assign(proto.dims().begin(), proto.dims().end());
    tensor.place = place;
    tensor.path = file.path;
  }

  FailureOr<Tensor> run() {
    if (failed(checkType()) || failed(checkShape()))
      return failure();
    bool isExternal = proto.data_location() == TensorProto::EXTERNAL;
    if (isExternal ? failed(checkExternal()) : failed(checkInline()))
      return failure();
    return tensor;
  }

private:
  LogicalResult fail(StringRef label, const Twine &what, const Twine &remedy = {}) {
    return diagnostics.error(label, "tensor", tensor.name, what, remedy);
  }

  LogicalResult checkType() {
    std::string type = getTypeName(tensor.type);
    if (type == "undefined")
      return fail("tensor-34", Twine("has the undefined element type ") + Twine(tensor.type));
    if (tensor.type == TensorProto::STRING)
      return fail("tensor-38", "holds strings, expected numbers");
    if (!getElementBytes(tensor.type))
      return fail("tensor-40", Twine("has element type ") + type + ", which is not supported",
                  "export the model in float32");
    return success();
  }

  LogicalResult checkShape() {
    for (int64_t dim : tensor.shape)
      if (dim < 0)
        return fail("tensor-32", Twine("has a negative dimension in [") + formatShape(tensor.shape) + "]");
    std::optional<int64_t> count = countElements(tensor.shape);
    int64_t bytes = 0;
    if (!count || llvm::MulOverflow(*count, *getElementBytes(tensor.type), bytes))
      return fail("tensor-33", Twine("the product of its dimensions [") + formatShape(tensor.shape) + "] overflows");
    expectedBytes = bytes;
    return success();
  }

  int64_t countTyped() const {
    return proto.float_data_size() + proto.int32_data_size() + proto.int64_data_size() + proto.double_data_size() +
           proto.uint64_data_size();
  }

  LogicalResult checkInline() {
    int64_t count = countElements(tensor.shape).value_or(0), typed = countTyped();
    if (proto.external_data_size() != 0)
      return fail("external-48", "has external data, but its location is not external");
    if (proto.has_raw_data() && typed != 0)
      return fail("tensor-36", "has raw data and typed data, expected one of them");
    if (count == 0 && (typed != 0 || !proto.raw_data().empty()))
      return fail("tensor-41", "has no elements, but data");
    if (proto.has_raw_data()) {
      if (static_cast<int64_t>(proto.raw_data().size()) != expectedBytes)
        return fail("tensor-35", Twine("its raw data has ") + Twine(proto.raw_data().size()) + " bytes, expected " +
                                     Twine(expectedBytes) + " for [" + formatShape(tensor.shape) + "] of " +
                                     getTypeName(tensor.type));
      return success();
    }
    if (typed != count || countOfOwnField() != count)
      return fail("tensor-37", Twine("its data has ") + Twine(countOfOwnField()) + " elements, expected " +
                                   Twine(count) + " for [" + formatShape(tensor.shape) + "]");
    // Only the packed elements of these two lie in the file as they lie in memory.
    if (tensor.type != TensorProto::FLOAT && tensor.type != TensorProto::DOUBLE)
      tensor.place = TensorPlace();
    if (tensor.place.bytes != expectedBytes)
      tensor.place = TensorPlace();
    return success();
  }

  int64_t countOfOwnField() const {
    switch (tensor.type) {
    case TensorProto::FLOAT:
      return proto.float_data_size();
    case TensorProto::DOUBLE:
      return proto.double_data_size();
    case TensorProto::INT64:
      return proto.int64_data_size();
    case TensorProto::UINT64:
    case TensorProto::UINT32:
      return proto.uint64_data_size();
    default:
      return proto.int32_data_size();
    }
  }

  LogicalResult checkExternal() {
    if (proto.has_raw_data() || countTyped() != 0)
      return fail("tensor-36", "has inline and external data, expected one of them");
    std::string location, checksum;
    std::optional<int64_t> offset, length;
    if (failed(readExternalKeys(location, checksum, offset, length)))
      return failure();
    FailureOr<const ExternalData::File *> opened = externalData.open(location, tensor.name);
    if (failed(opened))
      return failure();
    const ExternalData::File &external = **opened;
    int64_t begin = offset.value_or(0), size = length.value_or(expectedBytes);
    if (size != expectedBytes)
      return fail("external-49", Twine("its external data has length ") + Twine(size) + ", expected " +
                                     Twine(expectedBytes) + " for [" + formatShape(tensor.shape) + "] of " +
                                     getTypeName(tensor.type));
    if (begin > external.bytes || size > external.bytes - begin)
      return fail("external-47",
                  Twine("its external data ends at byte ") + Twine(static_cast<uint64_t>(begin) + size) + " of '" +
                      location + "', which has " + Twine(external.bytes) + " bytes",
                  "the file is truncated or belongs to another model: copy it again");
    if (!checksum.empty() && failed(externalData.checkDigest(location, checksum, tensor.name)))
      return failure();
    tensor.external = &external;
    tensor.path = external.path;
    tensor.place = {begin, size};
    return success();
  }

  LogicalResult readExternalKeys(std::string &location, std::string &checksum, std::optional<int64_t> &offset,
                                 std::optional<int64_t> &length) {
    llvm::StringSet<> seen;
    for (const onnx::StringStringEntryProto &entry : proto.external_data()) {
      if (!seen.insert(entry.key()).second)
        return fail("external-48", Twine("its external data has the key '") + entry.key() + "' twice");
      if (entry.key() == "location") {
        location = entry.value();
      } else if (entry.key() == "offset" || entry.key() == "length") {
        int64_t number = 0;
        if (StringRef(entry.value()).getAsInteger(10, number) || number < 0)
          return fail("external-47", Twine("the ") + entry.key() + " of its external data is '" + entry.value() +
                                         "', expected a number that is not negative");
        (entry.key() == "offset" ? offset : length) = number;
      } else if (entry.key() == "checksum") {
        checksum = entry.value();
      } else if (entry.key() != "basepath") {
        return fail("external-48", Twine("its external data has the unknown key '") + entry.key() + "'");
      }
    }
    return success();
  }

  Diagnostics &diagnostics;
  ExternalData &externalData;
  const TensorProto &proto;
  Tensor tensor;
  int64_t expectedBytes = 0;
};

Constant decodeTyped(const Tensor &tensor) {
  const TensorProto &proto = *tensor.proto;
  Constant constant = Constant::make(tensor.type, tensor.shape);
  int64_t count = constant.getNumElements();
  for (int64_t i = 0; i < count; ++i) {
    int index = static_cast<int>(i);
    switch (tensor.type) {
    case TensorProto::FLOAT:
      constant.floats[i] = proto.float_data(index);
      break;
    case TensorProto::DOUBLE:
      constant.floats[i] = proto.double_data(index);
      break;
    case TensorProto::INT64:
      constant.ints[i] = proto.int64_data(index);
      break;
    case TensorProto::UINT64:
    case TensorProto::UINT32:
      constant.ints[i] = static_cast<int64_t>(proto.uint64_data(index));
      break;
    case TensorProto::FLOAT16:
    case TensorProto::BFLOAT16: {
      auto bits = static_cast<uint16_t>(proto.int32_data(index));
      const char bytes[2] = {static_cast<char>(bits & 0xff), static_cast<char>(bits >> 8)};
      constant.floats[i] = decodeBytes(tensor.type, {}, StringRef(bytes, 2)).floats[0];
      break;
    }
    default:
      constant.setInt(i, proto.int32_data(index));
    }
  }
  return constant;
}

} // namespace

FailureOr<Tensor> shardc::importer::checkTensor(Diagnostics &diagnostics, ExternalData &externalData,
                                                const OnnxFile &file, const TensorProto &proto, TensorPlace place,
                                                StringRef name) {
  return TensorChecker(diagnostics, externalData, file, proto, place, name).run();
}

FailureOr<Constant> shardc::importer::readTensor(Diagnostics &diagnostics, const Tensor &tensor) {
  if (!tensor.external) {
    if (tensor.proto->has_raw_data())
      return decodeBytes(tensor.type, tensor.shape, tensor.proto->raw_data());
    return decodeTyped(tensor);
  }
  std::string bytes(static_cast<size_t>(tensor.place.bytes), '\0');
  for (size_t done = 0; done < bytes.size();) {
    ssize_t got = ::pread(tensor.external->descriptor, bytes.data() + done, bytes.size() - done,
                          static_cast<off_t>(tensor.place.offset + static_cast<int64_t>(done)));
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return diagnostics.error("external-46", "tensor", tensor.name,
                               Twine("its external data '") + tensor.path + "' cannot be read");
    done += static_cast<size_t>(got);
  }
  return decodeBytes(tensor.type, tensor.shape, bytes);
}
