//===-- ThreadTransport.h - processes that are threads ------------------------------------------------------------===//
//
// A transport for tests of what is built on one: every "process" is a thread, messages are copied through queues.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_TEST_UNIT_RUNTIME_THREADTRANSPORT_H
#define SHARDC_TEST_UNIT_RUNTIME_THREADTRANSPORT_H

#include "runtime/comm/process/Transport.h"

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

namespace shardc::rt::test {

class ThreadTransport {
public:
  explicit ThreadTransport(int32_t processes);

  shardrtTransport connect(int32_t process);
  /// How many of them have asked for the end of all.
  int aborts() const { return aborted; }

private:
  struct Receive {
    void *data;
    int64_t bytes;
    bool done = false;
    const char *error = nullptr;
  };
  struct Queue {
    std::deque<std::vector<char>> messages;
    std::deque<Receive *> receives;
  };
  struct Process {
    ThreadTransport *all;
    int32_t number;
  };
  using Key = std::tuple<int32_t, int32_t, int32_t>; // from, to, tag

  static const char *send(void *state, int32_t peer, int32_t tag, const void *data, int64_t bytes,
                          shardrtRequest *request);
  static const char *receive(void *state, int32_t peer, int32_t tag, void *data, int64_t bytes,
                             shardrtRequest *request);
  static const char *test(void *state, shardrtRequest *request, int32_t *done);
  void match(Queue &queue);

  std::mutex mutex;
  std::map<Key, Queue> queues;
  std::vector<Process> processes;
  int aborted = 0;
};

} // namespace shardc::rt::test

#endif
