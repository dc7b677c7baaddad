//===-- Ptx.cpp - LLVM's code generator for NVIDIA GPUs -----------------------------------------------------------===//

#include "Ptx.h"

#include "../ObjectFile.h"

#include "shardc/Codegen/EmitGpu.h"

#include "llvm-c/Target.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace shardc::codegen;

namespace {

llvm::Triple getTriple() { return llvm::Triple("nvptx64-nvidia-cuda"); }

const llvm::Target *lookUpTarget(std::string &error) {
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
  return llvm::TargetRegistry::lookupTarget(getTriple(), error);
}

} // namespace

bool shardc::codegen::isGpuArch(StringRef arch) {
  std::string error;
  const llvm::Target *target = lookUpTarget(error);
  if (!target || !arch.starts_with("sm_"))
    return false;
  std::unique_ptr<llvm::MCSubtargetInfo> generic(target->createMCSubtargetInfo(getTriple(), "", ""));
  return generic && generic->isCPUStringValid(arch);
}

LogicalResult shardc::codegen::compilePtx(llvm::Module &module, StringRef arch, ModuleOp at, std::string &ptx) {
  std::string error;
  const llvm::Target *target = lookUpTarget(error);
  if (!target)
    return at.emitError("internal error: no code generator for NVIDIA GPUs: ") << error;
  // Nothing may change the number of roundings: products and sums are fused only where the code says so.
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      getTriple(), arch, "", options, llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Aggressive));
  module.setTargetTriple(machine->getTargetTriple());
  module.setDataLayout(machine->createDataLayout());
  for (llvm::Function &function : module)
    function.addFnAttr(llvm::Attribute::NoUnwind);
  optimise(module, *machine);
  SmallVector<char> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager emission;
  if (machine->addPassesToEmitFile(emission, stream, nullptr, llvm::CodeGenFileType::AssemblyFile))
    return at.emitError("internal error: no PTX for '") << arch << "'";
  emission.run(module);
  ptx.assign(text.begin(), text.end());
  return success();
}
