//===-- Schedule.cpp - checking and printing schedules ------------------------------------------------------------===//

#include "shardc/Pipeline/Schedule.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>

using namespace shardc;
using namespace shardc::pipeline;
using exec::ActionKind;

std::optional<ScheduleGenerator> shardc::pipeline::findSchedule(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<ScheduleGenerator>>(name)
      .Case("gpipe", scheduleGPipe)
      .Case("1f1b", scheduleOneFOneB)
      .Default(std::nullopt);
}

int64_t shardc::pipeline::countSlots(llvm::ArrayRef<Action> actions) {
  int64_t slots = 1;
  for (const Action &action : actions)
    slots = std::max(slots, action.slot + 1);
  return slots;
}

namespace {

/// Updates and reports end a step; all else is an action of a micro-batch.
bool isEnd(const Action &action) { return action.kind == ActionKind::Update || action.kind == ActionKind::Report; }

std::string describe(const Action &action) {
  switch (action.kind) {
  case ActionKind::Update:
    return "U";
  case ActionKind::Report:
    return "R";
  case ActionKind::Evaluate:
    return llvm::formatv("E{0}", action.microBatch);
  default:
    return llvm::formatv("{0}{1}", action.kind == ActionKind::Forward ? "F" : "B", action.microBatch);
  }
}

//===-- One stage by itself ---------------------------------------------------------------------------------------===//

/// What one stage's list must be; `live` maps a slot to the micro-batch in it.
class StageChecker {
public:
  StageChecker(int64_t stage, int64_t microBatches)
      : stage(stage), microBatches(microBatches), forwards(microBatches, false) {}

  std::optional<std::string> check(llvm::ArrayRef<Action> actions) {
    if (actions.empty() || actions.back().kind != ActionKind::Update)
      return at("does not end with the update");
    for (const Action &action : actions.drop_back())
      if (auto problem = checkAction(action))
        return problem;
    if (nextBackward != microBatches)
      return at(llvm::formatv("runs {0} of {1} backwards", nextBackward, microBatches));
    if (!live.empty())
      return at(llvm::formatv("never runs the backward of micro-batch {0}", live.begin()->second));
    return std::nullopt;
  }

private:
  std::string at(const std::string &what) const { return llvm::formatv("pp {0} {1}", stage, what); }

  std::optional<std::string> checkAction(const Action &action) {
    if (action.microBatch < 0 || action.microBatch >= microBatches || action.slot < 0)
      return at(llvm::formatv("has {0} in slot {1}, which does not exist", describe(action), action.slot));
    if (action.kind == ActionKind::Forward)
      return checkForward(action);
    if (action.kind == ActionKind::Backward)
      return checkBackward(action);
    return at("has an action between its micro-batches that is neither forward nor backward");
  }

  std::optional<std::string> checkForward(const Action &action) {
    if (forwards[action.microBatch])
      return at(llvm::formatv("runs {0} twice", describe(action)));
    forwards[action.microBatch] = true;
    auto [slot, fresh] = live.try_emplace(action.slot, action.microBatch);
    if (!fresh)
      return at(llvm::formatv("overwrites slot {0}, which holds micro-batch {1}, in {2}", action.slot, slot->second,
                              describe(action)));
    return std::nullopt;
  }

  std::optional<std::string> checkBackward(const Action &action) {
    if (action.microBatch != nextBackward)
      return at(llvm::formatv("runs {0}, expected B{1}", describe(action), nextBackward));
    ++nextBackward;
    auto slot = live.find(action.slot);
    if (slot == live.end() || slot->second != action.microBatch)
      return at(llvm::formatv("runs {0} on slot {1}, which does not hold its stash", describe(action), action.slot));
    live.erase(slot);
    return std::nullopt;
  }

  int64_t stage;
  int64_t microBatches;
  std::vector<bool> forwards;
  int64_t nextBackward = 0;
  std::map<int64_t, int64_t> live;
};

//===-- All stages together ---------------------------------------------------------------------------------------===//

/// A message in a group: its peer, its direction of travel and its micro-batch.
struct GroupMessage {
  bool send;
  int64_t peer;
  bool backward;
  int64_t microBatch;
  bool done = false;
};

using Group = std::vector<GroupMessage>;

/// Group i of a stage stands before its action i.
std::vector<Group> buildGroups(const Schedule &schedule, int64_t stage) {
  int64_t last = static_cast<int64_t>(schedule.size()) - 1;
  auto valid = [&](int64_t peer) { return peer >= 0 && peer <= last; };
  std::vector<Group> groups;
  const std::vector<Action> &actions = schedule[stage];
  for (size_t i = 0; i < actions.size(); ++i) {
    Group &group = groups.emplace_back();
    auto add = [&](bool send, const Action &action) {
      if (isEnd(action))
        return;
      bool backward = action.kind == ActionKind::Backward;
      int64_t peer = stage + (send != backward ? 1 : -1);
      if (valid(peer))
        group.push_back({send, peer, backward, action.microBatch});
    };
    if (i > 0)
      add(/*send=*/true, actions[i - 1]);
    add(/*send=*/false, actions[i]);
  }
  return groups;
}

/// Runs all stages with rendezvous messages; `positions[p]` is the group that stage p is in.
class Rendezvous {
public:
  explicit Rendezvous(const Schedule &schedule) : schedule(schedule), positions(schedule.size(), 0) {
    for (size_t p = 0; p < schedule.size(); ++p)
      groups.push_back(buildGroups(schedule, p));
  }

  std::optional<std::string> run() {
    bool progress = true;
    while (progress) {
      progress = false;
      for (size_t p = 0; p < groups.size(); ++p) {
        auto moved = step(p);
        if (!problem.empty())
          return problem;
        progress |= moved;
      }
    }
    for (size_t p = 0; p < groups.size(); ++p)
      if (positions[p] < groups[p].size())
        return llvm::formatv("pp {0} waits for ever before {1}", p, describe(schedule[p][positions[p]])).str();
    return std::nullopt;
  }

private:
  /// Matches what it can of the stage's group, and moves on when all of it is done.
  bool step(size_t p) {
    if (positions[p] == groups[p].size())
      return false;
    bool progress = false;
    Group &group = groups[p][positions[p]];
    for (GroupMessage &message : group)
      if (!message.done && message.send)
        progress |= match(p, message);
    if (llvm::all_of(group, [](const GroupMessage &message) { return message.done; })) {
      ++positions[p];
      progress = true;
    }
    return progress;
  }

  /// Matches a send with the first receive from its stage in the peer's group, which must be the same message.
  bool match(size_t p, GroupMessage &message) {
    if (positions[message.peer] == groups[message.peer].size())
      return false;
    for (GroupMessage &other : groups[message.peer][positions[message.peer]]) {
      if (other.done || other.send || other.peer != static_cast<int64_t>(p))
        continue;
      if (other.backward != message.backward || other.microBatch != message.microBatch) {
        problem = llvm::formatv("pp {0} sends {1}{2} to pp {3}, which expects {4}{5}", p, message.backward ? "B" : "F",
                                message.microBatch, message.peer, other.backward ? "B" : "F", other.microBatch);
        return false;
      }
      message.done = other.done = true;
      return true;
    }
    return false;
  }

  const Schedule &schedule;
  std::vector<std::vector<Group>> groups;
  std::vector<size_t> positions;
  std::string problem;
};

//===-- Charts ----------------------------------------------------------------------------------------------------===//

/// The time at which each action starts when forwards and backwards take one unit and messages none.
std::vector<std::vector<int64_t>> computeStarts(const Schedule &schedule) {
  using Key = std::tuple<int64_t, ActionKind, int64_t>;
  std::map<Key, int64_t> ends;
  std::vector<std::vector<int64_t>> starts(schedule.size());
  std::vector<int64_t> free(schedule.size(), 0);
  int64_t updateStart = 0;
  bool progress = true;
  while (progress) {
    progress = false;
    for (int64_t p = 0, e = schedule.size(); p < e; ++p) {
      if (starts[p].size() == schedule[p].size())
        continue;
      const Action &action = schedule[p][starts[p].size()];
      int64_t peer = p + (action.kind == ActionKind::Backward ? 1 : -1);
      int64_t ready = 0;
      if (!isEnd(action) && peer >= 0 && peer < e) {
        auto found = ends.find({peer, action.kind, action.microBatch});
        if (found == ends.end())
          continue;
        ready = found->second;
      }
      int64_t start = std::max(ready, free[p]);
      starts[p].push_back(start);
      free[p] = start + 1;
      ends[{p, action.kind, action.microBatch}] = start + 1;
      if (isEnd(action))
        updateStart = std::max(updateStart, start);
      progress = true;
    }
  }
  for (size_t p = 0; p < schedule.size(); ++p)
    if (starts[p].size() == schedule[p].size())
      starts[p].back() = updateStart;
  return starts;
}

} // namespace

std::optional<std::string> shardc::pipeline::checkSchedule(const Schedule &schedule, int64_t microBatches) {
  for (size_t p = 0; p < schedule.size(); ++p)
    if (auto problem = StageChecker(p, microBatches).check(schedule[p]))
      return problem;
  return Rendezvous(schedule).run();
}

std::optional<std::string> shardc::pipeline::checkEvaluation(const Schedule &schedule, int64_t microBatches) {
  for (size_t p = 0; p < schedule.size(); ++p) {
    const std::vector<Action> &actions = schedule[p];
    if (static_cast<int64_t>(actions.size()) != microBatches + 1 || actions.back().kind != ActionKind::Report)
      return llvm::formatv("pp {0} does not evaluate {1} micro-batches and report", p, microBatches).str();
    for (int64_t m = 0; m < microBatches; ++m)
      if (actions[m].kind != ActionKind::Evaluate || actions[m].microBatch != m || actions[m].slot < 0)
        return llvm::formatv("pp {0} runs {1}, expected E{2}", p, describe(actions[m]), m).str();
  }
  return Rendezvous(schedule).run();
}

std::string shardc::pipeline::printSchedule(const Schedule &schedule) {
  size_t width = 2;
  for (const std::vector<Action> &actions : schedule)
    for (const Action &action : actions)
      width = std::max(width, describe(action).size());
  std::vector<std::vector<int64_t>> starts = computeStarts(schedule);
  std::string chart;
  for (size_t p = 0; p < schedule.size(); ++p) {
    std::string line = llvm::formatv("pp {0} |", p);
    size_t origin = line.size();
    for (size_t i = 0; i < starts[p].size(); ++i) {
      line.resize(origin + 1 + starts[p][i] * (width + 1), ' ');
      line += describe(schedule[p][i]);
    }
    chart += line + "\n";
  }
  return chart;
}
