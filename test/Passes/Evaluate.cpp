//===-- Evaluate.cpp - --test-evaluate: runs functions on the reference evaluator ---------------------------------===//
//
// Without a reference: evaluates `function` on one rank, with arguments made from `seed`, and prints its results.
// With `reference=FILE`, an earlier state of the same module: evaluates the file's `function` on one rank and the
// module's on all ranks of the mesh, and reports what differs. `global=NAME` names a function of this module instead.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "test/Passes/TestPasses.h"

#include "dialects/nn/EvaluateSharded.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/Pass.h"

#include "llvm/Support/Format.h"

using namespace mlir;
using namespace shardc;

namespace {

void print(const nn::Tensor &tensor, unsigned number, llvm::raw_ostream &os) {
  os << "result " << number << ": " << tensor.type << " [";
  auto comma = [&] { os << ", "; };
  if (tensor.isFloat())
    llvm::interleave(tensor.floats, [&](double x) { os << llvm::format("%.6g", x); }, comma);
  else
    llvm::interleave(tensor.integers, [&](int64_t x) { os << x; }, comma);
  os << "]\n";
}

struct EvaluatePass : PassWrapper<EvaluatePass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(EvaluatePass)

  EvaluatePass() = default;
  EvaluatePass(const EvaluatePass &other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "test-evaluate"; }
  StringRef getDescription() const override { return "Run a function on the reference evaluator"; }

  void runOnOperation() override {
    auto local = getOperation().lookupSymbol<func::FuncOp>(function);
    if (!local) {
      getOperation().emitError("has no function '") << function << "'";
      return signalPassFailure();
    }
    nn::ControlValues control{static_cast<uint64_t>(seed), 3, sampleOffset, 0.01, 1};
    LogicalResult result = reference.empty() && global.empty() ? runAlone(local, control) : compare(local, control);
    if (failed(result))
      signalPassFailure();
  }

  LogicalResult runAlone(func::FuncOp op, const nn::ControlValues &control) {
    FailureOr<nn::Tensors> results = nn::evaluate(op, nn::makeArguments(op, seed), control);
    if (failed(results))
      return failure();
    for (auto [number, tensor] : llvm::enumerate(*results))
      print(tensor, number, llvm::outs());
    return success();
  }

  LogicalResult compare(func::FuncOp local, const nn::ControlValues &control) {
    OwningOpRef<ModuleOp> file;
    ModuleOp module = getOperation();
    if (!reference.empty()) {
      file = parseSourceFile<ModuleOp>(reference, &getContext());
      if (!file)
        return failure();
      module = *file;
    }
    StringRef name = global.empty() ? StringRef(function) : StringRef(global);
    auto sequential = module.lookupSymbol<func::FuncOp>(name);
    if (!sequential)
      return module.emitError("has no function '") << name << "'";
    nn::Tensors arguments = nn::makeArguments(sequential, seed);
    if (failed(nn::checkSequentialEqualsParallel(sequential, local, arguments, control, tolerance)))
      return failure();
    llvm::outs() << "sequential = parallel: @" << function << "\n";
    return success();
  }

  Option<std::string> function{*this, "function", llvm::cl::desc("Name of the function"), llvm::cl::init("forward")};
  Option<std::string> global{*this, "global", llvm::cl::desc("Name of the sequential function of this module")};
  Option<std::string> reference{*this, "reference", llvm::cl::desc("File with the sequential function")};
  Option<int64_t> seed{*this, "seed", llvm::cl::desc("Seed of the arguments"), llvm::cl::init(1)};
  Option<int64_t> sampleOffset{*this, "sample-offset", llvm::cl::desc("First sample"), llvm::cl::init(0)};
  Option<double> tolerance{*this, "tolerance", llvm::cl::desc("Largest relative difference"), llvm::cl::init(1e-9)};
};

} // namespace

void shardc::test::registerEvaluatePass() { PassRegistration<EvaluatePass>(); }
