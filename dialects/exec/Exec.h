//===-- Exec.h - programs of instructions on placed buffers -------------------------------------------------------===//
//
// The exec dialect mirrors the plan format (runtime/format/plan.proto), which fixes what its ops mean.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_EXEC_EXEC_H
#define SHARDC_DIALECTS_EXEC_EXEC_H

#include "dialects/nn/NN.h"

#include "mlir/IR/SymbolTable.h"

#include "dialects/exec/ExecDialect.h.inc"
#include "dialects/exec/ExecEnums.h.inc"
#include "dialects/exec/ExecInterfaces.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/exec/ExecAttrs.h.inc"
#define GET_OP_CLASSES
#include "dialects/exec/ExecOps.h.inc"

namespace shardc::exec {

/// Discardable attributes; ExecAttrs.td and InstructionOpInterface have their meaning.
inline constexpr llvm::StringLiteral kBindAttr = "exec.bind";
inline constexpr llvm::StringLiteral kScheduleAttr = "pipe.schedule";
inline constexpr llvm::StringLiteral kEvaluationAttr = "pipe.evaluation";
inline constexpr llvm::StringLiteral kMessagesAttr = "pipe.messages";
inline constexpr llvm::StringLiteral kStreamAttr = "stream";
inline constexpr llvm::StringLiteral kWaitsAttr = "waits";
inline constexpr llvm::StringLiteral kRecordsAttr = "records";
inline constexpr llvm::StringLiteral kPartialReadsAttr = "partial_reads";
inline constexpr llvm::StringLiteral kPartialWritesAttr = "partial_writes";

/// The buffer at the root of a chain of views and slots.
BufferOp getBuffer(mlir::Value view);
/// The register that selects the slot on the way to the buffer; -1 where there is none.
int64_t getRegister(mlir::Value view);

} // namespace shardc::exec

#endif
