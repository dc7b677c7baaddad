//===-- Instructions.cpp - the instructions of the plan -----------------------------------------------------------===//

#include "PlanBuilder.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::plan;

namespace {

/// The name of the ONNX node in a location: that of the outermost named location.
std::string getNodeName(Location location) {
  std::string name;
  location->walk([&](Location part) {
    if (auto named = dyn_cast<NameLoc>(part)) {
      name = named.getName().str();
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return name;
}

SmallVector<int64_t> getEvents(Attribute attribute) {
  SmallVector<int64_t> events;
  if (auto many = dyn_cast_or_null<ArrayAttr>(attribute))
    for (auto event : many.getAsRange<IntegerAttr>())
      events.push_back(event.getInt());
  if (auto dense = dyn_cast_or_null<DenseI32ArrayAttr>(attribute))
    events.append(dense.asArrayRef().begin(), dense.asArrayRef().end());
  return events;
}

/// Entry `index` of the arrays of partial axes; null where the instruction has none.
Attribute getPartial(Operation *op, StringRef name, size_t index) {
  auto all = op->getAttrOfType<ArrayAttr>(name);
  return all && index < all.size() ? all[index] : Attribute();
}

Collective::Kind getKind(StringRef kind) {
  return kind == "all_gather"       ? Collective::ALL_GATHER
         : kind == "reduce_scatter" ? Collective::REDUCE_SCATTER
         : kind == "all_to_all"     ? Collective::ALL_TO_ALL
                                    : Collective::ALL_REDUCE;
}

} // namespace

LogicalResult PlanBuilder::addBlock(exec::BlockOp op, Program &program) {
  Block &block = *program.add_blocks();
  block.set_name(op.getSymName().str());
  block.set_action(static_cast<Block::Action>(op.getAction()));
  for (auto instruction : op.getBody().getOps<exec::InstructionOpInterface>())
    if (failed(addInstruction(instruction, block)))
      return failure();
  return success();
}

LogicalResult PlanBuilder::addInstruction(exec::InstructionOpInterface op, Block &block) {
  Instruction &message = *block.add_instructions();
  setOrder(op, message);
  message.set_node(getNodeName(op->getLoc()));
  auto origin = op->getAttrOfType<IntegerAttr>(nn::kOriginAttr);
  message.set_origin(origin ? origin.getInt() : -1);
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](exec::KernelOp kernel) { return setKernel(kernel, *message.mutable_kernel()); })
      .Case([&](exec::GemmOp gemm) { return setGemm(gemm, *message.mutable_gemm()); })
      .Case([&](exec::CollectiveOp collective) { return setCollective(collective, *message.mutable_collective()); })
      .Case([&](exec::GroupOp group) {
        Group &call = *message.mutable_group();
        for (Operation &member : group.getBody().front())
          if (failed(addMessage(&member, call)))
            return failure();
        return success();
      })
      .Case([&](exec::LoadInputOp load) { return setLoadInput(load, *message.mutable_load_input()); })
      .Case([&](exec::CopyOp copy) {
        Copy &call = *message.mutable_copy();
        return LogicalResult::success(succeeded(setRead(copy, copy.getFrom(), 0, *call.mutable_from())) &&
                                      succeeded(setWrite(copy, copy.getTo(), 0, *call.mutable_to())));
      })
      .Default([](Operation *other) { return other->emitOpError("has no place in a plan"); });
}

/// Stream and events; the program has as many as its instructions name.
void PlanBuilder::setOrder(Operation *op, Instruction &message) {
  if (auto stream = op->getAttrOfType<IntegerAttr>(exec::kStreamAttr))
    message.set_stream(stream.getInt());
  streams = std::max(streams, message.stream() + 1);
  for (int64_t event : getEvents(op->getAttr(exec::kWaitsAttr))) {
    message.add_waits(event);
    events = std::max<uint32_t>(events, event + 1);
  }
  message.set_records(-1);
  if (auto event = op->getAttrOfType<IntegerAttr>(exec::kRecordsAttr)) {
    message.set_records(event.getInt());
    events = std::max<uint32_t>(events, event.getInt() + 1);
  }
}

LogicalResult PlanBuilder::setRead(Operation *op, Value view, size_t index, Operand &operand) {
  return setOperand(view, getPartial(op, exec::kPartialReadsAttr, index), operand);
}

LogicalResult PlanBuilder::setWrite(Operation *op, Value view, size_t index, Operand &operand) {
  return setOperand(view, getPartial(op, exec::kPartialWritesAttr, index), operand);
}

LogicalResult PlanBuilder::setKernel(exec::KernelOp kernel, KernelCall &call) {
  auto found = kernelIndices.find(kernel.getKernel().str());
  if (found == kernelIndices.end())
    return kernel.emitOpError("calls kernel '") << kernel.getKernel() << "', which is not defined";
  call.set_kernel(found->second);
  call.set_items(kernel.getItems());
  for (auto [index, view] : llvm::enumerate(kernel.getInputs()))
    if (failed(setRead(kernel, view, index, *call.add_reads())))
      return failure();
  for (auto [index, view] : llvm::enumerate(kernel.getOutputs()))
    if (failed(setWrite(kernel, view, index, *call.add_writes())))
      return failure();
  return success();
}

LogicalResult PlanBuilder::setGemm(exec::GemmOp gemm, Gemm &call) {
  call.set_accumulate(gemm.getAccumulate());
  if (gemm.getBias() && failed(setRead(gemm, gemm.getBias(), 2, *call.mutable_bias())))
    return failure();
  return LogicalResult::success(succeeded(setRead(gemm, gemm.getA(), 0, *call.mutable_a())) &&
                                succeeded(setRead(gemm, gemm.getB(), 1, *call.mutable_b())) &&
                                succeeded(setWrite(gemm, gemm.getC(), 0, *call.mutable_c())));
}

LogicalResult PlanBuilder::setCollective(exec::CollectiveOp collective, Collective &call) {
  call.set_kind(getKind(collective.getKind()));
  call.set_reduction(static_cast<Collective::Reduction>(collective.getReduction()));
  SmallVector<StringRef> axes(collective.getAxes().getAsValueRange<StringAttr>());
  ArrayRef<int64_t> members = collective.getMembers() ? *collective.getMembers() : ArrayRef<int64_t>();
  call.set_communicator(getCommunicator(axes, members));
  return LogicalResult::success(succeeded(setRead(collective, collective.getInput(), 0, *call.mutable_input())) &&
                                succeeded(setWrite(collective, collective.getOutput(), 0, *call.mutable_output())));
}

LogicalResult PlanBuilder::setLoadInput(exec::LoadInputOp load, LoadInput &call) {
  auto found = inputIndices.find(load.getInput().str());
  if (found == inputIndices.end())
    return load.emitOpError("loads input '") << load.getInput() << "', which the model does not have";
  call.set_input(found->second);
  return setWrite(load, load.getValue(), 0, *call.mutable_value());
}

LogicalResult PlanBuilder::addMessage(Operation *op, Group &group) {
  Message &message = *group.add_messages();
  message.set_communicator(getCommunicator({"pp"}, {}));
  if (auto send = dyn_cast<exec::SendOp>(op)) {
    message.set_send(true);
    message.set_peer(send.getPeer());
    message.set_identity(send.getIdentity().str());
    message.set_backward(send.getDirection() == exec::ActionKind::Backward);
    return setOperand(send.getValue(), getPartial(op, exec::kPartialReadsAttr, 0), *message.mutable_value());
  }
  auto recv = dyn_cast<exec::RecvOp>(op);
  if (!recv)
    return op->emitOpError("has no place in a group");
  message.set_peer(recv.getPeer());
  message.set_identity(recv.getIdentity().str());
  message.set_backward(recv.getDirection() == exec::ActionKind::Backward);
  return setOperand(recv.getValue(), getPartial(op, exec::kPartialWritesAttr, 0), *message.mutable_value());
}
