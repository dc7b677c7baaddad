//===-- ShowText.cpp - a plan as text -----------------------------------------------------------------------------===//

#include "runtime/format/Query.h"
#include "runtime/verify/Report.h"
#include "tools/shardplan/Show.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

namespace shardc::shardplan {
namespace {

constexpr size_t kChartColumns = 110;

/// "1,234,567"
std::string grouped(int64_t number) {
  std::string digits = std::to_string(number);
  for (int at = int(digits.size()) - 3; at > (number < 0 ? 1 : 0); at -= 3)
    digits.insert(at, ",");
  return digits;
}

/// "1.2 MiB": beside exact bytes, to read at a glance.
std::string rounded(int64_t bytes) {
  const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = double(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit < 4) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, units[unit]);
}

/// A number of elements, which a ring may send in fractions.
std::string elementsText(int64_t times, int64_t members) {
  if (times % members == 0)
    return grouped(times / members);
  return fmt::format("{:.1f}", double(times) / double(members));
}

class TextShow {
public:
  TextShow(const plan::Plan &plan, const PlanSummary &summary, const ShowOptions &options)
      : plan(plan), summary(summary), options(options), mesh(plan.mesh()) {}

  std::string run() {
    showHead();
    showSchedule();
    for (int p = 0; p < plan.programs_size(); ++p)
      showProgram(p);
    if (options.kernels)
      showKernels();
    return std::move(out);
  }

private:
  const plan::Plan &plan;
  const PlanSummary &summary;
  const ShowOptions &options;
  rt::MeshView mesh;
  std::string out;

  template <typename... Args> void line(fmt::format_string<Args...> format, Args &&...args) {
    out += fmt::format(format, std::forward<Args>(args)...) + "\n";
  }

  void showHead() {
    const plan::Training &training = plan.training();
    std::vector<std::string> axes;
    for (const plan::Mesh::Axis &axis : plan.mesh().axes())
      axes.push_back(fmt::format("{} {}", axis.name(), axis.size()));
    line("model      {}", plan.model());
    line("mesh       {} ({} ranks, outermost axis first)", fmt::join(axes, ", "), mesh.ranks());
    line("batch      {} samples a step: {} micro-batch{} of {} on {}", training.global_batch(),
         training.micro_batches(), training.micro_batches() == 1 ? "" : "es", training.micro_batch(),
         mesh.axisSize("dp") == 1 ? "one replica" : fmt::format("each of {} replicas", mesh.axisSize("dp")));
    line("schedule   {}, recompute {}", training.schedule(), training.recompute());
    if (!training.precision().empty())
      line("precision  {}", training.precision());
    line("optimizer  {}, learning rate {:g} {}{}{}", training.optimizer(), training.learning_rate(),
         training.lr_schedule(),
         training.warmup_steps() ? fmt::format(", warm-up {} steps", training.warmup_steps()) : "",
         training.clip_norm() > 0 ? fmt::format(", clip norm {:g}", training.clip_norm()) : "");
    line("target     {} {}", plan.target().kind(),
         plan.target().gpu_archs().empty() ? plan.target().cpu()
                                           : fmt::format("{}", fmt::join(plan.target().gpu_archs(), " ")));
    line("parameters {} tensors, {} elements; kernels {}", plan.parameters_size(), grouped(parameterElements()),
         plan.kernels_size());
    for (const plan::Input &input : plan.inputs())
      line("input      {} {} {} a sample", input.name(), rt::elementName(input.type()),
           rt::formatShape({input.sample_shape().begin(), input.sample_shape().end()}));
    for (const std::string &note : plan.notes())
      line("note       {}", note);
  }

  int64_t parameterElements() const {
    int64_t total = 0;
    for (const plan::Parameter &parameter : plan.parameters())
      total += rt::elementCount(parameter.shape());
    return total;
  }

  void showSchedule() {
    const ScheduleChart &chart = summary.chart;
    line("\nschedule of a step (a forward takes 1 unit, a backward 2, '.' is a bubble, U the update)");
    std::vector<std::string> rows = chart.draw(kChartColumns);
    int64_t bubbles = 0;
    for (size_t p = 0; p < rows.size(); ++p) {
      line("  pp {:<3} {}", p, rows[p]);
      bubbles += chart.bubble(p);
    }
    int64_t all = chart.length * int64_t(rows.size());
    line("  {} units, bubbles {:.1f} %", chart.length, all ? 100.0 * double(bubbles) / double(all) : 0.0);
    if (std::ranges::any_of(plan.programs(), &plan::Program::has_evaluation))
      line("  evaluation: all micro-batches forward, without dropout");
  }

  void showProgram(int p) {
    const ProgramSummary &program = summary.programs[p];
    int64_t ranks = mesh.ranks() / std::max<int64_t>(mesh.axisSize("pp"), 1);
    line("\npp {}: {} ranks, the first is {}", p, ranks, rt::verify::rankName(plan, p));
    line("  stage    {} … {}", program.firstNode, program.lastNode);
    showMemory(program.memory);
    showCommunication(program.communications);
    if (options.instructions)
      showInstructions(plan.programs(p));
  }

  void showMemory(const MemoryUse &memory) {
    line("  memory   arena {} bytes ({}) a rank", grouped(memory.arenaBytes), rounded(memory.arenaBytes));
    for (const MemoryPart &part : memory.parts)
      line("    {:<10} {:>16} bytes{}", part.name, grouped(part.bytes),
           part.buffers ? fmt::format(", {} buffer{}", part.buffers, part.buffers == 1 ? "" : "s") : "");
    line("    largest:");
    for (const MemoryHolder &holder : memory.largest)
      line("    {:>16} {} '{}'{}", grouped(holder.bytes), holder.region, holder.name,
           holder.slots > 1 ? fmt::format(" in {} slots", holder.slots) : "");
    line("  stash    {} slot{} of {} elements ({} bytes)", memory.stashSlots, memory.stashSlots == 1 ? "" : "s",
         grouped(memory.stashElements), grouped(memory.stashBytes));
  }

  void showCommunication(const std::vector<CommunicationUse> &uses) {
    line("  communication of one rank in a step");
    std::vector<std::string> order; // categories as they come
    for (const CommunicationUse &use : uses)
      if (std::find(order.begin(), order.end(), use.category) == order.end())
        order.push_back(use.category);
    if (order.empty())
      line("    none");
    for (const std::string &category : order)
      showCategory(category, uses);
  }

  void showCategory(const std::string &category, const std::vector<CommunicationUse> &uses) {
    double sent = 0;
    int64_t bytes = 0;
    for (const CommunicationUse &use : uses)
      if (use.category == category) {
        sent += use.sentElements() * double(use.runs);
        bytes += use.bytes * use.runs;
      }
    line("    {}: {} bytes, ring-equivalent elements sent {:.0f}", category, grouped(bytes), sent);
    if (category == "gradients" && !options.instructions)
      return showGradients(uses);
    for (const CommunicationUse &use : uses)
      if (use.category == category)
        line("      {:<13} {}{}{} over {} ({}): {} times {} elements, {} sent, {}", use.direction, use.kind,
             use.reduction.empty() ? "" : " ", use.reduction, use.communicator, use.members, use.runs,
             grouped(use.elements), elementsText(use.sentTimesMembers, use.members), use.node);
  }

  /// One line for each kind and communicator: there is one reduction for each parameter.
  void showGradients(const std::vector<CommunicationUse> &uses) {
    std::map<std::string, std::pair<int64_t, int64_t>> sums; // count and elements
    for (const CommunicationUse &use : uses) {
      if (use.category != "gradients")
        continue;
      auto &[count, elements] =
          sums[fmt::format("{} {} over {} ({})", use.kind, use.reduction, use.communicator, use.members)];
      count += use.runs;
      elements += use.elements * use.runs;
    }
    for (const auto &[name, sum] : sums)
      line("      update        {}: {} of {} elements in all", name, sum.first, grouped(sum.second));
  }

  void showInstructions(const plan::Program &program) {
    for (const plan::Block &block : program.blocks()) {
      line("  block '{}' ({})", block.name(), rt::verify::actionName(block.action()));
      for (int i = 0; i < block.instructions_size(); ++i)
        line("    {:>4} {}  # {}", i, describeInstruction(plan, program, block.instructions(i)),
             block.instructions(i).node());
    }
  }

  /// "grid 96 block 128 shared 32  "; nothing on a CPU.
  static std::string describeLaunch(const plan::Kernel &kernel) {
    if (!kernel.has_launch())
      return "";
    const plan::Launch &launch = kernel.launch();
    return fmt::format("grid {:>6} block {:>3} shared {:>5}  ", launch.grid(), launch.block(), launch.shared_bytes());
  }

  void showKernels() {
    std::vector<int64_t> calls = countKernelCalls(plan);
    line("\nkernels");
    for (int k = 0; k < plan.kernels_size(); ++k)
      line("  {:<12} {:>4} calls  {}{}", plan.kernels(k).symbol(), calls[k], describeLaunch(plan.kernels(k)),
           plan.kernels(k).description());
  }
};

} // namespace

std::string showText(const plan::Plan &plan, const PlanSummary &summary, const ShowOptions &options) {
  return TextShow(plan, summary, options).run();
}

} // namespace shardc::shardplan
