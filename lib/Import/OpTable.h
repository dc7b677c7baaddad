//===-- OpTable.h - the operators that the importer knows ---------------------------------------------------------===//
//
// One row an operator of ONNX's own domain: arity, attributes, the first opset that has it, and the function that
// builds it. The functions stand in ops/<Family>.cpp; each family adds its rows.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_LIB_IMPORT_OPTABLE_H
#define SHARDC_LIB_IMPORT_OPTABLE_H

#include "NodeBuilder.h"

namespace shardc::importer {

struct OpInfo {
  const char *name;
  int64_t since;
  int64_t minInputs, maxInputs;
  int64_t maxOutputs;
  /// "axis:i perm:is! to:i": the names and types (i, f, s, t, is, fs) of its attributes in any version; "!" marks what
  /// is required.
  const char *attributes;
  mlir::LogicalResult (*build)(NodeBuilder &builder);
};

constexpr int64_t kManyInputs = 1 << 20;

using OpTable = llvm::StringMap<const OpInfo *>;

/// The table, made once.
const OpTable &getOpTable();

/// The rows of each family.
llvm::ArrayRef<OpInfo> getConstantOps();
llvm::ArrayRef<OpInfo> getElementwiseOps();
llvm::ArrayRef<OpInfo> getActivationOps();
llvm::ArrayRef<OpInfo> getShapeOps();
llvm::ArrayRef<OpInfo> getIndexingOps();
llvm::ArrayRef<OpInfo> getContractionOps();
llvm::ArrayRef<OpInfo> getReductionOps();
llvm::ArrayRef<OpInfo> getNormalizationOps();
llvm::ArrayRef<OpInfo> getRandomOps();
llvm::ArrayRef<OpInfo> getLossOps();

} // namespace shardc::importer

#endif
