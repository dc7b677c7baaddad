//===-- TiedGradients.cpp - gradients of parameters that several stages hold --------------------------------------===//
//
// The axis pp is no part of partial sets where it is implied: what a backward writes to such a gradient is the summand
// of one stage, until a sum over the stages.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "runtime/verify/Simulation.h"

#include "runtime/format/Query.h"
#include "runtime/verify/Structure.h"

#include <algorithm>
#include <fmt/format.h>

namespace shardc::rt::verify {

const plan::Instruction &Simulation::instruction() const {
  return program.blocks(entry->block()).instructions(current->instruction);
}

bool Simulation::sumsOverStages() const {
  return instruction().has_collective() && instruction().collective().kind() == plan::Collective::ALL_REDUCE &&
         instruction().collective().reduction() == plan::Collective::SUM &&
         crossesStages(plan, plan.communicators(instruction().collective().communicator()));
}

void Simulation::checkTied(const Access &access, const Cell &cell) {
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

bool Simulation::staysOfOneStage(const Access &access) const {
  if (instruction().has_collective() || instruction().has_copy())
    return movesOneStage && !sumsOverStages();
  int parameter = program.buffers(access.buffer).parameter();
  return action() == plan::Block::BACKWARD && regionOf(access.buffer) == plan::GRADIENT && parameter >= 0 &&
         holders[parameter].size() > 1;
}

} // namespace shardc::rt::verify
