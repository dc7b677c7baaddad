//===-- EmitGpu.cpp - kernels for NVIDIA GPUs, and for the emulator -----------------------------------------------===//

#include "shardc/Codegen/EmitGpu.h"

#include "../KernelContract.h"
#include "../ObjectFile.h"
#include "Chunk.h"
#include "Ptx.h"

#include "shardc/Codegen/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

#include <map>
#include <numeric>

using namespace mlir;
using namespace shardc;
using namespace shardc::codegen;

namespace {

/// What the address of a view is a multiple of, at most 16: its buffer, the slots of that, and its offset in it.
int64_t getAlignment(Value view) {
  constexpr int64_t kMost = 16;
  auto buffer = exec::getBuffer(view);
  auto type = cast<MemRefType>(view.getType());
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  int64_t bytes = getElementBytes(type.getElementType());
  if (failed(type.getStridesAndOffset(strides, offset)) || ShapedType::isDynamic(offset))
    return bytes;
  int64_t place = buffer.getOffset() ? static_cast<int64_t>(*buffer.getOffset()) : bytes;
  int64_t slots = buffer.getSlots() > 1 && buffer.getSlotStride() ? static_cast<int64_t>(*buffer.getSlotStride()) : 0;
  return std::gcd(std::gcd(kMost, place), std::gcd(slots, offset * bytes));
}

/// Writes on each kernel of `kernels` what every call in the programs of `module` keeps to.
void addAlignments(ModuleOp module, ModuleOp kernels) {
  std::map<std::string, SmallVector<int64_t>> alignments;
  module.walk([&](exec::KernelOp call) {
    SmallVector<Value> views(call.getInputs());
    llvm::append_range(views, call.getOutputs());
    SmallVector<int64_t> &known = alignments[call.getKernel().str()];
    known.resize(views.size(), 0);
    for (auto [alignment, view] : llvm::zip(known, views))
      alignment = std::gcd(alignment, getAlignment(view));
  });
  for (auto def : kernels.getOps<exec::KernelDefOp>())
    if (auto found = alignments.find(def.getSymName().str()); found != alignments.end())
      def->setAttr(kAlignmentsAttr, DenseI64ArrayAttr::get(def.getContext(), found->second));
}

std::vector<GpuLaunch> getLaunches(ModuleOp kernels) {
  std::vector<GpuLaunch> launches;
  kernels.walk([&](gpu::GPUFuncOp function) {
    launches.push_back({function.getName().str(), (*function.getKnownGridSize())[0], (*function.getKnownBlockSize())[0],
                        function->getAttrOfType<IntegerAttr>(kSharedBytesAttr).getInt(),
                        function->hasAttr(kCooperativeAttr)});
  });
  return launches;
}

std::unique_ptr<llvm::Module> translate(Operation *module, llvm::LLVMContext &llvmContext) {
  MLIRContext *context = module->getContext();
  registerBuiltinDialectTranslation(*context);
  registerLLVMDialectTranslation(*context);
  registerGPUDialectTranslation(*context);
  registerNVVMDialectTranslation(*context);
  std::unique_ptr<llvm::Module> translated = translateModuleToLLVMIR(module, llvmContext, "kernels");
  if (!translated)
    emitError(module->getLoc(), "kernels could not be translated to LLVM IR");
  return translated;
}

LogicalResult emitPtx(ModuleOp kernels, StringRef arch, ModuleOp at, std::string &ptx) {
  PassManager passes(kernels.getContext());
  passes.addPass(createLowerGpuKernelsPass());
  if (failed(passes.run(kernels)))
    return failure();
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> module = translate(kernels, llvmContext);
  return success(module && succeeded(compilePtx(*module, arch, at, ptx)));
}

LogicalResult emitEmulator(ModuleOp kernels, const CpuTarget &target, ModuleOp at, StringRef outputPath) {
  PassManager passes(kernels.getContext());
  passes.addPass(createBuildEmulatorKernelsPass());
  passes.addPass(createLowerCpuKernelsPass());
  if (failed(passes.run(kernels)))
    return failure();
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> module = translate(kernels, llvmContext);
  SmallVector<char> object;
  if (!module || failed(compileObject(*module, target, at, object)))
    return failure();
  return linkSharedLibrary(object, outputPath, at);
}

} // namespace

LogicalResult shardc::codegen::emitGpuKernels(ModuleOp module, StringRef arch, const CpuTarget &emulator,
                                              StringRef emulatorPath, GpuKernels &result) {
  OwningOpRef<ModuleOp> kernels = copyKernels(module);
  addAlignments(module, *kernels);
  PassManager passes(module.getContext());
  passes.addPass(createBuildGpuKernelsPass());
  if (failed(passes.run(*kernels)))
    return failure();
  result.launches = getLaunches(*kernels);
  OwningOpRef<ModuleOp> emulated = kernels->clone();
  if (failed(emitPtx(*kernels, arch, module, result.ptx)))
    return failure();
  return emitEmulator(*emulated, emulator, module, emulatorPath);
}
