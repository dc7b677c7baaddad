//===-- LocalWorld.h - ranks as threads of one process ------------------------------------------------------------===//
//
// The `local` transport. All ranks of a mesh live in one process; collectives and messages move data directly from one
// rank's memory to another's.
//
// One mutex guards all bookkeeping, and data is moved outside of it. A rank that has to wait sleeps on its own
// condition variable. So the world knows at any time who waits: when every rank that has not finished its step waits,
// that is a deadlock, and it is reported at once with what each rank waits for.
//
// A collective is a meeting of the members: the last one to arrive checks that all calls agree. Small ones it performs
// alone; otherwise every member does its share (Combine.h), and all leave together. A message is moved by the party
// that comes second. A party never leaves while another one moves its data, not even when the world has failed.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_COMM_LOCAL_LOCALWORLD_H
#define SHARDC_RUNTIME_COMM_LOCAL_LOCALWORLD_H

#include "runtime/comm/World.h"
#include "runtime/format/Query.h"

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

namespace shardc::rt {

class LocalWorld final : public World {
public:
  /// The communicators of `plan`, for all ranks of its mesh. The plan must outlive the world.
  explicit LocalWorld(const plan::Plan &plan);
  ~LocalWorld() override;

  int64_t ranks() const { return mesh.ranks(); }
  const std::vector<int64_t> &localRanks() const override { return all; }
  std::vector<int64_t> ranksOnMachine() const override;
  Communicator &communicator(int64_t rank) override;
  void beginStep() override;
  Status collect(int64_t rank, const void *data, void *target, int64_t bytes) override;

private:
  class Endpoint;
  struct Meeting;
  struct Posted;
  struct Channel;
  struct Sleeper;
  using ChannelKey = std::tuple<uint32_t, int64_t, int64_t>; // communicator, source, destination

  void createMeetings(const plan::Plan &plan);
  void wake(int64_t rank);
  bool sleep(std::unique_lock<std::mutex> &lock, int64_t rank, bool untilMoved);
  void fail(int64_t rank);
  Status aborted() const;
  Status deadlock();
  std::string describeWait(int64_t rank) const;
  Status checkMatch(const Posted &mine, const Posted &other) const;

  MeshView mesh;
  std::vector<int64_t> all; // ranks
  std::mutex mutex;
  std::vector<std::unique_ptr<Meeting>> meetings;
  std::map<ChannelKey, Channel> channels;
  std::vector<std::unique_ptr<Sleeper>> sleepers; // by rank
  std::vector<std::unique_ptr<Endpoint>> endpoints;
  int64_t active = 0;  // ranks that have not finished the step
  int64_t waiting = 0; // of these, the ones that sleep
  bool failed = false;
  int64_t failedRank = -1;
};

} // namespace shardc::rt

#endif
