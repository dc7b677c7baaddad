//===-- GpuStepTest.cpp - a training step with GPU kernels, emulated, against one with the CPU's ------------------===//
//
// A placed program of one rank is run twice, instruction by instruction: kernels by either target, products and copies
// by plain loops, the same for both. Gradients and outputs agree within 1e-5 of each tensor's maximum.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "EmulatedKernels.h"
#include "KernelLibrary.h"

#include "dialects/exec/Exec.h"
#include "shardc/Driver/Compile.h"
#include "shardc/Driver/Register.h"

#include "mlir/Parser/Parser.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <functional>

using namespace mlir;
using namespace shardc;
using namespace shardc::test;

namespace {

constexpr double kTolerance = 1e-5;

std::string getModel() { return std::string(SHARDC_EXAMPLES) + "/tinygpt.onnx"; }

std::string compileStep() {
  DialectRegistry registry;
  driver::registerDialects(registry);
  MLIRContext context(registry);
  driver::Options options;
  options.model = getModel();
  options.emit = driver::Emit::Exec;
  options.clipNorm = 1;
  std::string text;
  llvm::raw_string_ostream stream(text);
  EXPECT_TRUE(succeeded(driver::compile(context, options, stream)));
  return text;
}

/// A view in memory.
struct View {
  char *data;
  size_t bytes; // from data to the end of the slot
  SmallVector<int64_t> sizes, strides;

  float *at(ArrayRef<int64_t> indices) const {
    int64_t offset = 0;
    for (auto [index, stride] : llvm::zip(indices, strides))
      offset += index * stride;
    return reinterpret_cast<float *>(data) + offset;
  }
};

using RunKernel = std::function<void(exec::KernelDefOp, ArrayRef<View>)>;

/// The memory of the rank, and what runs on it.
class Rank {
public:
  Rank(ModuleOp module, RunKernel runKernel) : module(module), runKernel(std::move(runKernel)) {
    program = *module.getOps<exec::ProgramOp>().begin();
    bytes = *program.getArenaBytes();
    arena = static_cast<char *>(std::aligned_alloc(256, llvm::alignTo(bytes, 256)));
    std::memset(arena, 0, bytes);
    auto weights = llvm::MemoryBuffer::getFile(getModel(), /*IsText=*/false, /*RequiresNullTerminator=*/false);
    for (auto buffer : program.getBody().getOps<exec::BufferOp>()) {
      if (auto parameter = buffer->getAttrOfType<DictionaryAttr>("nn.parameter");
          parameter && buffer.getRegion() == exec::Region::Parameter)
        std::memcpy(arena + *buffer.getOffset(),
                    (*weights)->getBufferStart() + parameter.getAs<IntegerAttr>("offset").getInt(),
                    parameter.getAs<IntegerAttr>("bytes").getInt());
      if (buffer.getInitialValue())
        fill(buffer, buffer.getInitialValue()->convertToDouble());
    }
  }
  Rank(const Rank &) = delete;
  Rank &operator=(const Rank &) = delete;
  ~Rank() { std::free(arena); }

  void runStep() {
    for (auto entry : program.getSchedule()->getAsRange<exec::EntryAttr>()) {
      slot = entry.getRegisters()[1];
      auto block = llvm::find_if(program.getBody().getOps<exec::BlockOp>(), [&](exec::BlockOp block) {
        return block.getSymName() == entry.getBlock().getValue();
      });
      for (Operation &op : (*block).getBody().front())
        run(&op);
    }
  }

  View getView(Value value) const {
    auto buffer = exec::getBuffer(value);
    auto type = cast<MemRefType>(value.getType());
    View view;
    int64_t offset = 0;
    (void)type.getStridesAndOffset(view.strides, offset);
    view.sizes.assign(type.getShape().begin(), type.getShape().end());
    int64_t inSlot = offset * (type.getElementTypeBitWidth() == 1 ? 1 : type.getElementTypeBitWidth() / 8);
    int64_t start = *buffer.getOffset() + (exec::getRegister(value) >= 0 ? slot * *buffer.getSlotStride() : 0);
    view.data = arena + start + inSlot;
    view.bytes = buffer.getSlotBytes() - inSlot;
    return view;
  }

  exec::ProgramOp program;

private:
  void fill(exec::BufferOp buffer, double value) {
    auto type = cast<MemRefType>(buffer.getType());
    for (int64_t i = 0; i < type.getNumElements(); ++i) {
      if (type.getElementType().isF64())
        reinterpret_cast<double *>(arena + *buffer.getOffset())[i] = value;
      else
        reinterpret_cast<float *>(arena + *buffer.getOffset())[i] = static_cast<float>(value);
    }
  }

  void run(Operation *op) {
    TypeSwitch<Operation *>(op)
        .Case([&](exec::KernelOp op) {
          SmallVector<View> views;
          for (Value value : op->getOperands())
            views.push_back(getView(value));
          runKernel(module.lookupSymbol<exec::KernelDefOp>(op.getKernel()), views);
        })
        .Case([&](exec::GemmOp op) { multiply(op); })
        .Case([&](exec::CopyOp op) { copy(getView(op.getFrom()), getView(op.getTo())); })
        .Case([&](exec::LoadInputOp op) {
          View view = getView(op.getValue());
          auto tokens = reinterpret_cast<int64_t *>(view.data);
          for (int64_t i = 0; i < view.sizes.back(); ++i)
            tokens[i] = (i * 37 + (op.getInput() == "labels" ? 37 : 0)) % 101;
        })
        .Case<exec::SlotOp, exec::ViewOp>([](Operation *) {})
        .Default([](Operation *op) { ADD_FAILURE() << "unexpected " << op->getName().getStringRef().str(); });
  }

  static void forEach(ArrayRef<int64_t> sizes, llvm::function_ref<void(ArrayRef<int64_t>)> visit) {
    SmallVector<int64_t> indices(sizes.size(), 0);
    while (true) {
      visit(indices);
      size_t dim = sizes.size();
      while (dim > 0 && ++indices[dim - 1] == sizes[dim - 1])
        indices[--dim] = 0;
      if (dim == 0)
        return;
    }
  }

  static void copy(const View &from, const View &to) {
    forEach(from.sizes, [&](ArrayRef<int64_t> indices) { *to.at(indices) = *from.at(indices); });
  }

  void multiply(exec::GemmOp op) {
    View a = getView(op.getA()), b = getView(op.getB()), c = getView(op.getC());
    size_t rank = c.sizes.size();
    forEach(c.sizes, [&](ArrayRef<int64_t> indices) {
      SmallVector<int64_t> left(indices), right(indices);
      double sum = op.getAccumulate() ? *c.at(indices) : 0;
      if (op.getBias())
        sum += *getView(op.getBias()).at(indices.back());
      for (int64_t k = 0; k < a.sizes.back(); ++k) {
        left[rank - 1] = right[rank - 2] = k;
        sum += static_cast<double>(*a.at(left)) * *b.at(right);
      }
      *c.at(indices) = static_cast<float>(sum);
    });
  }

  ModuleOp module;
  RunKernel runKernel;
  char *arena;
  size_t bytes;
  int64_t slot = 0;
};

shardrtControl makeControl() {
  shardrtControl control{};
  control.seed = 7;
  control.learningRate = 1e-3f;
  control.lossScale = 1;
  return control;
}

/// The largest difference relative to the largest magnitude of the first.
double compare(const View &expected, const View &actual) {
  double largest = 0, difference = 0;
  for (size_t i = 0; i < expected.bytes / sizeof(float); ++i) {
    float a = reinterpret_cast<float *>(expected.data)[i], b = reinterpret_cast<float *>(actual.data)[i];
    largest = std::max<double>(largest, std::abs(a));
    difference = std::max<double>(difference, a == b ? 0 : std::abs(a - b));
    if (std::isnan(a) || std::isnan(b))
      return NAN;
  }
  return difference == 0 ? 0 : difference / largest;
}

TEST(GpuStep, GradientsAreTheCpus) {
  std::string text = compileStep();
  DialectRegistry registry;
  registry.insert<dist::DistDialect, nn::NNDialect, exec::ExecDialect>();
  MLIRContext context(registry);
  auto module = parseSourceString<ModuleOp>(text, &context);
  auto cpuKernels = KernelLibrary::compile(text);
  auto gpuKernels = EmulatedKernels::compile(text);
  ASSERT_TRUE(module && cpuKernels && gpuKernels);
  Rank cpu(*module, [&](exec::KernelDefOp def, ArrayRef<View> views) {
    std::vector<const void *> pointers;
    for (const View &view : views)
      pointers.push_back(view.data);
    cpuKernels->run(def.getSymName().str(), pointers, def.getItems(), makeControl());
  });
  unsigned seed = 0;
  Rank gpu(*module, [&](exec::KernelDefOp def, ArrayRef<View> views) {
    std::vector<EmulatedOperand> operands;
    for (const View &view : views)
      operands.push_back({view.data, view.bytes});
    EXPECT_EQ(gpuKernels->run(def.getSymName().str(), operands, makeControl(), ++seed), "");
  });
  cpu.runStep();
  gpu.runStep();

  unsigned gradients = 0, outputs = 0;
  for (auto buffer : cpu.program.getBody().getOps<exec::BufferOp>()) {
    bool isGradient = buffer.getRegion() == exec::Region::Gradient;
    if (!isGradient && buffer.getRegion() != exec::Region::Output)
      continue;
    View expected = cpu.getView(buffer), actual = gpu.getView(buffer);
    EXPECT_LE(compare(expected, actual), kTolerance) << buffer.getName().str();
    ++(isGradient ? gradients : outputs);
    if (buffer.getName() == "loss") {
      float loss = *reinterpret_cast<float *>(actual.data);
      EXPECT_GT(loss, 3) << "a model of 256 bytes that has learnt nothing";
      EXPECT_LT(loss, 8);
    }
  }
  EXPECT_GE(gradients, 40u);
  EXPECT_GE(outputs, 3u);
}

} // namespace
