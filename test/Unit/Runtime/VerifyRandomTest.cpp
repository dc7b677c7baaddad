// The verifier against executions. Plans are changed at random; its verdict on communication must be that of a
// rendezvous execution with random delays, and where streams in random order give other results than instructions in
// list order, it must have refused the plan.
#include "Faults.h"
#include "SyntheticPlan.h"
#include "runtime/verify/Verify.h"
#include "gtest/gtest.h"

#include <deque>
#include <google/protobuf/stubs/logging.h>
#include <map>
#include <random>
#include <set>

namespace shardc::rt::test {
namespace {

using Random = std::mt19937_64;

int pick(Random &random, int count) { return int(random() % uint64_t(count)); }

plan::Plan makeRandomPlan(Random &random) {
  SyntheticOptions options;
  options.pp = 1 + pick(random, 4);
  options.microBatches = 1 + pick(random, 5);
  options.gpipe = pick(random, 2);
  options.tied = pick(random, 2);
  return makeSyntheticPlan(options);
}

// Communication

/// One message or one collective across stages of one run.
struct Step {
  struct Part {
    bool send;
    uint32_t peer;
    std::string identity;
  };
  std::vector<Part> parts; // of a group
  int communicator = -1;   // of a collective
  std::string collective;
};

std::vector<Step> stepsOf(const plan::Plan &plan, const plan::Program &program) {
  std::vector<Step> steps;
  for (const plan::ScheduleEntry &entry : program.schedule())
    for (const plan::Instruction &instruction : program.blocks(entry.block()).instructions()) {
      Step step;
      for (const plan::Message &message : instruction.group().messages()) {
        const plan::ScheduleEntry::Register &reg =
            entry.registers(message.send() || entry.registers_size() < 2 ? 0 : 1);
        step.parts.push_back(
            {message.send(), message.peer(),
             message.identity() + std::to_string(reg.micro_batch()) + (message.backward() ? "b" : "f")});
      }
      bool across = false;
      if (instruction.has_collective())
        for (uint32_t axis : plan.communicators(instruction.collective().communicator()).axes())
          across |= plan.mesh().axes(axis).name() == "pp" && plan.mesh().axes(axis).size() > 1;
      if (across) {
        step.communicator = int(instruction.collective().communicator());
        step.collective = instruction.node();
      }
      if (across || instruction.has_group())
        steps.push_back(step);
    }
  return steps;
}

/// Runs all ranks by rendezvous, whoever is chosen next. True when all come to their end and every message is the one
/// that its receiver expects.
class RendezvousExecution {
public:
  RendezvousExecution(const plan::Plan &plan, Random &random) : plan(plan), random(random) {
    for (const plan::Program &program : plan.programs())
      ranks.push_back({stepsOf(plan, program)});
  }

  bool run() {
    int idle = 0;
    while (idle < 200 * int(ranks.size())) {
      Rank &rank = ranks[pick(random, int(ranks.size()))];
      idle = advance(rank, int(&rank - ranks.data())) ? 0 : idle + 1;
      if (wrong)
        return false;
    }
    for (const Rank &rank : ranks)
      if (rank.next != rank.steps.size())
        return false;
    return true;
  }

private:
  struct Rank {
    std::vector<Step> steps;
    size_t next = 0;
    bool posted = false;
    int open = 0; // messages of the group that have not been met
  };
  struct Waiting {
    int rank;
    std::string identity;
  };
  const plan::Plan &plan;
  Random &random;
  std::vector<Rank> ranks;
  std::map<std::pair<int, int>, std::deque<Waiting>> sends, receives; // by (source, destination)
  std::map<int, std::vector<int>> atCollective;
  bool wrong = false;

  bool advance(Rank &rank, int self) {
    if (rank.next == rank.steps.size())
      return false;
    const Step &step = rank.steps[rank.next];
    if (!rank.posted) {
      rank.posted = true;
      if (step.communicator >= 0)
        arrive(step, self);
      else
        post(step, self);
      return true;
    }
    if (rank.open > 0)
      return false;
    rank.posted = false;
    ++rank.next;
    return true;
  }

  void post(const Step &step, int self) {
    ranks[self].open = int(step.parts.size());
    for (const Step::Part &part : step.parts) {
      std::pair<int, int> channel = part.send ? std::pair(self, int(part.peer)) : std::pair(int(part.peer), self);
      (part.send ? sends : receives)[channel].push_back({self, part.identity});
      if (sends[channel].empty() || receives[channel].empty())
        continue;
      wrong |= sends[channel].front().identity != receives[channel].front().identity;
      --ranks[sends[channel].front().rank].open;
      --ranks[receives[channel].front().rank].open;
      sends[channel].pop_front();
      receives[channel].pop_front();
    }
  }

  void arrive(const Step &step, int self) {
    ranks[self].open = 1;
    std::vector<int> &there = atCollective[step.communicator];
    for (int other : there)
      wrong |= ranks[other].steps[ranks[other].next].collective != step.collective;
    there.push_back(self);
    int listed = plan.communicators(step.communicator).members_size();
    if (int(there.size()) < (listed ? listed : int(ranks.size())))
      return;
    for (int member : there)
      ranks[member].open = 0;
    there.clear();
  }
};

plan::Program &anyProgram(plan::Plan &plan, Random &random) {
  return *plan.mutable_programs(pick(random, plan.programs_size()));
}

/// Two neighbours of the schedule change places, the update excepted.
void swapEntries(plan::Plan &plan, Random &random) {
  plan::Program &program = anyProgram(plan, random);
  if (program.schedule_size() < 3)
    return;
  int e = pick(random, program.schedule_size() - 2);
  program.mutable_schedule()->SwapElements(e, e + 1);
}

/// A group becomes two, in some order.
void splitGroup(plan::Plan &plan, Random &random) {
  plan::Program &program = anyProgram(plan, random);
  for (plan::Block &block : *program.mutable_blocks()) {
    if (block.instructions_size() != 1 || block.instructions(0).group().messages_size() != 2 || pick(random, 2))
      continue;
    plan::Instruction second = block.instructions(0);
    int kept = pick(random, 2);
    block.mutable_instructions(0)->mutable_group()->mutable_messages()->DeleteSubrange(kept, 1);
    second.mutable_group()->mutable_messages()->DeleteSubrange(1 - kept, 1);
    *block.add_instructions() = second;
  }
}

void renameMessage(plan::Plan &plan, Random &random) {
  plan::Program &program = anyProgram(plan, random);
  for (plan::Block &block : *program.mutable_blocks())
    for (plan::Instruction &instruction : *block.mutable_instructions())
      if (instruction.has_group() && !pick(random, 4))
        instruction.mutable_group()->mutable_messages(0)->set_backward(pick(random, 2));
}

void dropEntry(plan::Plan &plan, Random &random) {
  plan::Program &program = anyProgram(plan, random);
  int e = pick(random, program.schedule_size());
  if (program.blocks(program.schedule(e).block()).action() == plan::Block::COMMUNICATE)
    program.mutable_schedule()->DeleteSubrange(e, 1);
}

bool refusesCommunication(const Status &status) {
  for (const Violation &violation : status.violations())
    for (const char *label :
         {"[plan-message]", "[plan-send]", "[plan-receive]", "[plan-collective]", "[plan-deadlock]"})
      if (violation.message.find(label) != std::string::npos)
        return true;
  return false;
}

/// Whether the verifier stopped before it looked at communication.
bool refusesStructure(const Status &status) {
  return status.render().find("[plan-schedule]") != std::string::npos ||
         status.render().find("[plan-index]") != std::string::npos;
}

TEST(VerifyRandom, CommunicationIsThatOfARendezvousExecution) {
  int refused = 0, accepted = 0;
  for (int seed = 0; seed < 600; ++seed) {
    Random random(seed);
    plan::Plan plan = makeRandomPlan(random);
    for (int changes = pick(random, 3); changes > 0; --changes)
      switch (pick(random, 4)) {
      case 0:
        swapEntries(plan, random);
        break;
      case 1:
        splitGroup(plan, random);
        break;
      case 2:
        renameMessage(plan, random);
        break;
      default:
        dropEntry(plan, random);
      }
    Status status = verifyPlan(plan);
    if (refusesStructure(status))
      continue;
    bool runs = RendezvousExecution(plan, random).run();
    EXPECT_EQ(runs, !refusesCommunication(status)) << "seed " << seed << "\n" << status.render();
    ++(runs ? accepted : refused);
  }
  EXPECT_GT(accepted, 50);
  EXPECT_GT(refused, 50);
}

// Memory

/// Plays one program on an arena of symbols. Every instruction reads when it begins and writes when it ends; `random`
/// (null: list order) decides what begins and ends next, as far as streams and events allow.
class MemoryExecution {
public:
  explicit MemoryExecution(const plan::Program &program)
      : program(program), arena((program.arena_bytes() + 3) / 4), done(1) {}

  /// What the parameters and the outputs hold after `steps` steps.
  std::vector<uint64_t> run(Random *random, int steps) {
    for (size_t i = 0; i < arena.size(); ++i)
      arena[i] = i; // persistent buffers hold something, all others too
    std::vector<std::deque<int>> queues(program.streams());
    build(steps);
    for (size_t i = 0; i < list.size(); ++i)
      queues[list[i].instruction->stream()].push_back(int(i));
    done.assign(list.size(), false);
    for (size_t i = 0; !random && i < list.size(); ++i) {
      begin(int(i));
      end(int(i));
    }
    std::vector<int> running(program.streams(), -1);
    while (random) {
      bool any = false;
      for (size_t s = 0; s < queues.size(); ++s)
        any |= running[s] >= 0 || !queues[s].empty();
      if (!any)
        break;
      int s = pick(*random, int(queues.size()));
      if (running[s] >= 0) {
        end(running[s]);
        running[s] = -1;
      } else if (!queues[s].empty() && isReady(queues[s].front())) {
        running[s] = queues[s].front();
        queues[s].pop_front();
        begin(running[s]);
      }
    }
    return results();
  }

private:
  struct Issue {
    const plan::Instruction *instruction;
    const plan::ScheduleEntry *entry;
    std::vector<int> waits;
    uint64_t seen = 0;
  };
  const plan::Program &program;
  std::vector<uint64_t> arena;
  std::vector<Issue> list;
  std::vector<bool> done;

  void build(int steps) {
    for (int step = 0; step < steps; ++step) {
      std::map<uint32_t, int> newest;
      for (const plan::ScheduleEntry &entry : program.schedule())
        for (const plan::Instruction &instruction : program.blocks(entry.block()).instructions()) {
          Issue issue{&instruction, &entry, {}};
          for (uint32_t event : instruction.waits())
            if (newest.contains(event))
              issue.waits.push_back(newest[event]);
          if (instruction.records() >= 0)
            newest[instruction.records()] = int(list.size());
          list.push_back(issue);
        }
    }
  }

  bool isReady(int i) const {
    for (int other : list[i].waits)
      if (!done[other])
        return false;
    return true;
  }

  static uint64_t mix(uint64_t a, uint64_t b) {
    a ^= b + 0x9e3779b97f4a7c15 + (a << 6) + (a >> 2);
    a *= 0xff51afd7ed558ccd;
    return a ^ (a >> 33);
  }

  template <typename Visitor> void visit(const Issue &issue, const plan::Operand &operand, Visitor &&visitor) {
    const plan::Buffer &buffer = program.buffers(operand.buffer());
    int64_t slot = operand.register_() < 0 ? 0 : issue.entry->registers(operand.register_()).slot();
    int64_t start = (buffer.offset() + slot * buffer.slot_stride()) / 4 + operand.offset();
    std::vector<int64_t> at(operand.sizes_size());
    for (;;) {
      int64_t element = start;
      for (size_t d = 0; d < at.size(); ++d)
        element += at[d] * operand.strides(d);
      visitor(arena[element]);
      size_t d = at.size();
      while (d > 0 && ++at[d - 1] == operand.sizes(d - 1))
        at[--d] = 0;
      if (d == 0)
        return;
    }
  }

  void read(Issue &issue, const plan::Operand &operand) {
    visit(issue, operand, [&](uint64_t &value) { issue.seen = mix(issue.seen, value); });
  }

  void begin(int i) {
    Issue &issue = list[i];
    const plan::Instruction &instruction = *issue.instruction;
    for (const plan::Operand &operand : instruction.kernel().reads())
      read(issue, operand);
    if (instruction.has_gemm()) {
      read(issue, instruction.gemm().a());
      read(issue, instruction.gemm().b());
      if (instruction.gemm().accumulate())
        read(issue, instruction.gemm().c());
    }
    if (instruction.has_collective())
      read(issue, instruction.collective().input());
    for (const plan::Message &message : instruction.group().messages())
      if (message.send())
        read(issue, message.value());
  }

  void write(Issue &issue, const plan::Operand &operand, uint64_t what) {
    uint64_t number = 0;
    visit(issue, operand, [&](uint64_t &value) { value = mix(what, number++); });
  }

  void end(int i) {
    Issue &issue = list[i];
    const plan::Instruction &instruction = *issue.instruction;
    uint64_t what = mix(issue.seen, uint64_t(i));
    for (const plan::Operand &operand : instruction.kernel().writes())
      write(issue, operand, what);
    if (instruction.has_gemm())
      write(issue, instruction.gemm().c(), what);
    if (instruction.has_collective())
      write(issue, instruction.collective().output(), what);
    if (instruction.has_load_input())
      write(issue, instruction.load_input().value(), what);
    for (const plan::Message &message : instruction.group().messages())
      if (!message.send())
        write(issue, message.value(), what);
    done[i] = true;
  }

  std::vector<uint64_t> results() {
    std::vector<uint64_t> values;
    for (const plan::Buffer &buffer : program.buffers())
      if (buffer.region() == plan::PARAMETER || buffer.region() == plan::STATE || buffer.region() == plan::OUTPUT)
        for (int64_t i = buffer.offset() / 4; i < (buffer.offset() + buffer.bytes()) / 4; ++i)
          values.push_back(arena[i]);
    return values;
  }
};

/// Takes an event away, or moves an instruction to another stream.
void loosen(plan::Plan &plan, Random &random) {
  plan::Program &program = anyProgram(plan, random);
  plan::Block &block = *program.mutable_blocks(pick(random, program.blocks_size()));
  if (block.instructions().empty())
    return;
  plan::Instruction &instruction = *block.mutable_instructions(pick(random, block.instructions_size()));
  switch (pick(random, 3)) {
  case 0:
    instruction.clear_waits();
    break;
  case 1:
    instruction.set_records(-1);
    break;
  default:
    instruction.set_stream(1 - instruction.stream());
  }
}

TEST(VerifyRandom, OrderThatMattersIsDemanded) {
  int differing = 0, accepted = 0;
  for (int seed = 0; seed < 300; ++seed) {
    Random random(seed);
    plan::Plan plan = makeRandomPlan(random);
    for (int changes = pick(random, 3); changes > 0; --changes)
      loosen(plan, random);
    Status status = verifyPlan(plan);
    bool differs = false;
    for (const plan::Program &program : plan.programs()) {
      std::vector<uint64_t> expected = MemoryExecution(program).run(nullptr, 2);
      for (int attempt = 0; attempt < 10 && !differs; ++attempt)
        differs = MemoryExecution(program).run(&random, 2) != expected;
    }
    EXPECT_FALSE(differs && status.isOk()) << "seed " << seed;
    differing += differs;
    accepted += status.isOk();
  }
  EXPECT_GT(differing, 50);
  EXPECT_GT(accepted, 50);
}

TEST(VerifyRandom, DamagedPlansDoNotCrash) {
  // Bytes of a right plan are changed at random; whatever still parses must be judged in peace.
  google::protobuf::LogSilencer silencer;
  std::string bytes = makeSyntheticPlan().SerializeAsString();
  int parsed = 0;
  for (int seed = 0; seed < 3000; ++seed) {
    Random random(seed);
    std::string damaged = bytes;
    for (int changes = 1 + pick(random, 3); changes > 0; --changes)
      damaged[random() % damaged.size()] = char(random());
    plan::Plan plan;
    if (!plan.ParseFromString(damaged))
      continue;
    ++parsed;
    (void)verifyPlan(plan).isOk();
  }
  EXPECT_GT(parsed, 500);
}

} // namespace
} // namespace shardc::rt::test
