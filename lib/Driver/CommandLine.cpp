//===-- CommandLine.cpp - the command line of shardc --------------------------------------------------------------===//

#include "shardc/Driver/CommandLine.h"

#include "shardc/Driver/Compile.h"
#include "shardc/Driver/Diagnostics.h"
#include "shardc/Driver/Register.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"

using namespace llvm;
using namespace shardc::driver;

namespace {

cl::OptionCategory layoutCategory("Layout");
cl::OptionCategory modelCategory("Model");
cl::OptionCategory optimizerCategory("Optimizer");
cl::OptionCategory precisionCategory("Precision");
cl::OptionCategory outputCategory("Output");

/// `NAME=8` or `NAME=8x128`.
struct NamedSizes {
  std::string name;
  std::vector<int64_t> sizes;
};

std::optional<NamedSizes> parseNamedSizes(StringRef text) {
  auto [name, list] = text.rsplit('=');
  SmallVector<StringRef> parts;
  list.split(parts, 'x');
  NamedSizes result{name.str(), {}};
  for (StringRef part : parts) {
    int64_t size = 0;
    if (part.getAsInteger(10, size) || size <= 0)
      return std::nullopt;
    result.sizes.push_back(size);
  }
  return name.empty() || text.find('=') == StringRef::npos ? std::nullopt : std::make_optional(result);
}

} // namespace

int shardc::driver::runShardc(int argc, char **argv, const PhaseHook &hook) {
  reportCrashesInOneLine();
  Options o;

  cl::opt<std::string> model(cl::Positional, cl::desc("<model.onnx>"), cl::Required);
  auto integer = [](StringRef name, const char *text, int64_t &target, cl::OptionCategory &category) {
    return std::make_unique<cl::opt<int64_t, true>>(name, cl::desc(text), cl::value_desc("N"), cl::location(target),
                                                    cl::init(target), cl::cat(category));
  };
  auto real = [](StringRef name, const char *text, double &target, cl::OptionCategory &category) {
    return std::make_unique<cl::opt<double, true>>(name, cl::desc(text), cl::value_desc("X"), cl::location(target),
                                                   cl::init(target), cl::cat(category));
  };
  auto word = [](StringRef name, const char *text, const char *values, std::string &target,
                 cl::OptionCategory &category) {
    return std::make_unique<cl::opt<std::string, true>>(name, cl::desc(text), cl::value_desc(values),
                                                        cl::location(target), cl::init(target), cl::cat(category));
  };
  auto globs = [](StringRef name, const char *text) {
    return std::make_unique<cl::list<std::string>>(name, cl::desc(text), cl::value_desc("GLOB"),
                                                   cl::cat(modelCategory));
  };

  auto dp = integer("dp", "Data-parallel replicas (1)", o.dp, layoutCategory);
  auto pp = integer("pp", "Pipeline stages (1)", o.pp, layoutCategory);
  auto tp = integer("tp", "Tensor-parallel ranks (1)", o.tp, layoutCategory);
  auto meshOrder =
      word("mesh-order", "Axes of ranks, outermost first (dp,pp,tp)", "A,B,C", o.meshOrder, layoutCategory);
  auto microBatch = integer("micro-batch", "Samples of one forward on one replica (1)", o.microBatch, layoutCategory);
  cl::opt<int64_t> globalBatch("global-batch", cl::desc("Samples of a step (dp * pp * micro-batch)"),
                               cl::value_desc("N"), cl::init(-1), cl::cat(layoutCategory));
  auto schedule = word("schedule", "Order of micro-batches (1f1b)", "gpipe|1f1b", o.schedule, layoutCategory);
  auto recompute = word("recompute", "What the backward pass computes again (none)", "none|selective|full", o.recompute,
                        layoutCategory);

  cl::list<std::string> dims("dim", cl::desc("Size of a symbolic dimension"), cl::value_desc("NAME=N"),
                             cl::cat(modelCategory));
  cl::list<std::string> shapes("shape", cl::desc("Shape of an input"), cl::value_desc("NAME=AxB"),
                               cl::cat(modelCategory));
  auto loss = word("loss", "Loss of a model that has none in its graph, or the output that is the loss",
                   "cross_entropy|output:NAME", o.loss, modelCategory);
  auto dropout = real("dropout", "Probability of every Dropout (the graph's)", o.dropout, modelCategory);
  auto trainable = globs("trainable", "Initializers to train");
  auto freeze = globs("freeze", "Initializers not to train");
  auto tie = globs("tie", "Initializers to keep tied");
  auto untie = globs("untie", "Initializers to untie");
  auto dataRoot = word("external-data-root", "Folder that external data may lie under (the model's)", "DIR",
                       o.externalDataRoot, modelCategory);

  auto optimizer = word("optimizer", "Optimizer (adamw)", "sgd|adamw", o.optimizer, optimizerCategory);
  auto lr = real("lr", "Learning rate (1e-3)", o.learningRate, optimizerCategory);
  auto lrSchedule = word("lr-schedule", "Learning rate over the steps (constant)", "constant|cosine", o.lrSchedule,
                         optimizerCategory);
  auto warmup =
      integer("warmup", "Steps over which the learning rate rises from 0 (0)", o.warmupSteps, optimizerCategory);
  cl::opt<int64_t> totalSteps("total-steps", cl::desc("Steps until cosine ends at 0"), cl::value_desc("N"),
                              cl::init(-1), cl::cat(optimizerCategory));
  auto clipNorm = real("clip-norm", "Largest global norm of the gradient, 0: any (0)", o.clipNorm, optimizerCategory);
  auto momentum = real("momentum", "SGD's momentum (0)", o.momentum, optimizerCategory);
  auto beta1 = real("beta1", "AdamW's decay of the first moment (0.9)", o.beta1, optimizerCategory);
  auto beta2 = real("beta2", "AdamW's decay of the second moment (0.999)", o.beta2, optimizerCategory);
  auto epsilon = real("epsilon", "AdamW's epsilon (1e-8)", o.epsilon, optimizerCategory);
  cl::opt<double> weightDecay("weight-decay",
                              cl::desc("Decoupled decay of parameters of rank 2 and more (AdamW 0.01, SGD 0)"),
                              cl::value_desc("X"), cl::init(-1), cl::cat(optimizerCategory));

  auto precision = word("precision", "What products compute with, and activations are stored in (fp32)",
                        "fp32|bf16|fp16", o.precision, precisionCategory);
  auto scaling = [](StringRef name, const char *text) {
    return std::make_unique<cl::opt<double>>(name, cl::desc(text), cl::value_desc("X"), cl::cat(precisionCategory));
  };
  auto scaleInit = scaling("loss-scale-init", "fp16: loss scale of the first step (65536)");
  auto growthFactor = scaling("loss-scale-growth-factor", "fp16: what the scale grows by (2)");
  auto backoffFactor = scaling("loss-scale-backoff-factor", "fp16: what an overflow multiplies the scale by (0.5)");
  cl::opt<int64_t> growthInterval("loss-scale-growth-interval",
                                  cl::desc("fp16: steps without overflow until the scale grows (2000)"),
                                  cl::value_desc("N"), cl::cat(precisionCategory));

  auto output = word("o", "Folder of the plan", "DIR", o.output, outputCategory);
  auto targetCpu = word("target-cpu", "LLVM's name of the CPU to compile kernels for (this machine's)", "NAME",
                        o.targetCpu, outputCategory);
  cl::opt<Emit> emit("emit", cl::desc("Print the module instead of writing a plan:"), cl::init(Emit::Plan),
                     cl::cat(outputCategory),
                     cl::values(clEnumValN(Emit::Import, "import", "after import"),
                                clEnumValN(Emit::NN, "nn", "after differentiation"),
                                clEnumValN(Emit::Sharded, "sharded", "after partitioning"),
                                clEnumValN(Emit::Pipelined, "pipelined", "after the pipeline"),
                                clEnumValN(Emit::Exec, "exec", "after memory planning")));

  cl::HideUnrelatedOptions({&layoutCategory, &modelCategory, &optimizerCategory, &precisionCategory, &outputCategory});
  cl::ParseCommandLineOptions(argc, argv, "shardc - compiles an ONNX model to a training plan for a mesh of ranks\n");

  o.model = model;
  o.emit = emit;
  if (globalBatch.getNumOccurrences())
    o.globalBatch = globalBatch;
  if (totalSteps.getNumOccurrences())
    o.totalSteps = totalSteps;
  if (weightDecay.getNumOccurrences())
    o.weightDecay = weightDecay;
  for (auto [option, target] :
       {std::pair(scaleInit.get(), &o.lossScaleInit), std::pair(growthFactor.get(), &o.lossScaleGrowthFactor),
        std::pair(backoffFactor.get(), &o.lossScaleBackoffFactor)})
    if (option->getNumOccurrences())
      *target = option->getValue();
  if (growthInterval.getNumOccurrences())
    o.lossScaleGrowthInterval = growthInterval;
  o.trainable.assign(trainable->begin(), trainable->end());
  o.freeze.assign(freeze->begin(), freeze->end());
  o.tie.assign(tie->begin(), tie->end());
  o.untie.assign(untie->begin(), untie->end());
  for (const std::string &text : dims) {
    auto parsed = parseNamedSizes(text);
    if (!parsed || parsed->sizes.size() != 1)
      return printError("option '--dim': expected NAME=N with a positive N, got '" + text + "' [option-shape]");
    o.dims.emplace_back(parsed->name, parsed->sizes.front());
  }
  for (const std::string &text : shapes) {
    auto parsed = parseNamedSizes(text);
    if (!parsed)
      return printError("option '--shape': expected NAME=AxB with positive sizes, got '" + text + "' [option-shape]");
    o.shapes.emplace_back(parsed->name, parsed->sizes);
  }
  if (dropout->getNumOccurrences() && !(o.dropout >= 0 && o.dropout < 1))
    return printError("option '--dropout': expected a probability in [0, 1) [option-range]");
  if (o.emit == Emit::Plan && o.output.empty())
    return printError("option '-o': the folder of the plan is missing [option-output]", "for example -o plan");

  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  // Users see messages, never IR.
  context.printOpOnDiagnostic(false);
  DiagnosticPrinter printer(context);
  bool isCompiled = succeeded(compile(context, o, outs(), hook));
  if (!isCompiled && !printer.hasErrors())
    printError("internal error: a phase failed without saying why");
  if (isCompiled && o.emit == Emit::Plan)
    printSummary(o, outs());
  return isCompiled ? 0 : 1;
}
