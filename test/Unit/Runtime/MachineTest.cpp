//===-- MachineTest.cpp - what is checked before anything is made -------------------------------------------------===//

#include "TinyPlan.h"
#include "runtime/base/Exceptions.h"
#include "runtime/base/FileDigest.h"
#include "runtime/executor/CheckMachine.h"

#include "gtest/gtest.h"

#include <filesystem>
#include <fstream>
#include <new>
#include <stdexcept>
#include <sys/stat.h>
#include <system_error>

using namespace shardc;
using namespace shardc::rt;
using namespace shardc::rt::test;

namespace {

plan::Plan makeMesh(int64_t dp, int64_t pp, int64_t arenaBytes) {
  plan::Plan plan;
  for (auto [name, size] : {std::pair{"dp", dp}, {"pp", pp}}) {
    auto *axis = plan.mutable_mesh()->add_axes();
    axis->set_name(name);
    axis->set_size(size);
  }
  for (int64_t stage = 0; stage < pp; ++stage)
    plan.add_programs()->set_arena_bytes(arenaBytes);
  return plan;
}

TEST(CheckMachine, RanksTimesThreadsAreLimited) {
  Machine machine = {2, int64_t(1) << 40};
  EXPECT_TRUE(checkMachine(makeMesh(8, 2, 0), 8, machine).isOk());
  EXPECT_EQ(checkMachine(makeMesh(8, 2, 0), 9, machine).render(),
            "error: plan: 16 ranks of 9 threads each, expected at most 128 threads in all on 2 cores [run-threads]\n"
            "note: --threads-per-rank takes at most 8 here\n");
  EXPECT_EQ(checkMachine(makeMesh(1000000, 1, 0), 1, machine).message(),
            "plan: 1000000 ranks of 1 thread each, expected at most 128 threads in all on 2 cores [run-threads]");
  EXPECT_FALSE(checkMachine(makeMesh(8, 2, 0), INT64_MAX, machine).isOk());
}

TEST(CheckMachine, ArenasMustFitIntoMemory) {
  Machine machine = {64, 1000};
  EXPECT_TRUE(checkMachine(makeMesh(5, 2, 100), 1, machine).isOk());
  Status status = checkMachine(makeMesh(5, 2, 101), 1, machine);
  EXPECT_EQ(status.kind(), StatusKind::OutOfMemory);
  EXPECT_TRUE(status.message().ends_with("[run-memory]")) << status.message();
  EXPECT_FALSE(checkMachine(makeMesh(4, 2, INT64_MAX), 1, machine).isOk());
}

TEST(CheckMachine, ThisMachineHasSomething) {
  EXPECT_GE(thisMachine().cores, 1);
  EXPECT_GE(thisMachine().memoryBytes, int64_t(1) << 20);
}

TEST(CheckMachine, GroupsLimitMemory) {
  TemporaryFolder folder;
  auto write = [&](const std::string &path, const std::string &text) {
    std::filesystem::create_directories(std::filesystem::path(folder.file(path)).parent_path());
    std::ofstream(folder.file(path)) << text;
  };
  auto limit = [&] { return memoryLimitOfGroups(folder.file("cgroup"), folder.file("sys")); };
  EXPECT_EQ(limit(), INT64_MAX);
  write("cgroup", "12:cpu:/elsewhere\n0::/a/b\n");
  EXPECT_EQ(limit(), INT64_MAX);
  write("sys/a/b/memory.max", "max\n");
  EXPECT_EQ(limit(), INT64_MAX);
  write("sys/a/memory.max", "4096000\n"); // those above hold, too
  EXPECT_EQ(limit(), 4096000);
  write("sys/a/b/memory.max", "4096\n");
  EXPECT_EQ(limit(), 4096);
  write("cgroup", "4:cpu,cpuacct:/x\n3:memory:/c\n");
  write("sys/memory/c/memory.limit_in_bytes", "8192\n");
  EXPECT_EQ(limit(), 8192);
}

TEST(Exceptions, BecomeErrorsWithRemedies) {
  auto statusOf = [](auto exception) {
    try {
      throw exception;
    } catch (...) {
      return statusOfException().render();
    }
  };
  EXPECT_TRUE(statusOf(std::bad_alloc()).starts_with("error: out of memory [run-memory]\nnote: a smaller"));
  auto noThread = std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
  EXPECT_TRUE(statusOf(noThread).starts_with("error: cannot start a thread: ")) << statusOf(noThread);
  EXPECT_EQ(statusOf(std::runtime_error("odd")),
            "error: internal error: odd\nnote: this is a defect of shardc: report it with the model and the command "
            "line\n");
}

/// The digest of a file of `bytes` zeros but for one byte.
uint64_t digestWith(const TemporaryFolder &folder, int64_t bytes, int64_t at, char value) {
  std::string path = folder.file("weights");
  std::ofstream(path, std::ios::binary).close();
  std::filesystem::resize_file(path, bytes);
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(at);
  file.put(value);
  file.close();
  Result<File> opened = File::open(path);
  Result<uint64_t> digest = digestFile(*opened);
  EXPECT_TRUE(digest.isOk());
  return *digest;
}

TEST(FileDigest, OneByteOfASmallFileCounts) {
  TemporaryFolder folder;
  for (int64_t at : {int64_t(0), int64_t(777), int64_t(4095)})
    EXPECT_NE(digestWith(folder, 4096, at, 1), digestWith(folder, 4096, at, 2));
  EXPECT_EQ(digestWith(folder, 4096, 5, 1), digestWith(folder, 4096, 5, 1));
}

TEST(FileDigest, BothEndsOfALargeFileCount) {
  TemporaryFolder folder;
  int64_t bytes = 5 * kDigestedWhole;
  for (int64_t at : {int64_t(0), bytes - 1})
    EXPECT_NE(digestWith(folder, bytes, at, 1), digestWith(folder, bytes, at, 2));
}

TEST(File, WhatCannotBeWrittenIsFoundBefore) {
  TemporaryFolder folder;
  EXPECT_TRUE(checkWritable(folder.file("new")).isOk());
  EXPECT_FALSE(std::filesystem::exists(folder.file("new")));
  EXPECT_EQ(checkWritable(folder.path()).render(),
            "error: file '" + folder.path() +
                "': cannot write: Is a directory\nnote: give the path of a file, not of a folder\n");
  EXPECT_EQ(checkWritable(folder.file("none/new")).kind(), StatusKind::NotFound);
}

TEST(File, OnlyRegularFilesAreReadAndReplaced) {
  TemporaryFolder folder;
  std::string pipe = folder.file("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::string expected = "file '" + pipe + "': not a regular file";
  EXPECT_EQ(File::open(pipe).status().message(), expected);
  EXPECT_EQ(MappedFile::open("/dev/zero").status().message(), "file '/dev/zero': not a regular file");
  EXPECT_EQ(checkWritable(pipe).message(), expected);
  EXPECT_EQ(writeFile(pipe, "text").message(), expected);
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

} // namespace
