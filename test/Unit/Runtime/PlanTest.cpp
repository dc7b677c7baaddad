//===-- PlanTest.cpp - plan folders, shards, parameters -----------------------------------------------------------===//

#include "TinyPlan.h"
#include "runtime/base/File.h"
#include "runtime/base/XxHash.h"
#include "runtime/executor/Parameters.h"
#include "runtime/format/CheckPlan.h"
#include "runtime/format/CpuFeatures.h"
#include "runtime/format/Query.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <numeric>

using namespace shardc;
using namespace shardc::rt;
using namespace shardc::rt::test;

namespace {

void write(const std::string &path, std::string_view contents) { ASSERT_TRUE(writeFile(path, contents).isOk()); }

plan::Mesh makeMesh(int64_t dp, int64_t pp, int64_t tp) {
  plan::Mesh mesh;
  for (auto [name, size] : {std::pair("dp", dp), {"pp", pp}, {"tp", tp}}) {
    auto *axis = mesh.add_axes();
    axis->set_name(name);
    axis->set_size(size);
  }
  return mesh;
}

/// A dimension from (size, axes) pairs.
void addDim(plan::Sharding &sharding, std::vector<std::pair<int64_t, std::vector<uint32_t>>> subDims) {
  auto *dim = sharding.add_dims();
  for (const auto &[size, axes] : subDims) {
    auto *sub = dim->add_sub_dims();
    sub->set_size(size);
    for (uint32_t axis : axes)
      sub->add_axes(axis);
  }
}

} // namespace

TEST(XxHash, AgreesWithTheSpecification) {
  EXPECT_EQ(xxHash64(""), 0xEF46DB3751D8E999u);
  EXPECT_EQ(xxHash64("a"), 0xD24EC4F1A98C6E5Bu);
  EXPECT_EQ(xxHash64("abc"), 0x44BC2CF5AD770999u);
  EXPECT_EQ(xxHash64("Nobody inspects the spammish repetition"), 0xFBCEA83C8A378BF1u);
}

//===-- Folders ---------------------------------------------------------------------------------------------------===//

TEST(LoadPlan, AnythingWrongIsOneClearLine) {
  TemporaryFolder folder;
  LoadedPlan plan = makeTinyPlan({}, folder);
  std::string path = folder.file(kPlanFile), kernels = folder.file(kKernelsFile);
  std::string good = *readFile(path), goodKernels = *readFile(kernels);
  auto message = [&] {
    Status status = loadPlan(folder.path()).status();
    EXPECT_EQ(std::ranges::count(status.message(), '\n'), 0);
    return status.message();
  };
  EXPECT_EQ(message(), "");
  for (size_t length = 1; length < good.size(); length += 7) {
    write(path, good.substr(0, length));
    EXPECT_TRUE(message().starts_with(fmt::format("plan '{}': is truncated", path))) << length;
  }
  write(path, "");
  EXPECT_EQ(message(), fmt::format("plan '{}': the file is empty [plan-file]", path));
  std::string damaged = good;
  damaged[good.size() / 2] ^= 1;
  write(path, damaged);
  EXPECT_NE(message(), "");
  plan::Plan newer = plan.plan;
  newer.set_format_version(2);
  newer.clear_checksum();
  std::string newerBytes = newer.SerializeAsString();
  uint64_t checksum = xxHash64(newerBytes);
  newerBytes += '\x79';
  newerBytes.append(reinterpret_cast<const char *>(&checksum), sizeof(checksum));
  write(path, newerBytes);
  EXPECT_EQ(message(), fmt::format("plan '{}': format version 2, expected at most 1 [plan-file]", path));
  write(path, good);
  write(kernels, goodKernels + "x");
  EXPECT_EQ(message(),
            fmt::format("plan '{}': is not the file that the plan was made with (its checksum differs) [plan-file]",
                        kernels));
  write(kernels, goodKernels);
  EXPECT_EQ(message(), "");
  EXPECT_EQ(loadPlan("/nowhere").status().message(), "plan '/nowhere': no such folder [plan-file]");
  EXPECT_EQ(loadPlan(folder.file("weights.bin")).status().kind(), StatusKind::NotFound);
}

TEST(LoadPlan, EveryFlippedByteIsNoticed) {
  TemporaryFolder folder;
  makeTinyPlan({}, folder);
  std::string good = *readFile(folder.file(kPlanFile));
  for (size_t at = 0; at < good.size(); at += 3) {
    std::string bytes = good;
    bytes[at] ^= 0x41;
    EXPECT_FALSE(parsePlan(bytes, "plan").isOk()) << at;
  }
}

TEST(LoadPlan, IsDeterministic) {
  TemporaryFolder folder;
  LoadedPlan plan = makeTinyPlan({}, folder);
  EXPECT_EQ(serializePlan(plan.plan), serializePlan(plan.plan));
  EXPECT_EQ(serializePlan(plan.plan), *readFile(folder.file(kPlanFile)));
}

TEST(LoadPlan, KernelsForAnotherCpuAreRefused) {
  TemporaryFolder folder;
  LoadedPlan plan = makeTinyPlan({}, folder);
  std::vector<std::string> unlikely = {"+amx-bf16", "avx512vp2intersect", "avx512fp16", "-avx2", "64bit", "no-such"};
  std::vector<std::string> missing = missingCpuFeatures(unlikely);
  EXPECT_EQ(missingCpuFeatures({"sse2", "+sse2", "-avx512f"}), std::vector<std::string>());
  EXPECT_LE(missing.size(), 3u);
  if (missing.empty())
    GTEST_SKIP() << "this CPU can do everything";
  plan.plan.mutable_target()->add_features(missing[0]);
  write(folder.file(kPlanFile), serializePlan(plan.plan));
  EXPECT_EQ(loadPlan(folder.path()).status().message(),
            "plan: its kernels need CPU features that this machine lacks: " + missing[0] + " [plan-target]");
}

TEST(CheckPlan, WhatIsNotThereIsRefused) {
  TemporaryFolder folder;
  const plan::Plan good = makeTinyPlan({1, 2, 2, 2}, folder).plan;
  auto expectRefused = [&](const char *what, auto change) {
    plan::Plan plan = good;
    change(plan);
    Status status = checkPlan(plan);
    EXPECT_EQ(status.kind(), StatusKind::Corrupt) << what;
    for (const Violation &violation : status.violations())
      EXPECT_NE(violation.message.find(" [plan-"), std::string::npos) << violation.message;
  };
  EXPECT_TRUE(checkPlan(good).isOk());
  auto gemm = [](plan::Plan &plan) -> plan::Gemm & {
    return *plan.mutable_programs(0)->mutable_blocks(0)->mutable_instructions(1)->mutable_gemm();
  };
  expectRefused("buffer", [&](plan::Plan &plan) { gemm(plan).mutable_a()->set_buffer(99); });
  // As an int it would be -1, and below every number.
  constexpr uint32_t beyondInt = std::numeric_limits<uint32_t>::max();
  expectRefused("buffer", [&](plan::Plan &plan) { gemm(plan).mutable_a()->set_buffer(beyondInt); });
  expectRefused("block",
                [&](plan::Plan &plan) { plan.mutable_programs(0)->mutable_schedule(0)->set_block(beyondInt); });
  expectRefused("weight file", [&](plan::Plan &plan) { plan.mutable_parameters(0)->set_weight_file(beyondInt); });
  expectRefused("ranks", [&](plan::Plan &plan) { plan.mutable_mesh()->mutable_axes(0)->set_size(INT64_MAX); });
  expectRefused("samples", [&](plan::Plan &plan) {
    plan.mutable_training()->set_micro_batch(int64_t(1) << 40);
    plan.mutable_training()->set_micro_batches(int64_t(1) << 40);
  });
  expectRefused("offset", [&](plan::Plan &plan) { gemm(plan).mutable_a()->set_offset(1); });
  expectRefused("negative offset", [&](plan::Plan &plan) { gemm(plan).mutable_a()->set_offset(-1); });
  expectRefused("stride", [&](plan::Plan &plan) { gemm(plan).mutable_a()->set_strides(0, 4); });
  expectRefused("huge stride", [&](plan::Plan &plan) { gemm(plan).mutable_a()->set_strides(0, int64_t(1) << 62); });
  expectRefused("shape", [&](plan::Plan &plan) { gemm(plan).mutable_a()->set_sizes(1, 2); });
  expectRefused("register", [&](plan::Plan &plan) { gemm(plan).mutable_a()->set_register_(5); });
  expectRefused("slot", [&](plan::Plan &plan) {
    plan.mutable_programs(0)->mutable_schedule(0)->mutable_registers(0)->set_slot(7);
  });
  expectRefused("block", [&](plan::Plan &plan) { plan.mutable_programs(0)->mutable_schedule(0)->set_block(50); });
  expectRefused("arena", [&](plan::Plan &plan) { plan.mutable_programs(0)->set_arena_bytes(64); });
  expectRefused("arena", [&](plan::Plan &plan) { plan.mutable_programs(0)->set_arena_bytes(-64); });
  expectRefused("programs", [&](plan::Plan &plan) { plan.mutable_programs()->RemoveLast(); });
  expectRefused("micro-batch", [&](plan::Plan &plan) { plan.mutable_training()->set_global_batch(5); });
  expectRefused("mesh", [&](plan::Plan &plan) { plan.mutable_mesh()->mutable_axes(0)->set_size(0); });
  expectRefused("parameter", [&](plan::Plan &plan) { plan.mutable_programs(0)->mutable_buffers(0)->set_parameter(9); });
  expectRefused("weight file", [&](plan::Plan &plan) { plan.mutable_parameters(0)->set_weight_file(3); });
  expectRefused("kind", [&](plan::Plan &plan) {
    plan.mutable_programs(0)->mutable_blocks(0)->mutable_instructions(0)->clear_kind();
  });
  expectRefused("event", [&](plan::Plan &plan) {
    plan.mutable_programs(0)->mutable_blocks(0)->mutable_instructions(0)->add_waits(4);
  });
  expectRefused("peer", [&](plan::Plan &plan) {
    for (plan::Block &block : *plan.mutable_programs(0)->mutable_blocks())
      for (plan::Instruction &instruction : *block.mutable_instructions())
        if (instruction.has_group())
          instruction.mutable_group()->mutable_messages(0)->set_peer(2);
  });
}

//===-- Meshes and shards -----------------------------------------------------------------------------------------===//

TEST(MeshView, RanksAreMixedRadixNumbers) {
  MeshView mesh(makeMesh(2, 3, 4));
  EXPECT_EQ(mesh.ranks(), 24);
  for (int64_t rank = 0; rank < mesh.ranks(); ++rank)
    EXPECT_EQ(mesh.rank(mesh.coordinates(rank)), rank);
  EXPECT_EQ(mesh.coordinates(23), (Coordinates{1, 2, 3}));
  EXPECT_EQ(mesh.describe(5), "rank 5 (dp 0, pp 1, tp 1)");
  plan::Communicator tp;
  tp.add_axes(2);
  EXPECT_EQ(mesh.members(tp, 5), (std::vector<int64_t>{4, 5, 6, 7}));
  plan::Communicator tied;
  tied.add_axes(1);
  tied.add_members(0);
  tied.add_members(2);
  EXPECT_EQ(mesh.members(tied, 9), (std::vector<int64_t>{1, 9}));
  EXPECT_TRUE(mesh.members(tied, 5).empty());
}

TEST(ShardIndex, SubDimensionsGiveStridedShards) {
  MeshView mesh(makeMesh(1, 1, 2));
  plan::Sharding sharding; // a fused QKV: [3][2 heads over tp][2]
  addDim(sharding, {{3, {}}, {2, {2}}, {2, {}}});
  EXPECT_EQ(localShape(sharding, mesh), (std::vector<int64_t>{6}));
  EXPECT_EQ(shardIndex(sharding, {12}, mesh, 0).dims[0], (std::vector<int64_t>{0, 1, 4, 5, 8, 9}));
  EXPECT_EQ(shardIndex(sharding, {12}, mesh, 1).dims[0], (std::vector<int64_t>{2, 3, 6, 7, 10, 11}));
}

TEST(ShardIndex, SeveralAxesAndPadding) {
  MeshView mesh(makeMesh(2, 1, 2));
  plan::Sharding sharding;
  addDim(sharding, {{8, {2, 0}}}); // outermost tp
  EXPECT_EQ(shardIndex(sharding, {7}, mesh, mesh.rank({1, 0, 0})).dims[0], (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(shardIndex(sharding, {7}, mesh, mesh.rank({0, 0, 1})).dims[0], (std::vector<int64_t>{4, 5}));
  EXPECT_EQ(shardIndex(sharding, {7}, mesh, mesh.rank({1, 0, 1})).dims[0], (std::vector<int64_t>{6, -1}));
}

TEST(Parameters, EachRankReadsItsSlice) {
  TemporaryFolder folder;
  std::vector<float> whole(5 * 12 * 2);
  std::iota(whole.begin(), whole.end(), 0.0f);
  std::string bytes(16, '\0');
  bytes.append(reinterpret_cast<const char *>(whole.data()), whole.size() * sizeof(float));
  write(folder.file("w"), bytes);
  auto file = File::open(folder.file("w"));
  ASSERT_TRUE(file.isOk());
  MeshView mesh(makeMesh(2, 1, 2));
  plan::Parameter parameter;
  parameter.set_name("w");
  parameter.set_type(plan::F32);
  parameter.set_file_offset(16);
  for (int64_t size : {5, 12, 2})
    parameter.add_shape(size);
  addDim(*parameter.mutable_sharding(), {{6, {0}}}); // padded to 6
  addDim(*parameter.mutable_sharding(), {{3, {}}, {2, {2}}, {2, {}}});
  addDim(*parameter.mutable_sharding(), {{2, {}}});
  std::vector<float> assembled(whole.size(), -1);
  for (int64_t rank = 0; rank < mesh.ranks(); ++rank) {
    std::vector<float> shard(3 * 6 * 2, 99);
    Status status = readParameter(parameter, *file, mesh, rank, shard.data(), shard.size() * sizeof(float));
    ASSERT_TRUE(status.isOk()) << status.render();
    ShardIndex index = shardIndex(parameter.sharding(), {5, 12, 2}, mesh, rank);
    for (int64_t i = 0; i < 3; ++i)
      for (int64_t j = 0; j < 6; ++j)
        for (int64_t k = 0; k < 2; ++k) {
          float value = shard[(i * 6 + j) * 2 + k];
          int64_t row = index.dims[0][i];
          if (row < 0)
            EXPECT_EQ(value, 0);
          else
            assembled[(row * 12 + index.dims[1][j]) * 2 + k] = value;
        }
  }
  EXPECT_EQ(assembled, whole);
  std::vector<float> small(4);
  EXPECT_EQ(readParameter(parameter, *file, mesh, 0, small.data(), 16).kind(), StatusKind::Corrupt);
  parameter.set_file_offset(20);
  std::vector<float> shard(36);
  EXPECT_EQ(readParameter(parameter, *file, mesh, 0, shard.data(), 144).kind(), StatusKind::Corrupt);
}

TEST(Parameters, WholeTensorsAndScalarsAreOneRead) {
  plan::Sharding none;
  MeshView mesh(makeMesh(1, 1, 2));
  for (std::vector<int64_t> shape : {std::vector<int64_t>{}, {4}, {3, 4}}) {
    int runs = 0;
    Status status = forEachShardRun(shardIndex(none, shape, mesh, 1), shape, [&](const ShardRun &run) {
      ++runs;
      EXPECT_EQ(run.count, elementCount(shape));
      return Status();
    });
    EXPECT_TRUE(status.isOk());
    EXPECT_EQ(runs, 1);
  }
}
