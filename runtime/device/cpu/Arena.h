//===-- Arena.h - the memory of one rank --------------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CPU_ARENA_H
#define SHARDC_RUNTIME_DEVICE_CPU_ARENA_H

#include "runtime/base/Status.h"
#include "runtime/format/plan.pb.h"

#include <cstdint>
#include <memory>

namespace shardc::rt {

/// One allocation, aligned to a page, of exactly the bytes that the plan says; zero at first.
class Arena {
public:
  static Result<Arena> allocate(int64_t bytes);
  Arena() = default;

  char *data() const { return memory.get(); }
  int64_t bytes() const { return size; }

private:
  struct Free {
    void operator()(char *memory) const;
  };
  std::unique_ptr<char, Free> memory;
  int64_t size = 0;
};

/// Fills memory with values that no computation survives unnoticed: signalling NaN for floats, huge ones for integers.
void poison(plan::ElementType type, void *memory, int64_t bytes);

/// Fills memory with `value`, converted to the element type.
void fill(plan::ElementType type, void *memory, int64_t bytes, double value);

} // namespace shardc::rt

#endif
