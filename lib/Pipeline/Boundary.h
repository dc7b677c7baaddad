//===-- Boundary.h - which values live in which stage, and how they get there -------------------------------------===//
//
// A forward value travels from its stage to later ones, the value of a backward op to earlier ones, one stage at a
// time. What a stage's backward reads of forward values is stashed, in as many slots as the stage has micro-batches in
// flight. What a stage only hands on is kept in slots too: the group that sends it on may already receive the next
// micro-batch's.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_LIB_PIPELINE_BOUNDARY_H
#define SHARDC_LIB_PIPELINE_BOUNDARY_H

#include "SplitGradients.h"

#include "dialects/exec/Exec.h"

#include "llvm/ADT/MapVector.h"

#include <set>

namespace shardc::pipeline {

/// The stages in which a value is used, by the function that uses it.
struct Uses {
  std::set<int64_t> forward;
  std::set<int64_t> backward;

  bool inForward(int64_t stage) const { return forward.contains(stage); }
  bool inBackward(int64_t stage) const { return backward.contains(stage); }
};

/// Inputs, parameters and values of @accumulate, in that order and each in program order, with their uses. Values that
/// are neither used in another stage nor by their stage's backward are in the list too, and simply need nothing.
class Boundary {
public:
  /// Reads the stages of the ops of @accumulate, and where its results are needed (S and W in the last stage's
  /// backward). Fails where a value would travel against its direction or crosses a boundary while partial.
  static mlir::FailureOr<Boundary> analyze(mlir::func::FuncOp accumulate, const Results &results, int64_t stages);

  /// Model inputs and parameters that a function of the stage reads.
  llvm::SmallVector<mlir::Value> getInputs(int64_t stage) const;
  llvm::SmallVector<mlir::Value> getParameters(int64_t stage, bool backward) const;

  /// Forward values (gradients) that the stage receives from the one before (behind) it.
  llvm::SmallVector<mlir::Value> getReceived(int64_t stage, bool gradients) const;
  /// Forward values (gradients) that the stage sends, its own and those that it hands on.
  llvm::SmallVector<mlir::Value> getSent(int64_t stage, bool gradients) const;
  /// Forward values of the stage itself that its backward or a later stage needs.
  llvm::SmallVector<mlir::Value> getForwardResults(int64_t stage) const;
  /// Gradients of the stage itself that an earlier stage needs.
  llvm::SmallVector<mlir::Value> getBackwardResults(int64_t stage) const;
  /// Inputs and forward values that the stage's backward takes.
  llvm::SmallVector<mlir::Value> getStashed(int64_t stage) const;

  /// The region of the buffer that holds an input, a forward value or a gradient in a stage.
  exec::Region getRegion(mlir::Value value, int64_t stage) const;

private:
  mlir::LogicalResult addUse(mlir::Operation *user, mlir::Value value, int64_t stage, bool backward);
  mlir::LogicalResult checkPartial(int64_t lastStage, const Results &results) const;
  /// The last stage that needs a forward value, the first that needs a gradient.
  int64_t getEnd(mlir::Value value) const;

  llvm::MapVector<mlir::Value, Uses> uses;
};

} // namespace shardc::pipeline

#endif
