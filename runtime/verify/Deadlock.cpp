//===-- Deadlock.cpp - can the programs wait for one another for ever? --------------------------------------------===//
//
// A rendezvous execution of all programs. Each stands at its next group or collective and passes it when everything in
// it has met its counterpart: the weakest semantics, with one queue a rank. Communication is deterministic, so that any
// order of steps ends in the same state; the work is linear in the number of messages.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "runtime/verify/Communication.h"
#include "runtime/verify/Operands.h"

#include <algorithm>
#include <deque>
#include <fmt/format.h>

namespace shardc::rt::verify {
namespace {

class Rendezvous {
public:
  Rendezvous(const plan::Plan &plan, const Communication &communication, Report &report)
      : plan(plan), communication(communication), report(report), next(plan.programs_size()),
        posted(plan.programs_size()), sent(communication.channels.size()), received(communication.channels.size()),
        arrived(plan.communicators_size()) {}

  void run() {
    std::deque<int> ready;
    for (int p = 0; p < plan.programs_size(); ++p)
      ready.push_back(p);
    while (!ready.empty()) {
      int p = ready.front();
      ready.pop_front();
      advance(p, ready);
    }
    reportStuck();
  }

private:
  const plan::Plan &plan;
  const Communication &communication;
  Report &report;
  std::vector<size_t> next;        // step that each program stands at
  std::vector<bool> posted;        // whether it has told the others
  std::vector<int> sent, received; // of each channel: how many have been posted
  std::vector<int> arrived;        // of each communicator: arrivals of all members

  const CommunicationStep *stepOf(int p) const {
    return next[p] < communication.steps[p].size() ? &communication.steps[p][next[p]] : nullptr;
  }

  void advance(int p, std::deque<int> &ready) {
    while (const CommunicationStep *step = stepOf(p)) {
      if (!posted[p]) {
        posted[p] = true;
        post(p, *step, ready);
      }
      if (!isDone(p, *step))
        return;
      posted[p] = false;
      ++next[p];
    }
  }

  /// Tells the others that a program has arrived, and wakes those that may wait for it.
  void post(int p, const CommunicationStep &step, std::deque<int> &ready) {
    if (step.collective) {
      uint32_t communicator = step.collective->communicator();
      if (++arrived[communicator] % members(communicator) == 0)
        for (int other = 0; other < plan.programs_size(); ++other)
          if (other != p && isMember(plan.communicators(communicator), other))
            ready.push_back(other);
      return;
    }
    for (int t = step.firstTransfer; t < step.endTransfer; ++t) {
      const Transfer &transfer = communication.transfers[p][t];
      ++(transfer.message->send() ? sent : received)[transfer.channel];
      ready.push_back(int(transfer.message->peer()));
    }
  }

  int members(uint32_t communicator) const {
    int listed = plan.communicators(communicator).members_size();
    return listed ? listed : plan.programs_size();
  }

  bool isDone(const Transfer &transfer) const {
    return transfer.number < std::min(sent[transfer.channel], received[transfer.channel]);
  }

  /// All collectives of a communicator are alike in its members, so that counting arrivals tells which have been met.
  bool isDone(int p, const CommunicationStep &step) const {
    if (step.collective)
      return arrived[step.collective->communicator()] >= (step.number + 1) * members(step.collective->communicator());
    for (int t = step.firstTransfer; t < step.endTransfer; ++t)
      if (!isDone(communication.transfers[p][t]))
        return false;
    return true;
  }

  /// The programs that must act before program p can go on.
  std::vector<int> waitsFor(int p) const {
    const CommunicationStep &step = *stepOf(p);
    std::vector<int> list;
    for (int t = step.firstTransfer; t < step.endTransfer; ++t)
      if (!isDone(communication.transfers[p][t]))
        list.push_back(int(communication.transfers[p][t].message->peer()));
    if (step.collective)
      for (int other = 0; other < plan.programs_size(); ++other)
        if (other != p && isMember(plan.communicators(step.collective->communicator()), other) && !stands(other, step))
          list.push_back(other);
    return list;
  }

  bool stands(int other, const CommunicationStep &step) const {
    const CommunicationStep *its = stepOf(other);
    return its && its->collective && its->collective->communicator() == step.collective->communicator() &&
           its->number == step.number;
  }

  /// The place that says best what a stuck program waits for: the message, not the group.
  Place waitingPlace(int p) const {
    const CommunicationStep &step = *stepOf(p);
    for (int t = step.firstTransfer; t < step.endTransfer; ++t)
      if (!isDone(communication.transfers[p][t]))
        return communication.transfers[p][t].place;
    return step.place;
  }

  /// Follows the first program that each waits for until one comes again: those form the cycle.
  void reportStuck() {
    std::vector<int> order(plan.programs_size(), -1);
    int p = 0;
    while (p < plan.programs_size() && !stepOf(p))
      ++p;
    if (p == plan.programs_size())
      return;
    std::vector<int> path;
    while (order[p] < 0) {
      order[p] = int(path.size());
      path.push_back(p);
      std::vector<int> others = waitsFor(p);
      int following = -1;
      for (int other : others)
        if (stepOf(other) && following < 0)
          following = other;
      if (following < 0)
        break;
      p = following;
    }
    std::string chain;
    for (size_t i = order[p]; i < path.size(); ++i)
      chain +=
          fmt::format("{}{}", i == size_t(order[p]) ? "" : "; it waits for ", report.describe(waitingPlace(path[i])));
    report.add("plan-deadlock", waitingPlace(p),
               fmt::format("waits for ever, expected {} to meet it, got a circle of {} that wait for one another",
                           peerName(p), path.size() - order[p]),
               "the circle: " + chain +
                   "; all members must issue collectives in one order, and what neighbours exchange in one group");
  }

  std::string peerName(int p) const {
    std::vector<int> others = waitsFor(p);
    return others.empty() ? "another rank" : rankName(plan, others.front());
  }
};

} // namespace

void checkDeadlock(const plan::Plan &plan, const Communication &communication, Report &report) {
  Rendezvous(plan, communication, report).run();
}

} // namespace shardc::rt::verify
