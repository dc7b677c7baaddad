//===-- Program.cpp - buffers, schedule and communication of one pp coordinate ------------------------------------===//

#include "Program.h"

#include "Strides.h"
#include "dialects/nn/Builders.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::codegen;

ArrayRef<StringLiteral> StageFunctions::getNames() {
  static constexpr StringLiteral kNames[] = {"forward",        "backward_first", "backward", "update",
                                             "evaluate_first", "evaluate",       "report"};
  return kNames;
}

bool StageFunctions::add(StringRef name, func::FuncOp function) {
  if (!llvm::is_contained(getNames(), name))
    return false;
  functions[name] = function;
  return true;
}

SmallVector<func::FuncOp> StageFunctions::getAll() const {
  SmallVector<func::FuncOp> all;
  for (StringRef name : getNames())
    if (func::FuncOp function = get(name))
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
    FailureOr<Actions> training = readSchedule(exec::kScheduleAttr);
    FailureOr<Actions> evaluation = readSchedule(exec::kEvaluationAttr);
    if (failed(training) || failed(evaluation))
      return failure();
    if (training->empty())
      return module.emitError("has no '") << exec::kScheduleAttr << "' for pp coordinate " << pp;
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    program = exec::ProgramOp::create(builder, functions.getAll().front().getLoc(), "pp" + std::to_string(pp), pp,
                                      ArrayAttr(), ArrayAttr(), IntegerAttr());
    program.getBody().emplaceBlock();
    int64_t slots = 1;
    for (exec::ActionAttr action : *training)
      slots = std::max(slots, action.getSlot() + 1);
    BoundBuffers bound(program, slots);
    for (func::FuncOp function : functions.getAll())
      if (failed(bound.declare(function)))
        return failure();
    Actions all = *training;
    all.append(*evaluation);
    if (failed(lowerFunctions(bound, all)))
      return failure();
    FailureOr<ArrayAttr> entries = buildSchedule(bound, *training), evaluating = buildSchedule(bound, *evaluation);
    if (failed(entries) || failed(evaluating))
      return failure();
    program.setScheduleAttr(*entries);
    if (!evaluation->empty())
      program.setEvaluationAttr(*evaluating);
    addOutputs(bound);
    return success();
  }

private:
  using Actions = SmallVector<exec::ActionAttr>;

  /// This pp coordinate's actions in a schedule of the module, none where there is no such schedule; all have a
  /// function.
  FailureOr<Actions> readSchedule(StringRef name) {
    Actions actions;
    auto schedule = module->getAttrOfType<ArrayAttr>(name);
    if (!schedule)
      return actions;
    if (pp >= static_cast<int64_t>(schedule.size()) || !isa<ArrayAttr>(schedule[pp]))
      return module.emitError("has no '") << name << "' for pp coordinate " << pp;
    for (Attribute attribute : cast<ArrayAttr>(schedule[pp])) {
      auto action = dyn_cast<exec::ActionAttr>(attribute);
      if (!action || action.getKind() == exec::ActionKind::Communicate)
        return module.emitError("'") << name << "' of pp coordinate " << pp
                                     << " has an entry that is no action of a micro-batch or of a step's end: "
                                     << attribute;
      if (!functions.get(getBlockName(action)))
        return module.emitError("pp coordinate ")
               << pp << " is scheduled to run " << getBlockName(action) << ", but there is no function for it";
      actions.push_back(action);
    }
    return actions;
  }

  /// The first micro-batch of a step writes the sums that the others add to; where a stage has none, it is like them.
  StringRef getBlockName(exec::ActionAttr action) const {
    if (action.getMicroBatch() == 0 && action.getKind() == exec::ActionKind::Backward)
      return "backward_first";
    if (action.getMicroBatch() == 0 && action.getKind() == exec::ActionKind::Evaluate &&
        functions.get("evaluate_first"))
      return "evaluate_first";
    return exec::stringifyActionKind(action.getKind());
  }

  SmallVector<exec::BufferOp> getLoadedInputs() {
    SmallVector<exec::BufferOp> inputs;
    for (auto buffer : program.getBody().getOps<exec::BufferOp>())
      if (buffer->hasAttr(nn::kInputAttr))
        inputs.push_back(buffer);
    return inputs;
  }

  LogicalResult lowerFunctions(const BoundBuffers &bound, ArrayRef<exec::ActionAttr> actions) {
    SmallVector<exec::BufferOp> inputs = getLoadedInputs();
    llvm::StringMap<exec::ActionKind> scheduled;
    for (exec::ActionAttr action : actions)
      scheduled.try_emplace(getBlockName(action), action.getKind());
    SmallVector<std::pair<func::FuncOp, exec::BlockOp>> blocks;
    for (StringRef name : StageFunctions::getNames()) {
      auto it = scheduled.find(name);
      if (it == scheduled.end())
        continue;
      func::FuncOp function = functions.get(name);
      blocks.push_back({function, addBlock(function.getLoc(), name, it->second)});
    }
    for (auto [function, block] : blocks) {
      bool loads = block.getAction() == exec::ActionKind::Forward || block.getAction() == exec::ActionKind::Evaluate;
      if (failed(lowerFunction(function, program, block, bound, loads ? inputs : SmallVector<exec::BufferOp>(),
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

  FailureOr<ArrayAttr> buildSchedule(const BoundBuffers &bound, ArrayRef<exec::ActionAttr> actions) {
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
    return ArrayAttr::get(module.getContext(), entries);
  }

  /// What the report leaves is read after an evaluation, all else after a step.
  void addOutputs(const BoundBuffers &bound) {
    llvm::SmallDenseSet<Operation *> reported;
    if (func::FuncOp report = functions.get("report"))
      for (unsigned i = 0, e = report.getNumResults(); i < e; ++i)
        reported.insert(bound.get(report.getResultAttrOfType<exec::BindAttr>(i, exec::kBindAttr).getName()));
    OpBuilder builder = OpBuilder::atBlockEnd(&program.getBody().front());
    for (auto buffer : llvm::to_vector(program.getBody().getOps<exec::BufferOp>()))
      if (buffer.getRegion() == exec::Region::Output)
        exec::OutputOp::create(builder, buffer.getLoc(), buffer.getName(), buffer.getResult(),
                               reported.contains(buffer));
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
      if (message.getDirection() == getDirection(action) && here == pp)
        messages.push_back(message);
    }
    return messages;
  }

  /// Evaluation sends what the forward does.
  static exec::ActionKind getDirection(exec::ActionAttr action) {
    return action.getKind() == exec::ActionKind::Evaluate ? exec::ActionKind::Forward : action.getKind();
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
  llvm::StringMap<exec::BlockOp> communications;
};

} // namespace

LogicalResult shardc::codegen::buildProgram(ModuleOp module, int64_t pp, const StageFunctions &functions,
                                            int &nextKernel) {
  return ProgramBuilder(module, pp, functions, nextKernel).build();
}
