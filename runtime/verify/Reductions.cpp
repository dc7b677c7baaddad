//===-- Reductions.cpp - partial values are reduced exactly once --------------------------------------------------===//

#include "runtime/verify/Reductions.h"

#include "runtime/format/Query.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

namespace shardc::rt::verify {
namespace {

class ReductionCheck {
public:
  ReductionCheck(const plan::Plan &plan, int index, const ProgramAccesses &accesses, Report &report)
      : plan(plan), index(index), program(plan.programs(index)), accesses(accesses), report(report),
        real(realAxes(plan)) {}

  void run() {
    for (block = 0; block < program.blocks_size(); ++block)
      for (int i = 0; i < program.blocks(block).instructions_size(); ++i)
        check(i, program.blocks(block).instructions(i));
  }

private:
  const plan::Plan &plan;
  int index;
  const plan::Program &program;
  const ProgramAccesses &accesses;
  Report &report;
  uint32_t real;
  int block = 0;
  Place place;

  struct Axes {
    uint32_t sum = 0, max = 0;
    bool none() const { return (sum | max) == 0; }
  };
  Axes axesOf(const plan::Operand &operand) const {
    return {operand.partial_sum() & real, operand.partial_max() & real};
  }
  std::string name(Axes axes) const { return partialName(plan, axes.sum, axes.max); }
  const std::string &nameOf(const plan::Operand &operand) const { return program.buffers(operand.buffer()).name(); }

  void bad(const Place &at, const std::string &what, const std::string &expected, const std::string &got) {
    report.add("plan-reduction", at, fmt::format("{}, expected {}, got {}", what, expected, got));
  }

  void check(int i, const plan::Instruction &instruction) {
    place = {index, -1, block, i};
    if (instruction.has_collective())
      checkCollective(instruction.collective());
    else if (instruction.has_group())
      checkGroup(instruction.group());
    else
      checkCompute(i, instruction);
    if (instruction.has_gemm())
      checkGemm(instruction.gemm());
    if (instruction.has_load_input() && !axesOf(instruction.load_input().value()).none())
      bad(place, "loads an input", "a complete value", name(axesOf(instruction.load_input().value())));
  }

  void checkCollective(const plan::Collective &collective) {
    Axes in = axesOf(collective.input()), out = axesOf(collective.output());
    uint32_t axes = 0;
    const plan::Communicator &communicator = plan.communicators(collective.communicator());
    for (uint32_t axis : communicator.axes())
      axes |= 1u << axis & real;
    // Over which stages a gradient is summed is implied by who holds its parameter (Reads.cpp), not by partial axes.
    if (communicator.members_size() > 0)
      axes &= in.sum;
    bool reduces =
        collective.kind() == plan::Collective::ALL_REDUCE || collective.kind() == plan::Collective::REDUCE_SCATTER;
    std::string what =
        fmt::format("'{}', the input of {}", nameOf(collective.input()), collectiveName(collective.kind()));
    if (reduces) {
      bool max = collective.reduction() == plan::Collective::MAX;
      uint32_t of = max ? in.max : in.sum;
      if ((of & axes) != axes)
        return bad(place, what, name(max ? Axes{0, axes} : Axes{axes, 0}), name(in));
      (max ? in.max : in.sum) &= ~axes;
    }
    // Along what is left, and along other axes, summands stay summands; the axis itself must be done with.
    if ((in.sum | in.max) & axes)
      return bad(place, what, "a value that is complete along the communicator", name(in));
    if (in.sum != out.sum || in.max != out.max)
      bad(place, fmt::format("'{}', the output of {}", nameOf(collective.output()), collectiveName(collective.kind())),
          name(in), name(out));
  }

  void checkGroup(const plan::Group &group) {
    for (int m = 0; m < group.messages_size(); ++m)
      if (Axes axes = axesOf(group.messages(m).value()); !axes.none())
        bad(place.at(place.instruction, m), fmt::format("message '{}'", group.messages(m).identity()),
            "a complete value", name(axes));
  }

  /// What an instruction reads as a partial value, it must hand on as one; parameters and states are complete.
  void checkCompute(int i, const plan::Instruction & /*instruction*/) {
    const BlockAccesses &list = accesses.blocks[block];
    Axes in, out;
    bool writesPersistent = false;
    for (int a = list.firstOf[i]; a < list.firstOf[i + 1]; ++a) {
      const Access &access = list.accesses[a];
      plan::Region region = program.buffers(access.buffer).region();
      (access.write ? out : in).sum |= access.sum;
      (access.write ? out : in).max |= access.max;
      writesPersistent |= access.write && (region == plan::PARAMETER || region == plan::STATE);
    }
    if (writesPersistent && !(in.none() && out.none()))
      return bad(place, "writes a parameter or a state", "complete values", name({in.sum | out.sum, in.max | out.max}));
    if ((in.sum & ~out.sum) || (in.max & ~out.max))
      bad(place, "reads a partial value", fmt::format("to write {}", name(in)), name(out));
  }

  void checkGemm(const plan::Gemm &gemm) {
    Axes a = axesOf(gemm.a()), b = axesOf(gemm.b()), c = axesOf(gemm.c());
    if (a.sum & b.sum)
      bad(place, "multiplies two sums over one axis", "one of them complete", name(a));
    if (a.max | b.max | c.max)
      bad(place, "multiplies a maximum", "a complete value", name({0, a.max | b.max | c.max}));
    if (gemm.has_bias() && axesOf(gemm.bias()).sum != c.sum)
      bad(place, "adds a bias", name(c), name(axesOf(gemm.bias())));
  }
};

class GradientCheck {
public:
  GradientCheck(const plan::Plan &plan, const Holders &holders, const std::vector<ReadsFacts> &facts, Report &report)
      : plan(plan), holders(holders), facts(facts), report(report) {}

  void run() {
    for (int i = 0; i < plan.parameters_size(); ++i)
      for (int p : holders[i])
        checkGradient(i, p);
    for (int p = 0; p < plan.programs_size(); ++p)
      checkTiedCollectives(p);
  }

private:
  const plan::Plan &plan;
  const Holders &holders;
  const std::vector<ReadsFacts> &facts;
  Report &report;

  static std::string listed(const std::set<int> &programs) { return fmt::format("pp {}", fmt::join(programs, ", ")); }

  void checkGradient(int parameter, int p) {
    auto found = facts[p].gradients.find(parameter);
    int64_t runs = found == facts[p].gradients.end() ? 0 : found->second.backwardRuns;
    if (runs != plan.training().micro_batches())
      report.add("plan-gradient", {p},
                 fmt::format("gradient of '{}', expected a contribution of each of {} micro-batches, got {}",
                             plan.parameters(parameter).name(), plan.training().micro_batches(), runs));
  }

  /// Collectives over pp on gradients must have exactly the holders of the parameter as members.
  void checkTiedCollectives(int p) {
    const plan::Program &program = plan.programs(p);
    for (int b = 0; b < program.blocks_size(); ++b)
      for (int i = 0; i < program.blocks(b).instructions_size(); ++i) {
        const plan::Instruction &instruction = program.blocks(b).instructions(i);
        if (!instruction.has_collective())
          continue;
        const plan::Buffer &buffer = program.buffers(instruction.collective().input().buffer());
        const plan::Communicator &communicator = plan.communicators(instruction.collective().communicator());
        if (buffer.region() == plan::GRADIENT && buffer.parameter() >= 0 && crossesStages(plan, communicator))
          checkMembers({p, -1, b, i}, buffer.parameter(), communicator);
      }
  }

  void checkMembers(const Place &place, int parameter, const plan::Communicator &communicator) {
    std::set<int> members(communicator.members().begin(), communicator.members().end());
    if (communicator.members_size() == 0)
      for (int p = 0; p < plan.programs_size(); ++p)
        members.insert(p);
    if (members != holders[parameter])
      report.add("plan-tied", place,
                 fmt::format("members of communicator '{}', expected those that hold '{}' ({}), got {}",
                             communicator.name(), plan.parameters(parameter).name(), listed(holders[parameter]),
                             listed(members)));
  }
};

} // namespace

Holders findHolders(const plan::Plan &plan) {
  Holders holders(plan.parameters_size());
  for (int p = 0; p < plan.programs_size(); ++p)
    for (const plan::Buffer &buffer : plan.programs(p).buffers())
      if (buffer.region() == plan::PARAMETER && plan.parameters(buffer.parameter()).trainable())
        holders[buffer.parameter()].insert(p);
  return holders;
}

void checkReductions(const plan::Plan &plan, int program, const ProgramAccesses &accesses, Report &report) {
  ReductionCheck(plan, program, accesses, report).run();
}

void checkGradients(const plan::Plan &plan, const Holders &holders, const std::vector<ReadsFacts> &facts,
                    Report &report) {
  GradientCheck(plan, holders, facts, report).run();
}

} // namespace shardc::rt::verify
