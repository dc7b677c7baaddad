//===-- Families.h - the evaluator's parts, by op family ----------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_NN_EVALUATE_FAMILIES_H
#define SHARDC_DIALECTS_NN_EVALUATE_FAMILIES_H

#include "dialects/nn/Evaluate.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace shardc::nn {

/// One op on one rank: operands, and results that are zeros when the evaluation begins.
struct Evaluation {
  mlir::Operation *op;
  llvm::ArrayRef<const Tensor *> operands;
  llvm::MutableArrayRef<Tensor> results;
  const ControlValues &control;
  /// This rank's mesh coordinates; empty where there is no mesh.
  llvm::ArrayRef<int64_t> coordinates;
};

/// Each evaluates the ops of its family and returns false for others.
bool evaluateElementwise(const Evaluation &evaluation);
bool evaluateShape(const Evaluation &evaluation);
bool evaluateContraction(const Evaluation &evaluation);
bool evaluateReduction(const Evaluation &evaluation);
bool evaluateNormalization(const Evaluation &evaluation);
bool evaluateRandom(const Evaluation &evaluation);
/// The ops of dist that do not communicate.
bool evaluateLocal(const Evaluation &evaluation);

/// The ranks, ascending, that meet with `rank` at a collective; empty where `op` is none.
llvm::SmallVector<int64_t> getMembers(mlir::Operation *op, dist::MeshAttr mesh, int64_t rank);
/// The results of a collective for each member, from the operand of each.
std::vector<Tensor> evaluateCollective(mlir::Operation *op, llvm::ArrayRef<const Tensor *> operands);

/// The mesh coordinates of a rank, and back.
llvm::SmallVector<int64_t> getCoordinates(dist::MeshAttr mesh, int64_t rank);
int64_t getRank(dist::MeshAttr mesh, llvm::ArrayRef<int64_t> coordinates);

/// Row-major strides.
llvm::SmallVector<int64_t> getStrides(llvm::ArrayRef<int64_t> shape);
/// Calls `body` with every index of `shape`, row-major, and its number.
void forEachIndex(llvm::ArrayRef<int64_t> shape,
                  llvm::function_ref<void(llvm::ArrayRef<int64_t> index, int64_t number)> body);
/// For every index of the dimensions `dims` of `shape`, row-major in their order, its offset in the whole tensor.
std::vector<int64_t> getOffsets(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> dims);
/// Copies element `from` of `source` to element `to` of `target`; both have one element type.
void copyElement(const Tensor &source, int64_t from, Tensor &target, int64_t to);

} // namespace shardc::nn

#endif
