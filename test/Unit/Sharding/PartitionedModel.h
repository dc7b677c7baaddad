//===-- PartitionedModel.h - an example model before and after partitioning ---------------------------------------===//
#ifndef SHARDC_TEST_UNIT_SHARDING_PARTITIONEDMODEL_H
#define SHARDC_TEST_UNIT_SHARDING_PARTITIONEDMODEL_H

#include "dialects/nn/EvaluateSharded.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <memory>
#include <string>

namespace shardc::test {

struct Layout {
  int64_t dp, tp;
};

/// A model of examples/, imported with four samples a micro-batch and its dropout on, differentiated with AdamW, and
/// partitioned.
struct PartitionedModel {
  /// `loss` as in importer::ImportOptions. Check isComplete afterwards.
  PartitionedModel(const std::string &file, const std::string &loss, Layout layout);

  bool isComplete() const { return global && local; }
  mlir::func::FuncOp getGlobal(llvm::StringRef name) { return global->lookupSymbol<mlir::func::FuncOp>(name); }
  mlir::func::FuncOp getLocal(llvm::StringRef name) { return local->lookupSymbol<mlir::func::FuncOp>(name); }
  /// Whether the local function computes what the global one does.
  bool isEqual(llvm::StringRef name);

  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> global, local;
};

} // namespace shardc::test

#endif
