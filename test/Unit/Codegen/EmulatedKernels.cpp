//===-- EmulatedKernels.cpp - GPU kernels compiled from text and run thread by thread, for tests ------------------===//

#include "EmulatedKernels.h"

#include "dialects/exec/Exec.h"
#include "runtime/device/emulator/EmulatedKernels.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <dlfcn.h>

using namespace shardc;
using namespace shardc::test;

std::unique_ptr<EmulatedKernels> EmulatedKernels::compile(const std::string &text, const std::string &arch) {
  mlir::DialectRegistry registry;
  registry.insert<dist::DistDialect, nn::NNDialect, exec::ExecDialect>();
  mlir::MLIRContext context(registry);
  std::string messages;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    messages += diagnostic.str() + "\n";
    return mlir::success();
  });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  llvm::SmallString<128> path;
  llvm::sys::fs::createTemporaryFile("kernels", "so", path);
  std::unique_ptr<EmulatedKernels> result(new EmulatedKernels);
  result->path = path.str().str();
  if (module &&
      mlir::succeeded(codegen::emitGpuKernels(*module, arch, codegen::getHostTarget(), result->path, result->kernels)))
    result->handle = dlopen(result->path.c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_EQ(messages, "");
  return result->handle ? std::move(result) : nullptr;
}

EmulatedKernels::~EmulatedKernels() {
  if (handle)
    dlclose(handle);
  llvm::sys::fs::remove(path);
}

const codegen::GpuLaunch &EmulatedKernels::getLaunch(const std::string &name) const {
  auto found = std::find_if(kernels.launches.begin(), kernels.launches.end(),
                            [&](const codegen::GpuLaunch &launch) { return launch.name == name; });
  EXPECT_NE(found, kernels.launches.end()) << name;
  return *found;
}

std::string EmulatedKernels::run(const std::string &name, const std::vector<EmulatedOperand> &operands,
                                 const shardrtControl &control, unsigned seed) {
  auto kernel = reinterpret_cast<shardrtEmulatedKernel>(dlsym(handle, name.c_str()));
  if (!kernel)
    return "no kernel " + name;
  const codegen::GpuLaunch &launch = getLaunch(name);
  std::vector<void *> pointers;
  std::vector<std::span<const char>> slots;
  for (const EmulatedOperand &operand : operands) {
    pointers.push_back(operand.data);
    slots.emplace_back(static_cast<const char *>(operand.data), operand.bytes);
  }
  rt::EmulatedKernel emulated{kernel,
                              name,
                              static_cast<uint32_t>(launch.grid),
                              static_cast<uint32_t>(launch.block),
                              static_cast<uint32_t>(launch.sharedBytes),
                              launch.isCooperative};
  return rt::runEmulated(emulated, {pointers, slots, /*reads=*/0}, control, seed).message();
}
