//===-- EmulatedKernels.h - GPU kernels compiled from text and run thread by thread, for tests --------------------===//
#ifndef SHARDC_TEST_UNIT_CODEGEN_EMULATEDKERNELS_H
#define SHARDC_TEST_UNIT_CODEGEN_EMULATEDKERNELS_H

#include "shardc/Codegen/EmitGpu.h"
#include "shardrt/emulator.h"

#include <memory>
#include <string>
#include <vector>

namespace shardc::test {

/// The memory behind an operand, for the check of accesses.
struct EmulatedOperand {
  void *data;
  size_t bytes;
};

/// PTX and emulated functions of a module given as text, run by the runtime's emulator.
class EmulatedKernels {
public:
  /// Null, with a failed expectation, where the module does not compile.
  static std::unique_ptr<EmulatedKernels> compile(const std::string &text, const std::string &arch = "sm_80");
  ~EmulatedKernels();

  const codegen::GpuLaunch &getLaunch(const std::string &name) const;
  const std::string &getPtx() const { return kernels.ptx; }
  const std::vector<codegen::GpuLaunch> &getLaunches() const { return kernels.launches; }

  /// Runs a kernel once; what is wrong about its accesses and meetings, or nothing.
  std::string run(const std::string &name, const std::vector<EmulatedOperand> &operands,
                  const shardrtControl &control = {}, unsigned seed = 0);

private:
  EmulatedKernels() = default;
  std::string path;
  void *handle = nullptr;
  codegen::GpuKernels kernels;
};

} // namespace shardc::test

#endif
