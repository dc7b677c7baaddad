//===-- OptionTable.cpp - the options of shardc -------------------------------------------------------------------===//

#include "ParseOptions.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FormatVariadic.h"

using namespace shardc::driver;
using llvm::formatv;
using llvm::StringRef;

namespace {

using Fault = std::optional<OptionError>;

template <typename Number> bool isNumber(StringRef text, Number &number) {
  if constexpr (std::is_floating_point_v<Number>)
    return !text.getAsDouble(number, /*AllowInexact=*/true);
  else
    return !text.getAsInteger(10, number);
}

/// `NAME=8` or `NAME=8x128`, for --dim and --shape; a name may have '=' itself.
std::optional<std::pair<std::string, std::vector<int64_t>>> parseSizes(StringRef text) {
  auto [name, list] = text.rsplit('=');
  if (name.empty() || !text.contains('='))
    return std::nullopt;
  llvm::SmallVector<StringRef> parts;
  list.split(parts, 'x');
  std::vector<int64_t> sizes;
  for (StringRef part : parts) {
    int64_t size = 0;
    if (part.getAsInteger(10, size) || size <= 0)
      return std::nullopt;
    sizes.push_back(size);
  }
  return std::pair(name.str(), sizes);
}

/// Adds rows, group by group. Rows outlive it: they capture the options alone.
class TableMaker {
public:
  explicit TableMaker(Options &options) : o(options) {}

  std::vector<OptionRow> run() {
    addLayout();
    addModel();
    addOptimizer();
    addPrecision();
    addOutput();
    return std::move(rows);
  }

private:
  void add(StringRef name, StringRef value, StringRef help, std::function<Fault(StringRef)> set,
           bool mayRepeat = false) {
    rows.push_back({group, name, value, help, std::move(set), mayRepeat});
  }

  /// A number: int64_t, double, or an optional one of these.
  template <typename Number, typename Target>
  void addNumber(StringRef name, StringRef value, StringRef expected, StringRef help, Target &target) {
    add(name, value, help, [name, expected, &target](StringRef text) -> Fault {
      Number number = 0;
      if (!isNumber(text, number))
        return OptionError{formatv("option '--{0}': expected {1}, got '{2}' [option-range]", name, expected, text), ""};
      target = number;
      return {};
    });
  }

  template <typename Target> void addInteger(StringRef name, StringRef help, Target &target) {
    addNumber<int64_t>(name, "N", "a whole number", help, target);
  }

  template <typename Target> void addReal(StringRef name, StringRef help, Target &target) {
    addNumber<double>(name, "X", "a number", help, target);
  }

  void addWord(StringRef name, StringRef value, StringRef help, std::string &target) {
    add(name, value, help, [&target](StringRef text) -> Fault {
      target = text.str();
      return {};
    });
  }

  void addGlobs(StringRef name, StringRef help, std::vector<std::string> &target) {
    auto set = [&target](StringRef text) -> Fault {
      target.push_back(text.str());
      return {};
    };
    add(name, "GLOB", help, set, /*mayRepeat=*/true);
  }

  void addLayout() {
    group = "Layout";
    addInteger("dp", "Data-parallel replicas (1)", o.dp);
    addInteger("pp", "Pipeline stages (1)", o.pp);
    addInteger("tp", "Tensor-parallel ranks (1)", o.tp);
    addWord("mesh-order", "A,B,C", "Axes of ranks, outermost first (dp,pp,tp)", o.meshOrder);
    addInteger("micro-batch", "Samples of one forward on one replica (1)", o.microBatch);
    addInteger("global-batch", "Samples of a step (dp * pp * micro-batch)", o.globalBatch);
    addWord("schedule", "gpipe|1f1b", "Order of micro-batches (1f1b)", o.schedule);
    addWord("recompute", "none|selective|full", "What the backward pass computes again (none)", o.recompute);
  }

  void addModel() {
    group = "Model";
    addDim();
    addShape();
    addWord("loss", "cross_entropy|output:NAME",
            "Loss of a model that has none in its graph, or the output that is the loss", o.loss);
    addReal("dropout", "Probability of every Dropout (the graph's)", o.dropout);
    addGlobs("trainable", "Initializers to train", o.trainable);
    addGlobs("freeze", "Initializers not to train", o.freeze);
    addGlobs("tie", "Initializers to keep tied", o.tie);
    addGlobs("untie", "Initializers to untie", o.untie);
    addWord("external-data-root", "DIR", "Folder that external data may lie under (the model's)", o.externalDataRoot);
  }

  static Fault failTwice(StringRef option, StringRef name) {
    return OptionError{formatv("option '--{0}': '{1}' is given twice [option-shape]", option, name), "give it once"};
  }

  void addDim() {
    auto set = [&o = o](StringRef text) -> Fault {
      auto parsed = parseSizes(text);
      if (!parsed || parsed->second.size() != 1)
        return OptionError{formatv("option '--dim': expected NAME=N with a positive N, got '{0}' [option-shape]", text),
                           ""};
      if (llvm::any_of(o.dims, [&](const auto &dim) { return dim.first == parsed->first; }))
        return failTwice("dim", parsed->first);
      o.dims.emplace_back(parsed->first, parsed->second.front());
      return {};
    };
    add("dim", "NAME=N", "Size of a symbolic dimension", set, /*mayRepeat=*/true);
  }

  void addShape() {
    auto set = [&o = o](StringRef text) -> Fault {
      auto parsed = parseSizes(text);
      if (!parsed)
        return OptionError{
            formatv("option '--shape': expected NAME=AxB with positive sizes, got '{0}' [option-shape]", text), ""};
      if (llvm::any_of(o.shapes, [&](const auto &shape) { return shape.first == parsed->first; }))
        return failTwice("shape", parsed->first);
      o.shapes.push_back(std::move(*parsed));
      return {};
    };
    add("shape", "NAME=AxB", "Shape of an input", set, /*mayRepeat=*/true);
  }

  void addOptimizer() {
    group = "Optimizer";
    addWord("optimizer", "sgd|adamw", "Optimizer (adamw)", o.optimizer);
    addReal("lr", "Learning rate (1e-3)", o.learningRate);
    addWord("lr-schedule", "constant|cosine", "Learning rate over the steps (constant)", o.lrSchedule);
    addInteger("warmup", "Steps over which the learning rate rises from 0 (0)", o.warmupSteps);
    addInteger("total-steps", "Steps until cosine ends at 0", o.totalSteps);
    addReal("clip-norm", "Largest global norm of the gradient, 0: any (0)", o.clipNorm);
    addReal("momentum", "SGD's momentum (0)", o.momentum);
    addReal("beta1", "AdamW's decay of the first moment (0.9)", o.beta1);
    addReal("beta2", "AdamW's decay of the second moment (0.999)", o.beta2);
    addReal("epsilon", "AdamW's epsilon (1e-8)", o.epsilon);
    addReal("weight-decay", "Decoupled decay of parameters of rank 2 and more (AdamW 0.01, SGD 0)", o.weightDecay);
  }

  void addPrecision() {
    group = "Precision";
    addWord("precision", "fp32|bf16|fp16", "What products compute with, and activations are stored in (fp32)",
            o.precision);
    addReal("loss-scale-init", "fp16: loss scale of the first step (65536)", o.lossScaleInit);
    addReal("loss-scale-growth-factor", "fp16: what the scale grows by (2)", o.lossScaleGrowthFactor);
    addReal("loss-scale-backoff-factor", "fp16: what an overflow multiplies the scale by (0.5)",
            o.lossScaleBackoffFactor);
    addInteger("loss-scale-growth-interval", "fp16: steps without overflow until the scale grows (2000)",
               o.lossScaleGrowthInterval);
  }

  void addOutput() {
    group = "Output";
    addWord("o", "DIR", "Folder of the plan", o.output);
    addWord("target", "cpu|cuda", "What kernels are compiled for (cpu)", o.target);
    addWord("gpu-arch", "sm_80,…", "cuda: GPU architectures; kernels.ptx is for the lowest one (sm_80)", o.gpuArchs);
    addWord("target-cpu", "NAME", "LLVM's name of the CPU to compile kernels for (this machine's)", o.targetCpu);
    auto setEmit = [&o = o](StringRef text) -> Fault {
      constexpr std::pair<const char *, Emit> kPhases[] = {{"import", Emit::Import},
                                                           {"nn", Emit::NN},
                                                           {"sharded", Emit::Sharded},
                                                           {"pipelined", Emit::Pipelined},
                                                           {"exec", Emit::Exec}};
      for (auto [name, phase] : kPhases)
        if (text == name) {
          o.emit = phase;
          return {};
        }
      return OptionError{formatv("option '--emit': unknown value '{0}' [option-choice]", text),
                         "it is one of import, nn, sharded, pipelined, exec"};
    };
    add("emit", "import|nn|sharded|pipelined|exec", "Print the module after this phase instead of writing a plan",
        setEmit);
  }

  Options &o;
  StringRef group;
  std::vector<OptionRow> rows;
};

} // namespace

std::vector<OptionRow> shardc::driver::makeOptionTable(Options &options) { return TableMaker(options).run(); }
