//===-- WidenedGemm.cpp - products of 16-bit floats in f32 --------------------------------------------------------===//

#include "runtime/device/cpu/WidenedGemm.h"

#include "runtime/base/Float16.h"

#include <algorithm>
#include <numeric>

namespace shardc::rt {
namespace {

constexpr int64_t kAlignment = 64;

/// An operand and its dense copy, in elements. What is broadcast over a batch dimension is copied once.
struct Copy {
  GemmOperand dense;
  struct Dim {
    int64_t size, original, dense;
  };
  std::vector<Dim> dims; // outermost first, merged where both continue
  int64_t elements = 1;
  int64_t offset = 0; // bytes in the workspace

  explicit Copy(const GemmOperand &operand) : dense(operand) {
    std::vector<size_t> order(operand.sizes.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::greater(), [&](size_t dim) { return operand.strides[dim]; });
    std::vector<Dim> inner; // innermost first
    for (size_t i = order.size(); i-- > 0;) {
      size_t dim = order[i];
      if (operand.strides[dim] == 0 && dim + 2 < order.size())
        dense.sizes[dim] = std::min<int64_t>(dense.sizes[dim], 1);
      int64_t size = dense.sizes[dim];
      dense.strides[dim] = elements;
      if (size != 1 && !inner.empty() && operand.strides[dim] == inner.back().original * inner.back().size)
        inner.back().size *= size;
      else if (size != 1)
        inner.push_back({size, operand.strides[dim], elements});
      elements *= size;
    }
    dims.assign(inner.rbegin(), inner.rend());
    if (dims.empty())
      dims.push_back({1, 1, 1});
  }
};

template <typename From, typename To>
void convertRun(int64_t count, const From *from, int64_t fromStride, To *to, int64_t toStride) {
  if (fromStride == 1 && toStride == 1)
    for (int64_t i = 0; i < count; ++i)
      to[i] = To(from[i]);
  else
    for (int64_t i = 0; i < count; ++i)
      to[i * toStride] = To(from[i * fromStride]);
}

template <typename T> void widen(const Copy::Dim *dim, const Copy::Dim *last, const T *from, float *to) {
  if (dim == last)
    return convertRun(dim->size, from, dim->original, to, dim->dense);
  for (int64_t i = 0; i < dim->size; ++i)
    widen(dim + 1, last, from + i * dim->original, to + i * dim->dense);
}

template <typename T> void narrow(const Copy::Dim *dim, const Copy::Dim *last, const float *from, T *to) {
  if (dim == last)
    return convertRun(dim->size, from, dim->dense, to, dim->original);
  for (int64_t i = 0; i < dim->size; ++i)
    narrow(dim + 1, last, from + i * dim->dense, to + i * dim->original);
}

template <typename T> class WidenedGemm final : public Gemm {
public:
  explicit WidenedGemm(const GemmSpec &spec)
      : a(spec.a), b(spec.b), c(spec.c), bias({{spec.c.sizes.back()}, {spec.biasStride}}), isResultF32(spec.widens),
        hasBias(spec.hasBias), accumulate(spec.accumulate), inner(spec) {
    inner.type = plan::F32;
    inner.widens = false;
    inner.a = reserve(a);
    inner.b = reserve(b);
    if (isResultF32)
      return;
    inner.c = reserve(c);
    if (!hasBias)
      return;
    reserve(bias);
    inner.biasStride = 1;
  }

  const GemmSpec &getInner() const { return inner; }
  void setProduct(std::unique_ptr<Gemm> prepared) { product = std::move(prepared); }

  int64_t workspaceBytes() const override { return copies + product->workspaceBytes(); }
  std::string implementation() const override { return "widened " + product->implementation(); }

  void run(const void *givenA, const void *givenB, void *givenC, const void *givenBias, void *workspace) override {
    char *memory = static_cast<char *>(workspace);
    auto at = [&](const Copy &copy) { return reinterpret_cast<float *>(memory + copy.offset); };
    auto widenAll = [&](const Copy &copy, const void *from) {
      widen(copy.dims.data(), &copy.dims.back(), static_cast<const T *>(from), at(copy));
      return at(copy);
    };
    const void *wideA = widenAll(a, givenA), *wideB = widenAll(b, givenB);
    if (isResultF32)
      return product->run(wideA, wideB, givenC, givenBias, memory + copies);
    if (accumulate)
      widenAll(c, givenC);
    product->run(wideA, wideB, at(c), hasBias ? widenAll(bias, givenBias) : nullptr, memory + copies);
    narrow(c.dims.data(), &c.dims.back(), at(c), static_cast<T *>(givenC));
  }

private:
  const GemmOperand &reserve(Copy &copy) {
    copy.offset = copies;
    copies += (copy.elements * static_cast<int64_t>(sizeof(float)) + kAlignment - 1) / kAlignment * kAlignment;
    return copy.dense;
  }

  Copy a, b, c, bias;
  bool isResultF32, hasBias, accumulate;
  GemmSpec inner;
  int64_t copies = 0;
  std::unique_ptr<Gemm> product;
};

template <typename T>
Result<std::unique_ptr<Gemm>>
prepare(const GemmSpec &spec, const std::function<Result<std::unique_ptr<Gemm>>(const GemmSpec &)> &prepareF32) {
  auto gemm = std::make_unique<WidenedGemm<T>>(spec);
  SHARDRT_ASSIGN(std::unique_ptr<Gemm> product, prepareF32(gemm->getInner()));
  gemm->setProduct(std::move(product));
  return std::unique_ptr<Gemm>(std::move(gemm));
}

} // namespace

Result<std::unique_ptr<Gemm>>
prepareWidenedGemm(const GemmSpec &spec,
                   const std::function<Result<std::unique_ptr<Gemm>>(const GemmSpec &)> &prepareF32) {
  return spec.type == plan::BF16 ? prepare<BFloat16>(spec, prepareF32) : prepare<Float16>(spec, prepareF32);
}

} // namespace shardc::rt
