//===-- WidenedGemm.h - products of 16-bit floats in f32 ----------------------------------------------------------===//
//
// For CPUs without arithmetic on a 16-bit float: operands are widened into dense copies in the workspace and multiplied
// as f32; a 16-bit result is rounded once, at the end. The copies keep the order in which an operand's dimensions lie.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CPU_WIDENEDGEMM_H
#define SHARDC_RUNTIME_DEVICE_CPU_WIDENEDGEMM_H

#include "runtime/device/cpu/Gemm.h"

#include <functional>

namespace shardc::rt {

/// Prepares the product `spec` of bf16 or f16; `prepareF32` prepares the product of f32 that it comes to.
Result<std::unique_ptr<Gemm>>
prepareWidenedGemm(const GemmSpec &spec,
                   const std::function<Result<std::unique_ptr<Gemm>>(const GemmSpec &)> &prepareF32);

} // namespace shardc::rt

#endif
