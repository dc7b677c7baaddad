//===-- World.h - the ranks of a plan, and which of them live here ------------------------------------------------===//
//
// A trainer runs the ranks of its world that are local to this process, one thread each. What every process does, such
// as collecting tensors, it does in the same order as the others.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_COMM_WORLD_H
#define SHARDC_RUNTIME_COMM_WORLD_H

#include "runtime/comm/Communicator.h"

#include <vector>

namespace shardc::rt {

class World {
public:
  virtual ~World() = default;

  /// The ranks of this process, ascending.
  virtual const std::vector<int64_t> &localRanks() const = 0;
  /// How many ranks of each pp coordinate live on this process's machine.
  virtual std::vector<int64_t> ranksOnMachine() const = 0;
  /// The communicator of a local rank, for use by one thread at a time.
  virtual Communicator &communicator(int64_t rank) = 0;
  /// Begins a step: all local ranks are running. Only while none of them is inside a call.
  virtual void beginStep() = 0;

  /// Brings `bytes` from a rank to the process of rank 0, where `target` receives them. `data` is where they lie on the
  /// process of `rank`. Every process calls it.
  virtual Status collect(int64_t rank, const void *data, void *target, int64_t bytes) = 0;

  /// Whether this process has rank 0: it writes files and tells how it goes.
  bool isPrimary() const { return localRanks().front() == 0; }
};

} // namespace shardc::rt

#endif
