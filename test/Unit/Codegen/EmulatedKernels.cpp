//===-- EmulatedKernels.cpp - GPU kernels compiled from text and run thread by thread, for tests ------------------===//

#include "EmulatedKernels.h"

#include "dialects/exec/Exec.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <random>
#include <ucontext.h>

using namespace shardc;
using namespace shardc::test;

namespace {

constexpr size_t kStackBytes = 64 << 10;
constexpr uint8_t kPoison = 0xcd;

enum class State { Runnable, AtBarrier, AtShuffle, Done };

struct BlockRunner;

struct Thread {
  shardrtGpuThread self; // first: hooks get a pointer to it
  BlockRunner *runner;
  State state = State::Runnable;
  uint32_t site = 0, bits = 0, lane = 0;
  ucontext_t context;
  std::vector<char> stack;
};

struct BlockRunner {
  shardrtEmulatedKernel kernel;
  const std::vector<EmulatedOperand> &operands;
  std::vector<void *> pointers;
  const shardrtControl &control;
  const codegen::GpuLaunch &launch;
  std::vector<uint64_t> shared;
  std::vector<std::unique_ptr<Thread>> threads;
  ucontext_t scheduler;
  std::string error;

  void fail(const std::string &message) {
    if (error.empty())
      error = launch.name + ": " + message;
  }
};

Thread &get(shardrtGpuThread *self) { return *reinterpret_cast<Thread *>(self); }

void wait(Thread &thread, State state, uint32_t site) {
  thread.state = state;
  thread.site = site;
  if (!thread.runner->launch.isCooperative)
    thread.runner->fail("threads meet in a kernel that is not cooperative");
  else
    swapcontext(&thread.context, &thread.runner->scheduler);
}

void barrier(shardrtGpuThread *self, uint32_t site) { wait(get(self), State::AtBarrier, site); }

/// The scheduler has put the partner's bits into ours when it lets us go on.
uint32_t shuffle(shardrtGpuThread *self, uint32_t bits, uint32_t lane, uint32_t width, uint32_t mode, uint32_t *valid,
                 uint32_t site) {
  Thread &thread = get(self);
  if (mode != SHARDRT_SHUFFLE_XOR || width != SHARDRT_WARP_SIZE || lane >= width)
    thread.runner->fail("unexpected shuffle");
  thread.bits = bits;
  thread.lane = lane;
  wait(thread, State::AtShuffle, site);
  *valid = 1;
  return thread.bits;
}

void access(shardrtGpuThread *self, uint32_t operand, const void *address, uint32_t bytes, uint32_t alignment, uint32_t,
            uint32_t site) {
  BlockRunner &runner = *get(self).runner;
  const char *begin = static_cast<const char *>(self->shared);
  size_t size = runner.launch.sharedBytes;
  if (operand != SHARDRT_OPERAND_SHARED) {
    begin = static_cast<const char *>(runner.operands.at(operand).data);
    size = runner.operands[operand].bytes;
  }
  auto at = static_cast<const char *>(address);
  std::string where = "operand " + std::to_string(static_cast<int32_t>(operand)) + ", site " + std::to_string(site);
  if (at < begin || at + bytes > begin + size)
    runner.fail("out of bounds: " + where + ", byte " + std::to_string(at - begin) + " of " + std::to_string(size));
  if (reinterpret_cast<uintptr_t>(address) % alignment != 0)
    runner.fail("misaligned: " + where);
}

const shardrtGpuHooks kHooks = {barrier, shuffle, access};

void runThread(Thread &thread) {
  BlockRunner &runner = *thread.runner;
  runner.kernel(runner.pointers.data(), &runner.control, &thread.self);
  thread.state = State::Done;
}

void enter(unsigned low, unsigned high) {
  runThread(*reinterpret_cast<Thread *>(static_cast<uintptr_t>(high) << 32 | low));
}

/// Lets threads [from, to) go on that all wait at one place; false where they do not (yet).
bool release(BlockRunner &runner, size_t from, size_t to, State state) {
  for (size_t i = from; i < to; ++i)
    if (runner.threads[i]->state != state || runner.threads[i]->site != runner.threads[from]->site)
      return false;
  std::vector<uint32_t> bits;
  for (size_t i = from; i < to; ++i)
    bits.push_back(runner.threads[from + ((i - from) ^ runner.threads[i]->lane) % (to - from)]->bits);
  for (size_t i = from; i < to; ++i) {
    if (state == State::AtShuffle)
      runner.threads[i]->bits = bits[i - from];
    runner.threads[i]->state = State::Runnable;
  }
  return true;
}

void runFibers(BlockRunner &runner, std::mt19937 &random) {
  for (auto &thread : runner.threads) {
    thread->stack.resize(kStackBytes);
    getcontext(&thread->context);
    thread->context.uc_stack.ss_sp = thread->stack.data();
    thread->context.uc_stack.ss_size = kStackBytes;
    thread->context.uc_link = &runner.scheduler;
    auto address = reinterpret_cast<uintptr_t>(thread.get());
    makecontext(&thread->context, reinterpret_cast<void (*)()>(enter), 2, static_cast<unsigned>(address),
                static_cast<unsigned>(address >> 32));
  }
  while (runner.error.empty()) {
    std::vector<Thread *> runnable;
    for (auto &thread : runner.threads)
      if (thread->state == State::Runnable)
        runnable.push_back(thread.get());
    std::shuffle(runnable.begin(), runnable.end(), random);
    for (Thread *thread : runnable)
      swapcontext(&runner.scheduler, &thread->context);
    bool progress = !runnable.empty();
    for (size_t warp = 0; warp < runner.threads.size(); warp += SHARDRT_WARP_SIZE)
      progress |= release(runner, warp, warp + SHARDRT_WARP_SIZE, State::AtShuffle);
    progress |= release(runner, 0, runner.threads.size(), State::AtBarrier);
    if (std::all_of(runner.threads.begin(), runner.threads.end(), [](auto &t) { return t->state == State::Done; }))
      return;
    if (!progress)
      runner.fail("threads wait at different places");
  }
}

} // namespace

std::unique_ptr<EmulatedKernels> EmulatedKernels::compile(const std::string &text, const std::string &arch) {
  mlir::DialectRegistry registry;
  registry.insert<dist::DistDialect, nn::NNDialect, exec::ExecDialect>();
  mlir::MLIRContext context(registry);
  std::string messages;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    messages += diagnostic.str() + "\n";
    return mlir::success();
  });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  llvm::SmallString<128> path;
  llvm::sys::fs::createTemporaryFile("kernels", "so", path);
  std::unique_ptr<EmulatedKernels> result(new EmulatedKernels);
  result->path = path.str().str();
  if (module &&
      mlir::succeeded(codegen::emitGpuKernels(*module, arch, codegen::getHostTarget(), result->path, result->kernels)))
    result->handle = dlopen(result->path.c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_EQ(messages, "");
  return result->handle ? std::move(result) : nullptr;
}

EmulatedKernels::~EmulatedKernels() {
  if (handle)
    dlclose(handle);
  llvm::sys::fs::remove(path);
}

const codegen::GpuLaunch &EmulatedKernels::getLaunch(const std::string &name) const {
  auto found = std::find_if(kernels.launches.begin(), kernels.launches.end(),
                            [&](const codegen::GpuLaunch &launch) { return launch.name == name; });
  EXPECT_NE(found, kernels.launches.end()) << name;
  return *found;
}

std::string EmulatedKernels::run(const std::string &name, const std::vector<EmulatedOperand> &operands,
                                 const shardrtControl &control, unsigned seed) {
  auto kernel = reinterpret_cast<shardrtEmulatedKernel>(dlsym(handle, name.c_str()));
  if (!kernel)
    return "no kernel " + name;
  BlockRunner runner{kernel, operands, {}, control, getLaunch(name), {}, {}, {}, {}};
  for (const EmulatedOperand &operand : operands)
    runner.pointers.push_back(operand.data);
  std::mt19937 random(seed);
  runner.shared.resize(runner.launch.sharedBytes / 8 + 2);
  for (int64_t block = 0; block < runner.launch.grid && runner.error.empty(); ++block) {
    std::memset(runner.shared.data(), kPoison, runner.shared.size() * 8);
    runner.threads.clear();
    for (int64_t number = 0; number < runner.launch.block; ++number) {
      auto thread = std::make_unique<Thread>();
      thread->self = {&kHooks,
                      reinterpret_cast<void *>((reinterpret_cast<uintptr_t>(runner.shared.data()) + 15) / 16 * 16),
                      static_cast<uint32_t>(block),
                      static_cast<uint32_t>(number),
                      static_cast<uint32_t>(runner.launch.grid),
                      static_cast<uint32_t>(runner.launch.block)};
      thread->runner = &runner;
      runner.threads.push_back(std::move(thread));
    }
    if (runner.launch.isCooperative)
      runFibers(runner, random);
    else
      for (auto &thread : runner.threads)
        runThread(*thread);
  }
  return runner.error;
}
