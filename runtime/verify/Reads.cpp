//===-- Reads.cpp - a step's reads and writes under happens-before ------------------------------------------------===//

#include "runtime/verify/Reads.h"

#include "runtime/format/Query.h"
#include "runtime/verify/Structure.h"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <set>
#include <unordered_map>

namespace shardc::rt::verify {
namespace {

/// Cells that are looked at in all; beyond it a plan is refused.
constexpr int64_t kMaxVisits = int64_t(1) << 31;
/// Violations after which the rest of a step is not looked at.
constexpr int64_t kMaxComplaints = 20000;

/// Instructions are numbered from 1 over all runs that are played; 0 is before the first.
using Position = int64_t;
using Clock = std::vector<Position>; // of each stream: the newest instruction ordered before

/// What a cell holds. Two contents are the same when the tags are: what lives across steps has tag 1; else the step
/// and, by region, the micro-batch or the run of the block.
using Tag = uint64_t;

struct Cell {
  Position written = 0;
  uint32_t writeStream = 0;
  uint32_t sum = 0, max = 0;
  Tag tag = 0;             // 0: nothing
  bool ofOneStage = false; // a tied gradient before the sum over its stages
  bool read = false;       // since it was written
  bool reported = false;   // a violation that stands until the next write
};

/// One slot of a buffer.
struct Storage {
  int buffer;
  int64_t begin, end; // bytes in the arena
  bool active;        // nothing else has used its memory since it was last written
  Position killer = 0;
  int killedBy = -1; // buffer
  size_t firstCell;
};

class Simulation {
public:
  Simulation(const plan::Plan &plan, int index, const ProgramAccesses &accesses, const Holders &holders, Report &report,
             ReadsFacts &facts)
      : plan(plan), index(index), program(plan.programs(index)), accesses(accesses), holders(holders), report(report),
        facts(facts), streams(program.streams()), clocks(streams, Clock(streams)),
        firstSlots(program.buffers_size(), -1), summaries(program.blocks_size() * 4) {}

  void run() {
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

private:
  const plan::Plan &plan;
  int index;
  const plan::Program &program;
  const ProgramAccesses &accesses;
  const Holders &holders;
  Report &report;
  ReadsFacts &facts;
  const uint32_t streams;

  bool replays = false;
  bool updates = false; // the step trains
  bool stopped = false;
  int64_t visits = 0;
  int64_t complaints = 0;
  uint64_t step = 0;
  std::vector<Position> runStarts; // position before each run
  std::vector<Clock> clocks;       // of each stream, after its last instruction
  std::unordered_map<uint32_t, Clock> events;

  std::vector<Storage> storages;
  std::vector<int> firstSlots; // storage of slot 0 of each buffer
  std::unordered_map<uint64_t, int> otherSlots;
  std::vector<Cell> cells;
  std::vector<Position> cellReads; // [cell][stream]: newest read
  std::vector<Position> lastUse;   // [storage][stream]
  std::vector<Position> base;      // [storage][stream]: uses of the same memory before it became active
  std::map<int64_t, std::pair<int64_t, int>> memory; // begin → (end, storage that used it last); not for isolated ones

  // The run being played.
  int entryNumber = 0;
  const plan::ScheduleEntry *entry = nullptr;
  Position runStart = 0;
  bool ordered = false; // everything before is ordered before it: a replay
  uint32_t stream = 0;
  Position position = 0;
  const Access *current = nullptr;

  /// What a block takes from and leaves to other runs, in the order of a replay.
  struct Summary {
    bool valid = false;
    std::vector<std::pair<int, std::vector<int>>> reads; // indices into BlockAccesses::accesses, and the cells
    std::vector<int> writes;
  };
  std::vector<Summary> summaries;

  // Runs

  void playStep() {
    ++step;
    for (entryNumber = 0; entryNumber < program.schedule_size() && !stopped; ++entryNumber)
      playEntry();
  }

  void playEntry() {
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

  Position lastPosition = 0;

  /// Runs are alike when their two registers agree or differ alike.
  int pattern() const {
    if (entry->registers_size() < 2)
      return 0;
    const auto &a = entry->registers(0), &b = entry->registers(1);
    return 2 * (a.slot() == b.slot()) + (a.micro_batch() == b.micro_batch());
  }

  void playBlock(int b) {
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

  /// Moves the stream's clock to an instruction.
  void issue(int b, int i, const plan::Instruction &instruction) {
    stream = instruction.stream();
    position = runStart + i + 1;
    Clock &clock = clocks[stream];
    clock[stream] = position;
    for (uint32_t event : instruction.waits()) {
      auto found = events.find(event);
      if (found == events.end() || found->second.empty()) {
        report.add(
            "plan-event", {index, entryNumber, b, i},
            fmt::format("waits for event {}, expected an instruction before it that records it, got none", event));
        continue;
      }
      for (uint32_t s = 0; s < streams; ++s)
        clock[s] = std::max(clock[s], found->second[s]);
    }
  }

  void replay(int b, const Summary &summary) {
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

  /// Keeps the reads of what was written before this run, and the last of equal writes that others can see.
  void summarize(int b, Summary &summary) {
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

  std::vector<std::pair<int, std::vector<int>>> exposed; // reads of the run, with the cells written before it
  std::vector<int> outside;                              // of the access being played: such cells

  // Bounds and joined blocks

  bool canReplay() const {
    for (int i = 0; i < program.buffers_size(); ++i)
      if (program.buffers(i).slots() > 1 && !accesses.buffers[i].isolated)
        return false;
    for (const plan::Block &block : program.blocks())
      if (!isJoined(block))
        return false;
    return true;
  }

  /// Whether an instruction of another stream comes after one of stream 0, and all come before the last of stream 0.
  bool isJoined(const plan::Block &block) const {
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

  bool isWithinBounds() {
    int64_t total = 0;
    for (const plan::ScheduleEntry &run : program.schedule())
      total = std::min(total + program.blocks(run.block()).instructions_size(), kMaxSimulated + 1);
    if (total <= kMaxSimulated)
      return true;
    report.add("plan-size", {index},
               fmt::format("instructions of one step, expected at most {} where blocks are not joined, got more",
                           kMaxSimulated),
               "a block is joined when its other streams wait for stream 0 first, and stream 0 for them last");
    return false;
  }

  void visit(size_t count) {
    if ((visits += int64_t(count)) <= kMaxVisits || stopped)
      return;
    stopped = true;
    report.add("plan-size", {index}, fmt::format("accesses of one step, expected at most {}, got more", kMaxVisits));
  }

  // Places

  Place placeOf(Position at) const {
    size_t run = std::lower_bound(runStarts.begin(), runStarts.end(), at) - runStarts.begin() - 1;
    int e = int(run % program.schedule_size());
    return {index, e, int(program.schedule(e).block()), int(at - runStarts[run] - 1)};
  }
  Place here() const { return {index, entryNumber, int(entry->block()), current->instruction, current->message}; }
  const std::string &nameOf(int buffer) const { return program.buffers(buffer).name(); }

  void add(std::string_view label, const std::string &what, Position other, std::string_view verb) {
    if (++complaints > kMaxComplaints)
      stopped = true;
    std::string note;
    if (other > 0)
      note = fmt::format("{} by {}", verb, report.describe(placeOf(other)));
    report.add(label, here(), what, note);
  }

  // Storages

  plan::Region regionOf(int buffer) const { return program.buffers(buffer).region(); }

  uint32_t microBatch(const Access &access) const {
    return access.tagRegister < entry->registers_size() ? entry->registers(access.tagRegister).micro_batch() : 0;
  }

  Tag tagOf(const Access &access) const {
    switch (regionOf(access.buffer)) {
    case plan::PARAMETER:
    case plan::STATE:
      return 1;
    case plan::GRADIENT:
    case plan::OUTPUT:
      return step << 32;
    case plan::SCRATCH:
      return step << 32 | uint64_t(entryNumber + 1);
    default:
      return step << 32 | (microBatch(access) + 1);
    }
  }

  int storageOf(const Access &access) {
    uint32_t slot = access.slotRegister < 0 ? 0 : entry->registers(access.slotRegister).slot();
    return storageOf(access.buffer, slot);
  }

  int storageOf(int buffer, uint32_t slot) {
    int &known = slot == 0 ? firstSlots[buffer] : otherSlots.emplace(uint64_t(buffer) << 32 | slot, -1).first->second;
    if (known >= 0)
      return known;
    const plan::Buffer &shape = program.buffers(buffer);
    const BufferAccesses &facts = accesses.buffers[buffer];
    known = int(storages.size());
    int64_t begin = shape.offset() + int64_t(slot) * shape.slot_stride();
    storages.push_back({buffer, begin, begin + shape.bytes(), facts.isolated, 0, -1, cells.size()});
    bool persistent = shape.region() == plan::PARAMETER || shape.region() == plan::STATE;
    Cell initial;
    initial.tag = persistent ? 1 : 0;
    cells.resize(cells.size() + facts.cells.count, initial);
    cellReads.resize(cells.size() * streams);
    lastUse.resize(storages.size() * streams);
    base.resize(storages.size() * streams);
    return known;
  }

  // Accesses

  bool isOrdered(uint32_t otherStream, Position at) const { return ordered || at <= clocks[stream][otherStream]; }

  /// Plays one access to some cells of its view.
  void perform(const Access &access, const std::vector<int> &list) {
    current = &access;
    outside.clear();
    int storage = storageOf(access);
    visit(list.size() + 1);
    if (access.write)
      write(access, storage, list);
    else
      read(access, storage, list);
    for (uint32_t s = 0; s < streams && !accesses.buffers[access.buffer].isolated; ++s)
      if (Position use = base[storage * streams + s]; use > 0 && !isOrdered(s, use))
        reportReuse(storages[storage].buffer, s, use);
    lastUse[storage * streams + stream] = position;
  }

  void read(const Access &access, int storage, const std::vector<int> &list) {
    Tag tag = tagOf(access);
    for (int c : list) {
      Cell &cell = cells[storages[storage].firstCell + c];
      if (!cell.reported && (cell.tag != tag || !storages[storage].active)) {
        reportContent(access, storages[storage], cell, tag);
        cell.reported = true;
      }
      if (!cell.reported && (cell.sum != access.sum || cell.max != access.max)) {
        reportPartial(access, cell);
        cell.reported = true;
      }
      if (!isOrdered(cell.writeStream, cell.written))
        reportOrder(fmt::format("reads '{}', expected an event or a stream that orders it after its write, got none",
                                nameOf(access.buffer)),
                    cell.writeStream, cell.written, "written");
      checkTied(access, cell);
      if (cell.written <= runStart)
        outside.push_back(c);
      cell.read = true;
      cellReads[(storages[storage].firstCell + c) * streams + stream] = position;
    }
  }

  void reportContent(const Access &access, const Storage &storage, const Cell &cell, Tag tag) {
    const std::string &name = nameOf(access.buffer);
    bool ofThisStep = cell.tag >> 32 == step || cell.tag == 1;
    bool scratch = regionOf(access.buffer) == plan::SCRATCH;
    if (cell.tag == 0 || !ofThisStep || (scratch && cell.tag != tag))
      return add("plan-unwritten",
                 fmt::format("reads {} '{}', expected a write before it in this {}, got none",
                             regionName(regionOf(access.buffer)), name, scratch ? "run" : "step"),
                 0, "");
    if (cell.tag != tag)
      return add("plan-stale",
                 fmt::format("reads '{}', expected what was written for micro-batch {}, got that of micro-batch {}",
                             name, (tag & 0xffffffff) - 1, (cell.tag & 0xffffffff) - 1),
                 cell.written, "written");
    add("plan-overlap",
        fmt::format("reads '{}', expected its bytes untouched since its write, got '{}' written over it", name,
                    storage.killedBy < 0 ? "another buffer" : nameOf(storage.killedBy)),
        storage.killer, "written over");
  }

  void reportPartial(const Access &access, const Cell &cell) {
    const std::string &name = nameOf(access.buffer);
    add("plan-partial",
        fmt::format("reads '{}', which is {}, expected to read it as such, got {}", name,
                    partialName(plan, cell.sum, cell.max), partialName(plan, access.sum, access.max)),
        cell.written, "written");
  }

  void write(const Access &access, int storage, const std::vector<int> &list) {
    if (!storages[storage].active)
      activate(access, storage);
    Tag tag = tagOf(access);
    bool ofOneStage = staysOfOneStage(access);
    for (int c : list) {
      size_t number = storages[storage].firstCell + c;
      Cell &cell = cells[number];
      checkWriteOrder(access, number);
      checkOverwrite(access, cell);
      cell = {position, stream, access.sum, access.max, tag, ofOneStage, false, false};
      std::fill_n(cellReads.begin() + number * streams, streams, 0);
    }
    noteGradient(access);
  }

  void checkWriteOrder(const Access &access, size_t number) {
    const Cell &cell = cells[number];
    if (!isOrdered(cell.writeStream, cell.written))
      reportOrder(
          fmt::format("writes '{}', expected an event or a stream that orders it after the write before it, got "
                      "none",
                      nameOf(access.buffer)),
          cell.writeStream, cell.written, "written");
    for (uint32_t s = 0; s < streams; ++s) {
      Position at = cellReads[number * streams + s];
      if (at == position && current->message >= 0)
        add("plan-alias",
            fmt::format("sends and receives '{}' in one group, expected other memory, got the same slot",
                        nameOf(access.buffer)),
            0, "");
      else if (!isOrdered(s, at))
        reportOrder(
            fmt::format("writes '{}', expected an event or a stream that orders it after the reads of what it held, "
                        "got none",
                        nameOf(access.buffer)),
            s, at, "read");
    }
  }

  /// Reports that an instruction is not ordered after another one, once: what follows goes on as if it were.
  void reportOrder(const std::string &what, uint32_t otherStream, Position at, std::string_view verb,
                   std::string_view label = "plan-order") {
    add(label, what, at, verb);
    clocks[stream][otherStream] = std::max(clocks[stream][otherStream], at);
  }

  /// What must not be lost: sums of gradients, and parameters that were updated.
  void checkOverwrite(const Access &access, const Cell &cell) {
    plan::Region region = regionOf(access.buffer);
    if (region == plan::GRADIENT && cell.tag == tagOf(access) && !cell.read && cell.written <= runStart)
      add("plan-accumulate",
          fmt::format(
              "overwrites the sum of the micro-batches before in '{}', expected to add to it, got no read of it",
              nameOf(access.buffer)),
          cell.written, "written");
    if (region != plan::PARAMETER && region != plan::STATE)
      return;
    if (action() != plan::Block::UPDATE)
      add("plan-parameter",
          fmt::format("writes {} '{}', expected only the update to do so, got a {}", regionName(region),
                      nameOf(access.buffer), actionName(action())),
          0, "");
    else if (cell.written > 0 && cell.written >= stepStart())
      add("plan-parameter",
          fmt::format("writes {} '{}' again, expected once a step, got twice", regionName(region),
                      nameOf(access.buffer)),
          cell.written, "written");
    else if (int parameter = program.buffers(access.buffer).parameter();
             region == plan::PARAMETER && !plan.parameters(parameter).trainable())
      add("plan-parameter",
          fmt::format("writes parameter '{}', expected no write since it is not trained, got one",
                      nameOf(access.buffer)),
          0, "");
  }

  Position stepStart() const { return runStarts[(step - 1) * program.schedule_size()] + 1; }

  void noteGradient(const Access &access) {
    int parameter = program.buffers(access.buffer).parameter();
    if (regionOf(access.buffer) != plan::GRADIENT || parameter < 0 || step != 1 || action() != plan::Block::BACKWARD)
      return;
    GradientFacts &gradient = facts.gradients[parameter];
    if (gradient.lastEntry != entryNumber)
      ++gradient.backwardRuns;
    gradient.buffer = access.buffer;
    gradient.lastEntry = entryNumber;
  }

  // Gradients of parameters that several stages hold. The axis pp is no part of partial sets where it is implied:
  // what a backward writes to such a gradient is the summand of one stage, until a sum over the stages.

  plan::Block::Action action() const { return program.blocks(entry->block()).action(); }
  const plan::Instruction &instruction() const {
    return program.blocks(entry->block()).instructions(current->instruction);
  }
  bool sumsOverStages() const {
    return instruction().has_collective() && instruction().collective().kind() == plan::Collective::ALL_REDUCE &&
           instruction().collective().reduction() == plan::Collective::SUM &&
           crossesStages(plan, plan.communicators(instruction().collective().communicator()));
  }

  /// Reductions and copies hand a tied gradient on; nothing else in the update may read it before its sum over stages.
  void checkTied(const Access &access, const Cell &cell) {
    const plan::Instruction &reader = instruction();
    if (reader.has_collective() || reader.has_copy()) {
      movesOneStage = cell.ofOneStage;
      bool gradient = regionOf(access.buffer) == plan::GRADIENT && program.buffers(access.buffer).parameter() >= 0;
      if (sumsOverStages() && gradient && !cell.ofOneStage && !cell.reported)
        add("plan-tied",
            fmt::format("sums '{}' over stages, expected a gradient that is a summand of this stage, got one "
                        "that is summed already",
                        nameOf(access.buffer)),
            cell.written, "written");
      return;
    }
    if (cell.ofOneStage && !cell.reported && action() == plan::Block::UPDATE)
      add("plan-tied",
          fmt::format("reads '{}', the gradient of a parameter that several stages hold, expected its sum over "
                      "them, got the summand of this stage",
                      nameOf(access.buffer)),
          cell.written, "written");
  }
  bool movesOneStage = false; // the collective or copy being played has read a tied gradient

  bool staysOfOneStage(const Access &access) const {
    if (instruction().has_collective() || instruction().has_copy())
      return movesOneStage && !sumsOverStages();
    int parameter = program.buffers(access.buffer).parameter();
    return action() == plan::Block::BACKWARD && regionOf(access.buffer) == plan::GRADIENT && parameter >= 0 &&
           holders[parameter].size() > 1;
  }

  // Shared memory

  /// A buffer slot comes to life: whatever used its bytes before is dead, and all its uses must be ordered before.
  void activate(const Access &access, int number) {
    for (int c = 0; c < accesses.buffers[access.buffer].cells.count; ++c)
      cells[storages[number].firstCell + c].tag = 0;
    for (uint32_t s = 0; s < streams; ++s)
      base[number * streams + s] = 0;
    storages[number].active = true;
    int64_t begin = storages[number].begin, end = storages[number].end;
    auto it = memory.upper_bound(begin);
    if (it != memory.begin())
      --it;
    while (it != memory.end() && it->first < end) {
      auto [otherEnd, other] = it->second;
      int64_t otherBegin = it->first;
      if (otherEnd <= begin) {
        ++it;
        continue;
      }
      it = memory.erase(it);
      if (otherBegin < begin)
        memory[otherBegin] = {begin, other};
      if (otherEnd > end)
        it = memory.emplace(end, std::pair(otherEnd, other)).first;
      if (other != number)
        kill(access, other, number);
    }
    memory[begin] = {end, number};
  }

  void kill(const Access &access, int other, int number) {
    Storage &dead = storages[other];
    for (uint32_t s = 0; s < streams; ++s) {
      Position use = std::max(lastUse[other * streams + s], base[other * streams + s]);
      base[number * streams + s] = std::max(base[number * streams + s], use);
      if (use == position && dead.active)
        checkInPlace(access, dead, storages[number]);
    }
    if (dead.active) {
      dead.active = false;
      dead.killer = position;
      dead.killedBy = storages[number].buffer;
    }
  }

  /// One instruction may read and write the same bytes through two buffers, element by element.
  void checkInPlace(const Access &access, const Storage &readStorage, const Storage &writeStorage) {
    const BlockAccesses &block = accesses.blocks[entry->block()];
    const plan::Instruction &instruction = program.blocks(entry->block()).instructions(access.instruction);
    const plan::Buffer &from = program.buffers(readStorage.buffer), &to = program.buffers(writeStorage.buffer);
    bool can = readStorage.begin == writeStorage.begin && elementBytes(from.type()) == elementBytes(to.type()) &&
               !instruction.has_gemm() && !instruction.has_group();
    for (int a = block.firstOf[access.instruction]; a < block.firstOf[access.instruction + 1]; ++a)
      if (!block.accesses[a].write && block.accesses[a].buffer == readStorage.buffer)
        can &= sameLayout(*block.accesses[a].operand, *access.operand);
    if (!can)
      report.add(
          "plan-alias", here(),
          fmt::format("writes '{}' over '{}', which it reads, expected the same view of the same bytes, got others",
                      nameOf(writeStorage.buffer), nameOf(readStorage.buffer)));
  }

  void reportReuse(int buffer, uint32_t otherStream, Position use) {
    reportOrder(
        fmt::format("uses the memory of '{}', expected an event or a stream that orders it after the last use of "
                    "that memory, got none",
                    nameOf(buffer)),
        otherStream, use, "used", "plan-reuse");
  }

  // The end of a step

  void checkEnd() {
    if (stopped)
      return;
    checkOutputs();
    for (int i = 0; i < program.buffers_size() && updates; ++i)
      if (regionOf(i) == plan::PARAMETER && plan.parameters(program.buffers(i).parameter()).trainable())
        checkUpdated(i);
  }

  void checkUpdated(int buffer) {
    const Storage &storage = storages[storageOf(buffer, 0)];
    for (int c : accesses.buffers[buffer].cells.ofView[accesses.buffers[buffer].whole])
      if (cells[storage.firstCell + c].written == 0)
        return report.add("plan-parameter", {index},
                          fmt::format("parameter '{}', expected the update to write all of it, "
                                      "got no write",
                                      nameOf(buffer)));
  }

  void checkOutputs() {
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
};

} // namespace

void checkReads(const plan::Plan &plan, int program, const ProgramAccesses &accesses, const Holders &holders,
                Report &report, ReadsFacts &facts) {
  Simulation(plan, program, accesses, holders, report, facts).run();
}

} // namespace shardc::rt::verify
