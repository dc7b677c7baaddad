//===-- LocalWorldTest.cpp - the conformance of the local communicator --------------------------------------------===//

#include "runtime/comm/local/LocalWorld.h"
#include "AllocationCount.h"
#include "runtime/base/Float16.h"

#include <algorithm>
#include <barrier>
#include <cstring>
#include <fmt/format.h>
#include <future>
#include <gtest/gtest.h>
#include <limits>
#include <optional>
#include <random>
#include <thread>

using namespace shardc;
using namespace shardc::rt;
using namespace shardc::rt::test;

namespace {

constexpr auto kTimeout = std::chrono::seconds(60);

plan::Plan makePlan(std::vector<std::pair<std::string, int64_t>> axes) {
  plan::Plan plan;
  for (const auto &[name, size] : axes) {
    auto *axis = plan.mutable_mesh()->add_axes();
    axis->set_name(name);
    axis->set_size(size);
  }
  return plan;
}

uint32_t addCommunicator(plan::Plan &plan, std::vector<uint32_t> axes, std::vector<uint32_t> members = {}) {
  plan::Communicator *communicator = plan.add_communicators();
  for (uint32_t axis : axes)
    communicator->add_axes(axis);
  for (uint32_t member : members)
    communicator->add_members(member);
  return plan.communicators_size() - 1;
}

/// Runs `body` on a thread for each rank; the statuses, by rank. Fails the test rather than hang.
template <typename Body> std::vector<Status> runRanks(LocalWorld &world, Body body) {
  std::vector<std::future<Status>> futures;
  for (int64_t rank = 0; rank < world.ranks(); ++rank)
    futures.push_back(std::async(std::launch::async, [&world, &body, rank] {
      Status status = body(rank, world.communicator(rank));
      if (!status.isOk())
        world.communicator(rank).abort();
      return status;
    }));
  std::vector<Status> statuses;
  for (auto &future : futures) {
    if (future.wait_for(kTimeout) != std::future_status::ready) {
      ADD_FAILURE() << "a rank hangs";
      std::abort(); // threads that hang cannot be joined
    }
    statuses.push_back(future.get());
  }
  return statuses;
}

void expectAllOk(const std::vector<Status> &statuses) {
  for (const Status &status : statuses)
    EXPECT_TRUE(status.isOk()) << status.render();
}

int64_t countKind(const std::vector<Status> &statuses, StatusKind kind) {
  return std::ranges::count(statuses, kind, &Status::kind);
}

template <typename T> struct TypeOf;
template <> struct TypeOf<float> {
  static constexpr plan::ElementType type = plan::F32;
};
template <> struct TypeOf<double> {
  static constexpr plan::ElementType type = plan::F64;
};
template <> struct TypeOf<int64_t> {
  static constexpr plan::ElementType type = plan::I64;
};
template <> struct TypeOf<int32_t> {
  static constexpr plan::ElementType type = plan::I32;
};

template <typename T> std::vector<T> randomValues(int64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> values(count);
  for (T &value : values)
    value = static_cast<T>(static_cast<double>(static_cast<int64_t>(random() % 2000001) - 1000000) / 7);
  return values;
}

template <typename T> T combine(T a, T b, plan::Collective::Reduction reduction) {
  return reduction == plan::Collective::SUM ? a + b : std::max(a, b);
}

/// The values of the members combined in ascending order.
template <typename T>
std::vector<T> combineAll(const std::vector<std::vector<T>> &inputs, plan::Collective::Reduction reduction) {
  std::vector<T> result = inputs[0];
  for (size_t m = 1; m < inputs.size(); ++m)
    for (size_t i = 0; i < result.size(); ++i)
      result[i] = combine(result[i], inputs[m][i], reduction);
  return result;
}

template <typename T>
CollectiveCall makeCall(plan::Collective::Kind kind, const T *input, T *output, int64_t count,
                        plan::Collective::Reduction reduction = plan::Collective::SUM) {
  CollectiveCall call;
  call.kind = kind;
  call.reduction = reduction;
  call.type = TypeOf<T>::type;
  call.input = input;
  call.output = output;
  call.inputElements = count;
  return call;
}

template <typename T> class LocalCollectives : public testing::Test {};
using Types = testing::Types<float, double, int64_t, int32_t>;
TYPED_TEST_SUITE(LocalCollectives, Types);

/// Sizes around the limits of small collectives, blocks and cache lines.
const int64_t kCounts[] = {0, 1, 15, 16, 17, 1000, 4095, 5000, 20011};

} // namespace

TYPED_TEST(LocalCollectives, AllReduceCombinesInAscendingOrder) {
  using T = TypeParam;
  for (int64_t ranks : {1, 2, 3, 8}) {
    plan::Plan plan = makePlan({{"tp", ranks}});
    addCommunicator(plan, {0});
    LocalWorld world(plan);
    for (int64_t count : kCounts)
      for (auto reduction : {plan::Collective::SUM, plan::Collective::MAX})
        for (bool inPlace : {false, true}) {
          std::vector<std::vector<T>> inputs, outputs(ranks);
          for (int64_t rank = 0; rank < ranks; ++rank)
            inputs.push_back(randomValues<T>(count, 100 * count + rank));
          std::vector<std::vector<T>> memory = inputs;
          expectAllOk(runRanks(world, [&](int64_t rank, Communicator &communicator) {
            outputs[rank].resize(count);
            T *output = inPlace ? memory[rank].data() : outputs[rank].data();
            return communicator.collective(
                makeCall(plan::Collective::ALL_REDUCE, memory[rank].data(), output, count, reduction));
          }));
          std::vector<T> expected = combineAll(inputs, reduction);
          for (int64_t rank = 0; rank < ranks; ++rank)
            EXPECT_EQ(inPlace ? memory[rank] : outputs[rank], expected) << ranks << " ranks, " << count;
        }
  }
}

TYPED_TEST(LocalCollectives, ReduceScatterGivesEachRankItsBlock) {
  using T = TypeParam;
  for (int64_t ranks : {1, 2, 5, 8}) {
    plan::Plan plan = makePlan({{"tp", ranks}});
    addCommunicator(plan, {0});
    LocalWorld world(plan);
    for (int64_t block : kCounts) {
      std::vector<std::vector<T>> inputs, outputs(ranks);
      for (int64_t rank = 0; rank < ranks; ++rank)
        inputs.push_back(randomValues<T>(block * ranks, 7 * block + rank));
      expectAllOk(runRanks(world, [&](int64_t rank, Communicator &communicator) {
        outputs[rank].resize(block);
        return communicator.collective(
            makeCall(plan::Collective::REDUCE_SCATTER, inputs[rank].data(), outputs[rank].data(), block * ranks));
      }));
      std::vector<T> sums = combineAll(inputs, plan::Collective::SUM);
      for (int64_t rank = 0; rank < ranks; ++rank)
        EXPECT_TRUE(std::equal(outputs[rank].begin(), outputs[rank].end(), sums.begin() + rank * block));
    }
  }
}

TYPED_TEST(LocalCollectives, AllGatherStacksBlocks) {
  using T = TypeParam;
  for (int64_t ranks : {1, 2, 3, 8}) {
    plan::Plan plan = makePlan({{"tp", ranks}});
    addCommunicator(plan, {0});
    LocalWorld world(plan);
    for (int64_t count : kCounts) {
      std::vector<std::vector<T>> inputs, outputs(ranks);
      std::vector<T> expected;
      for (int64_t rank = 0; rank < ranks; ++rank) {
        inputs.push_back(randomValues<T>(count, count + 11 * rank));
        expected.insert(expected.end(), inputs[rank].begin(), inputs[rank].end());
      }
      expectAllOk(runRanks(world, [&](int64_t rank, Communicator &communicator) {
        outputs[rank].resize(count * ranks);
        return communicator.collective(
            makeCall(plan::Collective::ALL_GATHER, inputs[rank].data(), outputs[rank].data(), count));
      }));
      for (int64_t rank = 0; rank < ranks; ++rank)
        EXPECT_EQ(outputs[rank], expected);
    }
  }
}

TYPED_TEST(LocalCollectives, AllToAllTransposesBlocks) {
  using T = TypeParam;
  for (int64_t ranks : {1, 2, 3, 4, 7}) {
    plan::Plan plan = makePlan({{"tp", ranks}});
    addCommunicator(plan, {0});
    LocalWorld world(plan);
    for (int64_t block : kCounts)
      for (bool inPlace : {false, true}) {
        std::vector<std::vector<T>> inputs, outputs(ranks);
        for (int64_t rank = 0; rank < ranks; ++rank)
          inputs.push_back(randomValues<T>(block * ranks, 3 * block + rank));
        std::vector<std::vector<T>> memory = inputs;
        expectAllOk(runRanks(world, [&](int64_t rank, Communicator &communicator) {
          outputs[rank].resize(block * ranks);
          T *output = inPlace ? memory[rank].data() : outputs[rank].data();
          return communicator.collective(
              makeCall(plan::Collective::ALL_TO_ALL, memory[rank].data(), output, block * ranks));
        }));
        for (int64_t rank = 0; rank < ranks; ++rank)
          for (int64_t from = 0; from < ranks; ++from) {
            const std::vector<T> &result = inPlace ? memory[rank] : outputs[rank];
            EXPECT_TRUE(std::equal(result.begin() + from * block, result.begin() + (from + 1) * block,
                                   inputs[from].begin() + rank * block));
          }
      }
  }
}

TEST(LocalWorld, CommunicatorsJoinRanksThatAgreeElsewhere) {
  plan::Plan plan = makePlan({{"dp", 2}, {"pp", 3}, {"tp", 2}});
  uint32_t tp = addCommunicator(plan, {2}), tied = addCommunicator(plan, {1}, {0, 2}),
           all = addCommunicator(plan, {0, 1, 2});
  LocalWorld world(plan);
  MeshView mesh(plan.mesh());
  std::vector<std::array<double, 3>> results(world.ranks());
  expectAllOk(runRanks(world, [&](int64_t rank, Communicator &communicator) -> Status {
    std::array<double, 3> &values = results[rank];
    values.fill(static_cast<double>(rank));
    for (uint32_t c : {tp, tied, all}) {
      if (c == tied && mesh.coordinate(rank, "pp") == 1)
        continue;
      CollectiveCall call = makeCall(plan::Collective::ALL_REDUCE, &values[c], &values[c], 1);
      call.communicator = c;
      SHARDRT_RETURN_IF_ERROR(communicator.collective(call));
    }
    return {};
  }));
  EXPECT_EQ(results[7][tp], 6 + 7);    // (1, 0, 1) with (1, 0, 0)
  EXPECT_EQ(results[7][tied], 7 + 11); // (1, 0, 1) with (1, 2, 1)
  EXPECT_EQ(results[3][tied], 3);
  EXPECT_EQ(results[3][all], 66);
}

TEST(LocalWorld, CollectiveOfANonMemberIsAnError) {
  plan::Plan plan = makePlan({{"pp", 3}});
  addCommunicator(plan, {0}, {0, 2});
  LocalWorld world(plan);
  float value = 1;
  Status status = world.communicator(1).collective(makeCall(plan::Collective::ALL_REDUCE, &value, &value, 1));
  EXPECT_EQ(status.kind(), StatusKind::InvalidArgument);
}

TEST(LocalWorld, DifferentCollectivesAreAnErrorOnOneRankAndEndTheOthers) {
  for (int64_t count : {10, 100000}) {
    plan::Plan plan = makePlan({{"tp", 3}});
    addCommunicator(plan, {0});
    LocalWorld world(plan);
    std::vector<std::vector<float>> values(3, std::vector<float>(count + 1));
    auto statuses = runRanks(world, [&](int64_t rank, Communicator &communicator) {
      return communicator.collective(
          makeCall(plan::Collective::ALL_REDUCE, values[rank].data(), values[rank].data(), count + (rank == 1)));
    });
    EXPECT_EQ(countKind(statuses, StatusKind::Mismatch), 1);
    EXPECT_EQ(countKind(statuses, StatusKind::Aborted), 2);
  }
}

namespace {

/// Reductions over `members` ranks of a 16-bit float: added in f32 in ascending order, rounded once.
template <typename T> void checkLowReduction(plan::ElementType type, int64_t members) {
  plan::Plan plan = makePlan({{"tp", members}});
  addCommunicator(plan, {0});
  LocalWorld world(plan);
  int64_t count = 3000 * members;
  std::vector<std::vector<T>> inputs, sums(members), parts(members), largest(members);
  for (int64_t rank = 0; rank < members; ++rank) {
    std::vector<T> &input = inputs.emplace_back();
    for (float value : randomValues<float>(count, rank + 1))
      input.push_back(T(value / 1e4f));
    sums[rank].resize(count);
    largest[rank].resize(count);
    parts[rank].resize(count / members);
  }
  inputs[0][5] = T(std::numeric_limits<float>::infinity());
  inputs[members - 1][6] = T(std::numeric_limits<float>::quiet_NaN());
  world.beginStep();
  expectAllOk(runRanks(world, [&](int64_t rank, Communicator &communicator) -> Status {
    CollectiveCall call = makeCall<float>(plan::Collective::ALL_REDUCE, nullptr, nullptr, count);
    call.type = type;
    call.input = inputs[rank].data();
    call.output = sums[rank].data();
    SHARDRT_RETURN_IF_ERROR(communicator.collective(call));
    call.reduction = plan::Collective::MAX;
    call.output = largest[rank].data();
    SHARDRT_RETURN_IF_ERROR(communicator.collective(call));
    call.reduction = plan::Collective::SUM;
    call.kind = plan::Collective::REDUCE_SCATTER;
    call.output = parts[rank].data();
    return communicator.collective(call);
  }));
  for (int64_t i = 0; i < count; ++i) {
    float sum = inputs[0][i], most = inputs[0][i];
    for (int64_t rank = 1; rank < members; ++rank) {
      sum += inputs[rank][i];
      most = most > inputs[rank][i] || most != most ? most : static_cast<float>(inputs[rank][i]);
    }
    for (int64_t rank = 0; rank < members; ++rank) {
      ASSERT_EQ(sums[rank][i].bits, T(sum).bits) << "element " << i;
      ASSERT_EQ(largest[rank][i].bits, T(most).bits) << "element " << i;
    }
    ASSERT_EQ(parts[i / (count / members)][i % (count / members)].bits, T(sum).bits) << "element " << i;
  }
}

} // namespace

TEST(LocalWorld, SixteenBitFloatsAreReducedInF32AndRoundedOnce) {
  for (int64_t members : {1, 2, 3, 4}) {
    checkLowReduction<BFloat16>(plan::BF16, members);
    checkLowReduction<Float16>(plan::F16, members);
  }
}

TEST(LocalWorld, OverlapAndTypesThatCannotBeReducedAreErrors) {
  plan::Plan plan = makePlan({{"tp", 2}});
  addCommunicator(plan, {0});
  LocalWorld world(plan);
  std::vector<float> values(100);
  Communicator &communicator = world.communicator(0);
  EXPECT_EQ(communicator.collective(makeCall(plan::Collective::ALL_GATHER, &values[10], &values[0], 10)).kind(),
            StatusKind::InvalidArgument);
  EXPECT_EQ(communicator.collective(makeCall(plan::Collective::ALL_REDUCE, &values[1], &values[0], 10)).kind(),
            StatusKind::InvalidArgument);
  EXPECT_EQ(communicator.collective(makeCall(plan::Collective::ALL_TO_ALL, &values[0], &values[0], 5)).kind(),
            StatusKind::InvalidArgument);
  CollectiveCall call = makeCall(plan::Collective::ALL_REDUCE, &values[0], &values[0], 10);
  call.type = plan::U8;
  EXPECT_EQ(communicator.collective(call).kind(), StatusKind::Unsupported);
}

//===-- Messages --------------------------------------------------------------------------------------------------===//

namespace {

MessageCall makeMessage(bool send, int64_t peer, std::vector<char> &data, std::string_view identity,
                        int64_t microBatch = 0, bool backward = false) {
  MessageCall message;
  message.send = send;
  message.peer = peer;
  message.data = data.data();
  message.bytes = static_cast<int64_t>(data.size());
  message.identity = identity;
  message.microBatch = microBatch;
  message.backward = backward;
  return message;
}

} // namespace

TEST(LocalWorld, GroupsProgressTogether) {
  // Each rank of a ring sends to both neighbours and receives from both, sends first: in order, that would deadlock.
  constexpr int64_t ranks = 5, rounds = 50;
  plan::Plan plan = makePlan({{"pp", ranks}});
  addCommunicator(plan, {0});
  LocalWorld world(plan);
  expectAllOk(runRanks(world, [&](int64_t rank, Communicator &communicator) -> Status {
    int64_t next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
    for (int64_t round = 0; round < rounds; ++round) {
      std::vector<char> up(1 + round * 37, char(rank)), down = up, fromNext = up, fromPrevious = up;
      MessageCall messages[] = {makeMessage(true, next, up, "up", round),
                                makeMessage(true, previous, down, "down", round, true),
                                makeMessage(false, previous, fromPrevious, "up", round),
                                makeMessage(false, next, fromNext, "down", round, true)};
      SHARDRT_RETURN_IF_ERROR(communicator.exchange(messages));
      if (fromPrevious != std::vector<char>(up.size(), char(previous)) ||
          fromNext != std::vector<char>(up.size(), char(next)))
        return Status(StatusKind::Internal, "wrong data");
    }
    return {};
  }));
}

TEST(LocalWorld, MessagesBetweenTwoRanksMatchInOrder) {
  plan::Plan plan = makePlan({{"pp", 2}});
  addCommunicator(plan, {0});
  LocalWorld world(plan);
  std::vector<char> a(3, 'a'), b(3, 'b'), first(3), second(3);
  expectAllOk(runRanks(world, [&](int64_t rank, Communicator &communicator) -> Status {
    if (rank == 0) {
      MessageCall both[] = {makeMessage(true, 1, a, "a"), makeMessage(true, 1, b, "b")};
      return communicator.exchange(both);
    }
    MessageCall one = makeMessage(false, 0, first, "a"), two = makeMessage(false, 0, second, "b");
    SHARDRT_RETURN_IF_ERROR(communicator.exchange({&one, 1}));
    return communicator.exchange({&two, 1});
  }));
  EXPECT_EQ(first, a);
  EXPECT_EQ(second, b);
}

TEST(LocalWorld, MessagesThatAreNotTheSameAreAnError) {
  for (int defect = 0; defect < 5; ++defect) {
    plan::Plan plan = makePlan({{"pp", 2}});
    addCommunicator(plan, {0});
    LocalWorld world(plan);
    std::vector<char> sent(8), received(defect == 4 ? 12 : 8);
    auto statuses = runRanks(world, [&](int64_t rank, Communicator &communicator) {
      MessageCall message = makeMessage(rank == 0, 1 - rank, rank == 0 ? sent : received, "h", 3);
      if (rank == 1) {
        if (defect == 0)
          message.identity = "grad:h";
        message.microBatch += defect == 1;
        message.chunk += defect == 2;
        message.backward = defect == 3;
      }
      return communicator.exchange({&message, 1});
    });
    EXPECT_EQ(countKind(statuses, StatusKind::Mismatch), 1) << defect;
    EXPECT_EQ(countKind(statuses, StatusKind::Aborted), 1) << defect;
  }
}

//===-- Ends ------------------------------------------------------------------------------------------------------===//

TEST(LocalWorld, AFailingRankEndsRanksThatWait) {
  plan::Plan plan = makePlan({{"pp", 4}});
  addCommunicator(plan, {0});
  LocalWorld world(plan);
  std::vector<char> data(100);
  std::vector<std::vector<float>> values(4, std::vector<float>(50000));
  auto statuses = runRanks(world, [&](int64_t rank, Communicator &communicator) {
    if (rank == 3) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      return Status(StatusKind::Io, "the disk is gone");
    }
    if (rank == 2) {
      MessageCall message = makeMessage(false, 3, data, "x");
      return communicator.exchange({&message, 1});
    }
    return communicator.collective(
        makeCall(plan::Collective::ALL_REDUCE, values[rank].data(), values[rank].data(), 50000));
  });
  EXPECT_EQ(countKind(statuses, StatusKind::Io), 1);
  EXPECT_EQ(countKind(statuses, StatusKind::Aborted), 3);
  EXPECT_EQ(statuses[0].message(), "ended because rank 3 failed");
  // The world stays ended.
  EXPECT_EQ(
      world.communicator(0).collective(makeCall(plan::Collective::ALL_REDUCE, &values[0][0], &values[0][0], 1)).kind(),
      StatusKind::Aborted);
}

TEST(LocalWorld, AFailureDuringManyExchangesEndsAllInBoundedTime) {
  constexpr int64_t ranks = 6;
  plan::Plan plan = makePlan({{"pp", ranks}});
  addCommunicator(plan, {0});
  for (int trial = 0; trial < 20; ++trial) {
    LocalWorld world(plan);
    auto statuses = runRanks(world, [&](int64_t rank, Communicator &communicator) -> Status {
      std::vector<char> out(10000), in(10000);
      std::vector<float> values(10000);
      for (int round = 0;; ++round) {
        if (rank == trial % ranks && round == 5 + trial)
          return Status(StatusKind::Io, "the disk is gone");
        MessageCall messages[] = {makeMessage(true, (rank + 1) % ranks, out, "x"),
                                  makeMessage(false, (rank + ranks - 1) % ranks, in, "x")};
        SHARDRT_RETURN_IF_ERROR(communicator.exchange(messages));
        SHARDRT_RETURN_IF_ERROR(
            communicator.collective(makeCall(plan::Collective::ALL_REDUCE, values.data(), values.data(), 10000)));
      }
    });
    EXPECT_EQ(countKind(statuses, StatusKind::Io), 1);
    EXPECT_EQ(countKind(statuses, StatusKind::Aborted), ranks - 1);
  }
}

TEST(LocalWorld, DeadlockIsReportedAtOnce) {
  plan::Plan plan = makePlan({{"pp", 2}});
  addCommunicator(plan, {0});
  LocalWorld world(plan);
  std::vector<char> out(8), in(8);
  auto statuses = runRanks(world, [&](int64_t rank, Communicator &communicator) -> Status {
    MessageCall send = makeMessage(true, 1 - rank, out, "x"), receive = makeMessage(false, 1 - rank, in, "x");
    SHARDRT_RETURN_IF_ERROR(communicator.exchange({&send, 1}));
    return communicator.exchange({&receive, 1});
  });
  EXPECT_EQ(countKind(statuses, StatusKind::Deadlock), 1);
  EXPECT_EQ(countKind(statuses, StatusKind::Aborted), 1);
}

TEST(LocalWorld, WaitingForARankThatHasFinishedIsADeadlock) {
  plan::Plan plan = makePlan({{"pp", 2}});
  addCommunicator(plan, {0});
  LocalWorld world(plan);
  std::vector<char> in(8);
  auto statuses = runRanks(world, [&](int64_t rank, Communicator &communicator) {
    if (rank == 0)
      return communicator.finishStep();
    MessageCall receive = makeMessage(false, 0, in, "x");
    return communicator.exchange({&receive, 1});
  });
  EXPECT_EQ(countKind(statuses, StatusKind::Deadlock), 1);
}

TEST(LocalWorld, WhoComesSecondAllocatesNothingEither) {
  // The rank that comes second moves the messages; which one that is changes from step to step.
  if (!allocationsAreCounted())
    GTEST_SKIP() << "sanitizers have allocators of their own";
  plan::Plan plan = makePlan({{"pp", 2}});
  addCommunicator(plan, {0});
  LocalWorld world(plan);
  std::barrier<> together(2);
  std::optional<AllocationCount> count;
  std::vector<std::vector<char>> out(2, std::vector<char>(8)), in = out;
  auto exchange = [&](int64_t rank, int64_t second) {
    MessageCall both[] = {makeMessage(true, 1 - rank, out[rank], "x"), makeMessage(false, 1 - rank, in[rank], "x")};
    together.arrive_and_wait();
    if (second >= 0 && rank == 0)
      count.emplace();
    together.arrive_and_wait();
    if (rank == second)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return world.communicator(rank).exchange(both);
  };
  std::vector<int64_t> allocations(2, -1);
  expectAllOk(runRanks(world, [&](int64_t rank, Communicator &) -> Status {
    for (int64_t second : {int64_t(-1), int64_t(0), int64_t(1)}) {
      SHARDRT_RETURN_IF_ERROR(exchange(rank, second));
      together.arrive_and_wait();
      if (rank == 0 && count) {
        count->stop();
        allocations[second] = count->ours();
        count.reset();
      }
    }
    return {};
  }));
  EXPECT_EQ(allocations, std::vector<int64_t>(2, 0));
}

TEST(LocalWorld, StepsFollowOneAnother) {
  plan::Plan plan = makePlan({{"dp", 2}, {"tp", 2}});
  addCommunicator(plan, {0, 1});
  LocalWorld world(plan);
  std::vector<std::vector<float>> values(4, std::vector<float>(9000, 1));
  for (int step = 0; step < 30; ++step) {
    world.beginStep();
    expectAllOk(runRanks(world, [&](int64_t rank, Communicator &communicator) -> Status {
      SHARDRT_RETURN_IF_ERROR(communicator.collective(makeCall(plan::Collective::ALL_REDUCE, values[rank].data(),
                                                               values[rank].data(), 9000, plan::Collective::MAX)));
      return communicator.finishStep();
    }));
  }
}
