//===-- PipelinedStep.h - a step of training as Pipeline leaves it -----------------------------------------------===//
#ifndef SHARDC_TEST_PASSES_PIPELINEDSTEP_H
#define SHARDC_TEST_PASSES_PIPELINEDSTEP_H

#include "test/Passes/StepData.h"

#include <deque>
#include <optional>
#include <set>
#include <vector>

namespace shardc::test {

/// A step as Pipeline leaves it.
class PipelinedStep {
public:
  PipelinedStep(ModuleOp module, Data &data, Training training)
      : module(module), mesh(dist::MeshAttr::of(module)), data(data), training(training) {
    buffers.resize(mesh.getNumRanks());
    mlir::OpBuilder builder(module.getBodyRegion());
    idle = func::FuncOp::create(builder, module.getLoc(), "idle", builder.getFunctionType({}, {}));
    builder.setInsertionPointToStart(idle.addEntryBlock());
    func::ReturnOp::create(builder, module.getLoc());
  }

  using Key = std::pair<std::string, int64_t>; ///< name and slot
  std::vector<std::map<Key, Tensor>> buffers;  ///< of each rank

  /// All actions but the update.
  LogicalResult runMicroBatches();

  LogicalResult runUpdate();

  func::FuncOp getFunction(int64_t stage, StringRef action);

  /// The bindings of a function's arguments, then of its results.
  static SmallVector<exec::BindAttr> getBindings(func::FuncOp function);

private:
  SmallVector<std::string> getMessages(int64_t from, exec::ActionKind direction);

  static int64_t getSource(int64_t stage, exec::ActionKind kind);

  bool isReady(int64_t stage, exec::ActionKind kind);

  /// Slot of a buffer during an action: stashes have several.
  int64_t getSlot(int64_t stage, StringRef name, int64_t slot);

  LogicalResult runAction(int64_t stage, exec::ActionAttr action);

  void receive(int64_t stage, exec::ActionAttr action);

  void send(int64_t stage, exec::ActionAttr action);

  /// What a backward has read is gone.
  void poison(int64_t stage, int64_t slot);

  LogicalResult run(ArrayRef<func::FuncOp> functions, int64_t microBatch, int64_t slot);

  /// Inputs are loaded by forwards, persistent buffers are there from the beginning.
  void fill(func::FuncOp function, unsigned argument, int64_t rank, int64_t microBatch, const Key &key);

  ModuleOp module;
  dist::MeshAttr mesh;
  Data &data;
  Training training;
  func::FuncOp idle;
  std::map<std::tuple<int64_t, exec::ActionKind, std::string>, std::deque<Tensors>> queues;
};

} // namespace shardc::test

#endif
