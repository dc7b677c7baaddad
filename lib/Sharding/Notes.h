//===-- Notes.h - tells the user what the layout is ---------------------------------------------------------------===//
#ifndef SHARDC_LIB_SHARDING_NOTES_H
#define SHARDC_LIB_SHARDING_NOTES_H

#include "dialects/dist/CostModel.h"
#include "dialects/nn/NN.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>

namespace shardc::sharding {

/// Lines for `nn.notes`.
class Notes {
public:
  explicit Notes(dist::MeshAttr mesh) : mesh(mesh) {}

  /// The table that the costs are for, and the cost of the chosen layout in femtoseconds.
  void addSolution(const dist::Hardware &hardware, int64_t cost);
  /// What is split of each parameter, and what stays replicated, with its bytes.
  void addParameters(mlir::func::FuncOp function);
  /// The collectives of a local function over `axis`.
  void addCollectives(mlir::func::FuncOp function);
  void addLine(std::string line) { lines.push_back(std::move(line)); }
  /// Adds the lines to the module's.
  void append(mlir::ModuleOp module);

private:
  dist::MeshAttr mesh;
  llvm::SmallVector<std::string> lines;
};

} // namespace shardc::sharding

#endif
