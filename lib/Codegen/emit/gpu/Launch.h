//===-- Launch.h - how the threads of a GPU divide the work of a kernel -------------------------------------------===//
//
// docs/gpu-kernels.md has the rules. They depend on the kernel's kind, domain and element types alone.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_CODEGEN_EMIT_GPU_LAUNCH_H
#define SHARDC_CODEGEN_EMIT_GPU_LAUNCH_H

#include "dialects/exec/Exec.h"

namespace shardc::codegen {

inline constexpr int64_t kWarp = 32;

/// Elements that a thread takes at once in a row reduction: part of the reduction tree.
inline constexpr int64_t kRowLanes = 8;

/// Threads of a block where the kind needs no certain number.
inline constexpr int64_t kBlock = 128;

/// Threads for a row of `length` elements: a power of two, at most 512. Part of the reduction tree.
int64_t getRowThreads(int64_t length);

/// Columns of a block of a column reduction: 16 of f32 are two sectors of memory.
inline constexpr int64_t kBlockColumns = 16;

/// Groups of rows that a column reduction over `rows` rows is divided into: a power of two from 2 to 32. Part of the
/// reduction tree.
int64_t getRowGroups(int64_t rows);

} // namespace shardc::codegen

#endif
