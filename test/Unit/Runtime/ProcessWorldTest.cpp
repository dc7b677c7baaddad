//===-- ProcessWorldTest.cpp - ranks in processes do what ranks in threads do -------------------------------------===//

#include "runtime/comm/process/ProcessWorld.h"
#include "ThreadTransport.h"
#include "runtime/comm/local/LocalWorld.h"

#include <fmt/format.h>
#include <functional>
#include <future>
#include <gtest/gtest.h>
#include <random>
#include <set>

using namespace shardc;
using namespace shardc::rt;
using namespace shardc::rt::test;

namespace {

constexpr int32_t kRanks = 6;

/// Two replicas of three tensor-parallel ranks, with a communicator over each axis, one over both, and one over two
/// members.
plan::Plan makePlan() {
  plan::Plan plan;
  for (auto [name, size] : {std::pair("dp", 2), {"pp", 1}, {"tp", 3}}) {
    plan.mutable_mesh()->add_axes()->set_name(name);
    plan.mutable_mesh()->mutable_axes(plan.mesh().axes_size() - 1)->set_size(size);
  }
  for (const std::vector<uint32_t> &axes : {std::vector<uint32_t>{0}, {2}, {0, 2}}) {
    plan::Communicator &communicator = *plan.add_communicators();
    communicator.set_name(fmt::format("over {} axes", axes.size()));
    communicator.mutable_axes()->Assign(axes.begin(), axes.end());
  }
  plan::Communicator &some = *plan.add_communicators();
  some.set_name("some");
  some.add_axes(2);
  some.add_members(0);
  some.add_members(2);
  return plan;
}

using Body = std::function<Status(int64_t rank, Communicator &communicator)>;

std::vector<Status> runThreads(const std::function<Status(int32_t)> &body) {
  std::vector<std::future<Status>> futures;
  for (int32_t process = 0; process < kRanks; ++process)
    futures.push_back(std::async(std::launch::async, body, process));
  std::vector<Status> statuses;
  for (auto &future : futures)
    statuses.push_back(future.get());
  return statuses;
}

std::vector<Status> runLocal(const plan::Plan &plan, const Body &body) {
  LocalWorld world(plan);
  return runThreads([&](int32_t rank) { return body(rank, world.communicator(rank)); });
}

/// By process.
std::vector<Status> runProcesses(const plan::Plan &plan, const std::function<Status(ProcessWorld &world)> &body,
                                 int *aborts = nullptr) {
  ThreadTransport transport(kRanks);
  std::vector<Status> statuses = runThreads([&](int32_t process) -> Status {
    ProcessWorld world(transport.connect(process), {.monitors = false});
    SHARDRT_RETURN_IF_ERROR(world.assign(plan));
    return body(world);
  });
  if (aborts)
    *aborts = transport.aborts();
  return statuses;
}

void expectAllOk(const std::vector<Status> &statuses) {
  for (const Status &status : statuses)
    EXPECT_TRUE(status.isOk()) << status.render();
}

/// The bytes that a rank begins with: small numbers of the type, so that 16-bit sums round.
std::vector<char> makeBytes(plan::ElementType type, int64_t elements, int64_t rank) {
  std::mt19937_64 random(rank + 1);
  std::vector<char> bytes(elements * elementBytes(type));
  for (int64_t i = 0; i < elements; ++i) {
    auto number = static_cast<double>(random() % 2000001) / 7e5 - 1;
    auto put = [&]<typename T>(T value) { std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T)); };
    if (type == plan::F32)
      put(static_cast<float>(number));
    else if (type == plan::F64)
      put(number);
    else if (type == plan::I64)
      put(static_cast<int64_t>(number * 1e9));
    else // bf16 and f16: bits of finite numbers
      put(static_cast<uint16_t>(0x3000 + random() % 0x0800));
  }
  return bytes;
}

struct Case {
  plan::Collective::Kind kind;
  plan::ElementType type;
  int64_t elements;
  uint32_t communicator;
  bool inPlace = false;
};

std::vector<Case> makeCases() {
  std::vector<Case> cases;
  for (uint32_t communicator : {0u, 1u, 2u, 3u})
    for (int64_t elements : {6, 1002, 5004, 30006}) {
      for (plan::ElementType type : {plan::F32, plan::F64, plan::I64, plan::BF16, plan::F16})
        for (bool inPlace : {false, true})
          cases.push_back({plan::Collective::ALL_REDUCE, type, elements, communicator, inPlace});
      cases.push_back({plan::Collective::REDUCE_SCATTER, plan::F32, elements, communicator});
      cases.push_back({plan::Collective::REDUCE_SCATTER, plan::BF16, elements, communicator});
      cases.push_back({plan::Collective::ALL_GATHER, plan::F32, elements, communicator});
      for (bool inPlace : {false, true})
        cases.push_back({plan::Collective::ALL_TO_ALL, plan::F32, elements, communicator, inPlace});
    }
  return cases;
}

/// Runs all cases one after another on one rank; what it ends up with.
Status runCases(const std::vector<Case> &cases, const MeshView &mesh, const plan::Plan &plan, int64_t rank,
                Communicator &communicator, std::vector<char> &results) {
  for (const Case &one : cases) {
    auto members = static_cast<int64_t>(mesh.members(plan.communicators(one.communicator), rank).size());
    if (members == 0)
      continue;
    std::vector<char> input = makeBytes(one.type, one.elements, rank);
    std::vector<char> output(input.size() * members);
    CollectiveCall call;
    call.kind = one.kind;
    call.type = one.type;
    call.reduction = one.elements == 1002 ? plan::Collective::MAX : plan::Collective::SUM;
    call.input = input.data();
    call.output = one.inPlace ? input.data() : output.data();
    call.inputElements = one.elements;
    call.communicator = one.communicator;
    SHARDRT_RETURN_IF_ERROR(communicator.collective(call));
    results.insert(results.end(), input.begin(), input.end());
    results.insert(results.end(), output.begin(), output.end());
  }
  return {};
}

TEST(ProcessWorld, CollectivesHaveTheBitsOfTheLocalWorld) {
  plan::Plan plan = makePlan();
  MeshView mesh(plan.mesh());
  std::vector<Case> cases = makeCases();
  std::vector<std::vector<char>> local(kRanks), remote(kRanks);
  expectAllOk(runLocal(plan, [&](int64_t rank, Communicator &communicator) {
    return runCases(cases, mesh, plan, rank, communicator, local[rank]);
  }));
  expectAllOk(runProcesses(plan, [&](ProcessWorld &world) {
    int64_t rank = world.localRanks().front();
    return runCases(cases, mesh, plan, rank, world.communicator(rank), remote[rank]);
  }));
  for (int64_t rank = 0; rank < kRanks; ++rank) {
    EXPECT_GT(local[rank].size(), 1000000u);
    EXPECT_TRUE(local[rank] == remote[rank]) << "rank " << rank;
  }
}

/// A ring: everybody sends to the next and receives from the one before, two messages each way at once.
Status exchangeInRing(int64_t rank, Communicator &communicator, std::string_view identity) {
  std::vector<int64_t> sent(3000, rank), small{rank * 10}, received(3000, -1), receivedSmall{-1};
  int64_t next = (rank + 1) % kRanks, before = (rank + kRanks - 1) % kRanks;
  auto message = [&](bool send, std::vector<int64_t> &data, std::string_view name) {
    MessageCall call;
    call.send = send;
    call.communicator = 2;
    call.peer = send ? next : before;
    call.data = data.data();
    call.bytes = static_cast<int64_t>(data.size() * sizeof(int64_t));
    call.identity = name;
    call.microBatch = 4;
    return call;
  };
  MessageCall calls[] = {message(true, sent, "large"), message(false, received, "large"), message(true, small, "small"),
                         message(false, receivedSmall, identity)};
  SHARDRT_RETURN_IF_ERROR(communicator.exchange(calls));
  EXPECT_EQ(received, std::vector<int64_t>(3000, before));
  EXPECT_EQ(receivedSmall[0], before * 10);
  return {};
}

TEST(ProcessWorld, MessagesProgressTogether) {
  expectAllOk(runProcesses(makePlan(), [](ProcessWorld &world) {
    int64_t rank = world.localRanks().front();
    for (int round = 0; round < 20; ++round)
      SHARDRT_RETURN_IF_ERROR(exchangeInRing(rank, world.communicator(rank), "small"));
    return Status();
  }));
}

TEST(ProcessWorld, AMessageThatIsAnotherOneIsAnError) {
  int aborts = 0;
  std::vector<Status> statuses = runProcesses(
      makePlan(),
      [](ProcessWorld &world) {
        int64_t rank = world.localRanks().front();
        Status status = exchangeInRing(rank, world.communicator(rank), rank == 3 ? "another" : "small");
        if (!status.isOk())
          world.fail();
        return status;
      },
      &aborts);
  EXPECT_EQ(statuses[3].message(),
            "expects 'another' of micro-batch 4, chunk 0, forward, 8 bytes, but rank 2 (dp 0, pp 0, tp 2) sends "
            "'small' of micro-batch 4, chunk 0, forward, 8 bytes");
  EXPECT_EQ(aborts, 1);
}

TEST(ProcessWorld, CollectivesThatDifferAreAnError) {
  std::vector<Status> statuses = runProcesses(makePlan(), [](ProcessWorld &world) {
    int64_t rank = world.localRanks().front();
    std::vector<float> values(rank == 4 ? 8 : 16);
    CollectiveCall call;
    call.input = call.output = values.data();
    call.inputElements = static_cast<int64_t>(values.size());
    return world.communicator(rank).collective(call);
  });
  EXPECT_EQ(statuses[4].message(), "expects all_reduce of 8 × f32, but rank 1 (dp 0, pp 0, tp 1) sends all_reduce of "
                                   "16 × f32");
}

TEST(ProcessWorld, TheFirstThatFailsTells) {
  std::vector<Status> statuses = runProcesses(makePlan(), [](ProcessWorld &world) {
    int64_t rank = world.localRanks().front();
    SHARDRT_RETURN_IF_ERROR(world.agree({}));
    SHARDRT_ASSIGN(bool any, world.agreeOnAny(rank == 5));
    EXPECT_TRUE(any);
    SHARDRT_ASSIGN(bool none, world.agreeOnAny(false));
    EXPECT_FALSE(none);
    return world.agree(rank % 3 == 2 ? Status(StatusKind::Io, fmt::format("rank {} failed", rank)) : Status());
  });
  for (int32_t process = 0; process < kRanks; ++process) {
    EXPECT_EQ(statuses[process].kind(), process == 2 ? StatusKind::Io : StatusKind::Aborted);
    EXPECT_EQ(statuses[process].message(), process == 2 ? "rank 2 failed" : "ended because process 2 failed");
  }
}

TEST(ProcessWorld, PlansOfAnotherSizeAndOtherPlansAreRefused) {
  plan::Plan large = makePlan();
  large.mutable_mesh()->mutable_axes(0)->set_size(4);
  std::vector<Status> statuses = runProcesses(large, [](ProcessWorld &) { return Status(); });
  EXPECT_EQ(statuses[0].render(), "error: plan: 12 ranks, but 6 processes have been started [run-world]\n"
                                  "note: each process is one rank: mpirun -n 12\n");
  EXPECT_EQ(statuses[1].kind(), StatusKind::Aborted);

  ThreadTransport transport(kRanks);
  statuses = runThreads([&](int32_t process) {
    plan::Plan plan = makePlan();
    plan.set_checksum(process == 4 ? 1 : 2);
    return ProcessWorld(transport.connect(process), {.monitors = false}).assign(plan);
  });
  EXPECT_EQ(statuses[4].message(), "plan: another one than that of the first process [run-world]");
  EXPECT_EQ(statuses[0].kind(), StatusKind::Aborted);
}

TEST(ProcessWorld, CollectsToTheProcessOfRankZero) {
  expectAllOk(runProcesses(makePlan(), [](ProcessWorld &world) {
    int64_t rank = world.localRanks().front();
    for (int64_t owner = 0; owner < kRanks; ++owner) {
      std::vector<int64_t> mine(100, rank), got(100, -1);
      SHARDRT_RETURN_IF_ERROR(world.collect(owner, owner == rank ? mine.data() : nullptr, got.data(), 800));
      EXPECT_EQ(got[99], world.isPrimary() ? owner : -1);
    }
    return Status();
  }));
}

ProcessPlace onHost(const char *host, int32_t node = 0) {
  ProcessPlace place;
  std::snprintf(place.host, sizeof(place.host), "%s", host);
  place.numaNode = node;
  return place;
}

/// A launcher that deals processes to hosts in turn does not tear tp groups apart, in any mesh order.
TEST(Placement, TensorParallelRanksStayOnAHost) {
  std::vector<ProcessPlace> dealt;
  for (int i = 0; i < 8; ++i)
    dealt.push_back(onHost(i % 2 ? "b" : "a"));
  plan::Mesh mesh;
  for (const char *name : {"tp", "dp", "pp"}) {
    mesh.add_axes()->set_name(name);
    mesh.mutable_axes(mesh.axes_size() - 1)->set_size(2);
  }
  MeshView view(mesh);
  std::vector<int64_t> ranks = assignRanks(view, dealt);
  for (int a = 0; a < 8; ++a)
    for (int b = 0; b < 8; ++b)
      if (view.coordinate(ranks[a], "dp") == view.coordinate(ranks[b], "dp")) {
        EXPECT_STREQ(dealt[a].host, dealt[b].host) << a << " and " << b;
      }
  EXPECT_EQ(std::set(ranks.begin(), ranks.end()).size(), 8u);
}

TEST(Placement, NeighboursShareANumaNode) {
  plan::Mesh mesh;
  mesh.add_axes()->set_name("tp");
  mesh.mutable_axes(0)->set_size(4);
  std::vector<ProcessPlace> places = {onHost("a", 1), onHost("a", 0), onHost("a", 1), onHost("a", 0)};
  EXPECT_EQ(assignRanks(MeshView(mesh), places), (std::vector<int64_t>{2, 0, 3, 1}));
}

TEST(Monitor, SaysWhatARankWasDoing) {
  plan::Plan plan = makePlan();
  plan::Program &program = *plan.add_programs();
  program.add_blocks()->add_instructions();
  plan::Block &block = *program.add_blocks();
  block.set_name("forward");
  block.add_instructions();
  plan::Instruction &instruction = *block.add_instructions();
  instruction.set_node("h.0/MatMul");
  instruction.mutable_gemm();
  MeshView mesh(plan.mesh());
  EXPECT_EQ(describePosition(plan, mesh, 4, {6, 1, 1, 3}),
            "rank 4 (dp 1, pp 0, tp 1), instruction 2 gemm, node 'h.0/MatMul', in block 'forward' of step 7, "
            "micro-batch 3,");
  EXPECT_EQ(describePosition(plan, mesh, 4, {}), "rank 4 (dp 1, pp 0, tp 1), before its first instruction,");
}

} // namespace
