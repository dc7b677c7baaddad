//===-- OnnxFile.cpp - the bytes of a model file ------------------------------------------------------------------===//

#include "OnnxFile.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <limits>
#include <optional>

using namespace mlir;
using namespace shardc::importer;

namespace {

constexpr int64_t kMaxInlineBytes = std::numeric_limits<int32_t>::max();
constexpr int kMaxNesting = 100;

enum Wire : uint32_t { kVarint = 0, kFixed64 = 1, kDelimited = 2, kFixed32 = 5 };

/// One field of a message on the wire: its number, its kind and, where delimited, its payload as a range of the file.
struct Field {
  uint32_t number = 0, wire = 0;
  int64_t begin = 0, end = 0;
};

enum class WireFault { None, Truncated, Malformed };

/// Reads the fields of a message one after another.
class WireReader {
public:
  WireReader(StringRef bytes, int64_t begin, int64_t end) : bytes(bytes), at(begin), limit(end) {}

  std::optional<Field> next() {
    if (at >= limit || fault != WireFault::None)
      return std::nullopt;
    std::optional<uint64_t> tag = readVarint();
    if (!tag)
      return std::nullopt;
    Field field{static_cast<uint32_t>(*tag >> 3), static_cast<uint32_t>(*tag & 7), at, at};
    if (*tag > std::numeric_limits<uint32_t>::max() || field.number == 0)
      return fail(WireFault::Malformed);
    return readPayload(field);
  }

  WireFault getFault() const { return fault; }

private:
  std::optional<Field> readPayload(Field field) {
    uint64_t size = 0;
    switch (field.wire) {
    case kVarint:
      if (!readVarint())
        return std::nullopt;
      field.end = at;
      return field;
    case kFixed64:
      size = 8;
      break;
    case kFixed32:
      size = 4;
      break;
    case kDelimited: {
      std::optional<uint64_t> length = readVarint();
      if (!length)
        return std::nullopt;
      size = *length;
      break;
    }
    default:
      return fail(WireFault::Malformed);
    }
    if (size > static_cast<uint64_t>(limit - at))
      return fail(WireFault::Truncated);
    field.begin = at;
    field.end = at += static_cast<int64_t>(size);
    return field;
  }

  std::optional<uint64_t> readVarint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at >= limit) {
        fault = WireFault::Truncated;
        return std::nullopt;
      }
      auto byte = static_cast<unsigned char>(bytes[at++]);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80)
        return value;
    }
    fault = WireFault::Malformed;
    return std::nullopt;
  }

  std::optional<Field> fail(WireFault reason) {
    fault = reason;
    return std::nullopt;
  }

  StringRef bytes;
  int64_t at, limit;
  WireFault fault = WireFault::None;
};

/// The field numbers of onnx.proto that lead to tensors.
enum : uint32_t {
  kModelIrVersion = 1,
  kModelGraph = 7,
  kGraphNode = 1,
  kGraphInitializer = 5,
  kNodeAttribute = 5,
  kAttributeTensor = 5,
  kTensorFloatData = 4,
  kTensorRawData = 9,
  kTensorDoubleData = 10,
};

/// Finds where tensors lie in the file, and tells a file that is cut short from one that is no protobuf.
class TensorFinder {
public:
  TensorFinder(StringRef bytes, OnnxFile &file) : bytes(bytes), file(file) {}

  WireFault walkModel() {
    WireReader reader(bytes, 0, static_cast<int64_t>(bytes.size()));
    while (std::optional<Field> field = reader.next()) {
      if (field->number == kModelIrVersion && field->wire == kVarint)
        sawIrVersion = true;
      if (field->number != kModelGraph)
        continue;
      if (field->wire != kDelimited || !walkGraph(*field))
        return WireFault::Malformed;
    }
    return reader.getFault();
  }

  bool sawIrVersion = false;

private:
  bool walkGraph(const Field &graph) {
    WireReader reader(bytes, graph.begin, graph.end);
    while (std::optional<Field> field = reader.next()) {
      if (field->wire != kDelimited)
        continue;
      if (field->number == kGraphInitializer)
        file.initializers.push_back(findElements(*field));
      else if (field->number == kGraphNode)
        walkNode(*field);
    }
    return reader.getFault() == WireFault::None;
  }

  void walkNode(const Field &node) {
    int64_t attributeIndex = 0;
    WireReader reader(bytes, node.begin, node.end);
    while (std::optional<Field> field = reader.next()) {
      if (field->wire != kDelimited || field->number != kNodeAttribute)
        continue;
      WireReader attribute(bytes, field->begin, field->end);
      while (std::optional<Field> part = attribute.next())
        if (part->wire == kDelimited && part->number == kAttributeTensor)
          file.attributes[{nodeIndex, attributeIndex}] = findElements(*part);
      ++attributeIndex;
    }
    ++nodeIndex;
  }

  TensorPlace findElements(const Field &tensor) {
    TensorPlace place;
    int pieces = 0;
    WireReader reader(bytes, tensor.begin, tensor.end);
    while (std::optional<Field> field = reader.next()) {
      bool isTyped = field->number == kTensorFloatData || field->number == kTensorDoubleData;
      if (!isTyped && field->number != kTensorRawData)
        continue;
      pieces += isTyped;
      place = {field->begin, field->wire == kDelimited ? field->end - field->begin : -1};
    }
    return pieces > 1 ? TensorPlace() : place;
  }

  StringRef bytes;
  OnnxFile &file;
  int64_t nodeIndex = 0;
};

/// What a file is that is no ONNX model, where its first bytes tell.
std::string describeContent(StringRef bytes) {
  if (bytes.starts_with("version https://git-lfs"))
    return "it is a git-LFS pointer: fetch the model with `git lfs pull`";
  if (bytes.size() > 8 && bytes.substr(4, 4) == "ORTM")
    return "it is an ONNX Runtime flatbuffer (.ort): export the model to .onnx";
  if (bytes.starts_with("PK\x03\x04"))
    return "it is a zip archive, such as a PyTorch checkpoint: export the model with torch.onnx.export";
  if (bytes.starts_with("\x89HDF"))
    return "it is an HDF5 file: export the model to .onnx";
  return "give a file that an ONNX exporter wrote";
}

class FileChecker {
public:
  FileChecker(Diagnostics &diagnostics, StringRef path) : diagnostics(diagnostics), path(path) {}

  LogicalResult fail(StringRef label, const Twine &what, const Twine &remedy = {}) {
    return diagnostics.error(label, "model", path, what, remedy);
  }

  FailureOr<std::unique_ptr<llvm::MemoryBuffer>> open() {
    llvm::sys::fs::file_status status;
    if (std::error_code code = llvm::sys::fs::status(path, status))
      return fail("file-0", Twine("cannot be read: ") + code.message(), "give the path of an .onnx file");
    if (status.type() != llvm::sys::fs::file_type::regular_file)
      return fail("file-0", "is not a regular file", "give the path of an .onnx file");
    if (status.getSize() == 0)
      return fail("file-1", "the file is empty");
    if (static_cast<int64_t>(status.getSize()) >= kMaxInlineBytes)
      return fail("file-4", Twine("the file has ") + Twine(status.getSize()) + " bytes, expected less than 2 GiB",
                  "export with external data: the weights then lie in a file of their own");
    auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
    if (!buffer)
      return fail("file-0", Twine("cannot be read: ") + buffer.getError().message(), "give the path of an .onnx file");
    return std::move(*buffer);
  }

  /// Reports a fault of the wire format.
  LogicalResult failWire(WireFault fault, bool looksLikeModel, StringRef bytes) {
    if (fault == WireFault::Truncated && looksLikeModel)
      return fail("file-3",
                  Twine("the file is truncated: it ends after ") + Twine(bytes.size()) +
                      " bytes within a field that is longer",
                  "copy or export the model again");
    return fail("file-2", "is not an ONNX model", describeContent(bytes));
  }

  LogicalResult checkHeader(const onnx::ModelProto &model) {
    constexpr int64_t kMinIr = 3, kMaxIr = 13;
    if (!model.has_graph())
      return fail("file-5", "has no graph");
    if (model.ir_version() < kMinIr || model.ir_version() > kMaxIr)
      return fail("file-6",
                  Twine("has IR version ") + Twine(model.ir_version()) + ", expected " + Twine(kMinIr) + " to " +
                      Twine(kMaxIr),
                  "export with an older or newer exporter");
    if (model.training_info_size() != 0)
      return fail("training-76", "has a TrainingInfoProto, expected a plain forward graph",
                  "export the forward graph; optimizer and gradients are shardc's");
    return success();
  }

private:
  Diagnostics &diagnostics;
  StringRef path;
};

} // namespace

FailureOr<OnnxFile> shardc::importer::readOnnxFile(Diagnostics &diagnostics, StringRef path) {
  FileChecker checker(diagnostics, path);
  FailureOr<std::unique_ptr<llvm::MemoryBuffer>> buffer = checker.open();
  if (failed(buffer))
    return failure();
  StringRef bytes = (*buffer)->getBuffer();
  OnnxFile file;
  file.path = path.str();
  file.bytes = static_cast<int64_t>(bytes.size());
  TensorFinder finder(bytes, file);
  if (WireFault fault = finder.walkModel(); fault != WireFault::None)
    return checker.failWire(fault, finder.sawIrVersion, bytes);
  if (!finder.sawIrVersion)
    return checker.failWire(WireFault::Malformed, false, bytes);

  file.model = std::make_unique<onnx::ModelProto>();
  google::protobuf::io::ArrayInputStream array(bytes.data(), static_cast<int>(bytes.size()));
  google::protobuf::io::CodedInputStream stream(&array);
  stream.SetTotalBytesLimit(std::numeric_limits<int>::max());
  stream.SetRecursionLimit(kMaxNesting);
  if (!file.model->ParseFromCodedStream(&stream))
    return checker.fail("file-10", Twine("a message is malformed, or nested deeper than ") + Twine(kMaxNesting));
  if (failed(checker.checkHeader(*file.model)))
    return failure();
  return file;
}
