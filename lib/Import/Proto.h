//===-- Proto.h - the messages of ONNX, and their fields newer than the installed onnx.proto ----------------------===//
#ifndef SHARDC_LIB_IMPORT_PROTO_H
#define SHARDC_LIB_IMPORT_PROTO_H

#include SHARDC_ONNX_HEADER

#include <string>
#include <vector>

namespace shardc::importer {

/// `overload` of a node and of a function (IR 10); empty where it is not set.
std::string getOverload(const onnx::NodeProto &node);
std::string getOverload(const onnx::FunctionProto &function);
/// `attribute_proto` of a function (IR 9): its attributes that have a default value.
std::vector<onnx::AttributeProto> getDefaultAttributes(const onnx::FunctionProto &function);

/// ONNX's name of an element type, such as "float16"; "undefined" for a number that has none.
std::string getTypeName(int32_t type);

} // namespace shardc::importer

#endif
