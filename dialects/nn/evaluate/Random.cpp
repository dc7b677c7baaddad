//===-- Random.cpp - evaluates random numbers and the control block -----------------------------------------------===//

#include "dialects/nn/evaluate/Families.h"

using namespace mlir;

namespace shardc::nn {

uint32_t philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t even = uint64_t{0xD2511F53} * counter[0], odd = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(odd >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(odd),
               static_cast<uint32_t>(even >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(even)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter[0];
}

namespace {

void evaluateUniform(RngUniformOp op, const ControlValues &control, const Tensor &base, Tensor &result) {
  std::array<uint32_t, 2> key{static_cast<uint32_t>(control.seed), static_cast<uint32_t>(control.seed >> 32)};
  forEachIndex(result.getShape(), [&](ArrayRef<int64_t> index, int64_t number) {
    uint64_t element = base.integers[0];
    for (auto [position, stride] : llvm::zip(index, op.getStrides()))
      element += position * stride;
    std::array<uint32_t, 4> counter{static_cast<uint32_t>(element), static_cast<uint32_t>(element >> 32),
                                    static_cast<uint32_t>(control.step), static_cast<uint32_t>(op.getId())};
    result.floats[number] = (philox(counter, key) >> 8) * 0x1p-24;
  });
}

void evaluateControl(ControlOp op, const ControlValues &control, Tensor &result) {
  switch (op.getField()) {
  case ControlField::Seed:
    result.integers[0] = static_cast<int64_t>(control.seed);
    return;
  case ControlField::Step:
    result.integers[0] = control.step;
    return;
  case ControlField::SampleOffset:
    result.integers[0] = control.sampleOffset;
    return;
  case ControlField::LearningRate:
    result.floats[0] = control.learningRate;
    return;
  case ControlField::LossScale:
    result.floats[0] = control.lossScale;
    return;
  }
}

} // namespace

bool evaluateRandom(const Evaluation &evaluation) {
  if (auto op = dyn_cast<RngUniformOp>(evaluation.op))
    return evaluateUniform(op, evaluation.control, *evaluation.operands[0], evaluation.results[0]), true;
  if (auto op = dyn_cast<ControlOp>(evaluation.op))
    return evaluateControl(op, evaluation.control, evaluation.results[0]), true;
  return false;
}

} // namespace shardc::nn
