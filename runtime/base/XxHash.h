//===-- XxHash.h - checksums --------------------------------------------------------------------------------------===//
//
// XXH64 as specified in xxHash's doc/xxhash_spec.md (Collet): the checksum of plan.pb and kernels.so.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_BASE_XXHASH_H
#define SHARDC_RUNTIME_BASE_XXHASH_H

#include <cstdint>
#include <string_view>

namespace shardc::rt {

/// XXH64 of `bytes`.
uint64_t xxHash64(std::string_view bytes, uint64_t seed = 0);

} // namespace shardc::rt

#endif
