//===-- Proto.cpp - fields newer than the installed onnx.proto ----------------------------------------------------===//

#include "Proto.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

namespace {

/// The payloads of the length-delimited field `number` among unknown fields.
std::vector<std::string> getUnknownField(const std::string &unknown, int number) {
  std::vector<std::string> found;
  CodedInputStream stream(reinterpret_cast<const uint8_t *>(unknown.data()), static_cast<int>(unknown.size()));
  while (uint32_t tag = stream.ReadTag()) {
    uint32_t size = 0;
    if (WireFormatLite::GetTagFieldNumber(tag) == number &&
        WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
      std::string payload;
      if (!stream.ReadVarint32(&size) || !stream.ReadString(&payload, static_cast<int>(size)))
        break;
      found.push_back(std::move(payload));
    } else if (!WireFormatLite::SkipField(&stream, tag)) {
      break;
    }
  }
  return found;
}

constexpr int kNodeOverload = 8, kFunctionOverload = 13, kFunctionAttributeProto = 11;

template <typename Message> std::string getOverloadField(const Message &message, int number) {
  if constexpr (requires { message.overload(); }) {
    return message.overload();
  } else {
    std::vector<std::string> values = getUnknownField(message.unknown_fields(), number);
    return values.empty() ? std::string() : values.back();
  }
}

template <typename Function> std::vector<onnx::AttributeProto> getAttributeProtos(const Function &function) {
  if constexpr (requires { function.attribute_proto(); }) {
    return {function.attribute_proto().begin(), function.attribute_proto().end()};
  } else {
    std::vector<onnx::AttributeProto> attributes;
    for (const std::string &bytes : getUnknownField(function.unknown_fields(), kFunctionAttributeProto))
      if (onnx::AttributeProto attribute; attribute.ParseFromString(bytes))
        attributes.push_back(std::move(attribute));
    return attributes;
  }
}

} // namespace

std::string shardc::importer::getOverload(const onnx::NodeProto &node) { return getOverloadField(node, kNodeOverload); }

std::string shardc::importer::getOverload(const onnx::FunctionProto &function) {
  return getOverloadField(function, kFunctionOverload);
}

std::vector<onnx::AttributeProto> shardc::importer::getDefaultAttributes(const onnx::FunctionProto &function) {
  return getAttributeProtos(function);
}

std::string shardc::importer::getTypeName(int32_t type) {
  static constexpr const char *kNames[] = {"undefined",      "float32",  "uint8",        "int8",           "uint16",
                                           "int16",          "int32",    "int64",        "string",         "bool",
                                           "float16",        "float64",  "uint32",       "uint64",         "complex64",
                                           "complex128",     "bfloat16", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2",
                                           "float8e5m2fnuz", "uint4",    "int4",         "float4e2m1"};
  return type > 0 && type < static_cast<int32_t>(std::size(kNames)) ? kNames[type] : "undefined";
}
