//===-- Vocabulary.h - which dimensions are vocabularies ----------------------------------------------------------===//
#ifndef SHARDC_LIB_SHARDING_VOCABULARY_H
#define SHARDC_LIB_SHARDING_VOCABULARY_H

#include "lib/Sharding/SubDimensions.h"

namespace shardc::sharding {

/// The classes that are vocabularies: the rows of tables that the model's input looks up and, in a function with such
/// tables, the classes of its losses; each only if a parameter has it and no input does.
std::vector<bool> findVocabularies(mlir::func::FuncOp function, const SubDimensions &subDimensions);

} // namespace shardc::sharding

#endif
