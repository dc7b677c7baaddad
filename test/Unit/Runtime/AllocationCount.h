//===-- AllocationCount.h - how much is allocated, and by whom ----------------------------------------------------===//
#ifndef SHARDC_TEST_UNIT_RUNTIME_ALLOCATIONCOUNT_H
#define SHARDC_TEST_UNIT_RUNTIME_ALLOCATIONCOUNT_H

#include <cstdint>

namespace shardc::rt::test {

/// False under sanitizers, whose allocators cannot be replaced.
bool allocationsAreCounted();

/// Counts the allocations of all threads from its making until stop(). One at a time.
class AllocationCount {
public:
  AllocationCount();
  ~AllocationCount();
  void stop();

  /// Allocations that were not made by the libraries that compute matrix products (oneDNN, OpenMP).
  int64_t ours() const;
  /// Allocations less releases, by anybody.
  int64_t net() const;
};

} // namespace shardc::rt::test

#endif
