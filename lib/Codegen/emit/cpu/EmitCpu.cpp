//===-- EmitCpu.cpp - kernels for the CPU as a shared library -----------------------------------------------------===//

#include "shardc/Codegen/EmitCpu.h"

#include "../KernelContract.h"
#include "../ObjectFile.h"

#include "dialects/dist/Dist.h"
#include "dialects/exec/Exec.h"
#include "shardc/Codegen/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::codegen;

LogicalResult shardc::codegen::emitCpuKernels(ModuleOp module, const CpuTarget &target, StringRef outputPath) {
  OwningOpRef<ModuleOp> kernels = copyKernels(module);
  MLIRContext *context = module.getContext();
  PassManager passes(context);
  passes.addPass(createBuildCpuKernelsPass());
  passes.addPass(createLowerCpuKernelsPass());
  if (failed(passes.run(*kernels)))
    return failure();

  registerBuiltinDialectTranslation(*context);
  registerLLVMDialectTranslation(*context);
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> llvmModule = translateModuleToLLVMIR(*kernels, llvmContext, "kernels");
  if (!llvmModule)
    return module.emitError("kernels could not be translated to LLVM IR");
  SmallVector<char> object;
  if (failed(compileObject(*llvmModule, target, module, object)))
    return failure();
  return linkSharedLibrary(object, outputPath, module);
}
