//===-- shardplan.cpp - looks at plans ----------------------------------------------------------------------------===//

#include "runtime/base/Remedy.h"
#include "runtime/format/LoadPlan.h"
#include "runtime/verify/Communication.h"
#include "runtime/verify/Structure.h"
#include "runtime/verify/Verify.h"
#include "tools/ParseErrors.h"
#include "tools/StandardStreams.h"
#include "tools/shardplan/Show.h"

#include <fmt/format.h>

using namespace shardc;
using namespace shardc::shardplan;

namespace {

struct Options {
  std::string plan;
  bool json = false;
  ShowOptions show;
};

int fail(const rt::Status &status) {
  tools::printError("{}", rt::renderWithRemedy(status));
  return tools::kFailure;
}

/// What is shown must be well formed; whether it is right is `verify`'s question.
int show(const Options &options) {
  rt::Result<rt::LoadedPlan> loaded = rt::openPlanFolder(options.plan);
  if (!loaded.isOk())
    return fail(loaded.status());
  const plan::Plan &plan = loaded->plan;
  rt::verify::Report report(plan);
  rt::verify::Communication communication;
  rt::verify::checkStructure(plan, report);
  if (report.empty())
    rt::verify::unrollCommunication(plan, report, communication);
  if (!report.empty())
    return fail(report.take());
  PlanSummary summary = summarize(plan, communication);
  tools::print("{}", options.json ? showJson(plan, summary, options.show) : showText(plan, summary, options.show));
  return 0;
}

int verify(const Options &options) {
  rt::Result<rt::LoadedPlan> loaded = rt::openPlanFolder(options.plan);
  if (!loaded.isOk())
    return fail(loaded.status());
  rt::VerifiedCounts counts;
  rt::Status status = rt::verifyPlan(loaded->plan, &counts);
  if (status.isOk())
    status = rt::checkKernelsFile(*loaded);
  if (!status.isOk())
    return fail(status);
  tools::print("{}: verified: {} programs, {} instructions ({} in a step), {} messages, {} collectives\n", options.plan,
               counts.programs, counts.instructions, counts.runs, counts.messages, counts.collectives);
  return 0;
}

void addPlan(CLI::App &command, Options &options) {
  command.add_option("plan", options.plan, "Folder that shardc made")->required()->type_name("PLAN");
}

int runShardplan(int argc, char **argv) {
  CLI::App app("Looks at plans of shardc: what they do, what they need, whether they are right.", "shardplan");
  app.require_subcommand(1);
  Options options;

  CLI::App *showCommand = app.add_subcommand("show", "Prints stages, schedule, memory and communication");
  addPlan(*showCommand, options);
  showCommand->add_flag("--json", options.json, "Print one JSON object (docs/plan-format.md lists its keys)")
      ->group("Output");
  showCommand->add_flag("--kernels", options.show.kernels, "Also list the kernels and what each fuses")
      ->group("Detail");
  showCommand->add_flag("--instructions", options.show.instructions, "Also list the instructions of every block")
      ->group("Detail");

  CLI::App *verifyCommand =
      app.add_subcommand("verify", "Proves the plan free of deadlock and complete, or says why not");
  addPlan(*verifyCommand, options);

  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp &) {
    tools::print("{}", app.help());
    return 0;
  } catch (const CLI::ParseError &error) {
    tools::printError("{}", tools::renderParseError(app, error));
    return tools::kUsageError;
  }
  return *showCommand ? show(options) : verify(options);
}

} // namespace

int main(int argc, char **argv) { return tools::runTool(argc, argv, runShardplan); }
