//===-- Communications.cpp - what one rank communicates in a step -------------------------------------------------===//

#include "tools/shardplan/Communications.h"

#include "runtime/format/Query.h"
#include "runtime/verify/Operands.h"
#include "runtime/verify/Report.h"

#include <algorithm>
#include <map>

namespace shardc::shardplan {
namespace {

/// By origin, in the forwards of all stages: the first and the last product with a parameter, and the last gather
/// before the first one.
struct ProductRange {
  int64_t first = INT64_MAX, last = INT64_MIN, gather = INT64_MIN;
};

bool isGather(const plan::Plan &plan, const plan::Instruction &instruction) {
  return instruction.has_kernel() &&
         plan.kernels(instruction.kernel().kernel()).description().find("gather") != std::string::npos;
}

bool isProductWithParameter(const plan::Program &program, const plan::Instruction &instruction) {
  auto isParameter = [&](const plan::Operand &operand) {
    return program.buffers(operand.buffer()).region() == plan::PARAMETER;
  };
  return instruction.has_gemm() && (isParameter(instruction.gemm().a()) || isParameter(instruction.gemm().b()));
}

ProductRange findProducts(const plan::Plan &plan) {
  ProductRange range;
  std::vector<int64_t> gathers;
  for (const plan::Program &program : plan.programs())
    for (const plan::Block &block : program.blocks())
      for (const plan::Instruction &instruction : block.instructions()) {
        if (block.action() != plan::Block::FORWARD || instruction.origin() < 0)
          continue;
        if (isGather(plan, instruction))
          gathers.push_back(instruction.origin());
        if (!isProductWithParameter(program, instruction))
          continue;
        range.first = std::min(range.first, instruction.origin());
        range.last = std::max(range.last, instruction.origin());
      }
  for (int64_t origin : gathers)
    if (origin < range.first)
      range.gather = std::max(range.gather, origin);
  return range;
}

class Finder {
public:
  Finder(const plan::Plan &plan, int index)
      : plan(plan), program(plan.programs(index)), products(findProducts(plan)), runs(program.blocks_size()) {
    for (const plan::ScheduleEntry &entry : program.schedule())
      ++runs[entry.block()];
  }

  std::vector<CommunicationUse> run() {
    for (int b = 0; b < program.blocks_size(); ++b)
      for (const plan::Instruction &instruction : program.blocks(b).instructions()) {
        if (instruction.has_collective())
          addCollective(b, instruction);
        for (const plan::Message &message : instruction.group().messages())
          addMessage(b, message);
      }
    return std::move(list);
  }

private:
  const plan::Plan &plan;
  const plan::Program &program;
  ProductRange products;
  std::vector<int64_t> runs;
  std::vector<CommunicationUse> list;

  void setCommunicator(CommunicationUse &use, uint32_t index) const {
    const plan::Communicator &communicator = plan.communicators(index);
    use.communicator = communicator.name();
    use.members = 1;
    for (uint32_t axis : communicator.axes()) {
      use.axes.push_back(plan.mesh().axes(axis).name());
      use.members *= plan.mesh().axes(axis).size();
    }
    if (communicator.members_size())
      use.members = communicator.members_size();
  }

  void setSize(CommunicationUse &use, const plan::Operand &operand) const {
    use.elements = rt::elementCount(operand.sizes());
    use.bytes = use.elements * rt::elementBytes(program.buffers(operand.buffer()).type());
  }

  std::string direction(int b, const plan::Instruction &instruction) const {
    plan::Block::Action action = program.blocks(b).action();
    bool gradient = instruction.node().starts_with("gradient of");
    if (action == plan::Block::BACKWARD && !gradient)
      return "recomputation";
    return std::string(rt::verify::actionName(action));
  }

  std::string category(const CommunicationUse &use, const plan::Instruction &instruction) const {
    if (use.direction == "update") {
      const plan::Communicator &communicator = plan.communicators(instruction.collective().communicator());
      if (communicator.members_size())
        return "tied gradients";
      const plan::Buffer &buffer = program.buffers(instruction.collective().input().buffer());
      return buffer.region() == plan::GRADIENT || !rt::verify::crossesStages(plan, communicator)
                 ? gradientOrNorm(buffer)
                 : "norm exchange";
    }
    if (instruction.origin() <= products.gather)
      return "embedding";
    return instruction.origin() >= products.last ? "head and loss" : "layers";
  }

  /// Where no axis crosses stages, the exchange of the norm is told by what it reduces.
  static std::string gradientOrNorm(const plan::Buffer &buffer) {
    return buffer.region() == plan::GRADIENT ? "gradients" : "norm exchange";
  }

  void addCollective(int b, const plan::Instruction &instruction) {
    const plan::Collective &collective = instruction.collective();
    CommunicationUse use;
    setCommunicator(use, collective.communicator());
    use.kind = rt::collectiveName(collective.kind());
    bool reduces =
        collective.kind() == plan::Collective::ALL_REDUCE || collective.kind() == plan::Collective::REDUCE_SCATTER;
    if (reduces)
      use.reduction = collective.reduction() == plan::Collective::MAX ? "max" : "sum";
    use.direction = direction(b, instruction);
    use.category = category(use, instruction);
    use.node = instruction.node();
    use.origin = instruction.origin();
    setSize(use, collective.kind() == plan::Collective::ALL_GATHER ? collective.output() : collective.input());
    use.runs = runs[b];
    int64_t passes = collective.kind() == plan::Collective::ALL_REDUCE ? 2 : 1;
    use.sentTimesMembers = passes * use.elements * (use.members - 1);
    merge(std::move(use));
  }

  void addMessage(int b, const plan::Message &message) {
    CommunicationUse use;
    setCommunicator(use, message.communicator());
    use.kind = message.send() ? "send" : "receive";
    use.direction = message.backward() ? "backward" : "forward";
    use.category = "pipeline";
    use.node = message.identity();
    setSize(use, message.value());
    use.runs = runs[b];
    use.sentTimesMembers = message.send() ? use.elements * use.members : 0;
    merge(std::move(use));
  }

  /// The same communication stands in several blocks: the variants of the backward, the groups between actions.
  void merge(CommunicationUse use) {
    for (CommunicationUse &other : list)
      if (other.kind == use.kind && other.node == use.node && other.direction == use.direction &&
          other.category == use.category && other.elements == use.elements && other.reduction == use.reduction &&
          other.communicator == use.communicator) {
        other.runs += use.runs;
        return;
      }
    list.push_back(std::move(use));
  }
};

} // namespace

std::vector<CommunicationUse> findCommunications(const plan::Plan &plan, int program) {
  return Finder(plan, program).run();
}

} // namespace shardc::shardplan
