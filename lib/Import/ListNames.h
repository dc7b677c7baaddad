//===-- ListNames.h - names in a message --------------------------------------------------------------------------===//
#ifndef SHARDC_LIB_IMPORT_LISTNAMES_H
#define SHARDC_LIB_IMPORT_LISTNAMES_H

#include "mlir/Support/LLVM.h"

#include <string>
#include <vector>

namespace shardc::importer {

/// `a, b, c`; after the first ten, `and 37 more`; `none` for an empty list.
inline std::string listNames(mlir::ArrayRef<std::string> names) {
  constexpr size_t kMost = 10;
  if (names.empty())
    return "none";
  std::string text;
  for (const std::string &name : names.take_front(kMost))
    text += (text.empty() ? "" : ", ") + name;
  return names.size() <= kMost ? text : text + " and " + std::to_string(names.size() - kMost) + " more";
}

} // namespace shardc::importer

#endif
