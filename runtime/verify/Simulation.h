//===-- Simulation.h - one step of one program, played with symbols -----------------------------------------------===//
//
// The machinery of Reads (Reads.h says what is played and why): runs of blocks in Reads.cpp, what cells hold and who
// may touch them in SimulatedCells.cpp, buffers that share memory in SimulatedMemory.cpp, gradients of parameters that
// several stages hold in TiedGradients.cpp.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_VERIFY_SIMULATION_H
#define SHARDC_RUNTIME_VERIFY_SIMULATION_H

#include "runtime/verify/Reads.h"

#include <map>
#include <memory>
#include <set>
#include <unordered_map>

namespace shardc::rt::verify {

/// Cells that are looked at in all; beyond it a plan is refused.
inline constexpr int64_t kMaxVisits = int64_t(1) << 31;
/// Violations after which the rest of a step is not looked at.
inline constexpr int64_t kMaxComplaints = 20000;

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

/// Plays a program's step, and the next one where its blocks are not joined; reports as it goes.
class Simulation {
public:
  Simulation(const plan::Plan &plan, int index, const ProgramAccesses &accesses, const Holders &holders, Report &report,
             ReadsFacts &facts)
      : plan(plan), index(index), program(plan.programs(index)), accesses(accesses), holders(holders), report(report),
        facts(facts), streams(program.streams()), clocks(streams, Clock(streams)),
        firstSlots(program.buffers_size(), -1), summaries(size_t(4) * program.blocks_size()) {}

  void run();

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

  void playStep();
  void playEntry();
  Position lastPosition = 0;
  /// Runs are alike when their two registers agree or differ alike.
  int pattern() const;
  void playBlock(int b);
  /// Moves the stream's clock to an instruction.
  void issue(int b, int i, const plan::Instruction &instruction);
  void replay(int b, const Summary &summary);
  /// Keeps the reads of what was written before this run, and the last of equal writes that others can see.
  void summarize(int b, Summary &summary);
  std::vector<std::pair<int, std::vector<int>>> exposed; // reads of the run, with the cells written before it
  std::vector<int> outside;                              // of the access being played: such cells

  // Bounds and joined blocks

  bool canReplay() const;
  /// Whether an instruction of another stream comes after one of stream 0, and all come before the last of stream 0.
  bool isJoined(const plan::Block &block) const;
  bool isWithinBounds();
  void visit(size_t count);

  // Places

  Place placeOf(Position at) const;
  Place here() const { return {index, entryNumber, int(entry->block()), current->instruction, current->message}; }
  const std::string &nameOf(int buffer) const { return program.buffers(buffer).name(); }

  void add(std::string_view label, const std::string &what, Position other, std::string_view verb);

  // Storages

  plan::Region regionOf(int buffer) const { return program.buffers(buffer).region(); }

  uint32_t microBatch(const Access &access) const;
  Tag tagOf(const Access &access) const;
  int storageOf(const Access &access);
  int storageOf(int buffer, uint32_t slot);

  // Accesses

  bool isOrdered(uint32_t otherStream, Position at) const { return ordered || at <= clocks[stream][otherStream]; }

  /// Plays one access to some cells of its view.
  void perform(const Access &access, const std::vector<int> &list);
  void read(const Access &access, int storage, const std::vector<int> &list);
  void reportContent(const Access &access, const Storage &storage, const Cell &cell, Tag tag);
  void reportPartial(const Access &access, const Cell &cell);
  void write(const Access &access, int storage, const std::vector<int> &list);
  void checkWriteOrder(const Access &access, size_t number);
  /// Reports that an instruction is not ordered after another one, once: what follows goes on as if it were.
  void reportOrder(const std::string &what, uint32_t otherStream, Position at, std::string_view verb,
                   std::string_view label = "plan-order");
  /// What must not be lost: sums of gradients, and parameters that were updated.
  void checkOverwrite(const Access &access, const Cell &cell);
  Position stepStart() const { return runStarts[(step - 1) * program.schedule_size()] + 1; }

  void noteGradient(const Access &access);

  // Gradients of parameters that several stages hold. The axis pp is no part of partial sets where it is implied:
  // what a backward writes to such a gradient is the summand of one stage, until a sum over the stages.

  plan::Block::Action action() const { return program.blocks(entry->block()).action(); }
  const plan::Instruction &instruction() const;
  bool sumsOverStages() const;
  /// Reductions and copies hand a tied gradient on; nothing else in the update may read it before its sum over stages.
  void checkTied(const Access &access, const Cell &cell);
  bool movesOneStage = false; // the collective or copy being played has read a tied gradient

  bool staysOfOneStage(const Access &access) const;

  // Shared memory

  /// A buffer slot comes to life: whatever used its bytes before is dead, and all its uses must be ordered before.
  void activate(const Access &access, int number);
  void kill(const Access &access, int other, int number);
  /// One instruction may read and write the same bytes through two buffers, element by element.
  void checkInPlace(const Access &access, const Storage &readStorage, const Storage &writeStorage);
  void reportReuse(int buffer, uint32_t otherStream, Position use);

  // The end of a step

  void checkEnd();
  void checkUpdated(int buffer);
  void checkOutputs();
};

} // namespace shardc::rt::verify

#endif
