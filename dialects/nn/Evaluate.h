//===-- Evaluate.h - the slow reference evaluator -----------------------------------------------------------------===//
//
// Evaluates functions of nn and dist ops on virtual ranks: what an op means, in the plainest code, to test everything
// else against. Floats are computed in fp64 whatever their type (or rounded to f32 after each op); bf16 and f16 are
// rounded after each op. Integers have 64 bits, wrapped to their width. Ranks run their functions up to the next
// collective; a collective happens once all its members stand at it, and combines in ascending order of the members'
// numbers.
//
// A rank's number is the mixed-radix number of its mesh coordinates, outermost axis first.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_DIALECTS_NN_EVALUATE_H
#define SHARDC_DIALECTS_NN_EVALUATE_H

#include "dialects/nn/NN.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <vector>

namespace shardc::nn {

/// A dense tensor, row-major. Floats of any type are doubles; integers (i1 as 0 and 1) are 64 bits wide.
struct Tensor {
  mlir::RankedTensorType type;
  std::vector<double> floats;
  std::vector<int64_t> integers;

  static Tensor getZeros(mlir::RankedTensorType type);
  /// The values of a constant.
  static Tensor get(mlir::ElementsAttr elements);

  bool isFloat() const { return mlir::isa<mlir::FloatType>(type.getElementType()); }
  llvm::ArrayRef<int64_t> getShape() const { return type.getShape(); }
  int64_t getNumElements() const { return type.getNumElements(); }
};

/// What nn.control reads; see runtime/include/shardrt/control.h.
struct ControlValues {
  uint64_t seed = 0;
  int64_t step = 0;
  int64_t sampleOffset = 0;
  double learningRate = 0;
  double lossScale = 1;
};

struct EvaluateOptions {
  /// Round every f32 result to f32; otherwise f32 is computed in fp64.
  bool roundToF32 = false;
};

/// Tensors of one rank: the arguments or results of a function.
using Tensors = std::vector<Tensor>;

/// Runs `functions[r]` on rank r with `arguments[r]` and returns the results of each rank. The number of ranks is that
/// of the mesh, or one (then the functions must not contain collectives). Wrong arguments, ops without a meaning here
/// and collectives whose members never meet are errors on the function or op.
mlir::FailureOr<std::vector<Tensors>> evaluate(llvm::ArrayRef<mlir::func::FuncOp> functions,
                                               std::vector<Tensors> arguments, const ControlValues &control,
                                               EvaluateOptions options = {});

/// Runs the same function on every rank.
mlir::FailureOr<std::vector<Tensors>> evaluate(mlir::func::FuncOp function, std::vector<Tensors> arguments,
                                               const ControlValues &control, EvaluateOptions options = {});

/// Runs `function` on one rank.
mlir::FailureOr<Tensors> evaluate(mlir::func::FuncOp function, Tensors arguments, const ControlValues &control,
                                  EvaluateOptions options = {});

/// The first word of Philox4x32-10's block for `counter` and `key` (Salmon et al. 2011); Random.td says how
/// nn.rng_uniform fills them.
uint32_t philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

} // namespace shardc::nn

#endif
