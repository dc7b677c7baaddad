//===-- BuildPlan.cpp - from placed programs to the plan ----------------------------------------------------------===//

#include "shardc/Plan/BuildPlan.h"
#include "PlanBuilder.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::plan;

LogicalResult plan::buildPlan(ModuleOp module, Plan &plan) { return PlanBuilder(module, plan).build(); }

LogicalResult PlanBuilder::build() {
  if (!mesh)
    return module.emitError("has no '") << dist::kMeshAttr << "'";
  plan.set_format_version(1);
  if (auto model = module->getAttrOfType<StringAttr>("nn.model"))
    plan.set_model(model.str());
  addMesh();
  addTraining();
  if (failed(addParameters()))
    return failure();
  addInputs();
  addNotes();
  addKernels();
  if (auto ops = module->getAttrOfType<DenseI64ArrayAttr>("nn.ops"))
    plan.mutable_ops()->Assign(ops.asArrayRef().begin(), ops.asArrayRef().end());
  for (auto program : module.getOps<exec::ProgramOp>())
    if (failed(addProgram(program)))
      return failure();
  return success();
}

/// The ops of a kernel, in order, without repeating neighbours: "mul add tanh".
static std::string describeKernel(exec::KernelDefOp kernel) {
  std::string description, last;
  for (Operation &op : kernel.getBody().front()) {
    std::string name = op.getName().stripDialect().str();
    if (isa<exec::YieldOp>(op) || name == last)
      continue;
    description += (description.empty() ? "" : " ") + name;
    last = name;
  }
  return description;
}

void PlanBuilder::addKernels() {
  for (auto kernel : module.getOps<exec::KernelDefOp>()) {
    auto *message = plan.add_kernels();
    message->set_symbol(kernel.getSymName().str());
    message->set_description(describeKernel(kernel));
    kernelIndices[message->symbol()] = plan.kernels_size() - 1;
  }
}

uint32_t PlanBuilder::getCommunicator(ArrayRef<StringRef> axes, ArrayRef<int64_t> members) {
  std::string name = llvm::join(axes, ",");
  if (!members.empty()) {
    name += "[";
    for (auto [index, member] : llvm::enumerate(members))
      name += (index ? "," : "") + std::to_string(member);
    name += "]";
  }
  auto [entry, isNew] = communicatorIndices.try_emplace(name, plan.communicators_size());
  if (isNew) {
    auto *message = plan.add_communicators();
    message->set_name(name);
    for (StringRef axis : axes)
      message->add_axes(mesh.getIndex(axis));
    for (int64_t member : members)
      message->add_members(member);
  }
  return entry->second;
}

ElementType PlanBuilder::getElementType(Type type) {
  if (type.isF32())
    return F32;
  if (type.isF64())
    return F64;
  if (type.isBF16())
    return BF16;
  if (type.isF16())
    return F16;
  if (type.isInteger(1))
    return I1;
  if (type.isInteger(8))
    return type.isUnsignedInteger() ? U8 : I8;
  if (type.isInteger(32))
    return I32;
  return type.isInteger(64) ? I64 : ELEMENT_TYPE_UNSPECIFIED;
}

//===-- Programs --------------------------------------------------------------------------------------------------===//

LogicalResult PlanBuilder::addProgram(exec::ProgramOp op) {
  bufferIndices.clear();
  blockIndices.clear();
  streams = 1;
  events = 0;
  Program &program = *plan.add_programs();
  program.set_pp(op.getPp());
  if (!op.getArenaBytes())
    return op.emitOpError("is not placed; run memory-place-buffers");
  program.set_arena_bytes(*op.getArenaBytes());
  for (auto [index, block] : llvm::enumerate(op.getBody().getOps<exec::BlockOp>()))
    blockIndices[block.getSymName().str()] = index;
  for (auto buffer : op.getBody().getOps<exec::BufferOp>())
    if (failed(addBuffer(buffer, program)))
      return failure();
  for (auto block : op.getBody().getOps<exec::BlockOp>())
    if (failed(addBlock(block, program)))
      return failure();
  for (auto output : op.getBody().getOps<exec::OutputOp>()) {
    Output *message = output.getEvaluation() ? program.mutable_evaluation()->add_outputs() : program.add_outputs();
    message->set_name(output.getName().str());
    if (failed(setOperand(output.getValue(), {}, *message->mutable_value())))
      return failure();
  }
  auto ops = module->getAttrOfType<ArrayAttr>("pipe.ops");
  if (ops && op.getPp() < ops.size())
    if (auto own = dyn_cast<DenseI64ArrayAttr>(ops[op.getPp()]))
      program.mutable_ops()->Assign(own.asArrayRef().begin(), own.asArrayRef().end());
  program.set_streams(streams);
  program.set_events(events);
  if (!op.getSchedule())
    return op.emitOpError("has no schedule");
  if (op.getEvaluation() &&
      failed(addSchedule(op, *op.getEvaluation(), *program.mutable_evaluation()->mutable_schedule())))
    return failure();
  return addSchedule(op, *op.getSchedule(), *program.mutable_schedule());
}

LogicalResult PlanBuilder::addBuffer(exec::BufferOp op, Program &program) {
  if (!op.getOffset() || !op.getSlotStride())
    return op.emitOpError("is not placed; run memory-place-buffers");
  bufferIndices[op] = program.buffers_size();
  auto type = cast<MemRefType>(op.getType());
  Buffer &buffer = *program.add_buffers();
  buffer.set_name(op.getName().str());
  buffer.set_region(static_cast<Region>(op.getRegion()));
  buffer.set_type(getElementType(type.getElementType()));
  for (int64_t size : type.getShape())
    buffer.add_shape(size);
  buffer.set_offset(*op.getOffset());
  buffer.set_bytes(op.getSlotBytes());
  buffer.set_slots(op.getSlots());
  buffer.set_slot_stride(*op.getSlotStride());
  buffer.set_parameter(-1);
  if (auto name = op.getParameter()) {
    auto found = parameterIndices.find(name->str());
    if (found == parameterIndices.end())
      return op.emitOpError("names parameter '") << *name << "', which the model does not have";
    buffer.set_parameter(found->second);
  }
  if (op.getInitialValue())
    buffer.set_initial_value(op.getInitialValue()->convertToDouble());
  buffer.set_block(op.getBlock() ? blockIndices.at(op.getBlock()->str()) : -1);
  return success();
}

LogicalResult PlanBuilder::addSchedule(exec::ProgramOp op, ArrayAttr entries, Schedule &schedule) {
  for (auto entry : entries.getAsRange<exec::EntryAttr>()) {
    auto found = blockIndices.find(entry.getBlock().getValue().str());
    if (found == blockIndices.end())
      return op.emitOpError("schedules block '") << entry.getBlock().getValue() << "', which it does not have";
    ScheduleEntry *message = schedule.Add();
    message->set_block(found->second);
    for (size_t i = 0; i + 1 < entry.getRegisters().size(); i += 2) {
      auto *reg = message->add_registers();
      reg->set_micro_batch(entry.getRegisters()[i]);
      reg->set_slot(entry.getRegisters()[i + 1]);
    }
  }
  return success();
}

LogicalResult PlanBuilder::setOperand(Value view, Attribute partial, Operand &operand) {
  auto type = cast<MemRefType>(view.getType());
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  if (failed(type.getStridesAndOffset(strides, offset)) || ShapedType::isDynamic(offset) ||
      llvm::any_of(strides, ShapedType::isDynamic))
    return emitError(view.getLoc()) << "a view has no static layout: " << type;
  operand.set_buffer(bufferIndices.at(exec::getBuffer(view)));
  operand.set_register_(exec::getRegister(view));
  operand.set_offset(offset);
  for (int64_t size : type.getShape())
    operand.add_sizes(size);
  for (int64_t stride : strides)
    operand.add_strides(stride);
  if (auto list = dyn_cast_or_null<ArrayAttr>(partial))
    for (auto entry : list.getAsRange<dist::PartialAttr>()) {
      uint32_t bit = 1u << mesh.getIndex(entry.getAxis());
      if (entry.getKind() == dist::ReductionKind::Sum)
        operand.set_partial_sum(operand.partial_sum() | bit);
      else
        operand.set_partial_max(operand.partial_max() | bit);
    }
  return success();
}
