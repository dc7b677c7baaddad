//===-- SequentialStep.h - a step of training without stages -----------------------------------------------------===//
#ifndef SHARDC_TEST_PASSES_SEQUENTIALSTEP_H
#define SHARDC_TEST_PASSES_SEQUENTIALSTEP_H

#include "test/Passes/StepData.h"

#include <vector>

namespace shardc::test {

/// A step without stages. Results by rank of the mesh without pp; gradients by parameter, "loss.sum" and "loss.weight".
class SequentialStep {
public:
  SequentialStep(ModuleOp module, Data &data, Training training)
      : accumulate(module.lookupSymbol<func::FuncOp>("accumulate")),
        update(module.lookupSymbol<func::FuncOp>("update")), mesh(dist::MeshAttr::of(module)), data(data),
        training(training) {}

  std::vector<std::map<std::string, Tensor>> sums;       ///< over micro-batches
  std::vector<std::map<std::string, Tensor>> persistent; ///< after the update
  std::map<std::string, double> outputs;

  LogicalResult run();

private:
  std::string getResultName(unsigned result);

  LogicalResult runMicroBatch(int64_t microBatch);

  /// Adds up what differs only on axes over which it is partial.
  void reduce();

  double sumSquares();

  LogicalResult runUpdate();

  func::FuncOp accumulate;
  func::FuncOp update;
  dist::MeshAttr mesh;
  Data &data;
  Training training;
  std::vector<std::map<std::string, Tensor>> reduced;
};

} // namespace shardc::test

#endif
