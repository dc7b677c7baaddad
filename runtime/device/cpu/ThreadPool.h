//===-- ThreadPool.h - the threads of one rank --------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CPU_THREADPOOL_H
#define SHARDC_RUNTIME_DEVICE_CPU_THREADPOOL_H

#include "shardrt/control.h"

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace shardc::rt {

/// Divides the work items of kernels among the calling thread and threads - 1 others, which sleep between kernels. The
/// division does not change results: items are independent.
class ThreadPool {
public:
  /// Throws std::system_error when the system gives no more threads.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  /// Runs `kernel` over [0, items) and returns when all of it is done.
  void run(shardrtKernel kernel, void *const *buffers, const shardrtControl *control, int64_t items);

private:
  void endWorkers();
  void work(int index);
  void runPart(int index) const;

  struct Task {
    shardrtKernel kernel = nullptr;
    void *const *buffers = nullptr;
    const shardrtControl *control = nullptr;
    int64_t items = 0;
  };
  int threadCount;
  std::mutex mutex;
  std::condition_variable begin, end;
  Task task;
  uint64_t generation = 0;
  int running = 0;
  bool ending = false;
  std::vector<std::thread> workers;
};

} // namespace shardc::rt

#endif
