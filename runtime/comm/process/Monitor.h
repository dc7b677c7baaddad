//===-- Monitor.h - do all processes still live? ------------------------------------------------------------------===//
//
// A thread that tells the process of rank 0, ten times a second, what its rank is doing; that process tells all others
// the same about itself. Who is silent for longer than the timeout has died, hangs or has been stopped: the process of
// rank 0 says so in one line, with what the silent rank was last doing, and ends all processes. If it is the silent one
// itself, the process of the lowest other rank does.
//
// A process on the same machine that has died is noticed at once. That matters: a launcher that sees a process die
// ends the others within a second, after a SIGTERM; silence counts after half a second then.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_COMM_PROCESS_MONITOR_H
#define SHARDC_RUNTIME_COMM_PROCESS_MONITOR_H

#include "runtime/comm/Communicator.h"
#include "runtime/comm/process/Placement.h"
#include "runtime/comm/process/Transport.h"

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace shardc::rt {

/// What a rank was doing; -1: nothing yet.
struct RankPosition {
  int64_t step = -1;
  int32_t block = -1, instruction = -1, microBatch = 0;
};

/// "rank 3 (dp 0, pp 1, tp 1), instruction 57 all_reduce, node '…', in block 'forward' of step 12, micro-batch 2"
std::string describePosition(const plan::Plan &plan, const MeshView &mesh, int64_t rank, const RankPosition &position);

struct MonitorSetting {
  int64_t rank = 0;
  std::vector<int32_t> processOf;   // by rank
  std::vector<ProcessPlace> places; // by rank
  double timeout = 20;              // seconds
  std::function<std::string(int64_t rank, const RankPosition &position)> describe;
};

class Monitor {
public:
  Monitor(const shardrtTransport &transport, MonitorSetting setting);
  /// Stops watching; to be called when all processes have agreed that they are done.
  ~Monitor();

  /// Where this rank says what it does; null: nowhere.
  void watch(const RankMark *mark) {
    std::lock_guard lock(mutex);
    ownMark = mark;
  }

  /// A launcher has asked for the end: says it to all monitors of this process. For a signal handler.
  static void noteTermination();

private:
  using Clock = std::chrono::steady_clock;
  enum class State : int64_t { Running, Ended, GivingUp };
  struct Beat {
    RankPosition position;
    State state = State::Running;
  };
  struct Peer {
    int64_t rank = 0;
    Clock::time_point heard;
    Beat last, incoming;
    shardrtRequest receiving = {}, sending = {};
    bool isSending = false, hasEnded = false;
    Beat outgoing;
  };

  void run();
  void tell(Peer &peer, State state);
  void listen(Peer &peer);
  bool isSilent(const Peer &peer) const;
  bool isSent(Peer &peer);
  void sayGoodbye();
  [[noreturn]] void giveUp(const Peer &peer);
  Beat ownBeat();

  shardrtTransport transport;
  MonitorSetting setting;
  std::mutex mutex;
  const RankMark *ownMark = nullptr;
  std::atomic<bool> ending{false};
  bool othersGiveUp = false; // somebody has said already what there is to say
  std::vector<std::unique_ptr<Peer>> peers;
  std::thread thread;
};

} // namespace shardc::rt

#endif
