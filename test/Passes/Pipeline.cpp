//===-- Pipeline.cpp - --test-pipeline: pipelined = sequential ----------------------------------------------------===//
//
// Takes a module with partitioned @accumulate and @update, runs one step of it micro-batch after micro-batch without
// stages, and again as Pipeline cuts it into `pp` stages, action by action in the order of its schedule, on virtual
// ranks with buffers and messages. Reports every gradient, parameter, state and output that differs. Buffers that
// nobody has written and stash slots that a backward is done with cannot be read.
//
// The sequential run reduces, clips and scales by its own plain code.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "test/Passes/TestPasses.h"

#include "dialects/exec/Exec.h"
#include "dialects/nn/EvaluateSharded.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

#include "llvm/Support/Format.h"

#include <cmath>
#include <deque>
#include <map>
#include <set>

using namespace mlir;
using namespace shardc;
using nn::Tensor;
using nn::Tensors;

namespace {

//===-- Meshes ----------------------------------------------------------------------------------------------------===//

dist::MeshAttr withStages(dist::MeshAttr mesh, int64_t stages) {
  SmallVector<dist::AxisAttr> axes;
  for (dist::AxisAttr axis : mesh.getAxes())
    axes.push_back(
        dist::AxisAttr::get(mesh.getContext(), axis.getName(), axis.getName() == "pp" ? stages : axis.getSize()));
  return dist::MeshAttr::get(mesh.getContext(), axes);
}

using Coordinates = std::map<std::string, int64_t>;

Coordinates locate(dist::MeshAttr mesh, int64_t rank) {
  Coordinates coordinates;
  for (dist::AxisAttr axis : llvm::reverse(mesh.getAxes())) {
    coordinates[axis.getName().str()] = rank % axis.getSize();
    rank /= axis.getSize();
  }
  return coordinates;
}

int64_t getRank(dist::MeshAttr mesh, const Coordinates &coordinates) {
  int64_t rank = 0;
  for (dist::AxisAttr axis : mesh.getAxes())
    rank = rank * axis.getSize() + coordinates.at(axis.getName().str());
  return rank;
}

//===-- Data ------------------------------------------------------------------------------------------------------===//

/// What the model is fed with: the same for both runs.
class Data {
public:
  Data(func::FuncOp accumulate, func::FuncOp update) : functions{accumulate, update} {}

  Tensor getInput(StringRef name, const Coordinates &at, int64_t microBatch) {
    func::FuncOp function = functions[0];
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (auto input = function.getArgAttrOfType<StringAttr>(i, nn::kInputAttr); input && input == name)
        return get(function, i, at, 1 + microBatch);
    llvm_unreachable("every input is an argument of @accumulate");
  }

  /// A parameter or a state.
  Tensor getPersistent(StringRef name, const Coordinates &at) {
    for (func::FuncOp function : functions)
      for (unsigned i = 0; i < function.getNumArguments(); ++i)
        if (getName(function, i) == name)
          return get(function, i, at, 0);
    llvm_unreachable("every parameter is an argument of @accumulate, every state of @update");
  }

  static StringRef getName(func::FuncOp function, unsigned argument) {
    for (StringRef kind : {StringRef(nn::kParameterAttr), StringRef("nn.state")})
      if (auto attribute = function.getArgAttrOfType<DictionaryAttr>(argument, kind))
        return attribute.getAs<StringAttr>("name").getValue();
    return "";
  }

private:
  /// Ranks that hold the same part of a tensor get the same numbers.
  Tensor get(func::FuncOp function, unsigned argument, const Coordinates &at, uint64_t seed) {
    auto sharding = function.getArgAttrOfType<dist::ShardingAttr>(argument, dist::kShardingAttr);
    for (const auto &[axis, coordinate] : at)
      seed = 31 * seed + (sharding && axis != "pp" && sharding.isSplitOver(axis) ? coordinate : 0);
    auto [found, fresh] = cache.try_emplace({function.getName().str(), seed});
    if (fresh)
      found->second = nn::makeArguments(function, seed);
    return found->second[argument];
  }

  func::FuncOp functions[2];
  std::map<std::pair<std::string, uint64_t>, Tensors> cache;
};

double roundTo(Type type, double value) { return type.isF32() ? static_cast<float>(value) : value; }

void addTo(Tensor &sum, const Tensor &summand) {
  Type type = sum.type.getElementType();
  for (auto [element, other] : llvm::zip_equal(sum.floats, summand.floats))
    element = roundTo(type, element + other);
}

Tensor makeScalar(MLIRContext *context, Type type, double value) {
  Tensor tensor = Tensor::getZeros(RankedTensorType::get({}, type));
  if (tensor.isFloat())
    tensor.floats[0] = roundTo(type, value);
  else
    tensor.integers[0] = value;
  return tensor;
}

nn::ControlValues getControl(int64_t microBatch, int64_t samples) { return {7, 3, microBatch * samples, 0.01, 1}; }

struct Training {
  int64_t microBatches;
  int64_t samples; ///< of one micro-batch, over all replicas
  double lossSeed;
  double clipNorm;
};

//===-- Sequential ------------------------------------------------------------------------------------------------===//

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

  LogicalResult run() {
    sums.resize(mesh.getNumRanks());
    persistent.resize(mesh.getNumRanks());
    for (int64_t microBatch = 0; microBatch < training.microBatches; ++microBatch)
      if (failed(runMicroBatch(microBatch)))
        return failure();
    reduce();
    return runUpdate();
  }

private:
  std::string getResultName(unsigned result) {
    if (auto loss = accumulate.getResultAttrOfType<StringAttr>(result, nn::kLossAttr))
      return ("loss." + loss.getValue()).str();
    return accumulate.getResultAttrOfType<StringAttr>(result, nn::kGradientAttr).str();
  }

  LogicalResult runMicroBatch(int64_t microBatch) {
    std::vector<Tensors> arguments(mesh.getNumRanks());
    for (auto [rank, tensors] : llvm::enumerate(arguments))
      for (unsigned i = 0; i < accumulate.getNumArguments(); ++i) {
        auto input = accumulate.getArgAttrOfType<StringAttr>(i, nn::kInputAttr);
        tensors.push_back(input ? data.getInput(input, locate(mesh, rank), microBatch)
                                : data.getPersistent(Data::getName(accumulate, i), locate(mesh, rank)));
      }
    auto results = nn::evaluate(accumulate, std::move(arguments), getControl(microBatch, training.samples), {true});
    if (failed(results))
      return failure();
    for (auto [rank, tensors] : llvm::enumerate(*results))
      for (auto [number, tensor] : llvm::enumerate(tensors)) {
        auto [sum, fresh] = sums[rank].try_emplace(getResultName(number), tensor);
        if (!fresh)
          addTo(sum->second, tensor);
      }
    return success();
  }

  /// Adds up what differs only on axes over which it is partial.
  void reduce() {
    reduced = sums;
    for (unsigned result = 0; result < accumulate.getNumResults(); ++result) {
      auto sharding = accumulate.getResultAttrOfType<dist::ShardingAttr>(result, dist::kShardingAttr);
      std::string name = getResultName(result);
      for (auto [rank, tensors] : llvm::enumerate(reduced)) {
        Tensor total = Tensor::getZeros(tensors.at(name).type);
        for (auto [other, parts] : llvm::enumerate(sums)) {
          Coordinates here = locate(mesh, rank), there = locate(mesh, other);
          bool meet = llvm::all_of(here, [&](const auto &entry) {
            return entry.second == there[entry.first] || (sharding && sharding.getPartial(entry.first));
          });
          for (auto [element, part] : llvm::zip(total.floats, parts.at(name).floats))
            element += meet ? part : 0;
        }
        tensors.at(name) = total;
      }
    }
  }

  double sumSquares() {
    double sum = 0;
    for (unsigned i = 0; i < update.getNumArguments(); ++i) {
      auto name = update.getArgAttrOfType<StringAttr>(i, nn::kGradientAttr);
      auto sharding = update.getArgAttrOfType<dist::ShardingAttr>(i, dist::kShardingAttr);
      for (auto [rank, tensors] : llvm::enumerate(reduced)) {
        bool counts = llvm::all_of(locate(mesh, rank), [&](const auto &entry) {
          return entry.second == 0 || (sharding && sharding.isSplitOver(entry.first));
        });
        if (name && counts)
          for (double element : tensors.at(name.str()).floats)
            sum += element * element;
      }
    }
    return sum;
  }

  LogicalResult runUpdate() {
    double sum = reduced[0].at("loss.sum").floats[0], weight = reduced[0].at("loss.weight").floats[0];
    double mean = training.lossSeed / (weight == 0 ? 1 : weight);
    double norm = std::sqrt(sumSquares()) * mean;
    double clip = training.clipNorm > 0 ? std::min(1.0, training.clipNorm / (norm + 1e-6)) : 1.0;
    bool skip = weight == 0 || !std::isfinite(norm + sum);
    outputs = {{"loss", sum / (weight == 0 ? 1 : weight)},
               {"grad_norm", norm},
               {"loss_weight", weight},
               {"gradient_scale", mean},
               {"skipped", skip}};
    std::vector<Tensors> arguments(mesh.getNumRanks());
    for (auto [rank, tensors] : llvm::enumerate(arguments))
      for (unsigned i = 0; i < update.getNumArguments(); ++i) {
        auto gradient = update.getArgAttrOfType<StringAttr>(i, nn::kGradientAttr);
        auto scalar = update.getArgAttrOfType<StringAttr>(i, "nn.scalar");
        Type element = cast<RankedTensorType>(update.getArgumentTypes()[i]).getElementType();
        if (gradient)
          tensors.push_back(reduced[rank].at(gradient.str()));
        else if (scalar)
          tensors.push_back(makeScalar(update.getContext(), element, scalar == "scale" ? mean * clip : skip));
        else
          tensors.push_back(data.getPersistent(Data::getName(update, i), locate(mesh, rank)));
      }
    auto results = nn::evaluate(update, std::move(arguments), getControl(0, training.samples), {true});
    if (failed(results))
      return failure();
    for (auto [rank, tensors] : llvm::enumerate(*results))
      for (auto [number, tensor] : llvm::enumerate(tensors))
        for (StringRef kind : {StringRef(nn::kParameterAttr), StringRef("nn.state")})
          if (auto attribute = update.getResultAttrOfType<DictionaryAttr>(number, kind))
            persistent[rank][attribute.getAs<StringAttr>("name").str()] = tensor;
    return success();
  }

  func::FuncOp accumulate;
  func::FuncOp update;
  dist::MeshAttr mesh;
  Data &data;
  Training training;
  std::vector<std::map<std::string, Tensor>> reduced;
};

//===-- Pipelined -------------------------------------------------------------------------------------------------===//

/// A step as Pipeline leaves it.
class PipelinedStep {
public:
  PipelinedStep(ModuleOp module, Data &data, Training training)
      : module(module), mesh(dist::MeshAttr::of(module)), data(data), training(training) {
    buffers.resize(mesh.getNumRanks());
    OpBuilder builder(module.getBodyRegion());
    idle = func::FuncOp::create(builder, module.getLoc(), "idle", builder.getFunctionType({}, {}));
    builder.setInsertionPointToStart(idle.addEntryBlock());
    func::ReturnOp::create(builder, module.getLoc());
  }

  using Key = std::pair<std::string, int64_t>; ///< name and slot
  std::vector<std::map<Key, Tensor>> buffers;  ///< of each rank

  /// All actions but the update.
  LogicalResult runMicroBatches() {
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

  LogicalResult runUpdate() {
    std::vector<func::FuncOp> functions;
    for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank)
      functions.push_back(getFunction(locate(mesh, rank)["pp"], "update"));
    return run(functions, 0, 0);
  }

  func::FuncOp getFunction(int64_t stage, StringRef action) {
    return module.lookupSymbol<func::FuncOp>(("pp" + Twine(stage) + "_" + action).str());
  }

  /// The bindings of a function's arguments, then of its results.
  static SmallVector<exec::BindAttr> getBindings(func::FuncOp function) {
    SmallVector<exec::BindAttr> bindings;
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      bindings.push_back(function.getArgAttrOfType<exec::BindAttr>(i, exec::kBindAttr));
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      bindings.push_back(function.getResultAttrOfType<exec::BindAttr>(i, exec::kBindAttr));
    return bindings;
  }

private:
  SmallVector<std::string> getMessages(int64_t from, exec::ActionKind direction) {
    SmallVector<std::string> names;
    for (auto message : module->getAttrOfType<ArrayAttr>(exec::kMessagesAttr).getAsRange<exec::MessageAttr>())
      if (message.getFrom() == from && message.getDirection() == direction)
        names.push_back(message.getName().str());
    return names;
  }

  static int64_t getSource(int64_t stage, exec::ActionKind kind) {
    return kind == exec::ActionKind::Forward ? stage - 1 : stage + 1;
  }

  bool isReady(int64_t stage, exec::ActionKind kind) {
    return llvm::all_of(getMessages(getSource(stage, kind), kind),
                        [&](const std::string &name) { return !queues[{stage, kind, name}].empty(); });
  }

  /// Slot of a buffer during an action: stashes have several.
  int64_t getSlot(int64_t stage, StringRef name, int64_t slot) {
    for (StringRef action : {"forward", "backward"})
      for (exec::BindAttr bind : getBindings(getFunction(stage, action)))
        if (bind.getName() == name)
          return bind.getRegion() == exec::Region::Stash ? slot : 0;
    return 0;
  }

  LogicalResult runAction(int64_t stage, exec::ActionAttr action) {
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

  void receive(int64_t stage, exec::ActionAttr action) {
    for (const std::string &name : getMessages(getSource(stage, action.getKind()), action.getKind())) {
      std::deque<Tensors> &queue = queues[{stage, action.getKind(), name}];
      int64_t slot = getSlot(stage, name, action.getSlot());
      for (auto [rank, tensor] : llvm::enumerate(queue.front()))
        if (locate(mesh, rank)["pp"] == stage)
          buffers[rank][{name, slot}] = tensor;
      queue.pop_front();
    }
  }

  void send(int64_t stage, exec::ActionAttr action) {
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

  /// What a backward has read is gone.
  void poison(int64_t stage, int64_t slot) {
    for (StringRef action : {"forward", "backward"})
      for (exec::BindAttr bind : getBindings(getFunction(stage, action)))
        if (bind.getRegion() == exec::Region::Stash)
          for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank)
            if (locate(mesh, rank)["pp"] == stage)
              buffers[rank].erase({bind.getName().str(), slot});
  }

  LogicalResult run(ArrayRef<func::FuncOp> functions, int64_t microBatch, int64_t slot) {
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

  /// Inputs are loaded by forwards, persistent buffers are there from the beginning.
  void fill(func::FuncOp function, unsigned argument, int64_t rank, int64_t microBatch, const Key &key) {
    auto region = function.getArgAttrOfType<exec::BindAttr>(argument, exec::kBindAttr).getRegion();
    auto input = function.getArgAttrOfType<StringAttr>(argument, nn::kInputAttr);
    bool persistent = region == exec::Region::Parameter || region == exec::Region::State;
    if (input && function.getName().ends_with("_forward"))
      buffers[rank][key] = data.getInput(input, locate(mesh, rank), microBatch);
    else if (persistent && !buffers[rank].count(key))
      buffers[rank][key] = data.getPersistent(key.first, locate(mesh, rank));
  }

  ModuleOp module;
  dist::MeshAttr mesh;
  Data &data;
  Training training;
  func::FuncOp idle;
  std::map<std::tuple<int64_t, exec::ActionKind, std::string>, std::deque<Tensors>> queues;
};

//===-- The pass --------------------------------------------------------------------------------------------------===//

struct PipelinePass : PassWrapper<PipelinePass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PipelinePass)

  PipelinePass() = default;
  PipelinePass(const PipelinePass &other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "test-pipeline"; }
  StringRef getDescription() const override { return "Compare a pipelined step with a sequential one"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<nn::NNDialect, dist::DistDialect, exec::ExecDialect, func::FuncDialect>();
  }

  void runOnOperation() override {
    if (failed(compare()))
      signalPassFailure();
  }

  LogicalResult compare() {
    dist::MeshAttr mesh = dist::MeshAttr::of(getOperation());
    OwningOpRef<ModuleOp> flat = getOperation().clone(), deep = getOperation().clone();
    (*flat)->setAttr(dist::kMeshAttr, withStages(mesh, 1));
    (*deep)->setAttr(dist::kMeshAttr, withStages(mesh, stages));
    Training training = configure(*deep);
    if (failed(runPasses(*deep)))
      return failure();
    Data data(flat->lookupSymbol<func::FuncOp>("accumulate"), flat->lookupSymbol<func::FuncOp>("update"));
    SequentialStep sequential(*flat, data, training);
    PipelinedStep pipelined(*deep, data, training);
    if (failed(sequential.run()) || failed(pipelined.runMicroBatches()))
      return failure();
    compareSums(*deep, sequential, pipelined);
    if (failed(pipelined.runUpdate()))
      return failure();
    compareUpdate(*deep, sequential, pipelined);
    reportStashes(pipelined);
    if (different)
      return failure();
    llvm::outs() << "pipelined = sequential: pp=" << stages << ", " << compared << " tensors\n";
    return success();
  }

  /// Sets the options in nn.training.
  Training configure(ModuleOp module) {
    NamedAttrList list(module->getAttrOfType<DictionaryAttr>("nn.training"));
    OpBuilder builder(module.getContext());
    if (!schedule.empty())
      list.set("schedule", builder.getStringAttr(schedule));
    if (!recompute.empty())
      list.set("recompute", builder.getStringAttr(recompute));
    if (microBatches > 0)
      list.set("micro_batches", builder.getI64IntegerAttr(microBatches));
    module->setAttr("nn.training", list.getDictionary(module.getContext()));
    auto integer = [&](StringRef name) { return cast<IntegerAttr>(list.get(name)).getInt(); };
    auto number = [&](StringRef name) { return cast<FloatAttr>(list.get(name)).getValueAsDouble(); };
    return {integer("micro_batches"), integer("micro_batch") * dist::MeshAttr::of(module).getSize("dp"),
            number("loss_seed"), number("clip_norm")};
  }

  LogicalResult runPasses(ModuleOp module) {
    PassManager manager(module.getContext());
    StringRef pipeline = "pipeline-assign-schedule,pipeline-cut-stages,pipeline-recompute,pipeline-outline-stages,"
                         "pipeline-reduce-step";
    if (failed(parsePassPipeline(pipeline, manager)))
      return failure();
    return manager.run(module);
  }

  void check(ModuleOp module, const Tensor &actual, const Tensor &expected, double tolerance, const Twine &what) {
    ++compared;
    double difference = nn::getDifference(actual, expected);
    if (difference <= tolerance)
      return;
    different = true;
    module.emitError("pipelined step: ") << what << ": expected a difference of at most " << tolerance << ", got "
                                         << difference;
  }

  /// Sums over the micro-batches of every stage: equal bits, but for parameters that several stages share.
  void compareSums(ModuleOp module, SequentialStep &sequential, PipelinedStep &pipelined) {
    dist::MeshAttr mesh = dist::MeshAttr::of(module), flat = withStages(mesh, 1);
    for (auto [rank, sums] : llvm::enumerate(sequential.sums))
      for (const auto &[name, expected] : sums) {
        Coordinates at = locate(flat, rank);
        std::string buffer = StringRef(name).starts_with("loss.") ? name : name + "/grad";
        std::optional<Tensor> total;
        int64_t parts = 0;
        for (at["pp"] = 0; at["pp"] < stages; ++at["pp"]) {
          auto &buffers = pipelined.buffers[getRank(mesh, at)];
          auto found = buffers.find({buffer, 0});
          if (found == buffers.end())
            continue;
          ++parts;
          if (total)
            addTo(*total, found->second);
          else
            total = found->second;
        }
        if (total)
          check(module, *total, expected, parts > 1 ? 1e-5 : 0, "sum '" + name + "'");
        else
          module.emitError("pipelined step: no stage sums '") << name << "'", different = true;
      }
  }

  void compareUpdate(ModuleOp module, SequentialStep &sequential, PipelinedStep &pipelined) {
    dist::MeshAttr mesh = dist::MeshAttr::of(module), flat = withStages(mesh, 1);
    for (auto [rank, buffers] : llvm::enumerate(pipelined.buffers)) {
      Coordinates at = locate(mesh, rank);
      at["pp"] = 0;
      for (const auto &[name, expected] : sequential.persistent[getRank(flat, at)])
        if (auto found = buffers.find({name, 0}); found != buffers.end())
          check(module, found->second, expected, 1e-5, "'" + name + "' after the update");
      for (const auto &[name, expected] : sequential.outputs)
        check(module, buffers.at({name, 0}), makeScalar(&getContext(), Float32Type::get(&getContext()), expected), 1e-5,
              "output '" + name + "'");
    }
  }

  /// What each stage keeps for one micro-batch.
  void reportStashes(PipelinedStep &pipelined) {
    for (int64_t stage = 0; stage < stages; ++stage) {
      std::map<std::string, RankedTensorType> stashes;
      int64_t repeated = 0;
      func::FuncOp backward = pipelined.getFunction(stage, "backward");
      backward.walk([&](Operation *op) { repeated += op->hasAttr("pipe.recomputed"); });
      for (func::FuncOp function : {pipelined.getFunction(stage, "forward"), backward}) {
        SmallVector<exec::BindAttr> bindings = PipelinedStep::getBindings(function);
        SmallVector<Type> types(function.getArgumentTypes());
        llvm::append_range(types, function.getResultTypes());
        for (auto [bind, type] : llvm::zip_equal(bindings, types))
          if (bind.getRegion() == exec::Region::Stash)
            stashes[bind.getName().str()] = cast<RankedTensorType>(type);
      }
      int64_t elements = 0, bytes = 0;
      for (const auto &[name, type] : stashes) {
        elements += type.getNumElements();
        bytes += type.getNumElements() * ((type.getElementTypeBitWidth() + 7) / 8);
        if (verbose)
          llvm::outs() << "  " << name << " " << type << "\n";
      }
      llvm::outs() << "pp " << stage << " stashes " << stashes.size() << " tensors, " << elements << " elements, "
                   << bytes << " bytes; repeats " << repeated << " ops\n";
    }
  }

  Option<int64_t> stages{*this, "pp", llvm::cl::desc("Number of stages"), llvm::cl::init(2)};
  Option<std::string> schedule{*this, "schedule", llvm::cl::desc("Instead of nn.training's")};
  Option<std::string> recompute{*this, "recompute", llvm::cl::desc("Instead of nn.training's")};
  Option<int64_t> microBatches{*this, "micro-batches", llvm::cl::desc("Instead of nn.training's")};
  Option<bool> verbose{*this, "verbose", llvm::cl::desc("List what is stashed"), llvm::cl::init(false)};
  int64_t compared = 0;
  bool different = false;
};

} // namespace

void shardc::test::registerPipelinePass() { PassRegistration<PipelinePass>(); }
