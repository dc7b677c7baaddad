//===-- TrainerTest.cpp - hand-made plans, executed ---------------------------------------------------------------===//

#include "runtime/executor/Trainer.h"
#include "AllocationCount.h"
#include "TinyPlan.h"
#include "runtime/executor/LearningRate.h"

#include <cmath>
#include <fmt/format.h>

using namespace shardc;
using namespace shardc::rt;
using namespace shardc::rt::test;

namespace {

constexpr int64_t kSamples = 48;

/// Small multiples of 1/8, so that sums are exact in any order.
std::vector<float> tinyData(int64_t width, int64_t factor) {
  std::vector<float> values(kSamples * width);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(static_cast<int64_t>(i * factor) % 13 - 6) / 8.0f;
  return values;
}

/// The same training in plain loops.
struct Reference {
  std::vector<double> w0, w1, g0, g1;
  double loss = 0;

  Reference() {
    std::vector<float> a = tinyWeights(0), b = tinyWeights(1);
    w0.assign(a.begin(), a.end());
    w1.assign(b.begin(), b.end());
  }

  void step(const std::vector<int64_t> &samples, double rate) {
    std::vector<float> x = tinyData(kTinyIn, 5), t = tinyData(kTinyOut, 3);
    g0.assign(w0.size(), 0);
    g1.assign(w1.size(), 0);
    loss = 0;
    double scale = 1.0 / static_cast<double>(samples.size());
    for (int64_t sample : samples) {
      double h[kTinyHidden] = {}, dh[kTinyHidden] = {};
      for (int64_t j = 0; j < kTinyHidden; ++j)
        for (int64_t i = 0; i < kTinyIn; ++i)
          h[j] += x[sample * kTinyIn + i] * w0[i * kTinyHidden + j];
      for (int64_t o = 0; o < kTinyOut; ++o) {
        double y = 0;
        for (int64_t j = 0; j < kTinyHidden; ++j)
          y += h[j] * w1[j * kTinyOut + o];
        double dy = y - t[sample * kTinyOut + o];
        loss += 0.5 * dy * dy * scale;
        for (int64_t j = 0; j < kTinyHidden; ++j) {
          g1[j * kTinyOut + o] += h[j] * dy * scale;
          dh[j] += dy * w1[j * kTinyOut + o];
        }
      }
      for (int64_t i = 0; i < kTinyIn; ++i)
        for (int64_t j = 0; j < kTinyHidden; ++j)
          g0[i * kTinyHidden + j] += x[sample * kTinyIn + i] * dh[j] * scale;
    }
    for (size_t i = 0; i < w0.size(); ++i)
      w0[i] -= rate * g0[i];
    for (size_t i = 0; i < w1.size(); ++i)
      w1[i] -= rate * g1[i];
  }
};

void expectNear(const std::vector<float> &values, const std::vector<double> &expected) {
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_NEAR(values[i], expected[i], 1e-5) << i;
}

std::unique_ptr<Dataset> openTinyData(const LoadedPlan &plan, const TemporaryFolder &folder) {
  writeNpy(folder.file("x.npy"), {kSamples, kTinyIn}, tinyData(kTinyIn, 5));
  writeNpy(folder.file("t.npy"), {kSamples, kTinyOut}, tinyData(kTinyOut, 3));
  auto dataset = openArrays(plan.plan, {{"x", folder.file("x.npy")}, {"t", folder.file("t.npy")}});
  EXPECT_TRUE(dataset.isOk()) << dataset.status().render();
  return std::move(*dataset);
}

struct TinyRun {
  explicit TinyRun(const TinyOptions &options, TrainerOptions training = {})
      : plan(makeTinyPlan(options, folder)), dataset(openTinyData(plan, folder)) {
    auto created = Trainer::create(plan, dataset.get(), training);
    EXPECT_TRUE(created.isOk()) << created.status().render();
    if (created.isOk())
      trainer = std::move(*created);
  }

  TemporaryFolder folder;
  LoadedPlan plan;
  std::unique_ptr<Dataset> dataset;
  std::unique_ptr<Trainer> trainer;
};

std::string describe(const TinyOptions &options) {
  return fmt::format("dp {} pp {} micro-batches {}", options.dp, options.pp, options.microBatches);
}

} // namespace

TEST(Trainer, TrainsLikeThePlainLoopOnEveryLayout) {
  for (TinyOptions options : {TinyOptions{1, 1, 2, 4}, TinyOptions{2, 1, 2, 2}, TinyOptions{1, 2, 2, 4},
                              TinyOptions{2, 2, 2, 2}, TinyOptions{4, 2, 2, 1}}) {
    for (int threads : {1, 2})
      for (bool poisons : {false, true}) {
        SCOPED_TRACE(describe(options));
        TrainerOptions training;
        training.seed = 3;
        training.threadsPerRank = threads;
        training.poisons = poisons;
        TinyRun run(options, training);
        ASSERT_TRUE(run.trainer);
        Reference reference;
        auto order = SampleOrder::create(kSamples, 8, 3, true);
        for (int64_t step = 0; step < 8; ++step) { // 6 steps an epoch
          StepReport report;
          Status status = run.trainer->runStep(report);
          ASSERT_TRUE(status.isOk()) << status.render();
          auto samples = order->samplesOfStep(step);
          reference.step({samples.begin(), samples.end()}, 0.125);
          EXPECT_NEAR(report.loss.value_or(NAN), reference.loss, 1e-5);
        }
        auto gradients = run.trainer->gradients(), parameters = run.trainer->parameters();
        ASSERT_TRUE(gradients.isOk() && parameters.isOk());
        ASSERT_EQ(gradients->size(), 2u);
        EXPECT_EQ((*gradients)[1].name, "W1");
        EXPECT_EQ((*gradients)[1].shape, (std::vector<int64_t>{kTinyHidden, kTinyOut}));
        expectNear((*gradients)[0].values, reference.g0);
        expectNear((*gradients)[1].values, reference.g1);
        expectNear((*parameters)[0].values, reference.w0);
        expectNear((*parameters)[1].values, reference.w1);
      }
  }
}

TEST(Trainer, AllocatesTheArenaOfThePlanToTheByte) {
  TinyRun run({1, 2, 2, 2});
  ASSERT_TRUE(run.trainer);
  for (int64_t rank : {0, 1})
    EXPECT_EQ(run.trainer->arenaBytes(rank), run.plan.plan.programs(rank).arena_bytes());
}

TEST(Trainer, StepsAllocateNothingAfterTheSecond) {
  if (!allocationsAreCounted())
    GTEST_SKIP() << "sanitizers have allocators of their own";
  for (TinyOptions options : {TinyOptions{1, 1, 2, 4}, TinyOptions{2, 2, 2, 2}}) {
    TrainerOptions training;
    training.threadsPerRank = 2;
    TinyRun run(options, training);
    ASSERT_TRUE(run.trainer);
    StepReport report;
    for (int step = 0; step < 2; ++step)
      ASSERT_TRUE(run.trainer->runStep(report).isOk());
    for (int step = 0; step < 10; ++step) { // over the end of an epoch
      AllocationCount count;
      bool succeeded = run.trainer->runStep(report).isOk();
      count.stop();
      ASSERT_TRUE(succeeded);
      EXPECT_EQ(count.ours(), 0) << describe(options);
      EXPECT_EQ(count.net(), 0) << describe(options); // what libraries took they gave back
    }
  }
}

TEST(Trainer, APlanWithoutEvaluationSaysSo) {
  TinyRun run({1, 2, 2, 2});
  EvaluationReport report;
  Status status = run.trainer->evaluate(*run.dataset, report);
  EXPECT_EQ(status.message(), "the plan has no schedule of evaluation [run-evaluation]");
}

TEST(Trainer, AnErrorNamesRankInstructionAndNode) {
  TemporaryFolder folder;
  LoadedPlan plan = makeTinyPlan({1, 2, 2, 2}, folder);
  for (plan::Block &block : *plan.plan.mutable_programs(1)->mutable_blocks())
    if (block.name() == "communicate_h")
      block.mutable_instructions(0)->mutable_group()->mutable_messages(0)->set_identity("k");
  auto dataset = openTinyData(plan, folder);
  auto trainer = Trainer::create(plan, dataset.get(), {});
  ASSERT_TRUE(trainer.isOk()) << trainer.status().render();
  StepReport report;
  Status status = (*trainer)->runStep(report);
  EXPECT_EQ(status.kind(), StatusKind::Mismatch);
  EXPECT_TRUE(status.message().starts_with("rank ")) << status.message();
  EXPECT_NE(status.message().find("group, node 'message': "), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("'k' of micro-batch 0"), std::string::npos) << status.message();
  EXPECT_EQ((*trainer)->runStep(report).kind(), StatusKind::Aborted);
}

TEST(Trainer, AMissingMessageIsADeadlockAndNoHang) {
  TemporaryFolder folder;
  LoadedPlan plan = makeTinyPlan({1, 2, 2, 2}, folder);
  for (plan::Block &block : *plan.plan.mutable_programs(1)->mutable_blocks())
    if (block.name() == "communicate_dh")
      block.clear_instructions();
  auto dataset = openTinyData(plan, folder);
  auto trainer = Trainer::create(plan, dataset.get(), {});
  ASSERT_TRUE(trainer.isOk());
  StepReport report;
  EXPECT_EQ((*trainer)->runStep(report).kind(), StatusKind::Deadlock);
}

TEST(Trainer, WeightFilesAreChecked) {
  TemporaryFolder folder;
  LoadedPlan plan = makeTinyPlan({}, folder);
  auto dataset = openTinyData(plan, folder);
  plan.plan.mutable_weight_files(0)->set_bytes(1000);
  EXPECT_EQ(Trainer::create(plan, dataset.get(), {}).status().message(),
            fmt::format("weight file '{}': 80 bytes, expected 1000 [run-weights]", folder.file("weights.bin")));
  plan.plan.mutable_weight_files(0)->set_path("nowhere.bin");
  EXPECT_EQ(Trainer::create(plan, dataset.get(), {}).status().kind(), StatusKind::NotFound);
}

TEST(LearningRate, RisesStaysAndFalls) {
  plan::Training training;
  training.set_warmup_steps(4);
  EXPECT_DOUBLE_EQ(learningRate(training, 8, 0, 100), 2);
  EXPECT_DOUBLE_EQ(learningRate(training, 8, 3, 100), 8);
  EXPECT_DOUBLE_EQ(learningRate(training, 8, 99, 100), 8);
  training.set_lr_schedule("cosine");
  training.set_total_steps(14);
  EXPECT_DOUBLE_EQ(learningRate(training, 8, 4, 100), 8);
  EXPECT_DOUBLE_EQ(learningRate(training, 8, 9, 100), 4);
  EXPECT_NEAR(learningRate(training, 8, 14, 100), 0, 1e-12);
  EXPECT_NEAR(learningRate(training, 8, 50, 100), 0, 1e-12);
  training.set_total_steps(0);
  EXPECT_DOUBLE_EQ(learningRate(training, 8, 9, 14), 4);
}
