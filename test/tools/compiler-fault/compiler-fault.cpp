//===-- compiler-fault.cpp - shardc with one fault ----------------------------------------------------------------===//
//
// compiler-fault FAULT <shardc's arguments>: what shardc does, with the fault planted. Exit code 3 where the model or
// the layout has no place for it; `compiler-fault --list` lists them.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Faults.h"
#include "shardc/Driver/CommandLine.h"

#include "mlir/Pass/Pass.h"

#include <cstdio>
#include <cstdlib>

using namespace shardc::test;

namespace {

struct PlantPass : mlir::PassWrapper<PlantPass, mlir::OperationPass<mlir::ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlantPass)

  explicit PlantPass(const Fault &fault) : fault(fault) {}
  llvm::StringRef getArgument() const override { return "plant-fault"; }

  void runOnOperation() override {
    if (succeeded(fault.plant(getOperation())))
      return;
    std::fprintf(stderr, "error: there is no place for fault '%s'\n", fault.name.data());
    std::exit(3);
  }

  const Fault &fault;
};

} // namespace

int main(int argc, char **argv) {
  llvm::StringRef name = argc > 1 ? argv[1] : "";
  if (name == "--list") {
    for (const Fault &fault : getFaults())
      std::puts(fault.name.data());
    return 0;
  }
  for (const Fault &fault : getFaults()) {
    if (fault.name != name)
      continue;
    argv[1] = argv[0];
    return shardc::driver::runShardc(argc - 1, argv + 1, [&](shardc::driver::Emit phase, mlir::OpPassManager &passes) {
      if (phase == fault.phase)
        passes.addPass(std::make_unique<PlantPass>(fault));
    });
  }
  std::fprintf(stderr, "error: unknown fault '%s'; --list lists them\n", argc > 1 ? argv[1] : "");
  return 2;
}
