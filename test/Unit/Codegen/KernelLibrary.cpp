//===-- KernelLibrary.cpp - kernels compiled from text and loaded, for tests --------------------------------------===//

#include "KernelLibrary.h"

#include "dialects/exec/Exec.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <random>

using namespace shardc;
using namespace shardc::test;

std::unique_ptr<KernelLibrary> KernelLibrary::compile(const std::string &text, const codegen::CpuTarget &target,
                                                      std::string *errors) {
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
  std::unique_ptr<KernelLibrary> library(new KernelLibrary);
  library->path = path.str().str();
  if (module && mlir::succeeded(codegen::emitCpuKernels(*module, target, path)))
    library->handle = dlopen(library->path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (errors)
    *errors = messages;
  else
    EXPECT_EQ(messages, "");
  return library->handle ? std::move(library) : nullptr;
}

std::unique_ptr<KernelLibrary> KernelLibrary::compile(const std::string &text) {
  return compile(text, codegen::getHostTarget());
}

KernelLibrary::~KernelLibrary() {
  if (handle)
    dlclose(handle);
  llvm::sys::fs::remove(path);
}

void KernelLibrary::run(const std::string &name, const std::vector<const void *> &operands, int64_t items,
                        const shardrtControl &control, int64_t chunk) {
  auto kernel = reinterpret_cast<shardrtKernel>(dlsym(handle, name.c_str()));
  ASSERT_NE(kernel, nullptr);
  std::vector<void *> pointers;
  for (const void *operand : operands)
    pointers.push_back(const_cast<void *>(operand));
  for (int64_t begin = 0; begin < items; begin += chunk)
    kernel(pointers.data(), &control, begin, std::min(items, begin + chunk));
}

std::string KernelLibrary::read() const {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : "";
}

std::string shardc::test::defineKernel(const std::string &name, const std::string &head, const std::string &types,
                                       const std::string &arguments, const std::string &body,
                                       const std::string &extra) {
  return "exec.kernel_def @" + name + " " + head + " attributes {operand_types = [" + types + "]" + extra +
         "} {\n^bb0(" + arguments + "):\n" + body + "\n}\n";
}

std::vector<float> shardc::test::makeValues(size_t count, unsigned seed, float low, float high) {
  std::mt19937 generator(seed);
  std::vector<float> values(count);
  for (float &value : values)
    value = low + (high - low) * static_cast<float>(generator() >> 8) * 0x1p-24f;
  return values;
}

bool shardc::test::haveEqualBits(const std::vector<float> &a, const std::vector<float> &b) {
  if (a.size() != b.size())
    return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (std::memcmp(&a[i], &b[i], sizeof(float)) != 0 && !(std::isnan(a[i]) && std::isnan(b[i])))
      return false;
  return true;
}

float shardc::test::sumInLanes(const float *values, size_t count, size_t run) {
  float lanes[16] = {};
  for (size_t i = 0; i < count; ++i)
    lanes[i % run % 16] += values[i];
  for (int half = 8; half >= 1; half /= 2)
    for (int lane = 0; lane < half; ++lane)
      lanes[lane] += lanes[lane + half];
  return lanes[0];
}
