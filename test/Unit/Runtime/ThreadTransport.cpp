//===-- ThreadTransport.cpp - processes that are threads ----------------------------------------------------------===//

#include "ThreadTransport.h"

#include <cstring>

namespace shardc::rt::test {

ThreadTransport::ThreadTransport(int32_t count) {
  for (int32_t process = 0; process < count; ++process)
    processes.push_back({this, process});
}

shardrtTransport ThreadTransport::connect(int32_t process) {
  auto close = [](void *) {};
  auto abort = [](void *state, int32_t) {
    ThreadTransport &all = *static_cast<Process *>(state)->all;
    std::lock_guard lock(all.mutex);
    ++all.aborted;
  };
  return {SHARDRT_TRANSPORT_VERSION,
          static_cast<int32_t>(processes.size()),
          process,
          &processes[process],
          send,
          receive,
          test,
          close,
          abort};
}

void ThreadTransport::match(Queue &queue) {
  while (!queue.messages.empty() && !queue.receives.empty()) {
    Receive &receive = *queue.receives.front();
    const std::vector<char> &message = queue.messages.front();
    if (static_cast<int64_t>(message.size()) > receive.bytes)
      receive.error = "a message is longer than its place";
    else if (!message.empty())
      std::memcpy(receive.data, message.data(), message.size());
    receive.done = true;
    queue.receives.pop_front();
    queue.messages.pop_front();
  }
}

const char *ThreadTransport::send(void *state, int32_t peer, int32_t tag, const void *data, int64_t bytes,
                                  shardrtRequest *request) {
  const Process &process = *static_cast<Process *>(state);
  std::lock_guard lock(process.all->mutex);
  Queue &queue = process.all->queues[{process.number, peer, tag}];
  const char *begin = static_cast<const char *>(data);
  queue.messages.emplace_back(begin, begin + bytes);
  process.all->match(queue);
  request->handle = nullptr; // done
  return nullptr;
}

const char *ThreadTransport::receive(void *state, int32_t peer, int32_t tag, void *data, int64_t bytes,
                                     shardrtRequest *request) {
  const Process &process = *static_cast<Process *>(state);
  std::lock_guard lock(process.all->mutex);
  Queue &queue = process.all->queues[{peer, process.number, tag}];
  auto *receive = new Receive{data, bytes};
  queue.receives.push_back(receive);
  process.all->match(queue);
  request->handle = receive;
  return nullptr;
}

const char *ThreadTransport::test(void *state, shardrtRequest *request, int32_t *done) {
  ThreadTransport &all = *static_cast<Process *>(state)->all;
  std::lock_guard lock(all.mutex);
  auto *receive = static_cast<Receive *>(request->handle);
  *done = !receive || receive->done;
  const char *error = nullptr;
  if (receive && receive->done) {
    error = receive->error;
    delete receive;
  }
  return error;
}

} // namespace shardc::rt::test
