//===-- Program.h - the buffers and functions of one pp coordinate ------------------------------------------------===//
#ifndef SHARDC_LIB_CODEGEN_LOWER_PROGRAM_H
#define SHARDC_LIB_CODEGEN_LOWER_PROGRAM_H

#include "dialects/exec/Exec.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

namespace shardc::codegen {

/// The functions that Pipeline leaves for one pp coordinate, by the name of the block that each becomes.
class StageFunctions {
public:
  /// The names, in the order of the blocks.
  static llvm::ArrayRef<llvm::StringLiteral> getNames();

  /// Takes in @pp<p>_<name>; false where Pipeline leaves no function of that name.
  bool add(llvm::StringRef name, mlir::func::FuncOp function);
  /// Null where there is none.
  mlir::func::FuncOp get(llvm::StringRef name) const { return functions.lookup(name); }
  /// Those that exist, in order.
  llvm::SmallVector<mlir::func::FuncOp> getAll() const;

private:
  llvm::StringMap<mlir::func::FuncOp> functions;
};

/// Builds the exec.program of one pp coordinate: its buffers, a block for each function that is scheduled, blocks that
/// communicate, the schedules of training and evaluation, and the outputs. Kernel definitions go to the end of the
/// module, as `k<n>`, numbered on from `nextKernel`. Reports on the functions what contradicts the contract of
/// docs/phases.md.
mlir::LogicalResult buildProgram(mlir::ModuleOp module, int64_t pp, const StageFunctions &functions, int &nextKernel);

/// The buffers of a program that bound values live in.
class BoundBuffers {
public:
  BoundBuffers(exec::ProgramOp program, int64_t stashSlots) : program(program), stashSlots(stashSlots) {}

  /// Declares the buffers of the arguments and results of `function`.
  mlir::LogicalResult declare(mlir::func::FuncOp function);
  /// The buffer of that name; null where there is none.
  exec::BufferOp get(llvm::StringRef name) const { return buffers.lookup(name); }
  /// Whether the register of an entry selects the slot of the buffer.
  static bool hasSlots(exec::BufferOp buffer) { return buffer.getRegion() == exec::Region::Stash; }

private:
  mlir::LogicalResult declareOne(mlir::func::FuncOp function, llvm::StringRef what, int index, mlir::Type type,
                                 mlir::DictionaryAttr attributes);

  exec::ProgramOp program;
  int64_t stashSlots;
  llvm::StringMap<exec::BufferOp> buffers;
};

/// Fills `block` with the instructions of `function`. Scratch buffers are added to the program.
mlir::LogicalResult lowerFunction(mlir::func::FuncOp function, exec::ProgramOp program, exec::BlockOp block,
                                  const BoundBuffers &buffers, mlir::ArrayRef<exec::BufferOp> loadedInputs,
                                  int &nextKernel);

} // namespace shardc::codegen

#endif
