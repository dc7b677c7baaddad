//===-- DedupKernels.cpp - keeps one definition of equal kernels --------------------------------------------------===//

#include "shardc/Codegen/Passes.h"

#include "llvm/ADT/StringMap.h"

namespace shardc::codegen {
#define GEN_PASS_DEF_DEDUPKERNELSPASS
#include "shardc/Codegen/Passes.h.inc"
} // namespace shardc::codegen

using namespace mlir;
using namespace shardc;

namespace {

/// Names, attributes and structure of a kernel as text, without its symbol and locations. Kernels are small, and equal
/// texts mean equal kernels.
std::string getText(exec::KernelDefOp kernel) {
  exec::KernelDefOp copy = cast<exec::KernelDefOp>(kernel->clone());
  copy.setSymName("kernel");
  copy->walk([](Operation *op) { op->removeAttr(nn::kOriginAttr); });
  std::string text;
  llvm::raw_string_ostream stream(text);
  copy->print(stream, OpPrintingFlags().useLocalScope());
  copy->erase();
  return text;
}

struct DedupKernelsPass : codegen::impl::DedupKernelsPassBase<DedupKernelsPass> {
  using DedupKernelsPassBase::DedupKernelsPassBase;

  void runOnOperation() override {
    llvm::StringMap<StringAttr> nameOfText, nameOfOld;
    int numKernels = 0;
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<exec::KernelDefOp>())) {
      auto [it, isNew] = nameOfText.try_emplace(getText(kernel));
      if (isNew)
        it->second = StringAttr::get(&getContext(), "k" + Twine(numKernels++));
      nameOfOld[kernel.getSymName()] = it->second;
      if (isNew)
        kernel.setSymNameAttr(it->second);
      else
        kernel.erase();
    }
    getOperation()->walk([&](exec::KernelOp call) {
      if (StringAttr name = nameOfOld.lookup(call.getKernel()))
        call.setKernelAttr(FlatSymbolRefAttr::get(name));
    });
  }
};

} // namespace
