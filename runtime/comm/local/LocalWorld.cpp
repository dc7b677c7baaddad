//===-- LocalWorld.cpp - ranks as threads of one process ----------------------------------------------------------===//

#include "runtime/comm/local/LocalWorld.h"

#include "runtime/comm/Combine.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace shardc::rt {

/// Collectives up to this size are done by the last member to arrive: one meeting instead of two.
static constexpr int64_t kSmallBytes = int64_t(16) * 1024;

/// A communicator of some ranks, and its collective under way.
struct LocalWorld::Meeting {
  std::string name; // of the communicator
  std::vector<int64_t> members;
  std::vector<const CollectiveCall *> calls; // by position
  int64_t arrived = 0;
  int64_t finished = 0;
};

/// A message that waits for its other half. Lives with its rank until it has been moved.
struct LocalWorld::Posted {
  const MessageCall *message = nullptr;
  int64_t rank = 0;
  Posted *next = nullptr;
};

/// A queue of sends or receives that have no partner yet.
struct LocalWorld::Channel {
  struct Queue {
    Posted *first = nullptr, *last = nullptr;

    void push(Posted *posted) {
      posted->next = nullptr;
      (first ? last->next : first) = posted;
      last = posted;
    }
    Posted *pop() {
      Posted *posted = first;
      if (posted)
        first = posted->next;
      return posted;
    }
  };
  Queue sends, receives;
};

/// Where a rank waits.
struct LocalWorld::Sleeper {
  std::condition_variable condition;
  bool ready = false;                // what the rank waits for has come true
  bool waiting = false;              // counted in `waiting`
  int64_t unmatched = 0, moving = 0; // its messages
  // For the report of a deadlock:
  const Meeting *meeting = nullptr;
  std::span<Posted> posted;
};

class LocalWorld::Endpoint final : public Communicator {
public:
  Endpoint(LocalWorld &world, int64_t rank, size_t communicators)
      : world(world), rank(rank), meetings(communicators), positions(communicators) {}

  Status collective(const CollectiveCall &call) override;
  Status exchange(std::span<const MessageCall> messages) override;
  Status finishStep() override;
  void abort() override;

private:
  friend class LocalWorld;

  Status performSmall(Meeting &meeting, std::unique_lock<std::mutex> &lock, int64_t position);
  void performWithOthers(Meeting &meeting, std::unique_lock<std::mutex> &lock, int64_t position);
  void wakeOthers(const Meeting &meeting);
  Status post(std::span<const MessageCall> messages);
  void moveMatched(std::unique_lock<std::mutex> &lock);

  LocalWorld &world;
  int64_t rank;
  std::vector<Meeting *> meetings; // by communicator; null where this rank is no member
  std::vector<int64_t> positions;
  std::vector<Posted> posted;                         // of the group under way
  std::vector<std::pair<Posted *, Posted *>> matched; // send, receive: for this rank to move
};

//===-- Set-up ----------------------------------------------------------------------------------------------------===//

LocalWorld::LocalWorld(const plan::Plan &plan) : mesh(plan.mesh()) {
  for (int64_t rank = 0; rank < ranks(); ++rank) {
    all.push_back(rank);
    sleepers.push_back(std::make_unique<Sleeper>());
    endpoints.push_back(std::make_unique<Endpoint>(*this, rank, plan.communicators_size()));
  }
  createMeetings(plan);
  beginStep();
}

LocalWorld::~LocalWorld() = default;

void LocalWorld::createMeetings(const plan::Plan &plan) {
  for (int c = 0; c < plan.communicators_size(); ++c) {
    for (int64_t rank = 0; rank < ranks(); ++rank) {
      std::vector<int64_t> members = mesh.members(plan.communicators(c), rank);
      if (members.empty() || members.front() != rank)
        continue; // the first member makes the meeting
      meetings.push_back(std::make_unique<Meeting>());
      Meeting &meeting = *meetings.back();
      meeting.name = plan.communicators(c).name();
      meeting.members = std::move(members);
      meeting.calls.resize(meeting.members.size());
      for (size_t position = 0; position < meeting.members.size(); ++position) {
        endpoints[meeting.members[position]]->meetings[c] = &meeting;
        endpoints[meeting.members[position]]->positions[c] = position;
      }
    }
  }
}

Communicator &LocalWorld::communicator(int64_t rank) { return *endpoints[rank]; }

void LocalWorld::beginStep() {
  std::lock_guard lock(mutex);
  active = ranks();
}

std::vector<int64_t> LocalWorld::ranksOnMachine() const {
  int64_t stages = mesh.axisSize("pp");
  return std::vector<int64_t>(stages, ranks() / stages);
}

Status LocalWorld::collect(int64_t, const void *data, void *target, int64_t bytes) {
  std::memcpy(target, data, bytes);
  return {};
}

//===-- Sleeping and waking, all under the mutex ------------------------------------------------------------------===//

void LocalWorld::wake(int64_t rank) {
  Sleeper &sleeper = *sleepers[rank];
  sleeper.ready = true;
  if (sleeper.waiting) {
    sleeper.waiting = false;
    --waiting;
    sleeper.condition.notify_one();
  }
}

/// Sleeps until woken; with `untilMoved` not even a failure ends it. True if woken, false if the world failed.
bool LocalWorld::sleep(std::unique_lock<std::mutex> &lock, int64_t rank, bool untilMoved) {
  Sleeper &sleeper = *sleepers[rank];
  if (!sleeper.ready && (untilMoved || !failed)) {
    sleeper.waiting = true;
    ++waiting;
    sleeper.condition.wait(lock, [&] { return sleeper.ready || (failed && !untilMoved); });
    if (sleeper.waiting)
      --waiting;
    sleeper.waiting = false;
  }
  return std::exchange(sleeper.ready, false);
}

void LocalWorld::fail(int64_t rank) {
  if (failed)
    return;
  failed = true;
  failedRank = rank;
  for (auto &sleeper : sleepers)
    sleeper->condition.notify_one();
}

Status LocalWorld::aborted() const {
  return Status(StatusKind::Aborted, fmt::format("ended because rank {} failed", failedRank));
}

std::string LocalWorld::describeWait(int64_t rank) const {
  const Sleeper &sleeper = *sleepers[rank];
  std::string who = mesh.describe(rank);
  if (sleeper.meeting)
    return fmt::format("{} waits in a collective of communicator '{}' that {} of {} members have reached", who,
                       sleeper.meeting->name, sleeper.meeting->arrived, sleeper.meeting->members.size());
  if (!sleeper.waiting || sleeper.posted.empty())
    return who + " has finished its step";
  const MessageCall &message = *sleeper.posted.front().message;
  return fmt::format("{} waits with {} messages, the first being '{}' of micro-batch {} {} {}", who,
                     sleeper.posted.size(), message.identity, message.microBatch, message.send ? "to" : "from",
                     mesh.describe(message.peer));
}

Status LocalWorld::deadlock() {
  Status status(StatusKind::Deadlock, "every rank waits for another one");
  constexpr int64_t shown = 8;
  for (int64_t rank = 0; rank < std::min(ranks(), shown); ++rank)
    status.addNote(describeWait(rank));
  if (ranks() > shown)
    status.addNote(fmt::format("and {} more ranks", ranks() - shown));
  return status;
}

//===-- Collectives -----------------------------------------------------------------------------------------------===//

Status LocalWorld::Endpoint::collective(const CollectiveCall &call) {
  Meeting *meeting = call.communicator < meetings.size() ? meetings[call.communicator] : nullptr;
  if (!meeting)
    return Status(StatusKind::InvalidArgument,
                  fmt::format("{} is no member of communicator {}", world.mesh.describe(rank), call.communicator));
  SHARDRT_RETURN_IF_ERROR(checkCollective(call, meeting->members.size()));
  int64_t position = positions[call.communicator];
  std::unique_lock lock(world.mutex);
  if (world.failed)
    return world.aborted();
  Sleeper &sleeper = *world.sleepers[rank];
  meeting->calls[position] = &call;
  bool isSmall = call.inputElements * elementBytes(call.type) <= kSmallBytes;
  if (++meeting->arrived == static_cast<int64_t>(meeting->members.size())) {
    meeting->arrived = 0;
    meeting->finished = 0;
    if (Status status = checkAgreement(meeting->calls); !status.isOk()) {
      world.fail(rank);
      return status;
    }
    if (isSmall)
      return performSmall(*meeting, lock, position);
    wakeOthers(*meeting);
    performWithOthers(*meeting, lock, position);
    return {};
  }
  if (world.waiting + 1 == world.active) { // this rank is the last one to fall asleep
    sleeper.meeting = meeting;
    Status status = world.deadlock();
    sleeper.meeting = nullptr;
    world.fail(rank);
    return status;
  }
  sleeper.meeting = meeting;
  bool complete = world.sleep(lock, rank, /*untilMoved=*/false);
  sleeper.meeting = nullptr;
  if (!complete)
    return world.aborted();
  if (!isSmall)
    performWithOthers(*meeting, lock, position);
  return {};
}

void LocalWorld::Endpoint::wakeOthers(const Meeting &meeting) {
  for (int64_t member : meeting.members)
    if (member != rank)
      world.wake(member);
}

/// Does all shares while the other members sleep.
Status LocalWorld::Endpoint::performSmall(Meeting &meeting, std::unique_lock<std::mutex> &lock, int64_t /*position*/) {
  lock.unlock();
  for (size_t member = 0; member < meeting.calls.size(); ++member)
    performShare(meeting.calls, member);
  lock.lock();
  wakeOthers(meeting);
  return {};
}

/// Does this member's share, and leaves with the others.
void LocalWorld::Endpoint::performWithOthers(Meeting &meeting, std::unique_lock<std::mutex> &lock, int64_t position) {
  lock.unlock();
  performShare(meeting.calls, position);
  lock.lock();
  if (++meeting.finished == static_cast<int64_t>(meeting.members.size()))
    return wakeOthers(meeting);
  world.sleep(lock, rank, /*untilMoved=*/true);
}

//===-- Messages --------------------------------------------------------------------------------------------------===//

Status LocalWorld::checkMatch(const Posted &mine, const Posted &other) const {
  auto describe = [](const MessageCall &message) {
    return fmt::format("'{}' of micro-batch {}, chunk {}, {}, {} bytes", message.identity, message.microBatch,
                       message.chunk, message.backward ? "backward" : "forward", message.bytes);
  };
  const MessageCall &a = *mine.message, &b = *other.message;
  if (a.identity == b.identity && a.microBatch == b.microBatch && a.chunk == b.chunk && a.backward == b.backward &&
      a.bytes == b.bytes)
    return {};
  return Status(StatusKind::Mismatch,
                fmt::format("{} {}, but {} {} {}", a.send ? "sends" : "expects", describe(a), mesh.describe(other.rank),
                            b.send ? "sends" : "expects", describe(b)));
}

/// Pairs this rank's messages with those that wait for them, or leaves them to wait.
Status LocalWorld::Endpoint::post(std::span<const MessageCall> messages) {
  posted.resize(messages.size());
  matched.clear();
  matched.reserve(messages.size()); // which of them this rank moves changes from step to step
  Sleeper &sleeper = *world.sleepers[rank];
  sleeper.unmatched = sleeper.moving = 0;
  sleeper.posted = posted;
  for (size_t i = 0; i < messages.size(); ++i) {
    const MessageCall &message = messages[i];
    posted[i] = {&message, rank, nullptr};
    int64_t source = message.send ? rank : message.peer, destination = message.send ? message.peer : rank;
    Channel &channel = world.channels[{message.communicator, source, destination}];
    Posted *partner = (message.send ? channel.receives : channel.sends).pop();
    if (!partner) {
      (message.send ? channel.sends : channel.receives).push(&posted[i]);
      ++sleeper.unmatched;
      continue;
    }
    // Counted as moving before any error, so that the partner stays until this rank has let go of its message.
    SHARDRT_RETURN_IF_ERROR(world.checkMatch(posted[i], *partner));
    Sleeper &other = *world.sleepers[partner->rank];
    --other.unmatched;
    ++other.moving;
    ++sleeper.moving;
    matched.push_back(message.send ? std::pair(&posted[i], partner) : std::pair(partner, &posted[i]));
  }
  return {};
}

void LocalWorld::Endpoint::moveMatched(std::unique_lock<std::mutex> &lock) {
  if (matched.empty())
    return;
  lock.unlock();
  for (auto [send, receive] : matched)
    if (send->message->bytes > 0)
      std::memcpy(receive->message->data, send->message->data, send->message->bytes);
  lock.lock();
  for (auto [send, receive] : matched) {
    for (int64_t party : {send->rank, receive->rank}) {
      Sleeper &sleeper = *world.sleepers[party];
      --sleeper.moving;
      if (party != rank && sleeper.moving == 0 && (sleeper.unmatched == 0 || world.failed))
        world.wake(party);
    }
  }
}

Status LocalWorld::Endpoint::exchange(std::span<const MessageCall> messages) {
  for (const MessageCall &message : messages)
    if (message.peer < 0 || message.peer >= world.ranks() || message.peer == rank)
      return Status(StatusKind::InvalidArgument, fmt::format("message '{}' has no other rank", message.identity));
  std::unique_lock lock(world.mutex);
  if (world.failed)
    return world.aborted();
  Sleeper &sleeper = *world.sleepers[rank];
  Status status = post(messages);
  if (!status.isOk())
    world.fail(rank);
  moveMatched(lock);
  bool complete = sleeper.unmatched == 0 && sleeper.moving == 0;
  if (status.isOk() && !complete && !world.failed && world.waiting + 1 == world.active) {
    sleeper.waiting = true; // for the report
    status = world.deadlock();
    sleeper.waiting = false;
    world.fail(rank);
  }
  if (status.isOk() && !complete)
    world.sleep(lock, rank, /*untilMoved=*/false);
  while (sleeper.moving > 0)
    world.sleep(lock, rank, /*untilMoved=*/true);
  // A wake for the last message may have come while this rank was awake.
  sleeper.ready = false;
  sleeper.posted = {};
  if (!status.isOk())
    return status;
  return sleeper.unmatched == 0 ? Status() : world.aborted();
}

//===-- Ends ------------------------------------------------------------------------------------------------------===//

Status LocalWorld::Endpoint::finishStep() {
  std::lock_guard lock(world.mutex);
  if (world.failed)
    return world.aborted();
  --world.active;
  if (world.active == 0 || world.waiting < world.active)
    return {};
  Status status = world.deadlock();
  world.fail(rank);
  return status;
}

void LocalWorld::Endpoint::abort() {
  std::lock_guard lock(world.mutex);
  world.fail(rank);
}

} // namespace shardc::rt
