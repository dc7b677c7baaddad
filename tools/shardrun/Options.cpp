//===-- Options.cpp - shardrun's command line ---------------------------------------------------------------------===//

#include "tools/shardrun/Options.h"

#include "tools/ParseErrors.h"
#include "tools/StandardStreams.h"

#include <cfloat>
#include <filesystem>
#include <system_error>

namespace shardc::shardrun {
namespace {

using tools::between;

/// More threads than any machine has cores.
constexpr int32_t kMaxThreads = 4096;

/// A check that a value is not empty: an empty variable of a script must not switch an option off.
CLI::Validator given(const char *expected) {
  return CLI::Validator(
      [expected](std::string &text) {
        return text.empty() ? fmt::format("got '', expected {}", expected) : std::string();
      },
      "");
}

/// A learning rate is a number that f32 can hold; 0 leaves the parameters as they are, for a look at the gradients.
CLI::Validator learningRate() {
  return CLI::Validator(
      [](std::string &text) {
        double value = 0;
        if (tools::parseNumber(text, value) && value >= 0 && value <= FLT_MAX &&
            (value == 0 || static_cast<float>(value) > 0))
          return std::string();
        return fmt::format("got '{}', expected 0, or a number from 1e-45 to 3.4e+38", text);
      },
      "");
}

/// NAME=FILE as given, not yet split.
struct Arrays {
  std::vector<std::string> training, evaluation;
};

void declareData(CLI::App &app, Options &options, Arrays &arrays) {
  auto *text = app.add_option("--text", options.data.text, "Train on the bytes of this file, as tokens");
  text->type_name("FILE")->group("Data")->check(given("a file"));
  auto *data =
      app.add_option("--data", arrays.training, "One .npy file for each model input, dimension 0 counting samples");
  data->type_name("NAME=FILE.npy")->group("Data");
  auto *synthetic = app.add_flag("--synthetic", options.synthetic, "Train on random samples");
  synthetic->group("Data");
  text->excludes(data)->excludes(synthetic);
  data->excludes(synthetic);
  app.add_flag("--no-shuffle", options.noShuffle, "Take samples in file order")->group("Data");
}

void declareEvaluation(CLI::App &app, Options &options, Arrays &arrays) {
  const char *group = "Evaluation (dropout is off; after the last step, if nothing else is said)";
  auto *text = app.add_option("--eval-text", options.evaluation.text, "Evaluate on the bytes of this file, as tokens");
  text->type_name("FILE")->group(group)->check(given("a file"));
  auto *data = app.add_option("--eval-data", arrays.evaluation, "Evaluate on these arrays, one for each model input");
  data->type_name("NAME=FILE.npy")->group(group)->excludes(text);
  app.add_option("--eval-every", options.evaluateEvery, "Evaluate every N steps, too")
      ->check(between<int64_t>(1))
      ->type_name("N")
      ->group(group);
  auto *only = app.add_flag("--eval-only", options.evaluateOnly, "Evaluate the weights as they are, and train nothing");
  only->group(group);
  for (const char *training : {"--text", "--data", "--synthetic", "--no-shuffle", "--steps", "--seed", "--lr",
                               "--eval-every", "--dump-gradients", "--dump-parameters", "--check-nan"})
    only->excludes(app.get_option(training));
}

void declareTraining(CLI::App &app, Options &options) {
  app.add_option("--steps", options.steps, "Steps to run")
      ->capture_default_str()
      ->check(between<int64_t>(1))
      ->type_name("N")
      ->group("Training");
  app.add_option("--seed", options.seed, "Seed of sample order, dropout and synthetic data")
      ->capture_default_str()
      ->check(between<uint64_t>(0))
      ->type_name("N")
      ->group("Training");
  app.add_option("--lr", options.learningRate, "Learning rate instead of the plan's; its schedule stays")
      ->check(learningRate())
      ->type_name("RATE")
      ->group("Training");
  app.add_option("--threads-per-rank", options.threadsPerRank, "Threads of each rank, for kernels and products")
      ->capture_default_str()
      ->check(between<int32_t>(1, kMaxThreads))
      ->type_name("N")
      ->group("Training");
}

void declareDevice(CLI::App &app, Options &options) {
  app.add_option("--device", options.device,
                 "What runs kernels: cpu, or emulator, which checks a plan for CUDA thread by thread")
      ->capture_default_str()
      ->check(CLI::Validator(
          [](std::string &text) {
            return text == "cpu" || text == "emulator" ? std::string()
                                                       : fmt::format("got '{}', expected cpu or emulator", text);
          },
          ""))
      ->type_name("DEVICE")
      ->group("Training");
}

void declareProcesses(CLI::App &app, Options &options) {
  app.add_option("--timeout", options.timeout, "Seconds of silence after which a process is given up, under mpirun")
      ->capture_default_str()
      ->check(between<int32_t>(1, 1000000))
      ->type_name("SECONDS")
      ->group("Several processes");
}

void declareOutput(CLI::App &app, Options &options) {
  app.add_option("--log-dir", options.logDir, "Write metrics.jsonl here, one object a step")
      ->check(given("a folder"))
      ->type_name("FOLDER")
      ->group("Output");
  app.add_option("--dump-gradients", options.dumpGradients,
                 "After the last step, write its mean gradients, before clipping, as safetensors")
      ->check(given("a file"))
      ->type_name("FILE")
      ->group("Output");
  app.add_option("--dump-parameters", options.dumpParameters,
                 "After the last step, write the parameters as safetensors")
      ->check(given("a file"))
      ->type_name("FILE")
      ->group("Output");
  app.add_flag("--quiet", options.quiet, "Print errors only")->group("Output");
}

void declareDebugging(CLI::App &app, Options &options) {
  app.add_flag("--poison", options.poison, "Fill memory that nobody may read with signalling NaN")->group("Debugging");
  app.add_flag("--check-nan", options.checkNan,
               "End at a step whose loss or gradient is not finite, naming the first instruction that wrote a NaN or "
               "infinity; an overflow that the loss scale of fp16 handles is none")
      ->group("Debugging");
}

/// Splits NAME=FILE; false, after an error line, if something is neither that nor the plan. (`--data a=b c=d PLAN`
/// takes all that follows, the plan too.)
bool splitArrays(const char *option, const std::vector<std::string> &arrays, DataFiles &files, Options &options) {
  for (const std::string &array : arrays) {
    size_t equals = array.find('=');
    if (equals == std::string::npos && !array.empty() && options.plan.empty()) {
      options.plan = array;
      continue;
    }
    if (equals == std::string::npos || equals == 0 || equals + 1 == array.size()) {
      tools::printError("error: option '{}': got '{}', expected NAME=FILE.npy\n"
                        "note: NAME is an input of the model, FILE.npy what numpy.save has written\n",
                        option, array);
      return false;
    }
    files.arrays.emplace_back(array.substr(0, equals), array.substr(equals + 1));
  }
  return true;
}

bool isSameFile(const std::string &a, const std::string &b) {
  std::error_code ignored;
  // Made absolute first: where nothing of a path exists it would stay as it is written.
  auto resolve = [&](const std::string &path) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path, ignored), ignored);
  };
  return resolve(a) == resolve(b);
}

/// What every run needs; false, after an error line, if it is not there.
bool isComplete(const Options &options) {
  if (options.plan.empty()) {
    tools::printError("error: no plan given\nnote: shardrun PLAN …; shardc MODEL.onnx -o PLAN makes one\n");
    return false;
  }
  if (options.evaluation.empty() && (options.evaluateOnly || options.evaluateEvery > 0)) {
    tools::printError("error: option '{}': no data to evaluate on\n"
                      "note: give it with --eval-text FILE, or --eval-data NAME=FILE.npy for each model input\n",
                      options.evaluateOnly ? "--eval-only" : "--eval-every");
    return false;
  }
  if (options.data.empty() && !options.synthetic && !options.evaluateOnly) {
    tools::printError("error: no data given\n"
                      "note: use --text FILE, --data NAME=FILE.npy for each model input, or --synthetic\n");
    return false;
  }
  return true;
}

/// False, after an error line, if a dump would take the place of what the run reads or of the other dump.
bool checkDumps(const Options &options) {
  std::vector<std::string> taken = {options.plan + "/plan.pb", options.plan + "/kernels.so"};
  for (const DataFiles *files : {&options.data, &options.evaluation}) {
    if (!files->text.empty())
      taken.push_back(files->text);
    for (const auto &[name, path] : files->arrays)
      taken.push_back(path);
  }
  for (const auto &[option, path] :
       {std::pair("--dump-gradients", options.dumpGradients), {"--dump-parameters", options.dumpParameters}}) {
    if (path.empty())
      continue;
    for (const std::string &other : taken) {
      if (!isSameFile(path, other))
        continue;
      tools::printError("error: option '{}': '{}' would replace what this run reads or writes already\n"
                        "note: give it a file of its own\n",
                        option, path);
      return false;
    }
    taken.push_back(path);
  }
  return true;
}

} // namespace

std::optional<Options> parseOptions(int argc, char **argv, int &exitCode) {
  CLI::App app("Trains with a plan of shardc on this machine: every rank is a thread.", "shardrun");
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::Throw);
  Options options;
  Arrays arrays;
  app.add_option("plan", options.plan, "Folder that shardc made")->type_name("PLAN");
  declareData(app, options, arrays);
  declareTraining(app, options);
  declareDevice(app, options);
  declareProcesses(app, options);
  declareOutput(app, options);
  declareDebugging(app, options);
  declareEvaluation(app, options, arrays); // names options of the others
  exitCode = tools::kUsageError;
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp &) {
    tools::print("{}", app.help());
    exitCode = 0;
    return std::nullopt;
  } catch (const CLI::ParseError &error) {
    tools::printError("{}", tools::renderParseError(app, error));
    return std::nullopt;
  }
  if (!splitArrays("--data", arrays.training, options.data, options) ||
      !splitArrays("--eval-data", arrays.evaluation, options.evaluation, options) || !isComplete(options) ||
      !checkDumps(options))
    return std::nullopt;
  return options;
}

} // namespace shardc::shardrun
