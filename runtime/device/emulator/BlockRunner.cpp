//===-- BlockRunner.cpp - the threads of one block ----------------------------------------------------------------===//

#include "runtime/device/emulator/BlockRunner.h"

#include <algorithm>
#include <boost/context/fixedsize_stack.hpp>
#include <cstdlib>
#include <fmt/format.h>
#include <numeric>

namespace shardc::rt {
namespace {

namespace context = boost::context;

/// A kernel has no calls but those of hooks; some keep a row in local arrays.
constexpr size_t kStackBytes = 128 << 10;

} // namespace

const shardrtGpuHooks BlockRunner::kHooks = {barrier, shuffle, access};

BlockRunner::BlockRunner(const EmulatedKernel &kernel, const KernelArguments &arguments, const shardrtControl &control,
                         uint64_t seed)
    : kernel(kernel), arguments(arguments), control(control), random(seed), shared(kernel.sharedBytes),
      threads(kernel.block), strands(kernel.isCooperative ? kernel.block : 1), order(kernel.block) {
  for (size_t number = 0; number < threads.size(); ++number)
    threads[number].strand = &strands[kernel.isCooperative ? number : 0];
  std::iota(order.begin(), order.end(), 0);
}

void BlockRunner::fail(const Thread &thread, const std::string &what) {
  if (error.empty())
    error = fmt::format("thread {} of block {} {}", thread.self.threadIdx, thread.self.blockIdx, what);
}

//===-- Hooks -----------------------------------------------------------------------------------------------------===//

/// Back to the scheduler, until it lets this thread go on.
void BlockRunner::wait(Thread &thread, State state, uint32_t site) {
  thread.state = state;
  thread.site = site;
  if (!kernel.isCooperative)
    return fail(thread, "meets others, in a kernel whose threads do not");
  thread.strand->scheduler = std::move(thread.strand->scheduler).resume();
}

/// Leaves a thread where it is, for good.
void BlockRunner::abandon(Thread &thread) {
  (void)std::move(thread.strand->scheduler).resume();
  std::abort(); // nobody resumes it
}

void BlockRunner::barrier(shardrtGpuThread *self, uint32_t site) {
  get(self).runner->wait(get(self), State::AtBarrier, site);
}

uint32_t BlockRunner::shuffle(shardrtGpuThread *self, uint32_t bits, uint32_t operand, uint32_t width, uint32_t mode,
                              uint32_t *valid, uint32_t site) {
  Thread &thread = get(self);
  thread.bits = thread.received = bits;
  thread.operand = operand;
  thread.width = width;
  thread.mode = mode;
  thread.isValid = 0;
  thread.runner->wait(thread, State::AtShuffle, site);
  *valid = thread.isValid;
  return thread.received;
}

/// What is wrong is noted; an access out of bounds must not happen.
void BlockRunner::access(shardrtGpuThread *self, uint32_t operand, const void *address, uint32_t bytes,
                         uint32_t alignment, uint32_t isWrite, uint32_t site) {
  Thread &thread = get(self);
  BlockRunner &runner = *thread.runner;
  bool isShared = operand == SHARDRT_OPERAND_SHARED;
  const char *verb = isWrite ? "writes" : "reads", *at = static_cast<const char *>(address);
  auto name = [&] { return isShared ? "shared memory" : fmt::format("operand {}", operand); };
  if (!isShared && operand >= runner.arguments.slots.size())
    return runner.fail(thread, fmt::format("{} operand {}, which it does not have", verb, operand));
  std::span<const char> memory =
      isShared ? std::span<const char>(runner.shared.data(), runner.shared.size()) : runner.arguments.slots[operand];
  if (at < memory.data() || at + bytes > memory.data() + memory.size()) {
    runner.fail(thread, fmt::format("{} {} out of bounds: bytes {} to {} of {}, site {}", verb, name(),
                                    at - memory.data(), at - memory.data() + bytes, memory.size(), site));
    return abandon(thread);
  }
  if (reinterpret_cast<uintptr_t>(address) % alignment != 0)
    runner.fail(thread, fmt::format("{} {} at byte {}, expected a multiple of {}, site {}", verb, name(),
                                    at - memory.data(), alignment, site));
  if (isShared) {
    if (std::string problem = runner.shared.access(address, bytes, isWrite != 0, self->threadIdx); !problem.empty())
      runner.fail(thread, problem + fmt::format(", site {}", site));
  } else if (isWrite && operand < runner.arguments.reads) {
    runner.fail(thread, fmt::format("writes operand {}, which it only reads, site {}", operand, site));
  }
}

//===-- Scheduling ------------------------------------------------------------------------------------------------===//

const std::string &BlockRunner::run(uint32_t block) {
  shared.begin();
  for (uint32_t number = 0; number < kernel.block; ++number) {
    Thread &thread = threads[number];
    thread.self = {&kHooks, shared.data(), block, number, kernel.grid, kernel.block};
    thread.runner = this;
    thread.state = State::Runnable;
  }
  std::shuffle(order.begin(), order.end(), random);
  if (kernel.isCooperative)
    runTogether();
  else
    runInTurn();
  for (Strand &strand : strands)
    if (strand.fiber)
      (void)new context::fiber(std::move(strand.fiber)); // abandoned
  return error;
}

/// Runs `body` in a fiber, until it ends or waits.
void BlockRunner::start(Strand &strand, std::function<void()> body) {
  strand.fiber = context::fiber(std::allocator_arg, context::fixedsize_stack(kStackBytes),
                                [&strand, body = std::move(body)](context::fiber scheduler) {
                                  strand.scheduler = std::move(scheduler);
                                  body();
                                  return std::move(strand.scheduler);
                                });
  strand.fiber = std::move(strand.fiber).resume();
}

void BlockRunner::runInTurn() {
  start(strands[0], [this] {
    for (size_t number : order)
      if (error.empty())
        kernel.function(arguments.pointers.data(), &control, &threads[number].self);
  });
}

void BlockRunner::runTogether() {
  for (size_t number : order)
    if (error.empty())
      start(strands[number], [this, &thread = threads[number]] {
        kernel.function(arguments.pointers.data(), &control, &thread.self);
        thread.state = State::Done;
      });
  while (error.empty() &&
         !std::ranges::all_of(threads, [](const Thread &thread) { return thread.state == State::Done; })) {
    if (!releaseMeetings())
      return reportDivergence();
    for (size_t number : order)
      if (threads[number].state == State::Runnable && error.empty())
        strands[number].fiber = std::move(strands[number].fiber).resume();
  }
}

bool BlockRunner::isMeeting(size_t begin, size_t end, State state) const {
  return std::all_of(threads.begin() + begin, threads.begin() + end,
                     [&](const Thread &thread) { return thread.state == state && thread.site == threads[begin].site; });
}

/// PTX ISA, shfl.sync: lanes are counted within segments of `width`.
void BlockRunner::releaseShuffle(size_t begin, size_t end) {
  for (size_t number = begin; number < end; ++number) {
    Thread &thread = threads[number];
    int64_t lane = number - begin, segment = lane / thread.width * thread.width, within = lane - segment;
    int64_t operand = thread.operand, width = thread.width, source = operand;
    if (thread.mode == SHARDRT_SHUFFLE_XOR)
      source = within ^ operand;
    else if (thread.mode == SHARDRT_SHUFFLE_UP)
      source = within - operand;
    else if (thread.mode == SHARDRT_SHUFFLE_DOWN)
      source = within + operand;
    thread.isValid = source >= 0 && source < width && segment + source < static_cast<int64_t>(end - begin);
    if (thread.isValid)
      thread.received = threads[begin + segment + source].bits;
    thread.state = State::Runnable;
  }
}

bool BlockRunner::releaseMeetings() {
  bool isReleased = false;
  for (size_t begin = 0; begin < threads.size(); begin += SHARDRT_WARP_SIZE) {
    size_t end = std::min<size_t>(begin + SHARDRT_WARP_SIZE, threads.size());
    if (!isMeeting(begin, end, State::AtShuffle))
      continue;
    releaseShuffle(begin, end);
    isReleased = true;
  }
  if (!isMeeting(0, threads.size(), State::AtBarrier))
    return isReleased;
  shared.passBarrier();
  for (Thread &thread : threads)
    thread.state = State::Runnable;
  return true;
}

void BlockRunner::reportDivergence() {
  auto describe = [](const Thread &thread) {
    if (thread.state == State::Done)
      return std::string("has ended");
    return fmt::format("waits at {} {}", thread.state == State::AtBarrier ? "barrier" : "shuffle", thread.site);
  };
  auto other = std::ranges::find_if(threads, [&](const Thread &thread) {
    return thread.state != threads[0].state || thread.site != threads[0].site;
  });
  fail(threads[0], other == threads.end() ? describe(threads[0]) + " for ever"
                                          : fmt::format("{}, but thread {} {}: threads of a block part ways",
                                                        describe(threads[0]), other->self.threadIdx, describe(*other)));
}

} // namespace shardc::rt
