//===-- ValueNames.h - names of buffers and messages --------------------------------------------------------------===//
#ifndef SHARDC_LIB_PIPELINE_VALUENAMES_H
#define SHARDC_LIB_PIPELINE_VALUENAMES_H

#include "mlir/IR/Value.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringSet.h"

#include <string>

namespace shardc::pipeline {

/// The ONNX node of an op ("gradient of …" for a backward op); "op#<origin>" where it has no name.
std::string getNodeName(mlir::Operation *op);

/// Unique names of values, after the ONNX nodes they stem from ("h.0/attn/MatMul", then "h.0/attn/MatMul#2"); gradients
/// are "grad:…". A value has one name in all stages. Names are given in the order of asking.
class ValueNames {
public:
  /// Keeps a name from being given to a value.
  void reserve(llvm::StringRef name) { taken.insert(name); }
  /// Gives an argument the name that it has in the model.
  void assign(mlir::Value value, llvm::StringRef name);

  std::string get(mlir::Value value);

private:
  llvm::DenseMap<mlir::Value, std::string> names;
  llvm::StringSet<> taken;
};

} // namespace shardc::pipeline

#endif
