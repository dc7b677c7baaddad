// What needs a plan of its own: reuse of memory across streams, views that cannot be told apart, and sizes.
#include "SyntheticPlan.h"
#include "runtime/verify/Verify.h"
#include "gtest/gtest.h"

namespace shardc::rt::test {
namespace {

std::string verdict(const plan::Plan &plan) { return verifyPlan(plan).render(); }

plan::Buffer &addScratch(plan::Program &program, int block, int64_t elements, int64_t offset) {
  plan::Buffer &buffer = *program.add_buffers();
  buffer.set_name("extra" + std::to_string(program.buffers_size()));
  buffer.set_region(plan::SCRATCH);
  buffer.set_type(plan::F32);
  buffer.add_shape(elements);
  buffer.set_bytes(elements * 4);
  buffer.set_slots(1);
  buffer.set_offset(offset);
  buffer.set_block(block);
  buffer.set_parameter(-1);
  program.set_arena_bytes(std::max(program.arena_bytes(), offset + elements * 4));
  return buffer;
}

void setView(plan::Operand &operand, int buffer, int64_t offset, std::initializer_list<int64_t> sizes,
             std::initializer_list<int64_t> strides) {
  operand.Clear();
  operand.set_buffer(buffer);
  operand.set_register_(-1);
  operand.set_offset(offset);
  for (int64_t size : sizes)
    operand.add_sizes(size);
  for (int64_t stride : strides)
    operand.add_strides(stride);
}

plan::Instruction &addKernel(plan::Program &program, int block, uint32_t stream) {
  plan::Instruction &instruction = *program.mutable_blocks(block)->add_instructions();
  instruction.set_stream(stream);
  instruction.set_records(-1);
  instruction.set_node("extra");
  instruction.mutable_kernel();
  return instruction;
}

/// Ends a block joined: stream 0 waits for the last instruction of stream 1.
void join(plan::Program &program, int block, plan::Instruction &last) {
  last.set_records(int(program.events()));
  program.set_events(program.events() + 1);
  addKernel(program, block, 0).add_waits(last.records());
}

TEST(VerifyEdges, MemoryOfAnotherStreamIsNotReusedUnordered) {
  for (bool ordered : {true, false}) {
    plan::Plan plan = makeSyntheticPlan();
    plan::Program &program = *plan.mutable_programs(0);
    int64_t end = program.arena_bytes();
    addScratch(program, 0, 16, end);
    addScratch(program, 0, 16, end + 32);
    int first = program.buffers_size() - 2, second = first + 1;
    // Stream 1 writes the first one, stream 0 the second one, which lies half on it.
    addKernel(program, 0, 0).set_records(int(program.events()));
    uint32_t start = program.events();
    program.set_events(start + 1);
    plan::Instruction &aside = addKernel(program, 0, 1);
    aside.add_waits(start);
    setView(*aside.mutable_kernel()->add_writes(), first, 0, {16}, {1});
    aside.set_records(int(program.events()));
    uint32_t done = program.events();
    program.set_events(done + 1);
    plan::Instruction &reuse = addKernel(program, 0, 0);
    if (ordered)
      reuse.add_waits(done);
    setView(*reuse.mutable_kernel()->add_writes(), second, 0, {16}, {1});
    addKernel(program, 0, 0).add_waits(done);
    std::string text = verdict(plan);
    if (ordered)
      EXPECT_EQ(text, "");
    else
      EXPECT_NE(text.find("[plan-reuse]"), std::string::npos) << text;
  }
}

TEST(VerifyEdges, RemaindersOfReusedMemoryStayOrdered) {
  // A lies under B and C, side by side. B is ordered after A, C is not: that A is dead already changes nothing.
  plan::Plan plan = makeSyntheticPlan();
  plan::Program &program = *plan.mutable_programs(0);
  int64_t end = program.arena_bytes();
  addScratch(program, 0, 32, end);
  addScratch(program, 0, 16, end);
  addScratch(program, 0, 16, end + 64);
  int a = program.buffers_size() - 3;
  plan::Instruction &first = addKernel(program, 0, 0);
  setView(*first.mutable_kernel()->add_writes(), a, 0, {32}, {1});
  plan::Instruction &second = addKernel(program, 0, 0);
  setView(*second.mutable_kernel()->add_writes(), a + 1, 0, {16}, {1});
  plan::Instruction &third = addKernel(program, 0, 1);
  third.add_waits(0); // of an instruction before all this
  setView(*third.mutable_kernel()->add_writes(), a + 2, 0, {16}, {1});
  join(program, 0, third);
  std::string text = verdict(plan);
  EXPECT_NE(text.find("[plan-reuse]"), std::string::npos) << text;
}

TEST(VerifyEdges, InPlaceNeedsTheSameLayout) {
  for (bool same : {true, false}) {
    plan::Plan plan = makeSyntheticPlan();
    plan::Program &program = *plan.mutable_programs(0);
    addScratch(program, 0, 16, program.arena_bytes());
    int buffer = program.buffers_size() - 1;
    setView(*addKernel(program, 0, 0).mutable_kernel()->add_writes(), buffer, 0, {16}, {1});
    plan::Instruction &inPlace = addKernel(program, 0, 0);
    setView(*inPlace.mutable_kernel()->add_reads(), buffer, 0, {4, 4}, {4, 1});
    if (same)
      setView(*inPlace.mutable_kernel()->add_writes(), buffer, 0, {4, 4}, {4, 1});
    else
      setView(*inPlace.mutable_kernel()->add_writes(), buffer, 0, {4, 4}, {1, 4});
    std::string text = verdict(plan);
    if (same)
      EXPECT_EQ(text, "");
    else
      EXPECT_NE(text.find("[plan-alias]"), std::string::npos) << text;
  }
}

TEST(VerifyEdges, PiecesThatDoNotCoverAReadAreUnwritten) {
  for (int64_t columns : {4, 3}) {
    plan::Plan plan = makeSyntheticPlan();
    plan::Program &program = *plan.mutable_programs(0);
    addScratch(program, 0, 32, program.arena_bytes());
    int buffer = program.buffers_size() - 1;
    setView(*addKernel(program, 0, 0).mutable_kernel()->add_writes(), buffer, 0, {4, 4}, {8, 1});
    setView(*addKernel(program, 0, 0).mutable_kernel()->add_writes(), buffer, 4, {4, columns}, {8, 1});
    setView(*addKernel(program, 0, 0).mutable_kernel()->add_reads(), buffer, 0, {32}, {1});
    std::string text = verdict(plan);
    if (columns == 4)
      EXPECT_EQ(text, "");
    else
      EXPECT_NE(text.find("[plan-unwritten]"), std::string::npos) << text;
  }
}

TEST(VerifyEdges, IrregularViewsOfLargeBuffersAreRefused) {
  plan::Plan plan = makeSyntheticPlan();
  plan::Program &program = *plan.mutable_programs(0);
  addScratch(program, 0, int64_t(1) << 40, program.arena_bytes());
  int buffer = program.buffers_size() - 1;
  plan::Instruction &kernel = addKernel(program, 0, 0);
  setView(*kernel.mutable_kernel()->add_writes(), buffer, 0, {1 << 19}, {1000003});
  setView(*addKernel(program, 0, 0).mutable_kernel()->add_reads(), buffer, 1, {1 << 19}, {1000033});
  EXPECT_NE(verdict(plan).find("[plan-view]"), std::string::npos);
}

TEST(VerifyEdges, TooManyOperandsAreRefused) {
  plan::Plan plan = makeSyntheticPlan();
  plan::Program &program = *plan.mutable_programs(0);
  plan::Instruction &kernel = addKernel(program, 0, 0);
  for (int i = 0; i < 5000; ++i)
    setView(*kernel.mutable_kernel()->add_reads(), 0, 0, {1}, {1});
  EXPECT_NE(verdict(plan).find("[plan-size]"), std::string::npos);
}

TEST(VerifyEdges, ManyRunsOfBlocksThatAreNotJoinedAreRefused) {
  // 2^20 micro-batches would be unrolled for hours: the schedule alone decides.
  plan::Plan plan = makeSyntheticPlan({.pp = 1, .tp = 2, .microBatches = 20000});
  plan::Program &program = *plan.mutable_programs(0);
  for (int i = 0; i < 4000; ++i)
    addKernel(program, 0, 1);
  EXPECT_NE(verdict(plan).find("[plan-size]"), std::string::npos);
}

TEST(VerifyEdges, TheNextStepIsOrderedToo) {
  // The update's last instruction runs on stream 1 and nothing waits for it; the next forward reads what it writes.
  plan::Plan plan = makeSyntheticPlan({.pp = 1});
  plan::Program &program = *plan.mutable_programs(0);
  plan::Block &update = *program.mutable_blocks(3);
  plan::Instruction &last = *update.mutable_instructions(update.instructions_size() - 1);
  plan::Instruction &before = *update.mutable_instructions(update.instructions_size() - 2);
  before.set_records(int(program.events()));
  last.add_waits(program.events());
  program.set_events(program.events() + 1);
  last.set_stream(1);
  std::string text = verdict(plan);
  EXPECT_NE(text.find("forward 0, instruction 1 gemm"), std::string::npos) << text;
  EXPECT_NE(text.find("[plan-order]"), std::string::npos) << text;
  join(program, 3, *program.mutable_blocks(3)->mutable_instructions(update.instructions_size() - 1));
  EXPECT_EQ(verdict(plan), "");
}

TEST(VerifyEdges, ProductsHaveOneTypeOrSumSixteenBitFloatsInF32) {
  // Which types a product may have: those of a, b and c.
  auto getVerdict = [](plan::ElementType a, plan::ElementType b, plan::ElementType c) {
    plan::Plan plan = makeSyntheticPlan({.pp = 1});
    plan::Program &program = *plan.mutable_programs(0);
    for (plan::Block &block : *program.mutable_blocks())
      for (plan::Instruction &instruction : *block.mutable_instructions()) {
        if (!instruction.has_gemm())
          continue;
        const plan::Gemm &gemm = instruction.gemm();
        for (auto [operand, type] : {std::pair(&gemm.a(), a), std::pair(&gemm.b(), b), std::pair(&gemm.c(), c)})
          program.mutable_buffers(operand->buffer())->set_type(type);
        return verdict(plan);
      }
    return std::string("the plan has no product");
  };
  auto areRefused = [&](plan::ElementType a, plan::ElementType b, plan::ElementType c) {
    return getVerdict(a, b, c).find("element types of a product") != std::string::npos;
  };
  EXPECT_FALSE(areRefused(plan::F32, plan::F32, plan::F32));
  EXPECT_TRUE(areRefused(plan::F32, plan::F32, plan::BF16));
  EXPECT_TRUE(areRefused(plan::BF16, plan::F16, plan::F32));
  EXPECT_TRUE(areRefused(plan::BF16, plan::BF16, plan::F16));
  EXPECT_TRUE(areRefused(plan::I32, plan::I32, plan::I32));
}

TEST(VerifyEdges, MessagesNeedThePpAxisAndAnotherMember) {
  plan::Plan plan = makeSyntheticPlan();
  for (plan::Block &block : *plan.mutable_programs(0)->mutable_blocks())
    for (plan::Instruction &instruction : *block.mutable_instructions())
      if (instruction.has_group())
        instruction.mutable_group()->mutable_messages(0)->set_peer(0);
  EXPECT_NE(verdict(plan).find("[plan-communicator]"), std::string::npos);
}

} // namespace
} // namespace shardc::rt::test
