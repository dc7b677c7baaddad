//===-- Instructions.h - prepared instructions --------------------------------------------------------------------===//
//
// What a rank runs: the instructions of a plan, with everything looked up that can be before the first step. Only the
// addresses are left, which depend on the slots that the running schedule entry's registers select.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_EXECUTOR_INSTRUCTIONS_H
#define SHARDC_RUNTIME_EXECUTOR_INSTRUCTIONS_H

#include "runtime/comm/Communicator.h"
#include "runtime/device/Kernels.h"
#include "runtime/device/cpu/Gemm.h"
#include "runtime/device/cpu/ThreadPool.h"
#include "runtime/format/Query.h"
#include "runtime/io/Dataset.h"
#include "shardrt/control.h"

#include <memory>
#include <span>

namespace shardc::rt {

/// Register of a schedule entry.
struct SlotRegister {
  int64_t microBatch = 0;
  int64_t slot = 0;
};

/// What instructions of a rank run with.
struct RunContext {
  char *arena = nullptr;
  std::span<const SlotRegister> registers; // of the running entry
  shardrtControl *control = nullptr;
  ThreadPool *threads = nullptr;
  Communicator *communicator = nullptr;
  void *workspace = nullptr; // of matrix products
  const Dataset *dataset = nullptr;
  std::span<const int64_t> samples; // of the step, over all replicas
  int64_t microBatchSamples = 0;    // of one replica
  int64_t replicas = 1;
  int64_t replica = 0;
};

/// Where an operand lies.
struct Address {
  int64_t base = 0;       // bytes in the arena, of slot 0
  int64_t slotStride = 0; // bytes
  int registerIndex = -1; // -1: slot 0

  Address() = default;
  Address(const plan::Program &program, const plan::Operand &operand);

  char *resolve(const RunContext &context) const {
    int64_t slot = registerIndex < 0 ? 0 : context.registers[registerIndex].slot;
    return context.arena + base + slot * slotStride;
  }
};

class Instruction {
public:
  virtual ~Instruction() = default;
  virtual Status run(const RunContext &context) = 0;
};

/// What preparing instructions needs.
struct PrepareContext {
  const plan::Plan &plan;
  const plan::Program &program;
  const MeshView &mesh;
  int64_t rank;
  const Kernels &kernels;
  GemmCache &gemms;
};

/// Prepares an instruction of a plan that checkPlan accepts.
Result<std::unique_ptr<Instruction>> prepareInstruction(const PrepareContext &context,
                                                        const plan::Instruction &instruction);

} // namespace shardc::rt

#endif
