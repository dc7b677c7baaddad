//===-- FileDigest.h - has a large file changed? ------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_BASE_FILEDIGEST_H
#define SHARDC_RUNTIME_BASE_FILEDIGEST_H

#include "runtime/base/File.h"

namespace shardc::rt {

/// Files up to this size, in bytes, are digested whole.
inline constexpr int64_t kDigestedWhole = int64_t(16) << 20;

/// The xxh64 of a file's contents; of a larger file, of kDigestedWhole bytes in blocks spread evenly from its first
/// byte to its last. So another training run or export is always noticed, at a cost that does not grow with the file; a
/// few changed bytes in a large file may not be.
Result<uint64_t> digestFile(const File &file);

} // namespace shardc::rt

#endif
