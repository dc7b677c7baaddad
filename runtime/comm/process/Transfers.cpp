//===-- Transfers.cpp - messages under way ------------------------------------------------------------------------===//

#include "runtime/comm/process/Transfers.h"

#include <chrono>
#include <fmt/format.h>
#include <sched.h>
#include <thread>

namespace shardc::rt {

void Backoff::pause() {
  // About a millisecond where nobody else wants the core; most messages have come by then.
  constexpr int yields = 2000;
  if (++rounds <= yields)
    sched_yield();
  else
    std::this_thread::sleep_for(std::chrono::microseconds(std::min(rounds - yields, 100)));
}

Transfers::Transfer &Transfers::add() {
  if (count == list.size())
    list.emplace_back();
  list[count] = Transfer();
  return list[count++];
}

Status Transfers::check(const char *error) const {
  if (!error)
    return {};
  return Status(StatusKind::Io, fmt::format("communication between processes failed: {} [run-world]", error),
                "look at the network, and at what mpirun says");
}

void Transfers::send(int32_t peer, int32_t tag, const MessageHeader &header, const void *data, int64_t bytes) {
  Transfer &transfer = add();
  transfer.isSend = true;
  transfer.peer = peer;
  transfer.tag = tag;
  transfer.header = header;
  transfer.data = const_cast<void *>(data);
  transfer.bytes = bytes;
}

void Transfers::receive(int32_t peer, int32_t tag, const MessageHeader &expected, void *data, int64_t bytes) {
  Transfer &transfer = add();
  transfer.peer = peer;
  transfer.tag = tag;
  for (int i = static_cast<int>(count) - 2; i >= 0 && transfer.before < 0; --i)
    if (!list[i].isSend && list[i].peer == peer && list[i].tag == tag)
      transfer.before = i;
  transfer.wanted = expected;
  transfer.data = data;
  transfer.bytes = bytes;
}

/// Headers lie in the list, which does not move any more once waiting begins.
Status Transfers::begin(Transfer &transfer) {
  auto start =
      transfer.isSend
          ? [](const shardrtTransport &t,
               Transfer &x) { return t.send(t.state, x.peer, x.tag, &x.header, sizeof(x.header), &x.ofHeader); }
          : [](const shardrtTransport &t, Transfer &x) {
              return t.receive(t.state, x.peer, x.tag, &x.header, sizeof(x.header), &x.ofHeader);
            };
  SHARDRT_RETURN_IF_ERROR(check(start(transport, transfer)));
  transfer.hasData = transfer.bytes == 0;
  if (!transfer.isSend || transfer.hasData)
    return {};
  transfer.dataBegun = true;
  return check(transport.send(transport.state, transfer.peer, transfer.tag + 1, transfer.data, transfer.bytes,
                              &transfer.ofData));
}

Status Transfers::step(Transfer &transfer, int index, int &mismatch, bool &moved) {
  int32_t done = 0;
  if (transfer.before >= 0 && !list[transfer.before].hasHeader)
    return {};
  if (!transfer.hasHeader) {
    SHARDRT_RETURN_IF_ERROR(check(transport.test(transport.state, &transfer.ofHeader, &done)));
    transfer.hasHeader = done != 0;
    moved |= transfer.hasHeader;
    if (transfer.hasHeader && !transfer.isSend && !(transfer.header == transfer.wanted)) {
      mismatch = index;
      return Status(StatusKind::Mismatch, "a message is another one than expected");
    }
  }
  if (transfer.hasHeader && !transfer.hasData && !transfer.dataBegun) {
    transfer.dataBegun = true;
    SHARDRT_RETURN_IF_ERROR(check(transport.receive(transport.state, transfer.peer, transfer.tag + 1, transfer.data,
                                                    transfer.bytes, &transfer.ofData)));
  }
  if (transfer.dataBegun && !transfer.hasData) {
    SHARDRT_RETURN_IF_ERROR(check(transport.test(transport.state, &transfer.ofData, &done)));
    transfer.hasData = done != 0;
    moved |= transfer.hasData;
  }
  return {};
}

Status Transfers::wait(int &mismatch) {
  for (size_t i = 0; i < count; ++i)
    SHARDRT_RETURN_IF_ERROR(begin(list[i]));
  Backoff backoff;
  while (true) {
    bool isDone = true, moved = false;
    for (size_t i = 0; i < count; ++i) {
      SHARDRT_RETURN_IF_ERROR(step(list[i], static_cast<int>(i), mismatch, moved));
      isDone &= list[i].hasHeader && list[i].hasData;
    }
    if (isDone)
      return {};
    if (moved)
      backoff.reset();
    else
      backoff.pause();
  }
}

} // namespace shardc::rt
