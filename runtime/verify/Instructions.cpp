//===-- Instructions.cpp - whether an instruction is well formed: views, types, sizes, members --------------------===//

#include "runtime/verify/Form.h"

namespace shardc::rt::verify {
namespace {

class InstructionCheck {
public:
  InstructionCheck(const plan::Plan &plan, int program, Report &report)
      : plan(plan), program(program), report(report) {}

  bool checkOperand(const Place &place, const plan::Operand &operand, Role role, int registers) {
    if (!checkIndex(place, "buffer", operand.buffer(), current().buffers_size()))
      return false;
    if (operand.register_() < -1 || operand.register_() >= registers || operand.register_() > 1) {
      report.add("plan-index", place,
                 fmt::format("register of '{}', expected -1 to {}, got {}", current().buffers(operand.buffer()).name(),
                             std::min(registers, 2) - 1, operand.register_()));
      return false;
    }
    return checkView(place, operand, role) && checkPartial(place, operand);
  }

  void checkInstruction(const Place &place, int registers) {
    const plan::Instruction &instruction = current().blocks(place.block).instructions(place.instruction);
    checkIndex(place, "stream", instruction.stream(), current().streams());
    for (uint32_t event : instruction.waits())
      checkIndex(place, "event that it waits for", event, current().events());
    if (instruction.records() != -1)
      checkIndex(place, "event that it records", instruction.records(), current().events());
    int operands = 0;
    visitOperands(instruction, [&](const plan::Operand &, Role, int) { ++operands; });
    if (operands > kMaxOperands) {
      report.add("plan-size", place, fmt::format("operands, expected at most {}, got {}", kMaxOperands, operands));
      return;
    }
    bool valid = true;
    visitOperands(instruction, [&](const plan::Operand &operand, Role role, int message) {
      valid &= checkOperand(place.at(place.instruction, message), operand, role, registers);
      if (valid)
        checkScratchOwner(place.at(place.instruction, message), operand);
    });
    if (!valid)
      return;
    switch (instruction.kind_case()) {
    case plan::Instruction::kKernel:
      return checkKernel(place, instruction.kernel());
    case plan::Instruction::kGemm:
      return checkGemm(place, instruction.gemm());
    case plan::Instruction::kCollective:
      return checkCollective(place, instruction.collective());
    case plan::Instruction::kGroup:
      return checkGroup(place, instruction.group());
    case plan::Instruction::kLoadInput:
      return checkLoadInput(place, instruction.load_input());
    case plan::Instruction::kCopy:
      return checkCopy(place, instruction.copy());
    case plan::Instruction::KIND_NOT_SET:
      report.add("plan-shape", place, "an instruction without a kind, expected one of those in plan.proto, got none");
    }
  }

private:
  const plan::Plan &plan;
  int program;
  Report &report;

  const plan::Program &current() const { return plan.programs(program); }
  bool checkIndex(const Place &place, std::string_view what, int64_t index, int64_t count) {
    return verify::checkIndex(report, place, what, index, count);
  }

  static int64_t elements(const plan::Operand &operand) { return product(operand.sizes()); }
  plan::ElementType typeOf(const plan::Operand &operand) const { return current().buffers(operand.buffer()).type(); }

  bool checkView(const Place &place, const plan::Operand &operand, Role role) {
    const plan::Buffer &buffer = current().buffers(operand.buffer());
    if (operand.sizes_size() != operand.strides_size() || operand.sizes_size() > kMaxRank) {
      report.add("plan-operand", place,
                 fmt::format("view of '{}', expected as many strides as sizes and at most {}, got "
                             "{} and {}",
                             buffer.name(), kMaxRank, operand.strides_size(), operand.sizes_size()));
      return false;
    }
    int64_t last = operand.offset();
    for (int i = 0; i < operand.sizes_size(); ++i) {
      if (operand.sizes(i) < 1 || operand.strides(i) < 0) {
        report.add("plan-operand", place,
                   fmt::format("view of '{}', expected positive sizes and no negative strides, got "
                               "{} with {}",
                               buffer.name(), operand.sizes(i), operand.strides(i)));
        return false;
      }
      last = saturatingAdd(last, saturatingMul(operand.sizes(i) - 1, operand.strides(i)));
    }
    int64_t count = product(buffer.shape());
    if (operand.offset() < 0 || last >= count) {
      report.add("plan-operand", place,
                 fmt::format("view of '{}' leaves the buffer, expected elements 0 to {}, got {} to "
                             "{}",
                             buffer.name(), count - 1, operand.offset(), last));
      return false;
    }
    if (role == Role::Write && repeats(operand)) {
      report.add("plan-operand", place,
                 fmt::format("view of '{}' is written, expected every element once, got strides {} "
                             "with sizes {}",
                             buffer.name(), shapeName(operand.strides()), shapeName(operand.sizes())));
      return false;
    }
    return true;
  }

  /// Whether a view may name one element twice. Dimensions, ordered by stride, must step over the ones inside them.
  static bool repeats(const plan::Operand &operand) {
    std::vector<std::pair<int64_t, int64_t>> dims;
    for (int i = 0; i < operand.sizes_size(); ++i)
      if (operand.sizes(i) > 1)
        dims.push_back({operand.strides(i), operand.sizes(i)});
    std::sort(dims.begin(), dims.end());
    int64_t extent = 1;
    for (auto [stride, size] : dims) {
      if (stride < extent)
        return true;
      extent += (size - 1) * stride;
    }
    return false;
  }

  bool checkPartial(const Place &place, const plan::Operand &operand) {
    uint32_t all = (1u << plan.mesh().axes_size()) - 1;
    if (((operand.partial_sum() | operand.partial_max()) & ~all) == 0)
      return true;
    report.add("plan-index", place,
               fmt::format("mesh axes that '{}' is partial over, expected a mask within {:#x}, got "
                           "{:#x}",
                           current().buffers(operand.buffer()).name(), all,
                           operand.partial_sum() | operand.partial_max()));
    return false;
  }

  void checkScratchOwner(const Place &place, const plan::Operand &operand) {
    const plan::Buffer &buffer = current().buffers(operand.buffer());
    if (buffer.region() == plan::SCRATCH && buffer.block() >= 0 && buffer.block() != place.block)
      report.add("plan-index", place,
                 fmt::format("scratch '{}' of another block, expected '{}', got '{}'", buffer.name(),
                             current().blocks(place.block).name(), current().blocks(buffer.block()).name()));
  }

  void checkKernel(const Place &place, const plan::KernelCall &call) {
    checkIndex(place, "kernel", call.kernel(), plan.kernels_size());
    if (call.items() < 0)
      report.add("plan-shape", place, fmt::format("work items, expected at least 0, got {}", call.items()));
  }

  void badShape(const Place &place, std::string_view what, const std::string &expected, const std::string &got) {
    report.add("plan-shape", place, fmt::format("{}, expected {}, got {}", what, expected, got));
  }

  void checkGemm(const Place &place, const plan::Gemm &gemm) {
    plan::ElementType type = typeOf(gemm.c());
    plan::ElementType factors = typeOf(gemm.a());
    bool low = factors == plan::BF16 || factors == plan::F16,
         floating = low || factors == plan::F32 || factors == plan::F64;
    if (!floating || typeOf(gemm.b()) != factors || (type != factors && !(low && type == plan::F32)) ||
        (gemm.has_bias() && typeOf(gemm.bias()) != type))
      return badShape(place, "element types of a product", "one floating type, or the f32 sum of 16-bit factors",
                      fmt::format("{}, {} and {}", plan::ElementType_Name(typeOf(gemm.a())),
                                  plan::ElementType_Name(typeOf(gemm.b())), plan::ElementType_Name(type)));
    const plan::Operand &a = gemm.a(), &b = gemm.b(), &c = gemm.c();
    auto size = [](const plan::Operand &operand, int fromEnd) { return operand.sizes(operand.sizes_size() - fromEnd); };
    int rank = c.sizes_size();
    bool fits =
        rank >= 2 && a.sizes_size() >= 2 && b.sizes_size() >= 2 && a.sizes_size() <= rank && b.sizes_size() <= rank;
    fits = fits && size(a, 2) == size(c, 2) && size(b, 1) == size(c, 1) && size(a, 1) == size(b, 2);
    for (int i = 3; fits && i <= rank; ++i)
      for (const plan::Operand *operand : {&a, &b})
        fits &= i > operand->sizes_size() || size(*operand, i) == size(c, i) || size(*operand, i) == 1;
    if (!fits)
      return badShape(place, "sizes of a product", "a [batch, m, k], b [batch, k, n], c [batch, m, n]",
                      fmt::format("{}, {}, {}", shapeName(gemm.a().sizes()), shapeName(gemm.b().sizes()),
                                  shapeName(gemm.c().sizes())));
    if (gemm.has_bias() && (gemm.bias().sizes_size() != 1 || gemm.bias().sizes(0) != gemm.c().sizes(rank - 1)))
      badShape(place, "bias of a product", fmt::format("{}", gemm.c().sizes(rank - 1)), shapeName(gemm.bias().sizes()));
  }

  int64_t communicatorSize(const plan::Communicator &communicator) const {
    if (communicator.members_size())
      return communicator.members_size();
    int64_t size = 1;
    for (uint32_t axis : communicator.axes())
      size *= plan.mesh().axes(axis).size();
    return size;
  }

  bool checkCommunicator(const Place &place, uint32_t index) {
    if (!checkIndex(place, "communicator", index, plan.communicators_size()))
      return false;
    const plan::Communicator &communicator = plan.communicators(index);
    bool pp = communicator.axes_size() == 1 && plan.mesh().axes(communicator.axes(0)).name() == "pp";
    if (communicator.members_size() && !pp) {
      report.add("plan-communicator", place,
                 fmt::format("communicator '{}' with members, expected the axis 'pp', got '{}'", communicator.name(),
                             plan.mesh().axes(communicator.axes(0)).name()));
      return false;
    }
    if (isMember(communicator, current().pp()))
      return true;
    report.add("plan-communicator", place,
               fmt::format("communicator '{}', expected pp coordinate {} among its members, "
                           "got others",
                           communicator.name(), current().pp()));
    return false;
  }

  void checkCollective(const Place &place, const plan::Collective &collective) {
    if (!checkCommunicator(place, collective.communicator()))
      return;
    if (!plan::Collective::Kind_IsValid(collective.kind()) ||
        !plan::Collective::Reduction_IsValid(collective.reduction()))
      return badShape(place, "collective", "a kind of 0 to 3 and a reduction of 0 to 1",
                      fmt::format("{} and {}", int(collective.kind()), int(collective.reduction())));
    int64_t members = communicatorSize(plan.communicators(collective.communicator()));
    const plan::Operand &input = collective.input(), &output = collective.output();
    if (typeOf(input) != typeOf(output))
      return badShape(place, "element type of the output", plan::ElementType_Name(typeOf(input)),
                      plan::ElementType_Name(typeOf(output)));
    if (!isContiguous(input) || !isContiguous(output))
      return badShape(place, "operands of a collective", "contiguous views", "strided ones");
    int64_t in = elements(input), out = elements(output);
    auto leads = [&](const plan::Operand &operand) { return operand.sizes_size() > 0 && operand.sizes(0) == members; };
    auto sized = [&](int64_t count) { return fmt::format("{} elements for {} members", count, members); };
    switch (collective.kind()) {
    case plan::Collective::ALL_REDUCE:
      if (in != out)
        badShape(place, "output of all_reduce", fmt::format("{} elements, as many as the input has", in),
                 fmt::format("{}", out));
      return;
    case plan::Collective::ALL_GATHER:
      if (!leads(output) || out != saturatingMul(in, members))
        badShape(place, "output of all_gather", sized(saturatingMul(in, members)) + " along the leading dimension",
                 shapeName(output.sizes()));
      return;
    case plan::Collective::REDUCE_SCATTER:
      if (!leads(input) || in != saturatingMul(out, members))
        badShape(place, "input of reduce_scatter", sized(saturatingMul(out, members)) + " along the leading dimension",
                 shapeName(input.sizes()));
      return;
    case plan::Collective::ALL_TO_ALL:
      if (in != out || !leads(input) || !leads(output))
        badShape(place, "operands of all_to_all", fmt::format("equal sizes with a leading dimension of {}", members),
                 fmt::format("{} and {}", shapeName(input.sizes()), shapeName(output.sizes())));
      return;
    default:
      return;
    }
  }

  void checkGroup(const Place &place, const plan::Group &group) {
    if (group.messages_size() == 0)
      badShape(place, "messages of a group", "at least 1", "0");
    for (int m = 0; m < group.messages_size(); ++m) {
      const plan::Message &message = group.messages(m);
      Place here = place.at(place.instruction, m);
      if (!checkCommunicator(here, message.communicator()))
        continue;
      const plan::Communicator &communicator = plan.communicators(message.communicator());
      if (communicator.axes_size() != 1 || plan.mesh().axes(communicator.axes(0)).name() != "pp") {
        report.add("plan-communicator", here,
                   fmt::format("communicator '{}' of a message, expected the axis 'pp' alone, "
                               "got other axes",
                               communicator.name()));
        continue;
      }
      if (!checkIndex(here, "peer", message.peer(), plan.programs_size()))
        continue;
      if (message.peer() == current().pp() || !isMember(communicator, message.peer()))
        report.add("plan-communicator", here,
                   fmt::format("peer, expected another member of '{}', got {}", communicator.name(), message.peer()));
      if (!isContiguous(message.value()))
        badShape(here, "value of a message", "a contiguous view", "a strided one");
    }
  }

  void checkLoadInput(const Place &place, const plan::LoadInput &load) {
    if (!checkIndex(place, "input", load.input(), plan.inputs_size()))
      return;
    const plan::Input &input = plan.inputs(load.input());
    int64_t expected = saturatingMul(plan.training().micro_batch(), product(input.sample_shape()));
    if (typeOf(load.value()) != input.type())
      badShape(place, fmt::format("element type of input '{}'", input.name()), plan::ElementType_Name(input.type()),
               plan::ElementType_Name(typeOf(load.value())));
    if (elements(load.value()) != expected || !isContiguous(load.value()))
      badShape(place, fmt::format("view that input '{}' is loaded to", input.name()),
               fmt::format("{} contiguous elements ({} samples of {})", expected, plan.training().micro_batch(),
                           shapeName(input.sample_shape())),
               shapeName(load.value().sizes()));
  }

  void checkCopy(const Place &place, const plan::Copy &copy) {
    if (typeOf(copy.from()) != typeOf(copy.to()))
      badShape(place, "element type of the target", plan::ElementType_Name(typeOf(copy.from())),
               plan::ElementType_Name(typeOf(copy.to())));
    if (!std::equal(copy.from().sizes().begin(), copy.from().sizes().end(), copy.to().sizes().begin(),
                    copy.to().sizes().end()))
      badShape(place, "sizes of the target", shapeName(copy.from().sizes()), shapeName(copy.to().sizes()));
  }
};

} // namespace

void checkInstruction(const plan::Plan &plan, const Place &place, int registers, Report &report) {
  InstructionCheck(plan, place.program, report).checkInstruction(place, registers);
}

bool checkOperand(const plan::Plan &plan, const Place &place, const plan::Operand &operand, Role role, int registers,
                  Report &report) {
  return InstructionCheck(plan, place.program, report).checkOperand(place, operand, role, registers);
}

} // namespace shardc::rt::verify
