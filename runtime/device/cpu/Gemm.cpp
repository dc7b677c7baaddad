//===-- Gemm.cpp - matrix products on strided views ---------------------------------------------------------------===//

#include "runtime/device/cpu/Gemm.h"

#include "runtime/device/cpu/GemmLayout.h"
#include "runtime/device/cpu/StridedCopy.h"
#include "runtime/device/cpu/WidenedGemm.h"
#include "runtime/format/Query.h"

#include <fmt/format.h>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>

// Debian's oneDNN runs on libgomp. Our own code uses no OpenMP; this is the setting of the calling thread.
extern "C" void omp_set_num_threads(int threads);

namespace shardc::rt {

struct GemmCache::Library {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
};

namespace {

//===-- Plain loops -----------------------------------------------------------------------------------------------===//

/// Calls `visit` with the element offsets of a, b and c for each index of the batch dimensions.
template <typename Visit>
void forEachBatch(std::span<const GemmBatchDim> batch, int64_t a, int64_t b, int64_t c, Visit visit) {
  if (batch.empty())
    return visit(a, b, c);
  for (int64_t i = 0; i < batch[0].size; ++i)
    forEachBatch(batch.subspan(1), a + i * batch[0].a, b + i * batch[0].b, c + i * batch[0].c, visit);
}

/// Any type, any layout, slow.
template <typename T> class LoopGemm final : public Gemm {
public:
  LoopGemm(GemmLayout layout, const GemmSpec &spec)
      : layout(std::move(layout)), biasStride(spec.biasStride), accumulate(spec.accumulate) {}

  int64_t workspaceBytes() const override { return 0; }
  std::string implementation() const override { return "loop"; }

  void run(const void *a, const void *b, void *c, const void *bias, void *) override {
    if (layout.swapped)
      std::swap(a, b);
    forEachBatch(layout.batch, 0, 0, 0, [&](int64_t atA, int64_t atB, int64_t atC) {
      matrix(static_cast<const T *>(a) + atA, static_cast<const T *>(b) + atB, static_cast<T *>(c) + atC,
             static_cast<const T *>(bias));
    });
  }

private:
  void matrix(const T *a, const T *b, T *c, const T *bias) const {
    for (int64_t i = 0; i < layout.m; ++i)
      for (int64_t j = 0; j < layout.n; ++j) {
        T sum = 0;
        for (int64_t l = 0; l < layout.k; ++l)
          sum += a[i * layout.a.rowStride + l * layout.a.columnStride] *
                 b[l * layout.b.rowStride + j * layout.b.columnStride];
        if (bias)
          sum += bias[j * biasStride];
        T &result = c[i * layout.c.rowStride + j * layout.c.columnStride];
        result = accumulate ? result + sum : sum;
      }
  }

  GemmLayout layout;
  int64_t biasStride;
  bool accumulate;
};

//===-- oneDNN ----------------------------------------------------------------------------------------------------===//

/// An operand that oneDNN gets in another layout than the caller's.
struct Packing {
  StridedCopy in, out;
  int64_t offset = 0; // bytes in the workspace
};

constexpr int64_t kAlignment = 64;

dnnl::memory::data_type libraryType(plan::ElementType type) {
  return type == plan::BF16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
}

class DnnlGemm final : public Gemm {
public:
  DnnlGemm(GemmLayout layout, const GemmSpec &spec, const dnnl::engine &engine, dnnl::stream &stream)
      : layout(std::move(layout)), hasBias(spec.hasBias), accumulate(spec.accumulate), factorType(spec.type),
        resultType(spec.widens ? plan::F32 : spec.type), stream(stream) {
    pack(spec);
    createPrimitive(engine);
    createMemory(engine);
  }

  int64_t workspaceBytes() const override { return workspace; }
  std::string implementation() const override { return implementationName; }

  void run(const void *a, const void *b, void *c, const void *bias, void *workspaceMemory) override {
    char *memory = static_cast<char *>(workspaceMemory);
    if (layout.swapped)
      std::swap(a, b);
    packInput(packedA, memory, a);
    packInput(packedB, memory, b);
    packInput(packedBias, memory, bias);
    void *result = c;
    if (packedC) {
      result = memory + packedC->offset;
      if (accumulate)
        packedC->in.run(c, result);
    }
    if (biasMemory)
      biasMemory.set_data_handle(const_cast<void *>(bias));
    scratchMemory.set_data_handle(memory + scratchOffset);
    int64_t factorBytes = elementBytes(factorType), resultBytes = elementBytes(resultType);
    for (const auto &[atA, atB, atC] : offsets)
      execute(static_cast<const char *>(a) + atA * factorBytes, static_cast<const char *>(b) + atB * factorBytes,
              static_cast<char *>(result) + atC * resultBytes);
    if (packedC)
      packedC->out.run(result, c);
  }

private:
  int64_t reserve(int64_t bytes) {
    int64_t offset = workspace;
    workspace += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return offset;
  }

  static void packInput(const std::optional<Packing> &packing, char *memory, const void *&operand) {
    if (!packing)
      return;
    packing->in.run(operand, memory + packing->offset);
    operand = memory + packing->offset;
  }

  void pack(const GemmSpec &spec) {
    if (!isPlain(layout.a, layout.m, layout.k))
      packedA = packMatrix(layout.a, &GemmBatchDim::a, layout.m, layout.k, factorType);
    if (!isPlain(layout.b, layout.k, layout.n))
      packedB = packMatrix(layout.b, &GemmBatchDim::b, layout.k, layout.n, factorType);
    if (!isPlainResult(layout.c, layout.m, layout.n))
      packedC = packMatrix(layout.c, &GemmBatchDim::c, layout.m, layout.n, resultType);
    if (spec.hasBias && spec.biasStride != 1 && layout.n != 1) {
      int64_t one = 1;
      packedBias.emplace();
      packedBias->in = StridedCopy({&layout.n, 1}, {&spec.biasStride, 1}, {&one, 1}, elementBytes(resultType));
      packedBias->offset = reserve(layout.n * elementBytes(resultType));
    }
  }

  /// Plans a dense row-major copy of an operand in the workspace, and makes the layout describe that copy.
  Packing packMatrix(GemmMatrix &matrix, int64_t GemmBatchDim::*stride, int64_t rows, int64_t columns,
                     plan::ElementType type) {
    std::vector<int64_t> sizes, from, to;
    for (const GemmBatchDim &dim : layout.batch)
      if (dim.*stride != 0) {
        sizes.push_back(dim.size);
        from.push_back(dim.*stride);
      }
    sizes.insert(sizes.end(), {rows, columns});
    from.insert(from.end(), {matrix.rowStride, matrix.columnStride});
    to.resize(sizes.size());
    int64_t count = 1;
    for (size_t i = sizes.size(); i-- > 0; count *= sizes[i])
      to[i] = count;
    size_t at = 0;
    for (GemmBatchDim &dim : layout.batch)
      if (dim.*stride != 0)
        dim.*stride = to[at++];
    matrix = {std::max<int64_t>(columns, 1), 1};
    Packing packing;
    packing.in = StridedCopy(sizes, from, to, elementBytes(type));
    packing.out = StridedCopy(sizes, to, from, elementBytes(type));
    packing.offset = reserve(count * elementBytes(type));
    return packing;
  }

  /// Dimensions and strides of an operand with the innermost `inside` batch dimensions.
  dnnl::memory::desc describe(size_t inside, int64_t GemmBatchDim::*stride, const GemmMatrix &matrix, int64_t rows,
                              int64_t columns, plan::ElementType type) const {
    dnnl::memory::dims sizes, strides;
    for (size_t i = layout.batch.size() - inside; i < layout.batch.size(); ++i) {
      const GemmBatchDim &dim = layout.batch[i];
      sizes.push_back(dim.*stride == 0 ? 1 : dim.size);
      strides.push_back(dim.*stride == 0 ? rows * columns : dim.*stride);
    }
    sizes.insert(sizes.end(), {rows, columns});
    strides.insert(strides.end(), {matrix.rowStride, matrix.columnStride});
    return dnnl::memory::desc(sizes, libraryType(type), strides);
  }

  dnnl::matmul::primitive_desc describePrimitive(const dnnl::engine &engine, size_t inside) {
    aDesc = describe(inside, &GemmBatchDim::a, layout.a, layout.m, layout.k, factorType);
    bDesc = describe(inside, &GemmBatchDim::b, layout.b, layout.k, layout.n, factorType);
    cDesc = describe(inside, &GemmBatchDim::c, layout.c, layout.m, layout.n, resultType);
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    if (accumulate) {
      dnnl::post_ops sum;
      sum.append_sum(1.0f);
      attributes.set_post_ops(sum);
    }
    if (!hasBias)
      return dnnl::matmul::primitive_desc(dnnl::matmul::desc(aDesc, bDesc, cDesc), attributes, engine);
    dnnl::memory::dims sizes(inside + 2, 1), strides(inside + 2, layout.n);
    sizes.back() = layout.n;
    strides.back() = 1;
    biasDesc = dnnl::memory::desc(sizes, libraryType(resultType), strides);
    return dnnl::matmul::primitive_desc(dnnl::matmul::desc(aDesc, bDesc, biasDesc, cDesc), attributes, engine);
  }

  /// Hands as many batch dimensions to oneDNN as it has a fast implementation for.
  void createPrimitive(const dnnl::engine &engine) {
    for (size_t inside = std::min<size_t>(layout.batch.size(), DNNL_MAX_NDIMS - 2);; --inside) {
      dnnl::matmul::primitive_desc description = describePrimitive(engine, inside);
      implementationName = description.impl_info_str();
      if (inside > 0 && implementationName.find("ref") != std::string::npos)
        continue;
      scratchDesc = description.scratchpad_desc();
      primitive = dnnl::matmul(description);
      size_t outside = layout.batch.size() - inside;
      forEachBatch(std::span(layout.batch).first(outside), 0, 0, 0,
                   [&](int64_t a, int64_t b, int64_t c) { offsets.push_back({a, b, c}); });
      return;
    }
  }

  void createMemory(const dnnl::engine &engine) {
    scratchOffset = reserve(scratchDesc.get_size());
    aMemory = dnnl::memory(aDesc, engine, nullptr);
    bMemory = dnnl::memory(bDesc, engine, nullptr);
    cMemory = dnnl::memory(cDesc, engine, nullptr);
    scratchMemory = dnnl::memory(scratchDesc, engine, nullptr);
    arguments = {{DNNL_ARG_SRC, aMemory.get()},
                 {DNNL_ARG_WEIGHTS, bMemory.get()},
                 {DNNL_ARG_DST, cMemory.get()},
                 {DNNL_ARG_SCRATCHPAD, scratchMemory.get()}};
    if (hasBias) {
      biasMemory = dnnl::memory(biasDesc, engine, nullptr);
      arguments.push_back({DNNL_ARG_BIAS, biasMemory.get()});
    }
  }

  void execute(const char *a, const char *b, char *c) {
    aMemory.set_data_handle(const_cast<char *>(a));
    bMemory.set_data_handle(const_cast<char *>(b));
    cMemory.set_data_handle(c);
    // The C call, since the C++ one copies its arguments to the heap.
    dnnl_status_t status =
        dnnl_primitive_execute(primitive.get(), stream.get(), static_cast<int>(arguments.size()), arguments.data());
    if (status != dnnl_success)
      throw dnnl::error(status, "oneDNN could not run a matrix product");
  }

  GemmLayout layout;
  bool hasBias, accumulate;
  plan::ElementType factorType, resultType;
  dnnl::stream &stream;
  std::optional<Packing> packedA, packedB, packedC, packedBias;
  int64_t workspace = 0, scratchOffset = 0;
  struct Offsets {
    int64_t a, b, c;
  };
  std::vector<Offsets> offsets; // elements, one for each run of the primitive
  std::string implementationName;
  dnnl::memory::desc aDesc, bDesc, cDesc, biasDesc, scratchDesc;
  dnnl::matmul primitive;
  dnnl::memory aMemory, bMemory, cMemory, biasMemory, scratchMemory;
  std::vector<dnnl_exec_arg_t> arguments;
};

/// A product without elements.
class EmptyGemm final : public Gemm {
public:
  void run(const void *, const void *, void *, const void *, void *) override {}
  int64_t workspaceBytes() const override { return 0; }
  std::string implementation() const override { return "empty"; }
};

} // namespace

bool hasArithmetic(plan::ElementType type) {
  auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  constexpr auto bf16 = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_bf16);
  return type == plan::BF16 && (isa & bf16) == bf16;
}

GemmCache::GemmCache(int threads) {
  omp_set_num_threads(threads);
  library = std::make_unique<Library>();
}

GemmCache::~GemmCache() = default;

static Result<std::unique_ptr<Gemm>> prepareGemm(const GemmSpec &spec, const dnnl::engine &engine,
                                                 dnnl::stream &stream) {
  GemmLayout layout = normalizeGemm(spec);
  if (layout.m == 0 || layout.n == 0 || layout.batchCount() == 0)
    return std::unique_ptr<Gemm>(std::make_unique<EmptyGemm>());
  if (spec.type == plan::F64)
    return std::unique_ptr<Gemm>(std::make_unique<LoopGemm<double>>(std::move(layout), spec));
  bool isLow = spec.type == plan::BF16 || spec.type == plan::F16;
  if (!isLow && spec.type != plan::F32)
    return Status(StatusKind::Unsupported,
                  fmt::format("products of type {}, expected f32, f64, bf16 or f16", elementName(spec.type)));
  auto prepareF32 = [&](const GemmSpec &inner) { return prepareGemm(inner, engine, stream); };
  if (isLow && (!hasArithmetic(spec.type) || layout.k == 0))
    return prepareWidenedGemm(spec, prepareF32);
  if (layout.k == 0)
    return std::unique_ptr<Gemm>(std::make_unique<LoopGemm<float>>(std::move(layout), spec));
  try {
    return std::unique_ptr<Gemm>(std::make_unique<DnnlGemm>(layout, spec, engine, stream));
  } catch (const dnnl::error &) {
    if (isLow)
      return prepareWidenedGemm(spec, prepareF32);
    return std::unique_ptr<Gemm>(std::make_unique<LoopGemm<float>>(std::move(layout), spec));
  }
}

Result<Gemm *> GemmCache::get(const GemmSpec &spec) {
  auto found = gemms.find(spec);
  if (found != gemms.end())
    return found->second.get();
  SHARDRT_ASSIGN(std::unique_ptr<Gemm> gemm, prepareGemm(spec, library->engine, library->stream));
  largestWorkspace = std::max(largestWorkspace, gemm->workspaceBytes());
  return (gemms[spec] = std::move(gemm)).get();
}

} // namespace shardc::rt
