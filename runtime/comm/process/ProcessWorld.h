//===-- ProcessWorld.h - one rank a process -----------------------------------------------------------------------===//
//
// The transport of ranks in processes of their own, on one machine or several. Collectives are made of messages, so
// that every reduction combines the members' values in ascending order, as the local world does: equal bits.
//
//   all_reduce      up to 16 KiB: everybody sends its input to everybody; larger: piece i of each input goes to member
//                   i, which combines it and sends the result to all
//   reduce_scatter  block i of each input goes to member i, which combines it
//   all_gather, all_to_all   as they are
//
// A Monitor (Monitor.h) watches over all processes, and ends them when one of them does not answer.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_COMM_PROCESS_PROCESSWORLD_H
#define SHARDC_RUNTIME_COMM_PROCESS_PROCESSWORLD_H

#include "runtime/comm/World.h"
#include "runtime/comm/process/Monitor.h"
#include "runtime/comm/process/Placement.h"
#include "runtime/comm/process/Transfers.h"

#include <memory>
#include <optional>

namespace shardc::rt {

struct ProcessWorldOptions {
  double timeout = 20;  // seconds without a sign of life after which a process is given up
  bool monitors = true; // false for tests in one process
};

class ProcessWorld final : public World {
public:
  /// A world of the processes that `transport` connects, still without a plan. Closes the transport at its end, or ends
  /// all processes if this one failed (see fail).
  ProcessWorld(const shardrtTransport &transport, const ProcessWorldOptions &options);
  ~ProcessWorld() override;

  /// Gives each process its rank and makes the communicators. An error where the plan has another number of ranks, or
  /// where the processes have different plans. Every process calls it.
  Status assign(const plan::Plan &plan);

  /// What every process has done, alike: success if it was one everywhere. Where it was not, the first process that
  /// failed gets its own status back, all others Aborted.
  Status agree(const Status &own);
  /// Whether any process says so.
  Result<bool> agreeOnAny(bool mine);
  /// This process has failed: the destructor will end all others too.
  void fail() { hasFailed = true; }

  /// By rank; empty before assign.
  const std::vector<std::string> &placement() const { return placed; }
  int32_t processes() const { return transport.processes; }
  bool isFirstProcess() const { return transport.process == 0; }

  const std::vector<int64_t> &localRanks() const override { return local; }
  std::vector<int64_t> ranksOnMachine() const override { return onMachine; }
  Communicator &communicator(int64_t rank) override;
  void beginStep() override {}
  Status collect(int64_t rank, const void *data, void *target, int64_t bytes) override;

private:
  class Endpoint;

  Status exchangeWithFirst(const void *mine, void *all, int64_t bytes);
  Status shareFromFirst(void *data, int64_t bytes);
  Status waitFor(Transfers &transfers);
  Status checkPlans(const plan::Plan &plan);
  void startMonitor(const plan::Plan &plan);

  shardrtTransport transport;
  ProcessWorldOptions options;
  bool hasFailed = false; // this process
  Transfers control;
  std::optional<MeshView> mesh;
  std::vector<ProcessPlace> places; // by process
  std::vector<int64_t> ranks;       // by process
  std::vector<int32_t> processOf;   // by rank
  std::vector<int64_t> local = {0}; // before assign: the process's number stands for the rank
  std::vector<std::string> placed;
  std::vector<int64_t> onMachine; // ranks of each stage
  std::unique_ptr<Endpoint> endpoint;
  std::unique_ptr<Monitor> monitor;
};

} // namespace shardc::rt

#endif
