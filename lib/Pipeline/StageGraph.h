//===-- StageGraph.h - what the passes know about the ops of @accumulate ------------------------------------------===//
//
// Ops of @accumulate are of three sorts:
//   free      cheap ops that depend on no argument (constants, iotas, masks, random numbers): they belong to no stage
//   and
//             are cloned wherever they are used
//   forward   the imported ops, in the stage that CutStages gave them
//   backward  what differentiation made (`nn.backward`), in the stage of its forward op
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_LIB_PIPELINE_STAGEGRAPH_H
#define SHARDC_LIB_PIPELINE_STAGEGRAPH_H

#include "dialects/dist/Dist.h"
#include "dialects/nn/NN.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/DenseSet.h"

namespace shardc::pipeline {

/// The stage (i64) of an op of @accumulate; free ops have none.
inline constexpr llvm::StringLiteral kStageAttr = "pipe.stage";
/// Marks the clones of forward ops that a backward computes again (unit).
inline constexpr llvm::StringLiteral kRecomputedAttr = "pipe.recomputed";
/// On the module: the origins of the forward ops of each stage (array of arrays of i64).
inline constexpr llvm::StringLiteral kOpsAttr = "pipe.ops";

/// The functions that Pipeline takes.
inline constexpr llvm::StringLiteral kAccumulate = "accumulate";
inline constexpr llvm::StringLiteral kUpdate = "update";

/// Elementwise ops, views, random numbers: what costs less to compute again than to keep.
bool isCheap(mlir::Operation *op);
/// Ops that only name elements anew; where they feed a product they cost nothing.
bool isView(mlir::Operation *op);
bool isCollective(mlir::Operation *op);
bool isBackward(mlir::Operation *op);

/// The stage of an op; -1 for free ops.
int64_t getStage(mlir::Operation *op);
void setStage(mlir::Operation *op, int64_t stage);
/// The id of the imported op behind an op; -1 where it has none.
int64_t getOrigin(mlir::Operation *op);

/// Whether an argument of @accumulate is a parameter, or one that is trained.
bool isParameter(mlir::Value value);
bool isTrainable(mlir::Value value);

/// The free ops of a function.
llvm::DenseSet<mlir::Operation *> findFreeOps(mlir::func::FuncOp function);

/// Erases, from the last to the first, the ops that nothing reads and `keep` does not hold for.
void eraseUnusedOps(mlir::func::FuncOp function, llvm::function_ref<bool(mlir::Operation *)> keep);

/// The bytes of a tensor.
int64_t getBytes(mlir::Value value);

/// The function @name, or an error.
mlir::FailureOr<mlir::func::FuncOp> findFunction(mlir::ModuleOp module, llvm::StringRef name);
/// The mesh, or an error.
mlir::FailureOr<dist::MeshAttr> findMesh(mlir::ModuleOp module);
/// An entry of `nn.training`, or an error where it is missing or of another type.
mlir::FailureOr<int64_t> readTrainingInteger(mlir::ModuleOp module, llvm::StringRef name);
mlir::FailureOr<double> readTrainingFloat(mlir::ModuleOp module, llvm::StringRef name);
mlir::FailureOr<llvm::StringRef> readTrainingString(mlir::ModuleOp module, llvm::StringRef name);

} // namespace shardc::pipeline

#endif
