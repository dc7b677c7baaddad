//===-- Transfers.h - messages under way --------------------------------------------------------------------------===//
//
// What a rank sends and receives at a time. Every message goes with a header that says what it is; the receiver
// compares it with what it expects before it takes the data, so that a difference is an error and never a wrong value.
// Waiting sleeps: a process that waits leaves its core to others.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_COMM_PROCESS_TRANSFERS_H
#define SHARDC_RUNTIME_COMM_PROCESS_TRANSFERS_H

#include "runtime/base/Status.h"
#include "runtime/comm/process/Transport.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace shardc::rt {

/// What a message is. Compared byte by byte.
struct MessageHeader {
  int32_t kind = 0, reduction = 0, type = 0; // of a collective
  uint32_t chunk = 0, backward = 0, reserved = 0;
  int64_t microBatch = 0;
  int64_t bytes = 0;
  char identity[80] = {}; // the beginning of the name

  void setIdentity(std::string_view name) {
    std::memcpy(identity, name.data(), std::min(name.size(), sizeof(identity) - 1));
  }
  bool operator==(const MessageHeader &other) const { return std::memcmp(this, &other, sizeof(*this)) == 0; }
};
static_assert(sizeof(MessageHeader) == 24 + 16 + 80, "no padding: headers are compared as bytes");

/// Messages that progress together. Adding allocates only where there have never been as many.
class Transfers {
public:
  explicit Transfers(const shardrtTransport &transport) : transport(transport) {}

  void clear() { count = 0; }
  /// `tag` and tag + 1 are used. `data` must stay until the transfers are done.
  void send(int32_t peer, int32_t tag, const MessageHeader &header, const void *data, int64_t bytes);
  void receive(int32_t peer, int32_t tag, const MessageHeader &expected, void *data, int64_t bytes);

  /// Waits for all. Mismatch, with the index of the transfer in `mismatch`, where a header is another than expected.
  Status wait(int &mismatch);
  /// What came in place of the expected header.
  const MessageHeader &got(int index) const { return list[index].header; }
  const MessageHeader &expected(int index) const { return list[index].wanted; }
  int32_t peer(int index) const { return list[index].peer; }

private:
  struct Transfer {
    bool isSend = false;
    int32_t peer = 0, tag = 0;
    int before = -1; // the receive before it from the same peer under the same tag, whose data comes first
    MessageHeader header, wanted;
    void *data = nullptr;
    int64_t bytes = 0;
    bool hasHeader = false, hasData = false; // done
    bool dataBegun = false;
    shardrtRequest ofHeader = {}, ofData = {};
  };

  Transfer &add();
  Status begin(Transfer &transfer);
  Status step(Transfer &transfer, int index, int &mismatch, bool &moved);
  Status check(const char *error) const;

  const shardrtTransport &transport;
  std::vector<Transfer> list;
  size_t count = 0;
};

/// Sleeps longer the longer nothing moves.
class Backoff {
public:
  void reset() { rounds = 0; }
  void pause();

private:
  int rounds = 0;
};

} // namespace shardc::rt

#endif
