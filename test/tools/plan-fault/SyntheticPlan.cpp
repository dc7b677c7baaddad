#include "SyntheticPlan.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>
#include <vector>

namespace shardc::rt::test {
namespace {

constexpr int64_t kRows = 4, kWidth = 8;

/// Axes as bits; the mesh is dp, pp, tp.
constexpr uint32_t kDp = 1, kPp = 2, kTp = 4;

enum Communicators { DpGroup, TpGroup, PpGroup, TiedGroup, World };

/// A view of a buffer in the slot of a register.
struct Ref {
  int buffer;
  int reg = -1;
  uint32_t sum = 0;
  int64_t offset = 0;
  std::vector<int64_t> sizes = {}, strides = {}; // empty: the whole buffer
  Ref at(int newReg) const { return {buffer, newReg, sum, offset, sizes, strides}; }
  Ref over(uint32_t axes) const { return {buffer, reg, axes, offset, sizes, strides}; }
  Ref view(int64_t newOffset, std::vector<int64_t> newSizes, std::vector<int64_t> newStrides) const {
    return {buffer, reg, sum, newOffset, std::move(newSizes), std::move(newStrides)};
  }
};

struct Action {
  plan::Block::Action kind;
  int microBatch;
};

class StageBuilder {
public:
  StageBuilder(const SyntheticOptions &options, plan::Plan &plan, int p)
      : options(options), plan(plan), program(*plan.add_programs()), p(p), last(p == options.pp - 1),
        slots(options.gpipe ? options.microBatches : std::min(options.microBatches, options.pp - p)) {}

  void build() {
    program.set_pp(p);
    program.set_streams(2);
    addBuffers();
    buildForward();
    buildBackward("backward_first", true);
    buildBackward("backward", false);
    buildUpdate();
    place();
    addSchedule();
    addOps();
    program.set_events(events);
  }

private:
  const SyntheticOptions &options;
  plan::Plan &plan;
  plan::Program &program;
  int p;
  bool last;
  int slots;
  uint32_t events = 0;
  plan::Block *block = nullptr;

  struct Layer {
    Ref x, y, w, state, gradient;
    int parameter;
    bool tied;
  };
  std::vector<Layer> layers;
  Ref out, dOut, lossSum, lossStash, loss, norm, labels;

  bool isTied(int layer) const { return options.tied && options.pp > 1 && (p == 0 || last) && layer == 0; }

  Ref buffer(const std::string &name, plan::Region region, std::vector<int64_t> shape, int count = 1,
             int parameter = -1) {
    plan::Buffer &result = *program.add_buffers();
    result.set_name(name);
    result.set_region(region);
    result.set_type(plan::F32);
    int64_t elements = 1;
    for (int64_t size : shape) {
      result.add_shape(size);
      elements *= size;
    }
    result.set_bytes(elements * 4);
    result.set_slots(count);
    result.set_slot_stride((elements * 4 + 63) / 64 * 64);
    result.set_parameter(parameter);
    result.set_block(region == plan::SCRATCH ? program.blocks_size() - 1 : -1);
    return {program.buffers_size() - 1};
  }

  Ref scratch(const std::string &name, std::vector<int64_t> shape) {
    return buffer(name, plan::SCRATCH, std::move(shape));
  }

  int parameterOf(int layer) {
    std::string name = isTied(layer) ? "tied.weight" : fmt::format("stage{}.layer{}.weight", p, layer);
    for (int i = 0; isTied(layer) && i < plan.parameters_size(); ++i)
      if (plan.parameters(i).name() == name)
        return i;
    plan::Parameter &parameter = *plan.add_parameters();
    parameter.set_name(name);
    parameter.set_type(plan::F32);
    parameter.add_shape(kWidth);
    parameter.add_shape(kWidth);
    parameter.set_file_offset((plan.parameters_size() - 1) * kWidth * kWidth * 4);
    parameter.set_trainable(true);
    plan::Sharding::SubDim &sub = *parameter.mutable_sharding()->add_dims()->add_sub_dims();
    sub.set_size(kWidth);
    sub.add_axes(2);
    parameter.mutable_sharding()->add_dims();
    plan.mutable_weight_files(0)->set_bytes(plan.parameters_size() * kWidth * kWidth * 4);
    return plan.parameters_size() - 1;
  }

  void addBuffers() {
    int64_t local = kWidth / options.tp;
    for (int i = 0; i < options.repetitions; ++i) {
      Layer layer;
      layer.tied = isTied(i);
      layer.parameter = parameterOf(i);
      std::string name = fmt::format("stage{}.layer{}", p, i);
      layer.w = buffer(plan.parameters(layer.parameter).name(), plan::PARAMETER, {local, kWidth}, 1, layer.parameter);
      layer.state = buffer(name + "/exp_avg", plan::STATE, {local, kWidth}, 1, layer.parameter);
      layer.gradient = buffer(name + "/gradient", plan::GRADIENT, {local, kWidth}, 1, layer.parameter);
      layer.x = buffer(i == 0 && p > 0 ? fmt::format("stage{}/out", p - 1) : name + "/x", plan::STASH, {kRows, kWidth},
                       slots);
      layer.y = buffer(name + "/y", plan::STASH, {kRows, kWidth}, slots);
      layers.push_back(layer);
    }
    out = buffer(fmt::format("stage{}/out", p), last ? plan::STASH : plan::MESSAGE, {kRows, kWidth}, last ? slots : 1);
    if (!last)
      dOut = buffer(fmt::format("grad:stage{}/out", p), plan::MESSAGE, {kRows, kWidth});
    if (last) {
      lossStash = buffer("S", plan::STASH, {}, slots);
      lossSum = buffer("loss.sum", plan::GRADIENT, {});
      loss = buffer("loss", plan::OUTPUT, {});
    }
    norm = buffer("grad_norm", plan::OUTPUT, {});
  }

  // Instructions

  void operand(plan::Operand &result, const Ref &ref) {
    const plan::Buffer &shape = program.buffers(ref.buffer);
    result.set_buffer(ref.buffer);
    result.set_register_(ref.reg);
    result.set_offset(ref.offset);
    std::vector<int64_t> sizes = ref.sizes, strides = ref.strides;
    if (sizes.empty()) {
      sizes.assign(shape.shape().begin(), shape.shape().end());
      strides.assign(sizes.size(), 1);
      for (int i = int(sizes.size()) - 2; i >= 0; --i)
        strides[i] = strides[i + 1] * sizes[i + 1];
    }
    for (size_t i = 0; i < sizes.size(); ++i) {
      result.add_sizes(sizes[i]);
      result.add_strides(strides[i]);
    }
    result.set_partial_sum(ref.sum);
  }

  /// Forward ops are numbered through all stages; gradients have their op's number, the update has none.
  int64_t originOf(std::string node) {
    if (block->action() == plan::Block::UPDATE || block->action() == plan::Block::COMMUNICATE)
      return -1;
    if (node.starts_with("gradient of "))
      node = node.substr(12);
    return origins.emplace(node, p * 1000 + int64_t(origins.size())).first->second;
  }
  std::map<std::string, int64_t> origins;

  plan::Instruction &instruction(const std::string &node, uint32_t stream = 0) {
    plan::Instruction &result = *block->add_instructions();
    result.set_stream(stream);
    result.set_records(-1);
    result.set_node(node);
    result.set_origin(originOf(node));
    return result;
  }

  plan::Instruction &kernel(const std::string &node, const std::vector<Ref> &reads, const std::vector<Ref> &writes) {
    plan::Instruction &result = instruction(node);
    for (const Ref &ref : reads)
      operand(*result.mutable_kernel()->add_reads(), ref);
    for (const Ref &ref : writes)
      operand(*result.mutable_kernel()->add_writes(), ref);
    result.mutable_kernel()->set_items(1);
    return result;
  }

  plan::Instruction &gemm(const std::string &node, const Ref &a, const Ref &b, const Ref &c, bool accumulate = false) {
    plan::Instruction &result = instruction(node);
    operand(*result.mutable_gemm()->mutable_a(), a);
    operand(*result.mutable_gemm()->mutable_b(), b);
    operand(*result.mutable_gemm()->mutable_c(), c);
    result.mutable_gemm()->set_accumulate(accumulate);
    return result;
  }

  plan::Instruction &allReduce(const std::string &node, uint32_t communicator, const Ref &from, const Ref &to,
                               uint32_t stream = 0) {
    plan::Instruction &result = instruction(node, stream);
    plan::Collective &collective = *result.mutable_collective();
    collective.set_communicator(communicator);
    operand(*collective.mutable_input(), from);
    operand(*collective.mutable_output(), to);
    return result;
  }

  /// An all-reduce in place on stream 1, after the last instruction; what follows waits for it.
  void allReduceAside(const std::string &node, const Ref &value, plan::Instruction &before) {
    before.set_records(events++);
    plan::Instruction &reduce = allReduce(node, TpGroup, value.over(kTp), value, 1);
    reduce.add_waits(before.records());
    reduce.set_records(events++);
    pending = reduce.records();
  }
  int pending = -1; // event that the next instruction waits for

  plan::Instruction &joined(plan::Instruction &next) {
    if (pending >= 0)
      next.add_waits(pending);
    pending = -1;
    return next;
  }

  void beginBlock(const std::string &name, plan::Block::Action action) {
    block = program.add_blocks();
    block->set_name(name);
    block->set_action(action);
  }

  Ref xOf(size_t i) const { return layers[i].x.at(0); }
  std::string node(size_t i, std::string_view op) const { return fmt::format("stage{}.layer{}/{}", p, i, op); }

  void buildForward() {
    beginBlock("forward", plan::Block::FORWARD);
    if (p == 0) {
      plan::Instruction &load = instruction("input");
      load.mutable_load_input()->set_input(0);
      operand(*load.mutable_load_input()->mutable_value(), xOf(0));
    }
    int64_t local = kWidth / options.tp;
    for (size_t i = 0; i < layers.size(); ++i) {
      const Layer &layer = layers[i];
      Ref y = layer.y.at(0);
      plan::Instruction &product =
          gemm(node(i, "MatMul"), xOf(i).view(0, {kRows, local}, {kWidth, 1}), layer.w, y.over(kTp));
      allReduceAside(node(i, "MatMul"), y, product);
      Ref next = i + 1 < layers.size() ? xOf(i + 1) : out.at(last ? 0 : -1);
      Ref pieces = scratch(node(i, "pieces"), {kRows, 2 * kWidth});
      joined(kernel(node(i, "Split"), {y}, {pieces.view(0, {kRows, kWidth}, {2 * kWidth, 1})}));
      kernel(node(i, "Split"), {y}, {pieces.view(kWidth, {kRows, kWidth}, {2 * kWidth, 1})});
      kernel(node(i, "Relu"), {pieces}, {next});
    }
    if (last)
      kernel("loss", {out.at(0)}, {lossStash.at(0)});
  }

  void buildBackward(const std::string &name, bool first) {
    beginBlock(name, plan::Block::BACKWARD);
    int64_t local = kWidth / options.tp;
    Ref d = dOut;
    if (last) {
      if (first)
        kernel("gradient of loss", {lossStash.at(0)}, {lossSum.over(kDp)});
      else
        kernel("gradient of loss", {lossStash.at(0), lossSum.over(kDp)}, {lossSum.over(kDp)});
      d = scratch("gradient of out", {kRows, kWidth});
      kernel("gradient of loss", {out.at(0)}, {d});
    }
    for (size_t i = layers.size(); i-- > 0;) {
      const Layer &layer = layers[i];
      Ref dy = scratch(node(i, "dy"), {kRows, kWidth});
      kernel("gradient of " + node(i, "Relu"), {d, layer.y.at(0)}, {dy});
      Ref gradient = layer.gradient.over(kDp);
      gemm("gradient of " + node(i, "MatMul"), xOf(i).view(0, {local, kRows}, {1, kWidth}), dy, gradient, !first);
      if (i == 0 && p == 0)
        break;
      Ref dx = i == 0 ? dIn() : scratch(node(i, "dx"), {kRows, kWidth});
      Ref dxLocal = scratch(node(i, "dx/local"), {kRows, kWidth});
      gemm("gradient of " + node(i, "MatMul"), dy, layer.w.view(0, {kWidth, local}, {1, kWidth}),
           dxLocal.over(kTp).view(0, {kRows, local}, {kWidth, 1}));
      plan::Instruction &pad = kernel("gradient of " + node(i, "MatMul"),
                                      {dxLocal.over(kTp).view(0, {kRows, local}, {kWidth, 1})}, {dx.over(kTp)});
      allReduceAside("gradient of " + node(i, "MatMul"), dx, pad);
      joined(kernel("gradient of " + node(i, "Cast"), {dx}, {dx}));
      d = dx;
    }
  }

  Ref dInput{-1};
  /// The gradient that is sent to the stage before.
  Ref dIn() {
    if (dInput.buffer < 0)
      dInput = buffer(fmt::format("grad:stage{}/out", p - 1), plan::MESSAGE, {kRows, kWidth});
    return dInput;
  }

  void buildUpdate() {
    beginBlock("update", plan::Block::UPDATE);
    Ref exchange = scratch("exchange", {2});
    std::vector<Ref> gradients;
    for (size_t i = 0; i < layers.size(); ++i) {
      const Layer &layer = layers[i];
      allReduce("update", DpGroup, layer.gradient.over(kDp), layer.gradient);
      if (layer.tied)
        allReduce("update of tied", TiedGroup, layer.gradient, layer.gradient);
      gradients.push_back(layer.gradient);
    }
    Ref all = exchange.over(kDp | kPp | kTp);
    if (last)
      gradients.push_back(lossSum.over(kDp));
    kernel("update", gradients, {all});
    allReduce("update", World, all, exchange);
    if (last)
      kernel("update", {exchange.view(0, {1}, {1})}, {loss});
    kernel("update", {exchange.view(1, {1}, {1})}, {norm});
    for (const Layer &layer : layers)
      kernel("update", {layer.w, layer.gradient, layer.state, exchange}, {layer.w, layer.state});
    if (last)
      addOutput("loss", loss);
    addOutput("grad_norm", norm);
  }

  /// What the forward computes; loads of inputs are no ops of the model.
  void addOps() {
    std::set<int64_t> ops;
    for (const plan::Instruction &instruction : program.blocks(0).instructions())
      if (!instruction.has_load_input())
        ops.insert(instruction.origin());
    for (int64_t op : ops) {
      program.add_ops(op);
      plan.add_ops(op);
    }
  }

  void addOutput(const std::string &name, const Ref &value) {
    plan::Output &output = *program.add_outputs();
    output.set_name(name);
    operand(*output.mutable_value(), value);
  }

  /// Offsets: scratch of different blocks shares memory; within a block, memory is used once.
  void place() {
    int64_t end = 0, scratchEnd = 0;
    for (plan::Buffer &buffer : *program.mutable_buffers()) {
      if (buffer.region() == plan::SCRATCH)
        continue;
      buffer.set_offset(end);
      end += buffer.slots() * buffer.slot_stride();
    }
    std::map<int, int64_t> ofBlock;
    for (plan::Buffer &buffer : *program.mutable_buffers()) {
      if (buffer.region() != plan::SCRATCH)
        continue;
      int64_t &offset = ofBlock[buffer.block()];
      buffer.set_offset(end + offset);
      offset += buffer.slot_stride();
      scratchEnd = std::max(scratchEnd, offset);
    }
    program.set_arena_bytes(end + scratchEnd);
  }

  // The schedule

  std::vector<Action> actions() const {
    std::vector<Action> list;
    int count = options.microBatches;
    int warm = options.gpipe ? count : std::min(count, options.pp - 1 - p);
    for (int m = 0; m < warm; ++m)
      list.push_back({plan::Block::FORWARD, m});
    for (int m = warm; m < count; ++m) {
      list.push_back({plan::Block::FORWARD, m});
      list.push_back({plan::Block::BACKWARD, m - warm});
    }
    for (int m = count - warm; m < count; ++m)
      list.push_back({plan::Block::BACKWARD, m});
    return list;
  }

  bool sends(const Action &action) const { return action.kind == plan::Block::FORWARD ? !last : p > 0; }
  bool receives(const Action &action) const { return action.kind == plan::Block::FORWARD ? p > 0 : !last; }

  void addMessage(plan::Group &group, bool send, bool backward) {
    plan::Message &message = *group.add_messages();
    // What goes forward comes from the stage before, what goes backward from the stage after.
    int peer = send == backward ? p - 1 : p + 1;
    int source = backward ? std::max(p, peer) - 1 : std::min(p, peer);
    message.set_send(send);
    message.set_communicator(PpGroup);
    message.set_peer(peer);
    message.set_identity(fmt::format("{}stage{}/out", backward ? "grad:" : "", source));
    message.set_backward(backward);
    Ref value = backward ? (send ? dInput : dOut) : (send ? out : layers[0].x.at(1));
    operand(*message.mutable_value(), value);
  }

  int communicateBlock(const Action *before, const Action *after) {
    bool send = before && sends(*before), receive = after && receives(*after);
    if (!send && !receive)
      return -1;
    auto part = [](const Action &action) { return action.kind == plan::Block::FORWARD ? "forward" : "backward"; };
    std::string name =
        fmt::format("communicate_{}_{}", send ? part(*before) : "nothing", receive ? part(*after) : "nothing");
    for (int b = 0; b < program.blocks_size(); ++b)
      if (program.blocks(b).name() == name)
        return b;
    beginBlock(name, plan::Block::COMMUNICATE);
    plan::Group &group = *instruction("boundary").mutable_group();
    if (send)
      addMessage(group, true, before->kind == plan::Block::BACKWARD);
    if (receive)
      addMessage(group, false, after->kind == plan::Block::BACKWARD);
    return program.blocks_size() - 1;
  }

  void addRegister(plan::ScheduleEntry &entry, const Action *action) {
    plan::ScheduleEntry::Register &reg = *entry.add_registers();
    reg.set_micro_batch(action ? action->microBatch : 0);
    reg.set_slot(action ? action->microBatch % slots : 0);
  }

  void addSchedule() {
    std::vector<Action> list = actions();
    const Action *before = nullptr;
    for (size_t i = 0; i <= list.size(); ++i) {
      const Action *after = i < list.size() ? &list[i] : nullptr;
      if (int b = communicateBlock(before, after); b >= 0) {
        plan::ScheduleEntry &entry = *program.add_schedule();
        entry.set_block(b);
        addRegister(entry, before);
        addRegister(entry, after);
      }
      plan::ScheduleEntry &entry = *program.add_schedule();
      bool first = after && after->kind == plan::Block::BACKWARD && after->microBatch == 0;
      entry.set_block(!after ? 3 : after->kind == plan::Block::FORWARD ? 0 : first ? 1 : 2);
      addRegister(entry, after);
      before = after;
    }
  }
};

void addCommunicator(plan::Plan &plan, const std::string &name, std::vector<uint32_t> axes,
                     std::vector<uint32_t> members = {}) {
  plan::Communicator &communicator = *plan.add_communicators();
  communicator.set_name(name);
  for (uint32_t axis : axes)
    communicator.add_axes(axis);
  for (uint32_t member : members)
    communicator.add_members(member);
}

} // namespace

plan::Plan makeSyntheticPlan(const SyntheticOptions &options) {
  plan::Plan plan;
  plan.set_format_version(1);
  plan.set_model("synthetic.onnx");
  for (auto [name, size] : {std::pair("dp", options.dp), {"pp", options.pp}, {"tp", options.tp}}) {
    plan::Mesh::Axis &axis = *plan.mutable_mesh()->add_axes();
    axis.set_name(name);
    axis.set_size(size);
  }
  plan::Training &training = *plan.mutable_training();
  training.set_micro_batch(kRows);
  training.set_micro_batches(options.microBatches);
  training.set_global_batch(kRows * options.microBatches * options.dp);
  training.set_schedule(options.gpipe ? "gpipe" : "1f1b");
  training.set_recompute("none");
  training.set_optimizer("adamw");
  training.set_learning_rate(1e-3f);
  training.set_lr_schedule("constant");
  training.set_dropout(-1);
  training.set_loss_seed(1);
  plan.add_weight_files()->set_path("synthetic.onnx");
  plan::Input &input = *plan.add_inputs();
  input.set_name("x");
  input.set_type(plan::F32);
  input.add_sample_shape(kWidth);
  addCommunicator(plan, "dp", {0});
  addCommunicator(plan, "tp", {2});
  addCommunicator(plan, "pp", {1});
  addCommunicator(plan, "tied", {1},
                  options.pp > 1 ? std::vector<uint32_t>{0, uint32_t(options.pp - 1)} : std::vector<uint32_t>{0});
  addCommunicator(plan, "world", {0, 1, 2});
  plan.add_kernels()->set_symbol("k0");
  for (int p = 0; p < options.pp; ++p)
    StageBuilder(options, plan, p).build();
  return plan;
}

} // namespace shardc::rt::test
