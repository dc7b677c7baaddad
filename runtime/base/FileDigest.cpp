//===-- FileDigest.cpp - has a large file changed? ----------------------------------------------------------------===//

#include "runtime/base/FileDigest.h"

#include "runtime/base/XxHash.h"

#include <algorithm>

namespace shardc::rt {
namespace {

constexpr int64_t kBlocks = 256;
constexpr int64_t kBlockBytes = kDigestedWhole / kBlocks;

} // namespace

Result<uint64_t> digestFile(const File &file) {
  std::string bytes(std::min(file.bytes(), kDigestedWhole), '\0');
  if (file.bytes() <= kDigestedWhole) {
    SHARDRT_RETURN_IF_ERROR(file.readAt(0, bytes.data(), file.bytes()));
    return xxHash64(bytes);
  }
  int64_t last = file.bytes() - kBlockBytes; // where the last block begins
  for (int64_t block = 0; block < kBlocks; ++block) {
    // Divided before it is multiplied: sizes near the limit of int64 must not overflow.
    int64_t at = block + 1 == kBlocks ? last : last / (kBlocks - 1) * block;
    SHARDRT_RETURN_IF_ERROR(file.readAt(at, bytes.data() + block * kBlockBytes, kBlockBytes));
  }
  return xxHash64(bytes);
}

} // namespace shardc::rt
