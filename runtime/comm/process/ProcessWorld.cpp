//===-- ProcessWorld.cpp - one rank a process ---------------------------------------------------------------------===//

#include "runtime/comm/process/ProcessWorld.h"

#include "runtime/comm/Combine.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace shardc::rt {
namespace {

/// Tags: 1 is the monitor's; headers and data take two each.
constexpr int32_t kControlTag = 2, kFirstTag = 16;
/// Up to this size everybody sends its whole input to everybody: one exchange instead of two.
constexpr int64_t kSmallBytes = int64_t(16) * 1024;

/// The elements [begin, end) that a member combines, in whole cache lines.
std::pair<int64_t, int64_t> pieceOf(int64_t elements, int64_t member, int64_t members) {
  constexpr int64_t line = 16;
  int64_t lines = (elements + line - 1) / line;
  return {std::min(elements, lines * member / members * line),
          std::min(elements, lines * (member + 1) / members * line)};
}

const char *at(const void *data, int64_t bytes) { return static_cast<const char *>(data) + bytes; }
char *at(void *data, int64_t bytes) { return static_cast<char *>(data) + bytes; }

} // namespace

class ProcessWorld::Endpoint final : public Communicator {
public:
  Endpoint(ProcessWorld &world, const plan::Plan &plan, int64_t rank)
      : world(world), rank(rank), transfers(world.transport) {
    for (const plan::Communicator &communicator : plan.communicators())
      groups.push_back({communicator.name(), world.mesh->members(communicator, rank), 0});
    for (Group &group : groups)
      group.position = std::ranges::find(group.members, rank) - group.members.begin();
  }

  Status collective(const CollectiveCall &call) override;
  Status exchange(std::span<const MessageCall> messages) override;
  Status finishStep() override { return {}; }
  void abort() override { world.fail(); }
  void watch(const RankMark *mark) override {
    if (world.monitor)
      world.monitor->watch(mark);
  }

private:
  struct Group {
    std::string name;
    std::vector<int64_t> members; // ranks; empty where this one is none
    int64_t position = 0;
  };

  int32_t processOf(const Group &group, int64_t member) const { return world.processOf[group.members[member]]; }
  static int32_t tagOf(uint32_t communicator) { return kFirstTag + 2 * static_cast<int32_t>(communicator); }

  Status allReduceSmall(const CollectiveCall &call, const Group &group);
  Status allReduceLarge(const CollectiveCall &call, const Group &group);
  Status reduceScatter(const CollectiveCall &call, const Group &group);
  Status allGather(const CollectiveCall &call, const Group &group);
  Status allToAll(const CollectiveCall &call, const Group &group);

  void begin(const CollectiveCall &call);
  void send(const CollectiveCall &call, const Group &group, int64_t member, const void *data, int64_t bytes);
  void receive(const CollectiveCall &call, const Group &group, int64_t member, void *data, int64_t bytes);
  Status finish();
  void combine(const CollectiveCall &call, const Group &group, const void *mine, int64_t elements, void *output);
  std::string describe(const MessageHeader &header) const;

  ProcessWorld &world;
  int64_t rank;
  Transfers transfers;
  std::vector<Group> groups; // by communicator
  MessageHeader header;      // of the collective under way
  // Grown by the first step, for the inputs of the others.
  std::vector<char> scratch;
  std::vector<CollectiveCall> inputs;
  std::vector<const CollectiveCall *> inputPointers;
};

//===-- Collectives -----------------------------------------------------------------------------------------------===//

void ProcessWorld::Endpoint::begin(const CollectiveCall &call) {
  transfers.clear();
  header = MessageHeader();
  header.kind = static_cast<int32_t>(call.kind) + 1;
  header.reduction = static_cast<int32_t>(call.reduction);
  header.type = static_cast<int32_t>(call.type);
  header.microBatch = call.inputElements;
}

void ProcessWorld::Endpoint::send(const CollectiveCall &call, const Group &group, int64_t member, const void *data,
                                  int64_t bytes) {
  header.bytes = bytes;
  transfers.send(processOf(group, member), tagOf(call.communicator), header, data, bytes);
}

void ProcessWorld::Endpoint::receive(const CollectiveCall &call, const Group &group, int64_t member, void *data,
                                     int64_t bytes) {
  header.bytes = bytes;
  transfers.receive(processOf(group, member), tagOf(call.communicator), header, data, bytes);
}

/// Of the inputs of all members, those of others lie in the scratch one after another.
void ProcessWorld::Endpoint::combine(const CollectiveCall &call, const Group &group, const void *mine, int64_t elements,
                                     void *output) {
  int64_t bytes = elements * elementBytes(call.type), members = group.members.size();
  inputs.assign(members, call);
  inputPointers.resize(members);
  for (int64_t member = 0, other = 0; member < members; ++member) {
    inputs[member].input = member == group.position ? mine : scratch.data() + bytes * other++;
    inputPointers[member] = &inputs[member];
  }
  combineInputs(inputPointers, elements, output);
}

Status ProcessWorld::Endpoint::allReduceSmall(const CollectiveCall &call, const Group &group) {
  int64_t bytes = call.inputElements * elementBytes(call.type), members = group.members.size();
  scratch.resize(std::max<size_t>(scratch.size(), bytes * (members - 1)));
  begin(call);
  for (int64_t member = 0, other = 0; member < members; ++member) {
    if (member == group.position)
      continue;
    send(call, group, member, call.input, bytes);
    receive(call, group, member, scratch.data() + bytes * other++, bytes);
  }
  SHARDRT_RETURN_IF_ERROR(finish());
  combine(call, group, call.input, call.inputElements, call.output);
  return {};
}

Status ProcessWorld::Endpoint::allReduceLarge(const CollectiveCall &call, const Group &group) {
  int64_t size = elementBytes(call.type), members = group.members.size();
  auto [first, last] = pieceOf(call.inputElements, group.position, members);
  int64_t bytes = (last - first) * size;
  scratch.resize(std::max<size_t>(scratch.size(), bytes * (members - 1)));
  begin(call);
  for (int64_t member = 0, other = 0; member < members; ++member) {
    if (member == group.position)
      continue;
    auto [from, to] = pieceOf(call.inputElements, member, members);
    send(call, group, member, at(call.input, from * size), (to - from) * size);
    receive(call, group, member, scratch.data() + bytes * other++, bytes);
  }
  SHARDRT_RETURN_IF_ERROR(finish());
  combine(call, group, at(call.input, first * size), last - first, at(call.output, first * size));
  begin(call);
  for (int64_t member = 0; member < members; ++member) {
    if (member == group.position)
      continue;
    auto [from, to] = pieceOf(call.inputElements, member, members);
    send(call, group, member, at(call.output, first * size), bytes);
    receive(call, group, member, at(call.output, from * size), (to - from) * size);
  }
  return finish();
}

Status ProcessWorld::Endpoint::reduceScatter(const CollectiveCall &call, const Group &group) {
  int64_t members = group.members.size(), block = call.inputElements / members;
  int64_t bytes = block * elementBytes(call.type);
  scratch.resize(std::max<size_t>(scratch.size(), bytes * (members - 1)));
  begin(call);
  for (int64_t member = 0, other = 0; member < members; ++member) {
    if (member == group.position)
      continue;
    send(call, group, member, at(call.input, member * bytes), bytes);
    receive(call, group, member, scratch.data() + bytes * other++, bytes);
  }
  SHARDRT_RETURN_IF_ERROR(finish());
  combine(call, group, at(call.input, group.position * bytes), block, call.output);
  return {};
}

Status ProcessWorld::Endpoint::allGather(const CollectiveCall &call, const Group &group) {
  int64_t bytes = call.inputElements * elementBytes(call.type);
  begin(call);
  for (int64_t member = 0; member < static_cast<int64_t>(group.members.size()); ++member) {
    if (member == group.position) {
      std::memcpy(at(call.output, member * bytes), call.input, bytes);
      continue;
    }
    send(call, group, member, call.input, bytes);
    receive(call, group, member, at(call.output, member * bytes), bytes);
  }
  return finish();
}

/// What arrives goes through the scratch, since it may replace what is still being sent.
Status ProcessWorld::Endpoint::allToAll(const CollectiveCall &call, const Group &group) {
  int64_t members = group.members.size();
  int64_t bytes = call.inputElements / members * elementBytes(call.type);
  scratch.resize(std::max<size_t>(scratch.size(), bytes * members));
  begin(call);
  for (int64_t member = 0; member < members; ++member) {
    if (member == group.position) {
      std::memcpy(scratch.data() + member * bytes, at(call.input, member * bytes), bytes);
      continue;
    }
    send(call, group, member, at(call.input, member * bytes), bytes);
    receive(call, group, member, scratch.data() + member * bytes, bytes);
  }
  SHARDRT_RETURN_IF_ERROR(finish());
  std::memcpy(call.output, scratch.data(), bytes * members);
  return {};
}

Status ProcessWorld::Endpoint::collective(const CollectiveCall &call) {
  if (call.communicator >= groups.size() || groups[call.communicator].members.empty())
    return Status(StatusKind::InvalidArgument,
                  fmt::format("{} is no member of communicator {}", world.mesh->describe(rank), call.communicator));
  const Group &group = groups[call.communicator];
  SHARDRT_RETURN_IF_ERROR(checkCollective(call, group.members.size()));
  if (call.inputElements == 0)
    return {};
  switch (call.kind) {
  case plan::Collective::ALL_GATHER:
    return allGather(call, group);
  case plan::Collective::REDUCE_SCATTER:
    return reduceScatter(call, group);
  case plan::Collective::ALL_TO_ALL:
    return allToAll(call, group);
  default:
    return call.inputElements * elementBytes(call.type) <= kSmallBytes ? allReduceSmall(call, group)
                                                                       : allReduceLarge(call, group);
  }
}

//===-- Messages --------------------------------------------------------------------------------------------------===//

Status ProcessWorld::Endpoint::exchange(std::span<const MessageCall> messages) {
  transfers.clear();
  for (const MessageCall &message : messages) {
    if (message.peer < 0 || message.peer >= static_cast<int64_t>(world.processOf.size()) || message.peer == rank)
      return Status(StatusKind::InvalidArgument, fmt::format("message '{}' has no other rank", message.identity));
    MessageHeader what;
    what.chunk = message.chunk;
    what.backward = message.backward;
    what.microBatch = message.microBatch;
    what.bytes = message.bytes;
    what.setIdentity(message.identity);
    int32_t process = world.processOf[message.peer], tag = tagOf(message.communicator);
    if (message.send)
      transfers.send(process, tag, what, message.data, message.bytes);
    else
      transfers.receive(process, tag, what, message.data, message.bytes);
  }
  return finish();
}

std::string ProcessWorld::Endpoint::describe(const MessageHeader &what) const {
  if (what.kind == 0)
    return fmt::format("'{}' of micro-batch {}, chunk {}, {}, {} bytes", what.identity, what.microBatch, what.chunk,
                       what.backward ? "backward" : "forward", what.bytes);
  return fmt::format("{} of {} × {}", collectiveName(static_cast<plan::Collective::Kind>(what.kind - 1)),
                     what.microBatch, elementName(static_cast<plan::ElementType>(what.type)));
}

Status ProcessWorld::Endpoint::finish() {
  int different = -1;
  Status status = transfers.wait(different);
  if (different < 0)
    return status;
  auto peer = std::ranges::find(world.processOf, transfers.peer(different)) - world.processOf.begin();
  return Status(StatusKind::Mismatch,
                fmt::format("expects {}, but {} sends {}", describe(transfers.expected(different)),
                            world.mesh->describe(peer), describe(transfers.got(different))));
}

//===-- The world -------------------------------------------------------------------------------------------------===//

ProcessWorld::ProcessWorld(const shardrtTransport &transport, const ProcessWorldOptions &options)
    : transport(transport), options(options), control(this->transport), local{transport.process} {}

ProcessWorld::~ProcessWorld() {
  if (hasFailed) {
    transport.abort(transport.state, 1);
    return;
  }
  monitor.reset();
  transport.close(transport.state);
}

Communicator &ProcessWorld::communicator(int64_t) { return *endpoint; }

Status ProcessWorld::waitFor(Transfers &transfers) {
  int different = -1;
  Status status = transfers.wait(different);
  if (different >= 0)
    return Status(StatusKind::Mismatch, "processes of different programs have been started together [run-world]",
                  "start one program everywhere, with the same options");
  return status;
}

/// Process 0 gets what all have, `bytes` from each.
Status ProcessWorld::exchangeWithFirst(const void *mine, void *all, int64_t bytes) {
  control.clear();
  MessageHeader header;
  header.bytes = bytes;
  header.setIdentity("to the first process");
  if (transport.process != 0)
    control.send(0, kControlTag, header, mine, bytes);
  else
    std::memcpy(all, mine, bytes);
  for (int32_t process = 1; process < transport.processes && transport.process == 0; ++process)
    control.receive(process, kControlTag, header, at(all, process * bytes), bytes);
  return waitFor(control);
}

/// All get what process 0 has.
Status ProcessWorld::shareFromFirst(void *data, int64_t bytes) {
  control.clear();
  MessageHeader header;
  header.bytes = bytes;
  header.setIdentity("from the first process");
  if (transport.process != 0)
    control.receive(0, kControlTag, header, data, bytes);
  for (int32_t process = 1; process < transport.processes && transport.process == 0; ++process)
    control.send(process, kControlTag, header, data, bytes);
  return waitFor(control);
}

Status ProcessWorld::agree(const Status &own) {
  enum : int32_t { kGood, kFailed, kEnded }; // Ended: because of another one, which tells
  int32_t outcome = own.isOk() ? kGood : own.kind() == StatusKind::Aborted ? kEnded : kFailed;
  std::vector<int32_t> all(transport.processes);
  Status status = exchangeWithFirst(&outcome, all.data(), sizeof(outcome));
  auto first = static_cast<int32_t>(std::ranges::find(all, kFailed) - all.begin());
  if (first == transport.processes)
    first = static_cast<int32_t>(std::ranges::find(all, kEnded) - all.begin());
  if (status.isOk())
    status = shareFromFirst(&first, sizeof(first));
  if (!status.isOk())
    return own.isOk() ? status : own;
  if (first == transport.processes)
    return {};
  return first == transport.process
             ? own
             : Status(StatusKind::Aborted, fmt::format("ended because process {} failed", first));
}

Result<bool> ProcessWorld::agreeOnAny(bool mine) {
  int32_t value = mine;
  std::vector<int32_t> all(transport.processes);
  SHARDRT_RETURN_IF_ERROR(exchangeWithFirst(&value, all.data(), sizeof(value)));
  value = std::ranges::count(all, 1) > 0;
  SHARDRT_RETURN_IF_ERROR(shareFromFirst(&value, sizeof(value)));
  return value != 0;
}

Status ProcessWorld::checkPlans(const plan::Plan &plan) {
  uint64_t sums[2] = {plan.checksum(), plan.kernels_checksum()}, first[2] = {sums[0], sums[1]};
  SHARDRT_RETURN_IF_ERROR(shareFromFirst(first, sizeof(first)));
  Status status;
  if (first[0] != sums[0] || first[1] != sums[1])
    status = Status(StatusKind::Mismatch, "plan: another one than that of the first process [run-world]",
                    "give all processes copies of one plan");
  return agree(status);
}

Status ProcessWorld::assign(const plan::Plan &plan) {
  SHARDRT_RETURN_IF_ERROR(checkPlans(plan));
  mesh.emplace(plan.mesh());
  if (mesh->ranks() != transport.processes)
    return agree(Status(StatusKind::InvalidArgument,
                        fmt::format("plan: {} ranks, but {} processes have been started [run-world]", mesh->ranks(),
                                    transport.processes),
                        fmt::format("each process is one rank: mpirun -n {}", mesh->ranks())));
  places.resize(transport.processes);
  ProcessPlace own = thisPlace();
  SHARDRT_RETURN_IF_ERROR(exchangeWithFirst(&own, places.data(), sizeof(own)));
  SHARDRT_RETURN_IF_ERROR(shareFromFirst(places.data(), static_cast<int64_t>(places.size() * sizeof(own))));
  ranks = assignRanks(*mesh, places);
  placed = describePlacement(*mesh, places, ranks);
  processOf.resize(ranks.size());
  for (size_t process = 0; process < ranks.size(); ++process)
    processOf[ranks[process]] = static_cast<int32_t>(process);
  local = {ranks[transport.process]};
  onMachine.assign(mesh->axisSize("pp"), 0);
  for (size_t process = 0; process < places.size(); ++process)
    if (std::strcmp(places[process].host, own.host) == 0)
      ++onMachine[mesh->coordinate(ranks[process], "pp")];
  endpoint = std::make_unique<Endpoint>(*this, plan, local.front());
  startMonitor(plan);
  return {};
}

void ProcessWorld::startMonitor(const plan::Plan &plan) {
  if (!options.monitors)
    return;
  MonitorSetting setting;
  setting.rank = local.front();
  setting.processOf = processOf;
  setting.timeout = options.timeout;
  for (int32_t process : processOf)
    setting.places.push_back(places[process]);
  setting.describe = [this, &plan](int64_t rank, const RankPosition &position) {
    return describePosition(plan, *mesh, rank, position);
  };
  monitor = std::make_unique<Monitor>(transport, std::move(setting));
}

Status ProcessWorld::collect(int64_t rank, const void *data, void *target, int64_t bytes) {
  bool isHere = local.front() == rank;
  if (isHere && rank == 0) {
    std::memcpy(target, data, bytes);
    return {};
  }
  control.clear();
  MessageHeader header;
  header.bytes = bytes;
  header.setIdentity("collect");
  if (isHere)
    control.send(processOf[0], kControlTag, header, data, bytes);
  if (isPrimary())
    control.receive(processOf[rank], kControlTag, header, target, bytes);
  return waitFor(control);
}

} // namespace shardc::rt
