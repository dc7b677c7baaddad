//===-- SimulatedCells.cpp - what the cells of buffers hold, and who may touch them -------------------------------===//

#include "runtime/verify/Simulation.h"

#include "runtime/format/Query.h"
#include "runtime/verify/Structure.h"

#include <algorithm>
#include <fmt/format.h>

namespace shardc::rt::verify {

Place Simulation::placeOf(Position at) const {
  size_t run = std::lower_bound(runStarts.begin(), runStarts.end(), at) - runStarts.begin() - 1;
  int e = int(run % program.schedule_size());
  return {index, e, int(program.schedule(e).block()), int(at - runStarts[run] - 1)};
}

void Simulation::add(std::string_view label, const std::string &what, Position other, std::string_view verb) {
  if (++complaints > kMaxComplaints)
    stopped = true;
  std::string note;
  if (other > 0)
    note = fmt::format("{} by {}", verb, report.describe(placeOf(other)));
  report.add(label, here(), what, note);
}

uint32_t Simulation::microBatch(const Access &access) const {
  return access.tagRegister < entry->registers_size() ? entry->registers(access.tagRegister).micro_batch() : 0;
}

Tag Simulation::tagOf(const Access &access) const {
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

int Simulation::storageOf(const Access &access) {
  uint32_t slot = access.slotRegister < 0 ? 0 : entry->registers(access.slotRegister).slot();
  return storageOf(access.buffer, slot);
}

int Simulation::storageOf(int buffer, uint32_t slot) {
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

void Simulation::perform(const Access &access, const std::vector<int> &list) {
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

void Simulation::read(const Access &access, int storage, const std::vector<int> &list) {
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

void Simulation::reportContent(const Access &access, const Storage &storage, const Cell &cell, Tag tag) {
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
               fmt::format("reads '{}', expected what was written for micro-batch {}, got that of micro-batch {}", name,
                           (tag & 0xffffffff) - 1, (cell.tag & 0xffffffff) - 1),
               cell.written, "written");
  add("plan-overlap",
      fmt::format("reads '{}', expected its bytes untouched since its write, got '{}' written over it", name,
                  storage.killedBy < 0 ? "another buffer" : nameOf(storage.killedBy)),
      storage.killer, "written over");
}

void Simulation::reportPartial(const Access &access, const Cell &cell) {
  const std::string &name = nameOf(access.buffer);
  add("plan-partial",
      fmt::format("reads '{}', which is {}, expected to read it as such, got {}", name,
                  partialName(plan, cell.sum, cell.max), partialName(plan, access.sum, access.max)),
      cell.written, "written");
}

void Simulation::write(const Access &access, int storage, const std::vector<int> &list) {
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

void Simulation::checkWriteOrder(const Access &access, size_t number) {
  const Cell &cell = cells[number];
  if (!isOrdered(cell.writeStream, cell.written))
    reportOrder(fmt::format("writes '{}', expected an event or a stream that orders it after the write before it, got "
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

void Simulation::reportOrder(const std::string &what, uint32_t otherStream, Position at, std::string_view verb,
                             std::string_view label) {
  add(label, what, at, verb);
  clocks[stream][otherStream] = std::max(clocks[stream][otherStream], at);
}

void Simulation::checkOverwrite(const Access &access, const Cell &cell) {
  plan::Region region = regionOf(access.buffer);
  if (region == plan::GRADIENT && cell.tag == tagOf(access) && !cell.read && cell.written <= runStart)
    add("plan-accumulate",
        fmt::format("overwrites the sum of the micro-batches before in '{}', expected to add to it, got no read of it",
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
        fmt::format("writes {} '{}' again, expected once a step, got twice", regionName(region), nameOf(access.buffer)),
        cell.written, "written");
  else if (int parameter = program.buffers(access.buffer).parameter();
           region == plan::PARAMETER && !plan.parameters(parameter).trainable())
    add("plan-parameter",
        fmt::format("writes parameter '{}', expected no write since it is not trained, got one", nameOf(access.buffer)),
        0, "");
}

void Simulation::noteGradient(const Access &access) {
  int parameter = program.buffers(access.buffer).parameter();
  if (regionOf(access.buffer) != plan::GRADIENT || parameter < 0 || step != 1 || action() != plan::Block::BACKWARD)
    return;
  GradientFacts &gradient = facts.gradients[parameter];
  if (gradient.lastEntry != entryNumber)
    ++gradient.backwardRuns;
  gradient.buffer = access.buffer;
  gradient.lastEntry = entryNumber;
}

} // namespace shardc::rt::verify
