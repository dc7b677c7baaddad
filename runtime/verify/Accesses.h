//===-- Accesses.h - a program as accesses to cells of buffers ----------------------------------------------------===//
#ifndef SHARDC_RUNTIME_VERIFY_ACCESSES_H
#define SHARDC_RUNTIME_VERIFY_ACCESSES_H

#include "runtime/verify/Cells.h"
#include "runtime/verify/Operands.h"
#include "runtime/verify/Report.h"

#include <vector>

namespace shardc::rt::verify {

/// An operand: which cells of which buffer, in the slot of which register.
struct Access {
  int buffer;
  int slotRegister; // -1: slot 0
  int tagRegister;  // whose micro-batch it belongs to
  bool write;
  int view;          // number among the buffer's views
  uint32_t sum, max; // axes of size > 1 that it is declared partial over
  int instruction, message;
  const plan::Operand *operand;
};

struct BlockAccesses {
  std::vector<Access> accesses;
  std::vector<int> firstOf; // of each instruction, and one more
};

struct BufferAccesses {
  Cells cells;
  int whole = -1;           // the view of all elements, for parameters, states and gradients
  bool isolated = false;    // shares no memory with another buffer
  bool meetsOthers = false; // shares memory with a buffer that is no scratch
};

struct ProgramAccesses {
  std::vector<BufferAccesses> buffers;
  std::vector<BlockAccesses> blocks;
  std::vector<std::vector<int>> outputs; // of each output: cells

  const std::vector<int> &cellsOf(const Access &access) const {
    return buffers[access.buffer].cells.ofView[access.view];
  }
};

/// Mesh axes with more than one rank, as a mask: only over those can a value be partial.
uint32_t realAxes(const plan::Plan &plan);

/// Reports instructions whose operands overlap in a way that cannot be executed, and views too irregular to tell apart;
/// returns whether there were none of the latter.
bool findAccesses(const plan::Plan &plan, int program, Report &report, ProgramAccesses &result);

/// Whether two views address memory alike: in place is possible.
bool sameLayout(const plan::Operand &a, const plan::Operand &b);

} // namespace shardc::rt::verify

#endif
