//===-- PlanBuilder.h - the messages of a plan, one after another -------------------------------------------------===//
#ifndef SHARDC_LIB_PLAN_PLANBUILDER_H
#define SHARDC_LIB_PLAN_PLANBUILDER_H

#include "runtime/format/plan.pb.h"

#include "dialects/exec/Exec.h"

#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <string>

namespace shardc::plan {

/// Builds a plan from a module; the state is what later messages refer to by index.
class PlanBuilder {
public:
  PlanBuilder(mlir::ModuleOp module, Plan &plan) : module(module), mesh(dist::MeshAttr::of(module)), plan(plan) {}

  mlir::LogicalResult build();

private:
  void addMesh();
  void addTraining();
  mlir::LogicalResult addParameters();
  void addInputs();
  void addNotes();
  void addKernels();

  mlir::LogicalResult addProgram(exec::ProgramOp op);
  mlir::LogicalResult addBuffer(exec::BufferOp op, Program &program);
  mlir::LogicalResult addBlock(exec::BlockOp op, Program &program);
  using Schedule = google::protobuf::RepeatedPtrField<ScheduleEntry>;
  mlir::LogicalResult addSchedule(exec::ProgramOp op, mlir::ArrayAttr entries, Schedule &schedule);
  mlir::LogicalResult addInstruction(exec::InstructionOpInterface op, Block &block);
  void setOrder(mlir::Operation *op, Instruction &message);
  mlir::LogicalResult setKernel(exec::KernelOp kernel, KernelCall &call);
  mlir::LogicalResult setGemm(exec::GemmOp gemm, Gemm &call);
  mlir::LogicalResult setCollective(exec::CollectiveOp collective, Collective &call);
  mlir::LogicalResult setLoadInput(exec::LoadInputOp load, LoadInput &call);
  mlir::LogicalResult addMessage(mlir::Operation *op, Group &group);

  void addSharding(dist::ShardingAttr sharding, Sharding &message);
  /// Fills an operand from a view; `partial` is what the value is partial over (an array of #dist.partial, or null).
  mlir::LogicalResult setOperand(mlir::Value view, mlir::Attribute partial, Operand &operand);
  /// Likewise, for the index-th view that an instruction reads or writes, with what the instruction says of it.
  mlir::LogicalResult setRead(mlir::Operation *op, mlir::Value view, size_t index, Operand &operand);
  mlir::LogicalResult setWrite(mlir::Operation *op, mlir::Value view, size_t index, Operand &operand);
  uint32_t getCommunicator(mlir::ArrayRef<mlir::StringRef> axes, mlir::ArrayRef<int64_t> members);
  static ElementType getElementType(mlir::Type type);

  mlir::ModuleOp module;
  dist::MeshAttr mesh;
  Plan &plan;
  std::map<std::string, int> parameterIndices, inputIndices, kernelIndices;
  std::map<std::string, uint32_t> communicatorIndices;
  // Of the program at hand.
  llvm::DenseMap<mlir::Operation *, uint32_t> bufferIndices;
  std::map<std::string, int> blockIndices;
  uint32_t streams = 1, events = 0;
};

} // namespace shardc::plan

#endif
