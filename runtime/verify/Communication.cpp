//===-- Communication.cpp - what the programs of a plan say to one another ----------------------------------------===//

#include "runtime/verify/Communication.h"

#include "runtime/verify/Operands.h"
#include "runtime/verify/Structure.h"

#include <fmt/format.h>
#include <tuple>

namespace shardc::rt::verify {
namespace {

class Unroller {
public:
  Unroller(const plan::Plan &plan, Communication &result) : plan(plan), result(result) {
    for (const plan::Communicator &communicator : plan.communicators())
      crosses.push_back(crossesStages(plan, communicator));
  }

  void unroll(int p) {
    const plan::Program &program = plan.programs(p);
    std::map<uint32_t, int> collectives; // how many each communicator has seen
    std::map<std::pair<int, bool>, int> sides;
    std::vector<std::vector<int>> relevant(program.blocks_size());
    for (int b = 0; b < program.blocks_size(); ++b)
      relevant[b] = communicationOf(program.blocks(b));
    for (int e = 0; e < program.schedule_size(); ++e) {
      int b = int(program.schedule(e).block());
      for (int i : relevant[b]) {
        const plan::Instruction &instruction = program.blocks(b).instructions(i);
        Place place{p, e, b, i};
        int first = int(result.transfers[p].size());
        if (instruction.has_collective()) {
          int number = collectives[instruction.collective().communicator()]++;
          result.steps[p].push_back({place, first, first, &instruction.collective(), number});
          continue;
        }
        for (int m = 0; m < instruction.group().messages_size(); ++m)
          addTransfer(place.at(i, m), instruction.group().messages(m), program.schedule(e), sides);
        result.steps[p].push_back({place, first, int(result.transfers[p].size()), nullptr, 0});
      }
    }
  }

  /// Unrolled communication of a program, in messages and collectives.
  int64_t count(int p) const {
    const plan::Program &program = plan.programs(p);
    std::vector<int64_t> ofBlock(program.blocks_size());
    for (int b = 0; b < program.blocks_size(); ++b)
      for (int i : communicationOf(program.blocks(b)))
        ofBlock[b] += 1 + program.blocks(b).instructions(i).group().messages_size();
    int64_t total = 0;
    for (const plan::ScheduleEntry &entry : program.schedule())
      total = std::min(total + ofBlock[entry.block()], kMaxSimulated + 1);
    return total;
  }

  void fillChannels() {
    for (const std::vector<Transfer> &transfers : result.transfers)
      for (const Transfer &transfer : transfers) {
        Channel &channel = result.channels[transfer.channel];
        (transfer.message->send() ? channel.sends : channel.receives).push_back(&transfer);
      }
  }

private:
  const plan::Plan &plan;
  Communication &result;
  std::vector<bool> crosses;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, int> channelNumbers;

  std::vector<int> communicationOf(const plan::Block &block) const {
    std::vector<int> list;
    for (int i = 0; i < block.instructions_size(); ++i) {
      const plan::Instruction &instruction = block.instructions(i);
      if (instruction.has_group() || (instruction.has_collective() && crosses[instruction.collective().communicator()]))
        list.push_back(i);
    }
    return list;
  }

  void addTransfer(const Place &place, const plan::Message &message, const plan::ScheduleEntry &entry,
                   std::map<std::pair<int, bool>, int> &sides) {
    uint32_t self = plan.programs(place.program).pp();
    auto key = message.send() ? std::tuple(message.communicator(), self, message.peer())
                              : std::tuple(message.communicator(), message.peer(), self);
    auto [found, isNew] = channelNumbers.emplace(key, int(result.channels.size()));
    if (isNew)
      result.channels.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), {}, {}});
    int r =
        registerOf(message.value(), message.send() ? Role::Read : Role::Write, place.message, entry.registers_size());
    uint32_t microBatch = r < entry.registers_size() ? entry.registers(r).micro_batch() : 0;
    int number = sides[{found->second, message.send()}]++;
    result.transfers[place.program].push_back({place, &message, microBatch, found->second, number});
  }
};

} // namespace

bool unrollCommunication(const plan::Plan &plan, Report &report, Communication &communication) {
  communication.steps.resize(plan.programs_size());
  communication.transfers.resize(plan.programs_size());
  Unroller unroller(plan, communication);
  int64_t total = 0;
  for (int p = 0; p < plan.programs_size(); ++p)
    total += unroller.count(p);
  if (total > kMaxSimulated) {
    report.add("plan-size", {}, fmt::format("messages of one step, expected at most {}, got more", kMaxSimulated));
    return false;
  }
  for (int p = 0; p < plan.programs_size(); ++p)
    unroller.unroll(p);
  unroller.fillChannels();
  return true;
}

} // namespace shardc::rt::verify
