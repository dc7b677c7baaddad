//===-- Vocabulary.cpp - which dimensions are vocabularies --------------------------------------------------------===//

#include "lib/Sharding/Vocabulary.h"

#include "lib/Sharding/Parameters.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::sharding;

namespace {

/// The operand that has a table's axis: a sum that no other operand runs over.
int findTable(const nn::Factor &factor) {
  int table = -1;
  for (auto [operand, part] : llvm::enumerate(factor.operands))
    if (part) {
      if (table >= 0)
        return -1;
      table = operand;
    }
  return table;
}

/// Whether the table's op looks it up by something that the model's input decides.
bool isLookedUp(Operation *op, int table) {
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    if (static_cast<int>(index) != table && dependsOnArguments(operand))
      return true;
  return false;
}

/// Whether a combined factor disappears: a loss over classes, not a softmax.
bool isLossOver(const nn::Factor &factor) {
  return factor.kind == nn::FactorKind::Combined &&
         llvm::none_of(factor.results, [](const nn::FactorPart &part) { return bool(part); });
}

} // namespace

std::vector<bool> shardc::sharding::findVocabularies(func::FuncOp function, const SubDimensions &subDimensions) {
  std::vector<bool> rows(subDimensions.getNumClasses(), false), losses = rows, vocabularies = rows;
  bool hasTable = false;
  for (Operation &op : function.getBody().front().without_terminator())
    for (const OpAtom &atom : subDimensions.getOpAtoms(&op)) {
      if (isLossOver(atom))
        losses[atom.atomClass] = true;
      int table = atom.kind == nn::FactorKind::Reduction && op.getNumOperands() > 1 ? findTable(atom) : -1;
      if (table < 0 || !findMatrixParameter(function, op.getOperand(table)) || !isLookedUp(&op, table))
        continue;
      rows[atom.atomClass] = true;
      hasTable = true;
    }
  for (int atomClass = 0; atomClass < subDimensions.getNumClasses(); ++atomClass)
    vocabularies[atomClass] = rows[atomClass] || (hasTable && losses[atomClass]);

  std::vector<bool> hasParameter(vocabularies.size(), false);
  for (BlockArgument argument : function.getArguments()) {
    bool isParameter = !getParameterName(function, argument.getArgNumber()).empty();
    for (const Atom &atom : subDimensions.getAtoms(argument)) {
      if (isParameter)
        hasParameter[atom.atomClass] = true;
      else
        vocabularies[atom.atomClass] = false;
    }
  }
  for (int atomClass = 0; atomClass < subDimensions.getNumClasses(); ++atomClass)
    vocabularies[atomClass] = vocabularies[atomClass] && hasParameter[atomClass];
  return vocabularies;
}
