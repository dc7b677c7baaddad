//===-- Loss.h - the loss as numerator and denominator ------------------------------------------------------------===//
#ifndef SHARDC_LIB_IMPORT_LOSS_H
#define SHARDC_LIB_IMPORT_LOSS_H

#include "NodeBuilder.h"

namespace shardc::importer {

/// A cross entropy over rows: the loss of each row (weighted, ignored rows 0), and Σ of the weights of the rows that
/// are not ignored.
struct CrossEntropy {
  mlir::Value rows, weight;
};

/// PyTorch's number of a label that does not count; the label that nothing ignores, where a graph ignores none.
inline constexpr int64_t kDefaultIgnore = -100;

/// Builds the cross entropy of logits [rows…, classes] and labels [rows…]. Reshapes that only merge the rows are seen
/// through. `classWeights` may be empty.
CrossEntropy buildCrossEntropy(NodeBuilder &builder, const Operand &logits, const Operand &labels,
                               std::optional<int64_t> ignored, const Operand &classWeights);
/// Σ over all rows.
mlir::Value sumRows(NodeBuilder &builder, mlir::Value rows);

} // namespace shardc::importer

#endif
