//===-- Reads.cpp - a step's reads and writes under happens-before ------------------------------------------------===//

#include "runtime/verify/Simulation.h"

#include "runtime/format/Query.h"
#include "runtime/verify/Structure.h"

#include <algorithm>
#include <fmt/format.h>

namespace shardc::rt::verify {

void Simulation::run() {
  replays = canReplay();
  if (!replays && !isWithinBounds())
    return;
  playStep();
  checkEnd();
  if (replays || stopped || !report.empty())
    return;
  // The next step begins while the last instructions of this one may still run.
  for (auto &[event, clock] : events)
    clock.clear();
  playStep();
}

void Simulation::playStep() {
  ++step;
  for (entryNumber = 0; entryNumber < program.schedule_size() && !stopped; ++entryNumber)
    playEntry();
}

void Simulation::playEntry() {
  entry = &program.schedule(entryNumber);
  int b = int(entry->block());
  const plan::Block &block = program.blocks(b);
  updates |= block.action() == plan::Block::UPDATE;
  runStart = runStarts.empty() ? 0 : lastPosition;
  runStarts.push_back(runStart);
  lastPosition = runStart + block.instructions_size();
  Summary &summary = summaries[4 * b + pattern()];
  if (replays && summary.valid)
    return replay(b, summary);
  playBlock(b);
  if (replays)
    summarize(b, summary);
}

int Simulation::pattern() const {
  if (entry->registers_size() < 2)
    return 0;
  const auto &a = entry->registers(0), &b = entry->registers(1);
  return 2 * (a.slot() == b.slot()) + (a.micro_batch() == b.micro_batch());
}

void Simulation::playBlock(int b) {
  ordered = false;
  const BlockAccesses &list = accesses.blocks[b];
  const plan::Block &block = program.blocks(b);
  exposed.clear();
  for (int i = 0; i < block.instructions_size() && !stopped; ++i) {
    issue(b, i, block.instructions(i));
    for (int a = list.firstOf[i]; a < list.firstOf[i + 1]; ++a) {
      perform(list.accesses[a], accesses.cellsOf(list.accesses[a]));
      if (!outside.empty())
        exposed.push_back({a, outside});
    }
    if (block.instructions(i).records() >= 0)
      events[block.instructions(i).records()] = clocks[stream];
  }
}

void Simulation::issue(int b, int i, const plan::Instruction &instruction) {
  stream = instruction.stream();
  position = runStart + i + 1;
  Clock &clock = clocks[stream];
  clock[stream] = position;
  for (uint32_t event : instruction.waits()) {
    auto found = events.find(event);
    if (found == events.end() || found->second.empty()) {
      report.add("plan-event", {index, entryNumber, b, i},
                 fmt::format("waits for event {}, expected an instruction before it that records it, got none", event));
      continue;
    }
    for (uint32_t s = 0; s < streams; ++s)
      clock[s] = std::max(clock[s], found->second[s]);
  }
}

void Simulation::replay(int b, const Summary &summary) {
  ordered = true;
  stream = 0;
  const std::vector<Access> &list = accesses.blocks[b].accesses;
  for (const auto &[a, cells] : summary.reads) {
    position = runStart + list[a].instruction + 1;
    perform(list[a], cells);
  }
  for (int a : summary.writes) {
    position = runStart + list[a].instruction + 1;
    perform(list[a], accesses.cellsOf(list[a]));
  }
  // Joined: what follows on stream 0, and all that waits for it, is ordered after the whole run.
  clocks[0].assign(streams, lastPosition);
}

void Simulation::summarize(int b, Summary &summary) {
  const std::vector<Access> &list = accesses.blocks[b].accesses;
  using Key = std::tuple<int, int, int, int, uint32_t, uint32_t>;
  auto key = [](const Access &a) { return Key(a.buffer, a.slotRegister, a.tagRegister, a.view, a.sum, a.max); };
  std::set<Key> seen;
  // The first of equal reads has seen most from outside.
  for (auto &read : exposed)
    if (seen.insert(key(list[read.first])).second)
      summary.reads.push_back(std::move(read));
  seen.clear();
  for (int a = int(list.size()); a-- > 0;) {
    bool visible =
        program.buffers(list[a].buffer).region() != plan::SCRATCH || accesses.buffers[list[a].buffer].meetsOthers;
    if (list[a].write && visible && seen.insert(key(list[a])).second)
      summary.writes.push_back(a);
  }
  std::reverse(summary.writes.begin(), summary.writes.end());
  summary.valid = true;
  // Whatever the clocks of the other streams are, the run ended joined.
  clocks[0].assign(streams, lastPosition);
}

bool Simulation::canReplay() const {
  for (int i = 0; i < program.buffers_size(); ++i)
    if (program.buffers(i).slots() > 1 && !accesses.buffers[i].isolated)
      return false;
  for (const plan::Block &block : program.blocks())
    if (!isJoined(block))
      return false;
  return true;
}

bool Simulation::isJoined(const plan::Block &block) const {
  std::vector<Clock> local(streams, Clock(streams));
  std::unordered_map<int64_t, Clock> recorded;
  for (int i = 0; i < block.instructions_size(); ++i) {
    const plan::Instruction &instruction = block.instructions(i);
    Clock &clock = local[instruction.stream()];
    clock[instruction.stream()] = i + 1;
    for (uint32_t event : instruction.waits())
      if (auto found = recorded.find(event); found != recorded.end())
        for (uint32_t s = 0; s < streams; ++s)
          clock[s] = std::max(clock[s], found->second[s]);
    if (instruction.stream() != 0 && clock[0] == 0)
      return false;
    if (instruction.records() >= 0)
      recorded[instruction.records()] = clock;
  }
  for (uint32_t s = 1; s < streams; ++s)
    if (local[0][s] < local[s][s])
      return false;
  return true;
}

bool Simulation::isWithinBounds() {
  int64_t total = 0;
  for (const plan::ScheduleEntry &run : program.schedule())
    total = std::min(total + program.blocks(run.block()).instructions_size(), kMaxSimulated + 1);
  if (total <= kMaxSimulated)
    return true;
  report.add(
      "plan-size", {index},
      fmt::format("instructions of one step, expected at most {} where blocks are not joined, got more", kMaxSimulated),
      "a block is joined when its other streams wait for stream 0 first, and stream 0 for them last");
  return false;
}

void Simulation::visit(size_t count) {
  visits += int64_t(count);
  if (visits <= kMaxVisits || stopped)
    return;
  stopped = true;
  report.add("plan-size", {index}, fmt::format("accesses of one step, expected at most {}, got more", kMaxVisits));
}

void Simulation::checkEnd() {
  if (stopped)
    return;
  checkOutputs();
  for (int i = 0; i < program.buffers_size() && updates; ++i)
    if (regionOf(i) == plan::PARAMETER && plan.parameters(program.buffers(i).parameter()).trainable())
      checkUpdated(i);
}

void Simulation::checkUpdated(int buffer) {
  const Storage &storage = storages[storageOf(buffer, 0)];
  for (int c : accesses.buffers[buffer].cells.ofView[accesses.buffers[buffer].whole])
    if (cells[storage.firstCell + c].written == 0)
      return report.add("plan-parameter", {index},
                        fmt::format("parameter '{}', expected the update to write all of it, "
                                    "got no write",
                                    nameOf(buffer)));
}

void Simulation::checkOutputs() {
  for (int o = 0; o < program.outputs_size(); ++o) {
    const plan::Operand &value = program.outputs(o).value();
    const Storage &storage = storages[storageOf(int(value.buffer()), 0)];
    for (int c : accesses.outputs[o]) {
      const Cell &cell = cells[storage.firstCell + c];
      if (cell.tag == 0 || !storage.active)
        report.add("plan-output", {index},
                   fmt::format("output '{}', expected a write of it that lasts to the end of the "
                               "step, got none",
                               program.outputs(o).name()));
      else if (cell.sum || cell.max)
        report.add("plan-output", {index},
                   fmt::format("output '{}', expected a complete value, got {}", program.outputs(o).name(),
                               partialName(plan, cell.sum, cell.max)),
                   "written by " + report.describe(placeOf(cell.written)));
    }
  }
}

void checkReads(const plan::Plan &plan, int program, const ProgramAccesses &accesses, const Holders &holders,
                Report &report, ReadsFacts &facts) {
  Simulation(plan, program, accesses, holders, report, facts).run();
}

} // namespace shardc::rt::verify
