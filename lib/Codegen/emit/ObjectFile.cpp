//===-- ObjectFile.cpp - LLVM's optimiser and code generator ------------------------------------------------------===//

#include "ObjectFile.h"

#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir;
using namespace shardc::codegen;

namespace {

std::string joinFeatures(const CpuTarget &target) { return llvm::join(target.features, ","); }

const llvm::Target *lookUpTarget(const llvm::Triple &triple, std::string &error) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  return llvm::TargetRegistry::lookupTarget(triple, error);
}

llvm::Triple getTriple() { return llvm::Triple(llvm::sys::getDefaultTargetTriple()); }

/// The subtarget of `target`; null where LLVM does not know the CPU.
std::unique_ptr<llvm::MCSubtargetInfo> getSubtarget(const llvm::Target &llvmTarget, const CpuTarget &target) {
  // An unknown name would be reported on the error stream: ask first.
  std::unique_ptr<llvm::MCSubtargetInfo> generic(llvmTarget.createMCSubtargetInfo(getTriple(), "", ""));
  if (!generic || !generic->isCPUStringValid(target.cpu))
    return nullptr;
  return std::unique_ptr<llvm::MCSubtargetInfo>(
      llvmTarget.createMCSubtargetInfo(getTriple(), target.cpu, joinFeatures(target)));
}

/// Nothing may call a library, and nothing may change the order or number of roundings.
std::unique_ptr<llvm::TargetMachine> createMachine(const CpuTarget &target, ModuleOp at) {
  std::string error;
  const llvm::Target *llvmTarget = lookUpTarget(getTriple(), error);
  if (!llvmTarget) {
    at.emitError("internal error: no code generator for this machine: ") << error;
    return nullptr;
  }
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget = getSubtarget(*llvmTarget, target);
  if (!subtarget) {
    at.emitError("unknown CPU '") << target.cpu << "', expected a name that LLVM knows, such as x86-64-v3 [target-cpu]";
    return nullptr;
  }
  if (getTriple().isX86() && !subtarget->checkFeatures("+fma")) {
    at.emitError("CPU '") << target.cpu << "' has no fused multiply-add, expected x86-64-v3 or newer [target-cpu]";
    return nullptr;
  }
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(
      llvmTarget->createTargetMachine(getTriple(), target.cpu, joinFeatures(target), options, llvm::Reloc::PIC_,
                                      std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

/// The features that code for a machine may come to use, as machines name them.
constexpr StringRef kFeatures[] = {
    "sse4.2",     "avx",        "avx2",       "fma",         "bmi",          "bmi2",
    "f16c",       "avx512f",    "avx512cd",   "avx512bw",    "avx512dq",     "avx512vl",
    "avx512ifma", "avx512vbmi", "avx512vnni", "avx512vbmi2", "avx512bitalg", "avx512vpopcntdq",
    "avx512bf16", "avx512fp16"};

} // namespace

void shardc::codegen::optimise(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  llvm::PassBuilder builder(&machine, tuning);
  llvm::TargetLibraryInfoImpl noLibrary(module.getTargetTriple());
  noLibrary.disableAllFunctions();
  functions.registerPass([&] { return llvm::TargetLibraryAnalysis(noLibrary); });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3).run(module, modules);
}

CpuTarget shardc::codegen::getHostTarget() {
  CpuTarget target{llvm::sys::getHostCPUName().str(), {}};
  for (const auto &feature : llvm::sys::getHostCPUFeatures())
    target.features.push_back((feature.getValue() ? "+" : "-") + feature.getKey().str());
  llvm::sort(target.features);
  return target;
}

std::vector<std::string> shardc::codegen::getRequiredFeatures(const CpuTarget &target) {
  std::string error;
  std::vector<std::string> features;
  const llvm::Target *llvmTarget = lookUpTarget(getTriple(), error);
  auto subtarget = llvmTarget ? getSubtarget(*llvmTarget, target) : nullptr;
  if (!subtarget || !getTriple().isX86())
    return features;
  for (StringRef feature : kFeatures)
    if (subtarget->checkFeatures(("+" + feature).str()))
      features.push_back(feature.str());
  return features;
}

LogicalResult shardc::codegen::compileObject(llvm::Module &module, const CpuTarget &target, ModuleOp at,
                                             SmallVectorImpl<char> &object) {
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(target, at);
  if (!machine)
    return failure();
  module.setTargetTriple(machine->getTargetTriple());
  module.setDataLayout(machine->createDataLayout());
  for (llvm::Function &function : module) {
    function.addFnAttr(llvm::Attribute::NoUnwind);
    function.addFnAttr("no-builtins");
  }
  optimise(module, *machine);
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager emission;
  if (machine->addPassesToEmitFile(emission, stream, nullptr, llvm::CodeGenFileType::ObjectFile))
    return at.emitError("internal error: no object code for this machine");
  emission.run(module);
  return success();
}
