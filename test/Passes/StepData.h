//===-- StepData.h - what one step of training is fed with -------------------------------------------------------===//
#ifndef SHARDC_TEST_PASSES_STEPDATA_H
#define SHARDC_TEST_PASSES_STEPDATA_H

#include "dialects/exec/Exec.h"
#include "dialects/nn/EvaluateSharded.h"

#include <map>
#include <string>

namespace shardc::test {

namespace func = mlir::func;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;
using mlir::LogicalResult;
using mlir::ModuleOp;
using nn::Tensor;
using nn::Tensors;

/// The mesh with another number of stages.
dist::MeshAttr withStages(dist::MeshAttr mesh, int64_t stages);

/// The coordinate of a rank on each axis.
using Coordinates = std::map<std::string, int64_t>;

Coordinates locate(dist::MeshAttr mesh, int64_t rank);
int64_t getRank(dist::MeshAttr mesh, const Coordinates &coordinates);

/// What the model is fed with: the same for both runs.
class Data {
public:
  Data(func::FuncOp accumulate, func::FuncOp update) : functions{accumulate, update} {}

  Tensor getInput(StringRef name, const Coordinates &at, int64_t microBatch);

  /// A parameter or a state.
  Tensor getPersistent(StringRef name, const Coordinates &at);

  static StringRef getName(func::FuncOp function, unsigned argument);

private:
  /// Ranks that hold the same part of a tensor get the same numbers.
  Tensor get(func::FuncOp function, unsigned argument, const Coordinates &at, uint64_t seed);

  func::FuncOp functions[2];
  std::map<std::pair<std::string, uint64_t>, Tensors> cache;
};

double roundTo(mlir::Type type, double value);
void addTo(Tensor &sum, const Tensor &summand);
Tensor makeScalar(mlir::MLIRContext *context, mlir::Type type, double value);
nn::ControlValues getControl(int64_t microBatch, int64_t samples);

struct Training {
  int64_t microBatches;
  int64_t samples; ///< of one micro-batch, over all replicas
  double lossSeed;
  double clipNorm;
};

} // namespace shardc::test

#endif
