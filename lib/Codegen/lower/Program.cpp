//===-- Program.cpp - buffers, schedule and communication of one pp coordinate ------------------------------------===//

#include "Program.h"

#include "Strides.h"
#include "dialects/nn/Builders.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::codegen;

SmallVector<func::FuncOp> StageFunctions::getAll() const {
  SmallVector<func::FuncOp> all;
  for (func::FuncOp function : {forward, backwardFirst, backward, update})
    if (function)
      all.push_back(function);
  return all;
}

//===-- Bound buffers ---------------------------------------------------------------------------------------------===//

namespace {

/// The name of the parameter that a buffer belongs to, and the value that it starts with.
void describeParameter(exec::BufferOp buffer, DictionaryAttr attributes) {
  OpBuilder builder(buffer);
  auto setParameter = [&](Attribute name) {
    if (auto string = dyn_cast_if_present<StringAttr>(name))
      buffer.setParameterAttr(string);
  };
  if (auto parameter = attributes.getAs<DictionaryAttr>(nn::kParameterAttr))
    setParameter(parameter.get("name"));
  if (auto gradient = attributes.getAs<StringAttr>(nn::kGradientAttr))
    setParameter(gradient);
  if (auto state = attributes.getAs<DictionaryAttr>("nn.state")) {
    setParameter(state.get("parameter"));
    if (auto initial = state.getAs<FloatAttr>("initial"))
      buffer.setInitialValueAttr(builder.getF64FloatAttr(initial.getValueAsDouble()));
  }
}

} // namespace

LogicalResult BoundBuffers::declareOne(func::FuncOp function, StringRef what, int index, Type type,
                                       DictionaryAttr attributes) {
  auto bind = attributes ? attributes.getAs<exec::BindAttr>(exec::kBindAttr) : exec::BindAttr();
  if (!bind)
    return function.emitError() << what << " #" << index << " has no '" << exec::kBindAttr << "'";
  MemRefType memref = getDenseType(cast<RankedTensorType>(type));
  exec::BufferOp &buffer = buffers[bind.getName()];
  if (!buffer) {
    OpBuilder builder = OpBuilder::atBlockEnd(&program.getBody().front());
    buffer = exec::BufferOp::create(builder, function.getLoc(), memref, bind.getName(), bind.getRegion(), 1,
                                    IntegerAttr(), IntegerAttr(), StringAttr(), FloatAttr(), FlatSymbolRefAttr());
    if (hasSlots(buffer))
      buffer.setSlots(stashSlots);
  }
  if (buffer.getType() != memref)
    return function.emitError() << what << " #" << index << " is bound to buffer '" << bind.getName()
                                << "', whose type is " << buffer.getType() << " elsewhere, got " << memref;
  if (buffer.getRegion() != bind.getRegion())
    return function.emitError() << what << " #" << index << " is bound to buffer '" << bind.getName() << "', which is "
                                << exec::stringifyRegion(buffer.getRegion()) << " elsewhere, got "
                                << exec::stringifyRegion(bind.getRegion());
  for (NamedAttribute attribute : attributes)
    if (attribute.getName() != exec::kBindAttr && !buffer->hasAttr(attribute.getName()))
      buffer->setAttr(attribute.getName(), attribute.getValue());
  describeParameter(buffer, attributes);
  return success();
}

LogicalResult BoundBuffers::declare(func::FuncOp function) {
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
    if (failed(declareOne(function, "argument", index, type, function.getArgAttrDict(index))))
      return failure();
  for (auto [index, type] : llvm::enumerate(function.getResultTypes()))
    if (failed(declareOne(function, "result", index, type, function.getResultAttrDict(index))))
      return failure();
  return success();
}

//===-- The program -----------------------------------------------------------------------------------------------===//

namespace {

class ProgramBuilder {
public:
  ProgramBuilder(ModuleOp module, int64_t pp, const StageFunctions &functions, int &nextKernel)
      : module(module), pp(pp), functions(functions), nextKernel(nextKernel) {}

  LogicalResult build() {
    if (failed(readSchedule()))
      return failure();
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    program = exec::ProgramOp::create(builder, functions.getAll().front().getLoc(), "pp" + std::to_string(pp), pp,
                                      ArrayAttr(), IntegerAttr());
    program.getBody().emplaceBlock();
    int64_t slots = 1;
    for (exec::ActionAttr action : actions)
      slots = std::max(slots, action.getSlot() + 1);
    BoundBuffers bound(program, slots);
    for (func::FuncOp function : functions.getAll())
      if (failed(bound.declare(function)))
        return failure();
    if (failed(lowerFunctions(bound)) || failed(buildSchedule(bound)))
      return failure();
    return success();
  }

private:
  /// Finds this pp coordinate's actions and checks that the functions that they need exist.
  LogicalResult readSchedule() {
    auto schedule = module->getAttrOfType<ArrayAttr>(exec::kScheduleAttr);
    if (!schedule || pp >= static_cast<int64_t>(schedule.size()) || !isa<ArrayAttr>(schedule[pp]))
      return module.emitError("has no '") << exec::kScheduleAttr << "' for pp coordinate " << pp;
    for (Attribute attribute : cast<ArrayAttr>(schedule[pp])) {
      auto action = dyn_cast<exec::ActionAttr>(attribute);
      if (!action || action.getKind() == exec::ActionKind::Communicate)
        return module.emitError("'") << exec::kScheduleAttr << "' of pp coordinate " << pp
                                     << " has an entry that is no forward, backward or update: " << attribute;
      if (!getFunction(action))
        return module.emitError("pp coordinate ")
               << pp << " is scheduled to run " << getBlockName(action) << ", but there is no function for it";
      actions.push_back(action);
    }
    return success();
  }

  static bool isFirstBackward(exec::ActionAttr action) {
    return action.getKind() == exec::ActionKind::Backward && action.getMicroBatch() == 0;
  }

  func::FuncOp getFunction(exec::ActionAttr action) const {
    if (action.getKind() == exec::ActionKind::Forward)
      return functions.forward;
    if (action.getKind() == exec::ActionKind::Update)
      return functions.update;
    return isFirstBackward(action) ? functions.backwardFirst : functions.backward;
  }

  static StringRef getBlockName(exec::ActionAttr action) {
    return isFirstBackward(action) ? "backward_first" : exec::stringifyActionKind(action.getKind());
  }

  SmallVector<exec::BufferOp> getLoadedInputs() {
    SmallVector<exec::BufferOp> inputs;
    for (auto buffer : program.getBody().getOps<exec::BufferOp>())
      if (buffer->hasAttr(nn::kInputAttr))
        inputs.push_back(buffer);
    return inputs;
  }

  LogicalResult lowerFunctions(const BoundBuffers &bound) {
    SmallVector<exec::BufferOp> inputs = getLoadedInputs();
    llvm::MapVector<StringRef, exec::ActionAttr> scheduled;
    for (exec::ActionAttr action : actions)
      scheduled.insert({getBlockName(action), action});
    SmallVector<std::pair<func::FuncOp, exec::BlockOp>> blocks;
    for (StringRef name : {"forward", "backward_first", "backward", "update"}) {
      auto it = scheduled.find(name);
      if (it == scheduled.end())
        continue;
      func::FuncOp function = getFunction(it->second);
      blocks.push_back({function, addBlock(function.getLoc(), name, it->second.getKind())});
    }
    for (auto [function, block] : blocks) {
      bool isForward = block.getAction() == exec::ActionKind::Forward;
      if (failed(lowerFunction(function, program, block, bound, isForward ? inputs : SmallVector<exec::BufferOp>(),
                               nextKernel)))
        return failure();
    }
    return success();
  }

  exec::BlockOp addBlock(Location loc, StringRef name, exec::ActionKind action) {
    OpBuilder builder = OpBuilder::atBlockEnd(&program.getBody().front());
    auto block = exec::BlockOp::create(builder, loc, name, action);
    block.getBody().emplaceBlock();
    return block;
  }

  //===-- Schedule and communication ------------------------------------------------------------------------------===//

  LogicalResult buildSchedule(const BoundBuffers &bound) {
    OpBuilder builder(module.getContext());
    SmallVector<Attribute> entries;
    exec::ActionAttr none;
    for (size_t next = 0; next <= actions.size(); ++next) {
      exec::ActionAttr finished = next > 0 ? actions[next - 1] : none,
                       needed = next < actions.size() ? actions[next] : none;
      FailureOr<exec::BlockOp> communication = getCommunication(bound, finished, needed);
      if (failed(communication))
        return failure();
      if (*communication)
        entries.push_back(getEntry(communication->getSymName(), {finished, needed}));
      if (needed)
        entries.push_back(getEntry(getBlockName(needed), {needed}));
    }
    program.setScheduleAttr(builder.getArrayAttr(entries));
    for (auto buffer : program.getBody().getOps<exec::BufferOp>()) {
      if (buffer.getRegion() != exec::Region::Output)
        continue;
      builder.setInsertionPointToEnd(&program.getBody().front());
      exec::OutputOp::create(builder, buffer.getLoc(), buffer.getName(), buffer.getResult());
    }
    return success();
  }

  /// One run of a block, with a register for each action; zeros stand for none.
  Attribute getEntry(StringRef block, ArrayRef<exec::ActionAttr> registers) {
    SmallVector<int64_t> numbers;
    for (exec::ActionAttr action : registers) {
      numbers.push_back(action ? action.getMicroBatch() : 0);
      numbers.push_back(action ? action.getSlot() : 0);
    }
    MLIRContext *context = module.getContext();
    return exec::EntryAttr::get(context, FlatSymbolRefAttr::get(context, block), numbers);
  }

  /// The messages of actions of a kind that this coordinate sends, or receives.
  SmallVector<exec::MessageAttr> getMessages(exec::ActionAttr action, bool isSend) const {
    SmallVector<exec::MessageAttr> messages;
    auto all = module->getAttrOfType<ArrayAttr>(exec::kMessagesAttr);
    if (!all || !action)
      return messages;
    for (auto message : all.getAsRange<exec::MessageAttr>()) {
      int64_t step = message.getDirection() == exec::ActionKind::Forward ? 1 : -1;
      int64_t here = isSend ? message.getFrom() : message.getFrom() + step;
      if (message.getDirection() == action.getKind() && here == pp)
        messages.push_back(message);
    }
    return messages;
  }

  /// The block that sends what `finished` made and receives what `needed` reads; null where there is neither.
  FailureOr<exec::BlockOp> getCommunication(const BoundBuffers &bound, exec::ActionAttr finished,
                                            exec::ActionAttr needed) {
    SmallVector<exec::MessageAttr> sends = getMessages(finished, true), receives = getMessages(needed, false);
    if (sends.empty() && receives.empty())
      return exec::BlockOp();
    std::string name = "communicate_";
    name += sends.empty() ? "none" : exec::stringifyActionKind(finished.getKind()).str();
    name += "_";
    name += receives.empty() ? "none" : exec::stringifyActionKind(needed.getKind()).str();
    exec::BlockOp &block = communications[name];
    if (block)
      return block;
    block = addBlock(program.getLoc(), name, exec::ActionKind::Communicate);
    llvm::SmallDenseSet<Operation *> sent;
    for (exec::MessageAttr message : sends)
      sent.insert(bound.get(message.getName()));
    // A value that is only handed on leaves the buffer that the next one arrives in: then sends come first.
    bool isHandedOn = llvm::any_of(receives, [&](exec::MessageAttr message) {
      exec::BufferOp buffer = bound.get(message.getName());
      return buffer && !BoundBuffers::hasSlots(buffer) && sent.contains(buffer);
    });
    OpBuilder builder = OpBuilder::atBlockEnd(&block.getBody().front());
    exec::GroupOp group = addGroup(builder);
    if (failed(addMessages(bound, builder, group, sends, true)))
      return failure();
    if (isHandedOn)
      group = addGroup(builder);
    if (failed(addMessages(bound, builder, group, receives, false)))
      return failure();
    return block;
  }

  exec::GroupOp addGroup(OpBuilder &builder) {
    auto group = exec::GroupOp::create(builder, NameLoc::get(builder.getStringAttr("pipeline")));
    group.getBody().emplaceBlock();
    return group;
  }

  LogicalResult addMessages(const BoundBuffers &bound, OpBuilder &builder, exec::GroupOp group,
                            ArrayRef<exec::MessageAttr> messages, bool isSend) {
    OpBuilder inGroup = OpBuilder::atBlockEnd(&group.getBody().front());
    OpBuilder beforeGroup(group);
    for (exec::MessageAttr message : messages) {
      exec::BufferOp buffer = bound.get(message.getName());
      if (!buffer)
        return module.emitError("message '") << message.getName() << "' has no buffer on pp coordinate " << pp;
      Location loc = NameLoc::get(builder.getStringAttr(message.getName()));
      Value value = buffer.getResult();
      if (BoundBuffers::hasSlots(buffer))
        value = exec::SlotOp::create(beforeGroup, loc, value, isSend ? 0 : 1);
      int64_t step = message.getDirection() == exec::ActionKind::Forward ? 1 : -1;
      if (isSend)
        exec::SendOp::create(inGroup, loc, value, message.getName(), pp + step, message.getDirection());
      else
        exec::RecvOp::create(inGroup, loc, value, message.getName(), message.getFrom(), message.getDirection());
    }
    return success();
  }

  ModuleOp module;
  int64_t pp;
  const StageFunctions &functions;
  int &nextKernel;
  exec::ProgramOp program;
  SmallVector<exec::ActionAttr> actions;
  llvm::StringMap<exec::BlockOp> communications;
};

} // namespace

LogicalResult shardc::codegen::buildProgram(ModuleOp module, int64_t pp, const StageFunctions &functions,
                                            int &nextKernel) {
  return ProgramBuilder(module, pp, functions, nextKernel).build();
}
