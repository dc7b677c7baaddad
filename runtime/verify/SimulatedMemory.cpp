//===-- SimulatedMemory.cpp - buffers that use the same bytes one after another -----------------------------------===//

#include "runtime/verify/Simulation.h"

#include "runtime/format/Query.h"
#include "runtime/verify/Structure.h"

#include <algorithm>
#include <fmt/format.h>

namespace shardc::rt::verify {

void Simulation::activate(const Access &access, int number) {
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

void Simulation::kill(const Access &access, int other, int number) {
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

void Simulation::checkInPlace(const Access &access, const Storage &readStorage, const Storage &writeStorage) {
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

void Simulation::reportReuse(int buffer, uint32_t otherStream, Position use) {
  reportOrder(fmt::format("uses the memory of '{}', expected an event or a stream that orders it after the last use of "
                          "that memory, got none",
                          nameOf(buffer)),
              otherStream, use, "used", "plan-reuse");
}

} // namespace shardc::rt::verify
