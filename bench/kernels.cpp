//===-- kernels.cpp - the speed of every kernel and product of a plan ---------------------------------------------===//
//
// Runs each distinct kernel call and product of one program alone, on one thread, and compares it with what the machine
// can do, measured at the same time: a kernel with a copy of as many bytes, a product with a square product of
// 1024 × 1024 × 1024. The two alternate, so that noise hits both alike; the numbers are medians. Memory is as cold as
// the size of the operands makes it: nothing is flushed between runs.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "runtime/device/cpu/Kernels.h"
#include "runtime/device/cpu/Gemm.h"
#include "runtime/format/LoadPlan.h"
#include "runtime/format/Query.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>

using namespace shardc;
using namespace shardc::rt;

namespace {

constexpr int64_t kReferenceSize = 1024; // of a square product

/// Memory for the elements that a view reaches, from its first one on.
struct View {
  std::vector<char> memory;
  int64_t bytesTouched = 0; // distinct elements; broadcast dimensions count once

  explicit View(const plan::Buffer &buffer, const plan::Operand &operand) {
    int64_t last = 0, distinct = 1;
    for (int i = 0; i < operand.sizes_size(); ++i) {
      last += (operand.sizes(i) - 1) * operand.strides(i);
      distinct *= operand.strides(i) == 0 ? 1 : operand.sizes(i);
    }
    memory.resize((last + 1) * elementBytes(buffer.type()));
    bytesTouched = distinct * elementBytes(buffer.type());
    // Zero is an index that every table has; floats get values on which no kernel takes a short cut.
    if (buffer.type() == plan::F32)
      for (int64_t i = 0; i <= last; ++i)
        reinterpret_cast<float *>(memory.data())[i] = 0.5f + static_cast<float>(i % 61) / 64;
  }
};

double seconds(const std::function<void()> &run) {
  auto begin = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

struct Times {
  double own, reference, ratio; // medians; ratio: of reference to own
};

/// Alternates `run` and `reference`, `repeat` times after one unmeasured run of each.
Times compare(const std::function<void()> &run, const std::function<void()> &reference, int repeat) {
  std::vector<double> own, other, ratios;
  for (int i = 0; i <= repeat; ++i) {
    double b = seconds(reference), a = seconds(run);
    if (i == 0)
      continue;
    own.push_back(a);
    other.push_back(b);
    ratios.push_back(b / a);
  }
  return {median(own), median(other), median(ratios)};
}

/// One line of a table, and how often a step runs it.
struct Row {
  int64_t calls = 0;
  double microseconds = 0, rate = 0, ratio = 0;
  std::string what;
};

class Bench {
public:
  Bench(const plan::Plan &plan, const plan::Program &program, const KernelLibrary &kernels, int repeat)
      : plan(plan), program(program), kernels(kernels), repeat(repeat), products(1) {}

  Status measure() {
    std::vector<int64_t> runs(program.blocks_size());
    for (const plan::ScheduleEntry &entry : program.schedule())
      ++runs[entry.block()];
    for (int block = 0; block < program.blocks_size(); ++block)
      for (const plan::Instruction &instruction : program.blocks(block).instructions()) {
        if (instruction.has_kernel())
          measureKernel(instruction.kernel(), runs[block]);
        else if (instruction.has_gemm())
          SHARDRT_RETURN_IF_ERROR(measureProduct(instruction.gemm(), runs[block]));
      }
    return {};
  }

  void print() const {
    print(kernelRows, "kernels", "GB/s", "of copy");
    print(productRows, "products", "GFLOP/s", "of 1024³");
  }

private:
  const plan::Buffer &buffer(const plan::Operand &operand) const { return program.buffers(operand.buffer()); }

  void measureKernel(const plan::KernelCall &call, int64_t runs) {
    // Equal kernels with equal numbers of items have equal operands: shapes are part of a kernel.
    Row &row = kernelRows[fmt::format("{:06} {}", call.kernel(), call.items())];
    row.calls += runs;
    if (row.calls > runs)
      return;
    std::vector<View> views;
    for (const auto *list : {&call.reads(), &call.writes()})
      for (const plan::Operand &operand : *list)
        views.emplace_back(buffer(operand), operand);
    std::vector<void *> pointers;
    int64_t bytes = 0;
    for (View &view : views) {
      pointers.push_back(view.memory.data());
      bytes += view.bytesTouched;
    }
    std::vector<char> from(bytes / 2 + 1, 1), to(bytes / 2 + 1);
    shardrtControl control = {};
    control.learningRate = 1e-3f;
    control.lossScale = 1;
    Times times = compare([&] { kernels.kernel(call.kernel())(pointers.data(), &control, 0, call.items()); },
                          [&] { std::memcpy(to.data(), from.data(), from.size()); }, repeat);
    const plan::Kernel &kernel = plan.kernels(call.kernel());
    row = {runs, times.own * 1e6, static_cast<double>(bytes) / times.own * 1e-9, times.ratio,
           fmt::format("{} {}", kernel.symbol(), kernel.description())};
  }

  GemmOperand shape(const plan::Operand &operand) const {
    return {{operand.sizes().begin(), operand.sizes().end()}, {operand.strides().begin(), operand.strides().end()}};
  }

  Status measureProduct(const plan::Gemm &gemm, int64_t runs) {
    GemmSpec spec{shape(gemm.a()), shape(gemm.b()), shape(gemm.c())};
    spec.hasBias = gemm.has_bias();
    spec.accumulate = gemm.accumulate();
    spec.type = buffer(gemm.c()).type();
    if (spec.hasBias)
      spec.biasStride = gemm.bias().strides(0);
    double operations = 2.0 * static_cast<double>(elementCount(gemm.c().sizes())) *
                        static_cast<double>(gemm.a().sizes(gemm.a().sizes_size() - 1));
    std::string name = fmt::format("{} · {}{}{}, strides {} · {}", formatShape(spec.a.sizes), formatShape(spec.b.sizes),
                                   spec.hasBias ? " + bias" : "", spec.accumulate ? " + c" : "",
                                   formatShape(spec.a.strides), formatShape(spec.b.strides));
    Row &row = productRows[name];
    row.calls += runs;
    if (row.calls > runs)
      return {};
    SHARDRT_ASSIGN(Gemm * product, products.get(spec));
    SHARDRT_ASSIGN(Gemm * reference, products.get(referenceSpec()));
    View a(buffer(gemm.a()), gemm.a()), b(buffer(gemm.b()), gemm.b()), c(buffer(gemm.c()), gemm.c());
    std::vector<View> bias;
    if (spec.hasBias)
      bias.emplace_back(buffer(gemm.bias()), gemm.bias());
    std::vector<char> workspace(products.workspaceBytes() + 64);
    std::vector<float> square(3 * kReferenceSize * kReferenceSize, 0.5f);
    float *result = square.data() + 2 * kReferenceSize * kReferenceSize;
    void *aligned = reinterpret_cast<void *>((reinterpret_cast<uintptr_t>(workspace.data()) + 63) / 64 * 64);
    Times times = compare(
        [&] {
          product->run(a.memory.data(), b.memory.data(), c.memory.data(),
                       bias.empty() ? nullptr : bias[0].memory.data(), aligned);
        },
        [&] { reference->run(square.data(), square.data(), result, nullptr, aligned); }, repeat);
    double peak = 2.0 * kReferenceSize * kReferenceSize * kReferenceSize / times.reference;
    row = {runs, times.own * 1e6, operations / times.own * 1e-9, operations / times.own / peak, name};
    return {};
  }

  static GemmSpec referenceSpec() {
    GemmOperand square{{kReferenceSize, kReferenceSize}, {kReferenceSize, 1}};
    return {square, square, square};
  }

  static void print(const std::map<std::string, Row> &rows, const char *title, const char *rate, const char *ratio) {
    double step = 0;
    for (const auto &[key, row] : rows)
      step += row.microseconds * static_cast<double>(row.calls);
    fmt::print("{}: {} distinct, {:.3f} ms a step\n{:>6} {:>10} {:>8} {:>8} {:>8}  what\n", title, rows.size(),
               step * 1e-3, "calls", "µs", rate, ratio, "of step");
    std::vector<const Row *> order;
    for (const auto &[key, row] : rows)
      order.push_back(&row);
    auto cost = [](const Row *row) { return row->microseconds * static_cast<double>(row->calls); };
    std::stable_sort(order.begin(), order.end(), [&](const Row *a, const Row *b) { return cost(a) > cost(b); });
    for (const Row *row : order)
      fmt::print("{:>6} {:>10.1f} {:>8.2f} {:>8.2f} {:>7.1f}%  {}\n", row->calls, row->microseconds, row->rate,
                 row->ratio, 100 * cost(row) / step, row->what);
  }

  const plan::Plan &plan;
  const plan::Program &program;
  const KernelLibrary &kernels;
  int repeat;
  GemmCache products;
  std::map<std::string, Row> kernelRows, productRows;
};

int fail(const Status &status) {
  fmt::print(stderr, "{}", status.render());
  return 1;
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app("Times every kernel and product of a plan against what this machine can do.", "shardbench-kernels");
  std::string folder;
  int stage = 0, repeat = 15;
  app.add_option("plan", folder, "Folder that shardc made, for this CPU")->required()->type_name("PLAN");
  app.add_option("--pp", stage, "Coordinate of the program to measure")->check(CLI::NonNegativeNumber);
  app.add_option("--repeat", repeat, "Measurements of each; the median counts")->check(CLI::Range(1, 10000));
  CLI11_PARSE(app, argc, argv);

  Result<LoadedPlan> loaded = loadPlan(folder);
  if (!loaded.isOk())
    return fail(loaded.status());
  if (stage >= loaded->plan.programs_size())
    return fail(Status(StatusKind::InvalidArgument, fmt::format("no program for pp {} in '{}'", stage, folder),
                       fmt::format("--pp takes 0 to {}", loaded->plan.programs_size() - 1)));
  Result<std::unique_ptr<KernelLibrary>> kernels = KernelLibrary::open(folder, loaded->plan);
  if (!kernels.isOk())
    return fail(kernels.status());
  Bench bench(loaded->plan, loaded->plan.programs(stage), **kernels, repeat);
  Status status = bench.measure();
  if (!status.isOk())
    return fail(status);
  bench.print();
  return 0;
}
