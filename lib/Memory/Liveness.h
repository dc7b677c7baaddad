//===-- Liveness.h - when the buffers of a block are needed -------------------------------------------------------===//
//
// Time within a block counts in half steps: the instruction at position p starts at 2p and is complete at 2p + 1. An
// instruction on another stream than 0 runs anywhere between the event that it waits for and the instruction on stream
// 0 that waits for it, and its buffers are needed all that time.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_LIB_MEMORY_LIVENESS_H
#define SHARDC_LIB_MEMORY_LIVENESS_H

#include "dialects/exec/Exec.h"

#include "llvm/ADT/MapVector.h"

namespace shardc::memory {

struct Span {
  int64_t start;
  int64_t end;
};

/// The stream of an instruction; 0 where none is assigned.
int64_t getStream(mlir::Operation *instruction);

/// When each scratch buffer that a block touches is needed, in the order of first use.
llvm::MapVector<exec::BufferOp, Span> computeLiveness(exec::BlockOp block);

} // namespace shardc::memory

#endif
