//===-- ThreadPool.cpp - the threads of one rank ------------------------------------------------------------------===//

#include "runtime/device/cpu/ThreadPool.h"

namespace shardc::rt {

ThreadPool::ThreadPool(int threads) : threadCount(threads) {
  try {
    for (int index = 1; index < threads; ++index)
      workers.emplace_back([this, index] { work(index); });
  } catch (...) { // the system has no more threads: those that there are must end before they go
    endWorkers();
    throw;
  }
}

ThreadPool::~ThreadPool() { endWorkers(); }

void ThreadPool::endWorkers() {
  {
    std::lock_guard lock(mutex);
    ending = true;
  }
  begin.notify_all();
  for (std::thread &worker : workers)
    worker.join();
}

void ThreadPool::run(shardrtKernel kernel, void *const *buffers, const shardrtControl *control, int64_t items) {
  if (workers.empty() || items < 2) {
    if (items > 0)
      kernel(buffers, control, 0, items);
    return;
  }
  {
    std::lock_guard lock(mutex);
    task = {kernel, buffers, control, items};
    running = static_cast<int>(workers.size());
    ++generation;
  }
  begin.notify_all();
  runPart(0);
  std::unique_lock lock(mutex);
  end.wait(lock, [this] { return running == 0; });
}

void ThreadPool::work(int index) {
  uint64_t seen = 0;
  std::unique_lock lock(mutex);
  while (true) {
    begin.wait(lock, [&] { return ending || generation != seen; });
    if (ending)
      return;
    seen = generation;
    lock.unlock();
    runPart(index);
    lock.lock();
    if (--running == 0)
      end.notify_one();
  }
}

void ThreadPool::runPart(int index) const {
  int64_t from = task.items * index / threadCount, to = task.items * (index + 1) / threadCount;
  if (from < to)
    task.kernel(task.buffers, task.control, from, to);
}

} // namespace shardc::rt
