//===-- CheckFinite.cpp - where a NaN or an infinity comes from ---------------------------------------------------===//

#include "runtime/executor/CheckFinite.h"

#include "runtime/base/Float16.h"

#include <cmath>
#include <span>

namespace shardc::rt {
namespace {

template <typename T> NotFinite classify(const char *element) {
  auto value = static_cast<double>(*reinterpret_cast<const T *>(element));
  return std::isnan(value) ? NotFinite::NaN : std::isinf(value) ? NotFinite::Infinity : NotFinite::None;
}

/// The worst element of a strided view.
template <typename T> NotFinite scan(std::span<const int64_t> sizes, std::span<const int64_t> strides, const char *at) {
  if (sizes.empty())
    return classify<T>(at);
  NotFinite worst = NotFinite::None;
  for (int64_t i = 0; i < sizes[0] && worst != NotFinite::NaN; ++i)
    worst = std::max(
        worst, scan<T>(sizes.subspan(1), strides.subspan(1), at + i * strides[0] * static_cast<int64_t>(sizeof(T))));
  return worst;
}

NotFinite scanOperand(const plan::Program &program, const plan::Operand &operand, const RunContext &context) {
  std::span<const int64_t> sizes(operand.sizes().data(), operand.sizes_size());
  std::span<const int64_t> strides(operand.strides().data(), operand.strides_size());
  const char *at = Address(program, operand).resolve(context);
  switch (program.buffers(operand.buffer()).type()) {
  case plan::F32:
    return scan<float>(sizes, strides, at);
  case plan::F64:
    return scan<double>(sizes, strides, at);
  case plan::BF16:
    return scan<BFloat16>(sizes, strides, at);
  case plan::F16:
    return scan<Float16>(sizes, strides, at);
  default:
    return NotFinite::None;
  }
}

/// Calls `visit` with each view that an instruction writes. What is received was looked at by the sender.
template <typename Visit> void forEachWrite(const plan::Instruction &instruction, Visit visit) {
  for (const plan::Operand &operand : instruction.kernel().writes())
    visit(operand);
  if (instruction.has_gemm())
    visit(instruction.gemm().c());
  if (instruction.has_collective())
    visit(instruction.collective().output());
  if (instruction.has_load_input())
    visit(instruction.load_input().value());
  if (instruction.has_copy())
    visit(instruction.copy().to());
}

} // namespace

NotFinite findNotFinite(const plan::Program &program, const plan::Instruction &instruction, const RunContext &context,
                        std::string &buffer) {
  NotFinite worst = NotFinite::None;
  forEachWrite(instruction, [&](const plan::Operand &operand) {
    NotFinite found = scanOperand(program, operand, context);
    if (found > worst) {
      worst = found;
      buffer = program.buffers(operand.buffer()).name();
    }
  });
  return worst;
}

} // namespace shardc::rt
