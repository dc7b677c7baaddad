//===-- Matching.cpp - messages and collectives find their partners -----------------------------------------------===//
//
// Messages meet their receivers first in, first out; collectives across pp coordinates meet in sequence.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "runtime/format/Query.h"
#include "runtime/verify/Communication.h"
#include "runtime/verify/Operands.h"

#include <algorithm>
#include <fmt/format.h>

namespace shardc::rt::verify {
namespace {

class MatchingCheck {
public:
  MatchingCheck(const plan::Plan &plan, const Communication &communication, Report &report)
      : plan(plan), communication(communication), report(report) {}

  void run() {
    for (const Channel &channel : communication.channels)
      checkChannel(channel);
    checkCollectives();
  }

private:
  const plan::Plan &plan;
  const Communication &communication;
  Report &report;

  plan::ElementType typeOf(const Transfer &transfer) const {
    return plan.programs(transfer.place.program).buffers(transfer.message->value().buffer()).type();
  }

  /// "gradient 'h.1/add' of micro-batch 3"
  static std::string identity(const Transfer &transfer) {
    const plan::Message &message = *transfer.message;
    return fmt::format("{} '{}' of micro-batch {}{}", message.backward() ? "gradient" : "value", message.identity(),
                       transfer.microBatch, message.chunk() ? fmt::format(", chunk {}", message.chunk()) : "");
  }

  std::string contents(const Transfer &transfer) const {
    int64_t count = elementCount(transfer.message->value().sizes());
    return fmt::format("{} elements of {} ({} bytes)", count, elementName(typeOf(transfer)),
                       count * elementBytes(typeOf(transfer)));
  }

  static std::string keyOf(const Transfer &transfer) {
    const plan::Message &message = *transfer.message;
    return fmt::format("{}/{}/{}/{}", transfer.microBatch, message.chunk(), message.backward(), message.identity());
  }
  static bool contains(const std::vector<const Transfer *> &list, size_t from, const std::string &key) {
    return std::any_of(list.begin() + from, list.end(), [&](const Transfer *other) { return keyOf(*other) == key; });
  }

  /// Reports the first disagreement of a channel; what comes after it would be a consequence. Where one side never has
  /// the other's message, that is missing, else the order is wrong.
  void checkChannel(const Channel &channel) {
    for (size_t k = 0; k < std::max(channel.sends.size(), channel.receives.size()); ++k) {
      const Transfer *send = k < channel.sends.size() ? channel.sends[k] : nullptr;
      const Transfer *receive = k < channel.receives.size() ? channel.receives[k] : nullptr;
      if (send && receive && keyOf(*send) == keyOf(*receive)) {
        if (!agreeInSize(*send, *receive))
          return;
        continue;
      }
      bool sent = receive && contains(channel.sends, k, keyOf(*receive));
      bool received = send && contains(channel.receives, k, keyOf(*send));
      if (send && receive && sent == received)
        return reportOrder(*send, *receive);
      if (receive && !sent)
        report.add("plan-receive", receive->place,
                   fmt::format("receives {}, expected a send of it at {}, got none", identity(*receive),
                               rankName(plan, channel.source)),
                   counts(channel));
      else
        report.add("plan-send", send->place,
                   fmt::format("sends {}, expected a receive of it at {}, got none", identity(*send),
                               rankName(plan, channel.destination)),
                   counts(channel));
      return;
    }
  }

  std::string counts(const Channel &channel) const {
    return fmt::format("{} sends {} messages to {}, which receives {}", rankName(plan, channel.source),
                       channel.sends.size(), rankName(plan, channel.destination), channel.receives.size());
  }

  void reportOrder(const Transfer &send, const Transfer &receive) {
    report.add("plan-message", receive.place,
               fmt::format("meets another message, expected {}, got {}", identity(receive), identity(send)),
               "sent by " + report.describe(send.place));
  }

  bool agreeInSize(const Transfer &send, const Transfer &receive) {
    if (typeOf(send) == typeOf(receive) &&
        elementCount(send.message->value().sizes()) == elementCount(receive.message->value().sizes()))
      return true;
    report.add("plan-message", receive.place,
               fmt::format("size of {}, expected {}, got {}", identity(receive), contents(receive), contents(send)),
               "sent by " + report.describe(send.place));
    return false;
  }

  std::string describe(const CommunicationStep &step) const {
    const plan::Collective &collective = *step.collective;
    plan::ElementType type = plan.programs(step.place.program).buffers(collective.input().buffer()).type();
    return fmt::format("{} {} of {} elements of {}", collectiveName(collective.kind()),
                       collective.reduction() == plan::Collective::MAX ? "max" : "sum",
                       elementCount(collective.input().sizes()), elementName(type));
  }

  using Sequence = std::vector<const CommunicationStep *>;

  /// Compares every member of every communicator with the first one.
  void checkCollectives() {
    std::map<uint32_t, std::map<int, Sequence>> sequences;
    for (int p = 0; p < plan.programs_size(); ++p)
      for (const CommunicationStep &step : communication.steps[p])
        if (step.collective)
          sequences[step.collective->communicator()][p].push_back(&step);
    for (auto &[communicator, ofProgram] : sequences) {
      int first = -1;
      for (int p = 0; p < plan.programs_size(); ++p) {
        if (!isMember(plan.communicators(communicator), p))
          continue;
        if (first >= 0)
          compare(communicator, first, ofProgram[first], p, ofProgram[p]);
        else
          first = p;
      }
    }
  }

  void compare(uint32_t communicator, int first, const Sequence &expected, int p, const Sequence &got) {
    const std::string &name = plan.communicators(communicator).name();
    size_t both = std::min(expected.size(), got.size());
    for (size_t k = 0; k < both; ++k) {
      std::string want = describe(*expected[k]), have = describe(*got[k]);
      bool sameNode = nodeOf(*expected[k]) == nodeOf(*got[k]);
      if (want == have && sameNode)
        continue;
      if (want == have)
        want += fmt::format(" for node '{}'", nodeOf(*expected[k]));
      report.add("plan-collective", got[k]->place,
                 fmt::format("collective {} of communicator '{}', expected {}, got {}", k, name, want, have),
                 "it meets " + report.describe(expected[k]->place));
      return;
    }
    if (expected.size() == got.size())
      return;
    bool missing = expected.size() > both;
    const CommunicationStep &alone = missing ? *expected[both] : *got[both];
    report.add("plan-collective", alone.place,
               fmt::format("{} of communicator '{}', expected one at {}, got none", describe(alone), name,
                           rankName(plan, missing ? p : first)),
               fmt::format("{} has {} collectives of '{}', {} has {}", rankName(plan, first), expected.size(), name,
                           rankName(plan, p), got.size()));
  }

  /// What a collective serves: the same ONNX node in all members.
  const std::string &nodeOf(const CommunicationStep &step) const {
    return plan.programs(step.place.program).blocks(step.place.block).instructions(step.place.instruction).node();
  }
};

} // namespace

void checkMatching(const plan::Plan &plan, const Communication &communication, Report &report) {
  MatchingCheck(plan, communication, report).run();
}

} // namespace shardc::rt::verify
