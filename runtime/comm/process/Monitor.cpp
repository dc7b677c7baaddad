//===-- Monitor.cpp - do all processes still live? ----------------------------------------------------------------===//

#include "runtime/comm/process/Monitor.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <unistd.h>
#include <utility>

namespace shardc::rt {
namespace {

constexpr int32_t kBeatTag = 1;
constexpr auto kInterval = std::chrono::milliseconds(100);
/// Seconds after which a death on this machine is told.
constexpr double kLastWords = 0.3;
/// Of silence, when the launcher is already ending the processes.
constexpr double kTerminatingTimeout = 0.5;

// What a signal handler may touch.
std::atomic<int64_t> terminatedAt{0}; // steady clock, ms

int64_t nowInMilliseconds() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Whether a process of this machine runs, or at least can be continued: not after its death, waited for or not.
bool isAlive(int32_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text;
  if (!std::getline(file, text))
    return false;
  size_t state = text.rfind(')'); // the name before it may hold anything
  return state == std::string::npos || state + 2 >= text.size() || (text[state + 2] != 'Z' && text[state + 2] != 'X');
}

} // namespace

std::string describePosition(const plan::Plan &plan, const MeshView &mesh, int64_t rank, const RankPosition &position) {
  const plan::Program &program = plan.programs(static_cast<int>(mesh.coordinate(rank, "pp")));
  std::string who = mesh.describe(rank);
  if (position.block < 0 || position.block >= program.blocks_size() || position.instruction < 0 ||
      position.instruction >= program.blocks(position.block).instructions_size())
    return who + ", before its first instruction,";
  const plan::Block &block = program.blocks(position.block);
  const plan::Instruction &instruction = block.instructions(position.instruction);
  int64_t number = position.instruction;
  for (int b = 0; b < position.block; ++b)
    number += program.blocks(b).instructions_size();
  return fmt::format("{}, instruction {} {}, node '{}', in block '{}' of step {}, micro-batch {},", who, number,
                     instructionName(instruction), instruction.node(), block.name(), position.step + 1,
                     position.microBatch);
}

void Monitor::noteTermination() {
  int64_t none = 0;
  terminatedAt.compare_exchange_strong(none, nowInMilliseconds());
}

Monitor::Monitor(const shardrtTransport &transport, MonitorSetting given)
    : transport(transport), setting(std::move(given)) {
  for (int64_t rank = 0; rank < static_cast<int64_t>(setting.places.size()); ++rank)
    if (rank != setting.rank && (rank == 0 || setting.rank == 0)) {
      peers.push_back(std::make_unique<Peer>());
      peers.back()->rank = rank;
    }
  thread = std::thread([this] { run(); });
}

Monitor::~Monitor() {
  ending = true;
  thread.join();
}

Monitor::Beat Monitor::ownBeat() {
  Beat beat;
  std::lock_guard lock(mutex);
  if (const RankMark *mark = ownMark) {
    beat.position = {mark->step.load(std::memory_order_relaxed), mark->block.load(std::memory_order_relaxed),
                     mark->instruction.load(std::memory_order_relaxed),
                     mark->microBatch.load(std::memory_order_relaxed)};
  }
  return beat;
}

/// One message at a time: a peer that takes none is silent.
void Monitor::tell(Peer &peer, State state) {
  if (!isSent(peer))
    return;
  peer.outgoing = ownBeat();
  peer.outgoing.state = state;
  peer.isSending = !transport.send(transport.state, setting.processOf[peer.rank], kBeatTag, &peer.outgoing,
                                   sizeof(Beat), &peer.sending);
}

/// Takes what has come, and asks for more until the peer has said that it ends.
void Monitor::listen(Peer &peer) {
  int32_t done = 0;
  while (!peer.hasEnded) {
    if (transport.test(transport.state, &peer.receiving, &done) || !done)
      return;
    peer.heard = Clock::now();
    peer.hasEnded = peer.incoming.state != State::Running;
    othersGiveUp |= peer.incoming.state == State::GivingUp;
    peer.last = peer.incoming;
    if (!peer.hasEnded)
      transport.receive(transport.state, setting.processOf[peer.rank], kBeatTag, &peer.incoming, sizeof(Beat),
                        &peer.receiving);
  }
}

bool Monitor::isSilent(const Peer &peer) const {
  if (peer.hasEnded)
    return false;
  const ProcessPlace &here = setting.places[setting.rank], &there = setting.places[peer.rank];
  double silence = std::chrono::duration<double>(Clock::now() - peer.heard).count();
  // Of rank 0 the lowest other rank tells; the next one only if that has not ended everything by then.
  double turn = setting.rank <= 1 ? 0 : 10 * static_cast<double>(setting.rank - 1);
  // Its last words come first.
  if (std::strcmp(here.host, there.host) == 0 && silence > turn + kLastWords && !isAlive(there.pid))
    return true;
  int64_t terminated = terminatedAt.load();
  bool isTerminating = terminated != 0 && nowInMilliseconds() - terminated > 300;
  return silence > (isTerminating ? kTerminatingTimeout : setting.timeout) + turn;
}

void Monitor::giveUp(const Peer &peer) {
  if (othersGiveUp) { // and end this process, too
    std::this_thread::sleep_for(std::chrono::seconds(5));
    _exit(1);
  }
  double silence = std::chrono::duration<double>(Clock::now() - peer.heard).count();
  std::string text =
      fmt::format("error: {} does not answer any more, for {:.1f} s [run-lost]\n"
                  "note: its process {} on host {} has died, hangs or has been stopped; all others end\n",
                  setting.describe(peer.rank, peer.last.position), silence, setting.places[peer.rank].pid,
                  setting.places[peer.rank].host);
  for (size_t at = 0; at < text.size();) {
    ssize_t written = ::write(STDERR_FILENO, text.data() + at, text.size() - at);
    if (written <= 0)
      break;
    at += written;
  }
  // The deaths that follow are no news. Who takes no message now is no matter.
  for (auto &other : peers)
    tell(*other, State::GivingUp);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  for (auto &other : peers)
    (void)isSent(*other);
  transport.abort(transport.state, 1);
  _exit(1);
}

void Monitor::run() {
  for (auto &peer : peers) {
    peer->heard = Clock::now();
    transport.receive(transport.state, setting.processOf[peer->rank], kBeatTag, &peer->incoming, sizeof(Beat),
                      &peer->receiving);
  }
  Clock::time_point lastRound = Clock::now();
  while (!ending) {
    // Who has been stopped itself, or starved, has not listened.
    if (Clock::now() - std::exchange(lastRound, Clock::now()) > 5 * kInterval)
      for (auto &peer : peers)
        peer->heard = Clock::now();
    for (auto &peer : peers) {
      tell(*peer, State::Running);
      listen(*peer);
      if (isSilent(*peer))
        giveUp(*peer);
    }
    std::this_thread::sleep_for(kInterval);
  }
  sayGoodbye();
}

bool Monitor::isSent(Peer &peer) {
  int32_t done = 0;
  if (peer.isSending && (transport.test(transport.state, &peer.sending, &done) || done))
    peer.isSending = false;
  return !peer.isSending;
}

/// The last beat lets the other side stop listening; both must be through before the transport closes.
void Monitor::sayGoodbye() {
  std::vector<bool> told(peers.size());
  for (bool isDone = false; !isDone;) {
    isDone = true;
    for (size_t i = 0; i < peers.size(); ++i) {
      Peer &peer = *peers[i];
      if (!told[i] && isSent(peer)) {
        tell(peer, State::Ended);
        told[i] = true;
      }
      listen(peer);
      if (isSilent(peer))
        giveUp(peer);
      isDone &= told[i] && isSent(peer) && peer.hasEnded;
    }
    if (!isDone)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

} // namespace shardc::rt
