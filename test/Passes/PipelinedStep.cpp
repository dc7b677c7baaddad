//===-- PipelinedStep.cpp - a step of training as Pipeline leaves it ---------------------------------------------===//

#include "test/Passes/PipelinedStep.h"

#include <cmath>

using namespace mlir;
using namespace shardc;
using namespace shardc::test;
using nn::Tensor;
using nn::Tensors;

LogicalResult PipelinedStep::runMicroBatches() {
  auto schedule = module->getAttrOfType<ArrayAttr>(exec::kScheduleAttr);
  std::vector<size_t> next(schedule.size(), 0);
  bool progress = true;
  while (progress) {
    progress = false;
    for (size_t stage = 0; stage < schedule.size(); ++stage) {
      auto actions = cast<ArrayAttr>(schedule[stage]);
      auto action = cast<exec::ActionAttr>(actions[next[stage]]);
      if (action.getKind() == exec::ActionKind::Update || !isReady(stage, action.getKind()))
        continue;
      if (failed(runAction(stage, action)))
        return failure();
      ++next[stage];
      progress = true;
    }
  }
  for (auto [stage, position] : llvm::enumerate(next))
    if (position + 1 != cast<ArrayAttr>(schedule[stage]).size())
      return module.emitError("pp ") << stage << " waits for ever";
  return success();
}

LogicalResult PipelinedStep::runUpdate() {
  std::vector<func::FuncOp> functions;
  for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank)
    functions.push_back(getFunction(locate(mesh, rank)["pp"], "update"));
  return run(functions, 0, 0);
}

func::FuncOp PipelinedStep::getFunction(int64_t stage, StringRef action) {
  return module.lookupSymbol<func::FuncOp>(("pp" + Twine(stage) + "_" + action).str());
}

SmallVector<exec::BindAttr> PipelinedStep::getBindings(func::FuncOp function) {
  SmallVector<exec::BindAttr> bindings;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    bindings.push_back(function.getArgAttrOfType<exec::BindAttr>(i, exec::kBindAttr));
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    bindings.push_back(function.getResultAttrOfType<exec::BindAttr>(i, exec::kBindAttr));
  return bindings;
}

SmallVector<std::string> PipelinedStep::getMessages(int64_t from, exec::ActionKind direction) {
  SmallVector<std::string> names;
  for (auto message : module->getAttrOfType<ArrayAttr>(exec::kMessagesAttr).getAsRange<exec::MessageAttr>())
    if (message.getFrom() == from && message.getDirection() == direction)
      names.push_back(message.getName().str());
  return names;
}

int64_t PipelinedStep::getSource(int64_t stage, exec::ActionKind kind) {
  return kind == exec::ActionKind::Forward ? stage - 1 : stage + 1;
}

bool PipelinedStep::isReady(int64_t stage, exec::ActionKind kind) {
  return llvm::all_of(getMessages(getSource(stage, kind), kind),
                      [&](const std::string &name) { return !queues[{stage, kind, name}].empty(); });
}

int64_t PipelinedStep::getSlot(int64_t stage, StringRef name, int64_t slot) {
  for (StringRef action : {"forward", "backward"})
    for (exec::BindAttr bind : getBindings(getFunction(stage, action)))
      if (bind.getName() == name)
        return bind.getRegion() == exec::Region::Stash ? slot : 0;
  return 0;
}

LogicalResult PipelinedStep::runAction(int64_t stage, exec::ActionAttr action) {
  bool forward = action.getKind() == exec::ActionKind::Forward;
  receive(stage, action);
  std::vector<func::FuncOp> functions(mesh.getNumRanks(), idle);
  func::FuncOp function = getFunction(stage, forward                       ? "forward"
                                             : action.getMicroBatch() == 0 ? "backward_first"
                                                                           : "backward");
  for (auto [rank, entry] : llvm::enumerate(functions))
    if (locate(mesh, rank)["pp"] == stage)
      entry = function;
  if (failed(run(functions, action.getMicroBatch(), action.getSlot())))
    return failure();
  send(stage, action);
  if (!forward)
    poison(stage, action.getSlot());
  return success();
}

void PipelinedStep::receive(int64_t stage, exec::ActionAttr action) {
  for (const std::string &name : getMessages(getSource(stage, action.getKind()), action.getKind())) {
    std::deque<Tensors> &queue = queues[{stage, action.getKind(), name}];
    int64_t slot = getSlot(stage, name, action.getSlot());
    for (auto [rank, tensor] : llvm::enumerate(queue.front()))
      if (locate(mesh, rank)["pp"] == stage)
        buffers[rank][{name, slot}] = tensor;
    queue.pop_front();
  }
}

void PipelinedStep::send(int64_t stage, exec::ActionAttr action) {
  bool forward = action.getKind() == exec::ActionKind::Forward;
  int64_t peer = forward ? stage + 1 : stage - 1;
  for (const std::string &name : getMessages(stage, action.getKind())) {
    int64_t slot = getSlot(stage, name, action.getSlot());
    Tensors tensors(mesh.getNumRanks());
    for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank) {
      Coordinates at = locate(mesh, rank);
      if (at["pp"] != peer)
        continue;
      at["pp"] = stage;
      tensors[rank] = buffers[getRank(mesh, at)].at({name, slot});
    }
    queues[{peer, action.getKind(), name}].push_back(tensors);
  }
}

void PipelinedStep::poison(int64_t stage, int64_t slot) {
  for (StringRef action : {"forward", "backward"})
    for (exec::BindAttr bind : getBindings(getFunction(stage, action)))
      if (bind.getRegion() == exec::Region::Stash)
        for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank)
          if (locate(mesh, rank)["pp"] == stage)
            buffers[rank].erase({bind.getName().str(), slot});
}

LogicalResult PipelinedStep::run(ArrayRef<func::FuncOp> functions, int64_t microBatch, int64_t slot) {
  std::vector<Tensors> arguments(mesh.getNumRanks());
  auto getKey = [&](exec::BindAttr bind) {
    return Key(bind.getName().str(), bind.getRegion() == exec::Region::Stash ? slot : 0);
  };
  for (auto [rank, tensors] : llvm::enumerate(arguments)) {
    func::FuncOp function = functions[rank];
    SmallVector<exec::BindAttr> bindings = getBindings(function);
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      fill(function, i, rank, microBatch, getKey(bindings[i]));
      auto found = buffers[rank].find(getKey(bindings[i]));
      if (found == buffers[rank].end())
        return function.emitError("reads '")
               << bindings[i].getName() << "' for micro-batch " << microBatch << ", which nobody has written";
      tensors.push_back(found->second);
    }
  }
  auto results = nn::evaluate(functions, std::move(arguments), getControl(microBatch, training.samples), {true});
  if (failed(results))
    return failure();
  for (auto [rank, tensors] : llvm::enumerate(*results)) {
    func::FuncOp function = functions[rank];
    SmallVector<exec::BindAttr> bindings = getBindings(function);
    for (auto [number, tensor] : llvm::enumerate(tensors))
      buffers[rank][getKey(bindings[function.getNumArguments() + number])] = tensor;
  }
  return success();
}

void PipelinedStep::fill(func::FuncOp function, unsigned argument, int64_t rank, int64_t microBatch, const Key &key) {
  auto region = function.getArgAttrOfType<exec::BindAttr>(argument, exec::kBindAttr).getRegion();
  auto input = function.getArgAttrOfType<StringAttr>(argument, nn::kInputAttr);
  bool persistent = region == exec::Region::Parameter || region == exec::Region::State;
  if (input && function.getName().ends_with("_forward"))
    buffers[rank][key] = data.getInput(input, locate(mesh, rank), microBatch);
  else if (persistent && !buffers[rank].count(key))
    buffers[rank][key] = data.getPersistent(key.first, locate(mesh, rank));
}
