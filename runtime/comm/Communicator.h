//===-- Communicator.h - how ranks communicate --------------------------------------------------------------------===//
//
// The interface between the executor and a transport. A rank has one Communicator, on which it issues, in order, all
// its communication. A call returns when its data has been moved, and it may not return before the other party has
// issued its own: that is the weakest semantics (rendezvous), under which the verifier proves plans free of deadlock.
//
// Results do not depend on timing: a reduction combines the members' values in ascending order of coordinates. Messages
// are matched first in, first out for each (communicator, source, destination), and both sides compare what they think
// the message is; a difference is an error, never a wrong value.
//
// After a failure of any rank (abort, or an error that a call found) every call of every rank ends in bounded time with
// StatusKind::Aborted.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_COMM_COMMUNICATOR_H
#define SHARDC_RUNTIME_COMM_COMMUNICATOR_H

#include "runtime/base/Status.h"
#include "runtime/format/plan.pb.h"

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>

namespace shardc::rt {

/// One rank's part in a collective. `input` and `output` may be equal for all_reduce and all_to_all, and may not
/// overlap otherwise. Sizes of the output: all_reduce and all_to_all as the input, all_gather the input times the
/// members, reduce_scatter the input divided by the members.
struct CollectiveCall {
  plan::Collective::Kind kind = plan::Collective::ALL_REDUCE;
  plan::Collective::Reduction reduction = plan::Collective::SUM;
  plan::ElementType type = plan::F32;
  const void *input = nullptr;
  void *output = nullptr;
  int64_t inputElements = 0;
  uint32_t communicator = 0; // index in the plan
};

/// One message of a group. `identity`, `microBatch`, `chunk` and `backward` say what it is.
struct MessageCall {
  bool send = false;
  uint32_t communicator = 0; // index in the plan
  int64_t peer = 0;          // rank
  void *data = nullptr;
  int64_t bytes = 0;
  std::string_view identity;
  int64_t microBatch = 0;
  uint32_t chunk = 0;
  bool backward = false;
};

/// What a rank is doing, for reports of a rank that does not answer any more. Written by the rank, read by others.
struct RankMark {
  std::atomic<int64_t> step{-1};
  std::atomic<int32_t> block{-1};
  std::atomic<int32_t> instruction{-1}; // in the block
  std::atomic<int32_t> microBatch{0};
};

class Communicator {
public:
  virtual ~Communicator() = default;

  /// Where the rank says what it is doing, until another call; null: nowhere.
  virtual void watch(const RankMark * /*mark*/) {}

  /// Takes part in a collective of all members of its communicator.
  virtual Status collective(const CollectiveCall &call) = 0;
  /// Exchanges all messages; they progress together, and no order among them is implied.
  virtual Status exchange(std::span<const MessageCall> messages) = 0;
  /// Tells that this rank issues nothing more in this step. An error if others wait for what now cannot come.
  virtual Status finishStep() = 0;
  /// Ends all ranks because this one failed.
  virtual void abort() = 0;
};

} // namespace shardc::rt

#endif
