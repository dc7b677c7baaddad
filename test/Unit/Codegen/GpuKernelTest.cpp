//===-- GpuKernelTest.cpp - GPU kernels, emulated, against the CPU's ----------------------------------------------===//
//
// Every kernel of a text runs on the same operands on the CPU and, with random orders of threads, emulated. Results
// agree within 1e-5 of the tensor's maximum (sums have another order), those of all orders to the bit; accesses are in
// bounds and aligned.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "EmulatedKernels.h"
#include "KernelLibrary.h"

#include "dialects/exec/Exec.h"
#include "shardc/Driver/Compile.h"
#include "shardc/Driver/Register.h"

#include "mlir/Parser/Parser.h"

#include "llvm/Support/raw_ostream.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>

using namespace shardc;
using namespace shardc::test;

namespace {

constexpr double kTolerance = 1e-5;

std::string str(int64_t value) { return std::to_string(value); }

/// An operand's view, as it lies in memory: `count` elements from the first to the last one that it touches.
struct Operand {
  mlir::MemRefType type;
  int64_t count = 1;
  llvm::SmallVector<int64_t> strides;

  explicit Operand(mlir::MemRefType type) : type(type) {
    int64_t offset;
    (void)type.getStridesAndOffset(strides, offset);
    for (auto [size, stride] : llvm::zip(type.getShape(), strides))
      count += (size - 1) * stride;
  }
  size_t getElementBytes() const {
    unsigned width = type.getElementType().getIntOrFloatBitWidth();
    return width == 1 ? 1 : width / 8;
  }
  size_t getBytes() const { return count * getElementBytes(); }
};

/// Memory aligned as on a GPU.
struct Memory {
  explicit Memory(size_t bytes)
      : bytes(bytes), data(static_cast<char *>(std::aligned_alloc(256, bytes / 256 * 256 + 256))) {
    std::memset(data, 0, bytes);
  }
  Memory(const Memory &other) : Memory(other.bytes) { std::memcpy(data, other.data, bytes); }
  Memory &operator=(const Memory &) = delete;
  ~Memory() { std::free(data); }
  size_t bytes;
  char *data;
};

float widen(const char *data, mlir::Type type, int64_t index) {
  uint16_t bits;
  std::memcpy(&bits, data + 2 * index, 2);
  llvm::APFloat number(type.isBF16() ? llvm::APFloat::BFloat() : llvm::APFloat::IEEEhalf(), llvm::APInt(16, bits));
  bool loses;
  number.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven, &loses);
  return number.convertToFloat();
}

double read(const char *data, mlir::Type type, int64_t index) {
  auto load = [&](auto value) {
    std::memcpy(&value, data + index * sizeof(value), sizeof(value));
    return static_cast<double>(value);
  };
  if (type.isF32())
    return load(0.0f);
  if (type.isF64())
    return load(0.0);
  if (type.isInteger(64))
    return load(int64_t(0));
  if (type.isInteger(32))
    return load(int32_t(0));
  if (type.isInteger(1))
    return load(uint8_t(0));
  return widen(data, type, index);
}

void fill(Memory &memory, mlir::Type type, int64_t count, unsigned seed) {
  std::vector<float> values = makeValues(count, seed, 0.25f, 1.75f);
  for (int64_t i = 0; i < count; ++i) {
    auto store = [&](auto value) { std::memcpy(memory.data + i * sizeof(value), &value, sizeof(value)); };
    int64_t integer = static_cast<int64_t>(values[i] * 1000) % 7 - 1;
    if (type.isF32()) {
      store(values[i]);
    } else if (type.isF64()) {
      store(static_cast<double>(values[i]));
    } else if (type.isInteger(64)) {
      store(integer);
    } else if (type.isInteger(32)) {
      store(static_cast<int32_t>(integer));
    } else if (type.isInteger(1)) {
      store(static_cast<uint8_t>(integer & 1));
    } else {
      llvm::APFloat number(values[i]);
      bool loses;
      number.convert(type.isBF16() ? llvm::APFloat::BFloat() : llvm::APFloat::IEEEhalf(),
                     llvm::APFloat::rmNearestTiesToEven, &loses);
      store(static_cast<uint16_t>(number.bitcastToAPInt().getZExtValue()));
    }
  }
}

/// The largest difference of two views, relative to the largest magnitude in the first; infinite where only one is NaN.
double compare(const Operand &operand, const Memory &expected, const Memory &actual) {
  double largest = 0, difference = 0;
  mlir::Type type = operand.type.getElementType();
  for (int64_t i = 0; i < operand.count; ++i) {
    double a = read(expected.data, type, i), b = read(actual.data, type, i);
    if (a == b || (std::isnan(a) && std::isnan(b)))
      continue;
    if (!std::isfinite(a) || !std::isfinite(b))
      return std::numeric_limits<double>::infinity();
    difference = std::max(difference, std::abs(a - b));
  }
  for (int64_t i = 0; i < operand.count; ++i)
    if (double a = std::abs(read(expected.data, type, i)); std::isfinite(a))
      largest = std::max(largest, a);
  return difference == 0 ? 0 : difference / largest;
}

shardrtControl makeControl() {
  shardrtControl control{};
  control.seed = 1234;
  control.step = 3;
  control.sampleOffset = 5;
  control.coordinates[0] = control.coordinates[2] = 1;
  control.learningRate = 0.01f;
  control.lossScale = 8;
  return control;
}

class Comparison {
public:
  explicit Comparison(const std::string &text, const std::string &arch = "sm_80")
      : registry(makeRegistry()), context(registry) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    cpu = KernelLibrary::compile(text);
    gpu = EmulatedKernels::compile(text, arch);
  }

  /// All kernels, each with `orders` orders of threads.
  void run(unsigned orders) {
    ASSERT_TRUE(module && cpu && gpu);
    for (auto def : module->getOps<exec::KernelDefOp>())
      runKernel(def, orders);
  }

  std::unique_ptr<KernelLibrary> cpu;
  std::unique_ptr<EmulatedKernels> gpu;

private:
  static mlir::DialectRegistry makeRegistry() {
    mlir::DialectRegistry registry;
    registry.insert<dist::DistDialect, nn::NNDialect, exec::ExecDialect>();
    return registry;
  }

  void runKernel(exec::KernelDefOp def, unsigned orders) {
    std::string name = def.getSymName().str();
    size_t numReads = def.getBody().front().getNumArguments();
    std::vector<Operand> operands;
    std::vector<Memory> inputs;
    for (mlir::Attribute attribute : def.getOperandTypes()) {
      operands.emplace_back(mlir::cast<mlir::MemRefType>(mlir::cast<mlir::TypeAttr>(attribute).getValue()));
      inputs.emplace_back(operands.back().getBytes());
      if (operands.size() <= numReads)
        fill(inputs.back(), operands.back().type.getElementType(), operands.back().count, operands.size());
    }
    std::vector<Memory> expected(inputs), first(inputs);
    std::vector<const void *> pointers;
    for (Memory &memory : expected)
      pointers.push_back(memory.data);
    cpu->run(name, pointers, def.getItems(), makeControl());
    for (unsigned order = 0; order < orders; ++order) {
      std::vector<Memory> actual(inputs);
      std::vector<EmulatedOperand> buffers;
      for (Memory &memory : actual)
        buffers.push_back({memory.data, memory.bytes});
      ASSERT_EQ(gpu->run(name, buffers, makeControl(), order), "");
      for (size_t i = 0; i < operands.size(); ++i) {
        EXPECT_LE(compare(operands[i], expected[i], actual[i]), i < numReads ? 0 : kTolerance)
            << name << ", operand " << i << ", order " << order;
        if (order > 0) {
          EXPECT_EQ(std::memcmp(first[i].data, actual[i].data, first[i].bytes), 0) << name << ", order " << order;
        } else {
          std::memcpy(first[i].data, actual[i].data, first[i].bytes);
        }
      }
    }
  }

  mlir::DialectRegistry registry;
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

std::string align16(size_t operands) {
  std::string text = ", exec.alignments = array<i64: ";
  for (size_t i = 0; i < operands; ++i)
    text += i ? ", 16" : "16";
  return text + ">";
}

const std::vector<int64_t> kLengths = {1, 2, 7, 8, 12, 31, 64, 100, 256, 1000};

TEST(GpuKernel, ElementwiseOfEveryLength) {
  std::string text;
  for (int64_t n : kLengths)
    for (std::string element : {"f32", "bf16"}) {
      std::string t = "tensor<3x" + str(n) + "x" + element + ">", m = "memref<3x" + str(n) + "x" + element + ">";
      std::string v = str(n) + "x" + element + ">";
      text += defineKernel("k" + str(n) + element, "row domain [3, " + str(n) + "] rows 1 items 3",
                           m + ", memref<" + v + ", " + m, "%a: " + t + ", %b: tensor<" + v,
                           "%bb = nn.broadcast_in_dim %b dims [1] : tensor<" + v + " -> " + t +
                               "\n%s = nn.add %a, %bb : " + t + "\n%m = nn.tanh %s : " + t + "\nexec.yield %m : " + t,
                           n % 8 == 0 ? align16(3) : "");
    }
  Comparison(text).run(1);
}

/// Layer norm with its statistics as results: two levels of reductions and writes of both shapes.
std::string defineNorm(const std::string &name, int64_t rows, int64_t n, const std::string &extra) {
  std::string t = "tensor<" + str(rows) + "x" + str(n) + "xf32>", r = "tensor<" + str(rows) + "xf32>";
  std::string m = "memref<" + str(rows) + "x" + str(n) + "xf32>";
  return defineKernel(name, "row domain [" + str(rows) + ", " + str(n) + "] rows 1 items " + str(rows),
                      m + ", " + m + ", memref<" + str(rows) + "xf32>", "%a: " + t,
                      "%n = nn.constant dense<" + str(n) + ".0> : " + r + "\n%e = nn.constant dense<1.0e-3> : " + r +
                          "\n%s = nn.reduce sum, %a dims [1] : " + t + " -> " + r + "\n%m = nn.div %s, %n : " + r +
                          "\n%mb = nn.broadcast_in_dim %m dims [0] : " + r + " -> " + t +
                          "\n%c = nn.sub %a, %mb : " + t + "\n%q = nn.mul %c, %c : " + t +
                          "\n%v = nn.reduce sum, %q dims [1] : " + t + " -> " + r + "\n%w = nn.add %v, %e : " + r +
                          "\n%sd = nn.rsqrt %w : " + r + "\n%sb = nn.broadcast_in_dim %sd dims [0] : " + r + " -> " +
                          t + "\n%y = nn.mul %c, %sb : " + t + "\nexec.yield %y, %sd : " + t + ", " + r,
                      extra);
}

TEST(GpuKernel, RowReductionsOfEveryLength) {
  std::string text;
  for (int64_t n : kLengths)
    text += defineNorm("k" + str(n), 5, n, n % 8 == 0 ? align16(3) : "");
  Comparison(text).run(2);
}

TEST(GpuKernel, RowReductionsUnderTwentyOrders) {
  // Parts of a warp, a warp, several warps, and more than one chunk a thread.
  Comparison(defineNorm("part", 5, 64, align16(3)) + defineNorm("warp", 5, 256, align16(3)) +
             defineNorm("block", 2, 1536, align16(3)) + defineNorm("ragged", 2, 1001, ""))
      .run(20);
  Comparison(defineNorm("long", 1, 8200, align16(3)) + defineNorm("longRagged", 1, 8195, "")).run(2);
}

TEST(GpuKernel, ColumnReductions) {
  std::string text;
  for (auto [rows, columns] : {std::pair<int64_t, int64_t>(1, 5), {3, 32}, {64, 70}, {100, 33}, {257, 1}}) {
    std::string t = "tensor<" + str(rows) + "x" + str(columns) + "xf32>", c = "tensor<" + str(columns) + "xf32>";
    std::string m = "memref<" + str(rows) + "x" + str(columns) + "xf32>", mc = "memref<" + str(columns) + "xf32>";
    text +=
        defineKernel("k" + str(rows),
                     "column domain [" + str(rows) + ", " + str(columns) + "] rows 1 items " + str((columns + 63) / 64),
                     m + ", " + m + ", " + mc + ", " + mc, "%a: " + t + ", %b: " + t,
                     "%p = nn.mul %a, %b : " + t + "\n%s = nn.reduce sum, %p dims [0] : " + t + " -> " + c +
                         "\n%x = nn.reduce max, %a dims [0] : " + t + " -> " + c + "\n%y = nn.add %s, %x : " + c +
                         "\nexec.yield %s, %y : " + c + ", " + c);
  }
  Comparison(text).run(20);
}

TEST(GpuKernel, GatherAndScatterAdd) {
  Comparison(
      defineKernel("gather", "gather items 6", "memref<4x40xf32>, memref<2x3xi64>, memref<2x3x40xf32>",
                   "%t: tensor<4x40xf32>, %i: tensor<2x3xi64>",
                   "%g = nn.gather %t, %i axis 0 : (tensor<4x40xf32>, tensor<2x3xi64>) -> tensor<2x3x40xf32>\n"
                   "exec.yield %g : tensor<2x3x40xf32>",
                   align16(3)) +
      defineKernel("last", "gather items 9", "memref<3x4xi1>, memref<3xi32>, memref<3x3xi1>",
                   "%t: tensor<3x4xi1>, %i: tensor<3xi32>",
                   "%g = nn.gather %t, %i axis 1 : (tensor<3x4xi1>, tensor<3xi32>) -> tensor<3x3xi1>\n"
                   "exec.yield %g : tensor<3x3xi1>") +
      defineKernel("scatter", "scatter_add items 2", "memref<3x7xi64>, memref<3x7x70xf32>, memref<5x70xf32>",
                   "%i: tensor<3x7xi64>, %u: tensor<3x7x70xf32>",
                   "%g = nn.scatter_add %i, %u axis 0 : (tensor<3x7xi64>, tensor<3x7x70xf32>) -> tensor<5x70xf32>\n"
                   "exec.yield %g : tensor<5x70xf32>"))
      .run(1);
}

TEST(GpuKernel, SumSquaresAndLocalSlice) {
  Comparison("module attributes {dist.mesh = #dist.mesh<[<\"dp\" = 2>, <\"pp\" = 1>, <\"tp\" = 3>]>} {\n" +
             defineKernel("slice", "local_slice items 1", "memref<3x5x7xf32>, memref<5x7xf32, strided<[1, 5]>>",
                          "%a: tensor<3x5x7xf32>",
                          "%s = dist.local_slice %a axis \"tp\" : tensor<3x5x7xf32> -> tensor<5x7xf32>\n"
                          "exec.yield %s : tensor<5x7xf32>") +
             defineKernel("squares", "block_sum_squares items 3", "memref<10x50xf32>, memref<3xf64>",
                          "%a: tensor<10x50xf32>",
                          "%s = nn.block_sum_squares %a block 200 : tensor<10x50xf32> -> tensor<3xf64>\n"
                          "exec.yield %s : tensor<3xf64>") +
             "}")
      .run(20);
}

/// A sum has the same bits alone and fused with what keeps its loops apart, makes its chunks no runs, or has other
/// types.
TEST(GpuKernel, SumsDoNotDependOnWhatTheyAreFusedWith) {
  auto define = [](const std::string &name, int64_t a, int64_t b, bool isFused) {
    std::string shape = "2x" + str(a) + "x" + str(b), t = "tensor<" + shape + "xf32>";
    std::string m = "memref<" + shape + "xf32>",
                sum = "%s = nn.reduce sum, %a dims [1, 2] : " + t + " -> tensor<2xf32>\n";
    std::string head = "row domain [2, " + str(a) + ", " + str(b) + "] rows 1 items 2";
    if (!isFused)
      return defineKernel(name, head, m + ", memref<2xf32>", "%a: " + t, sum + "exec.yield %s : tensor<2xf32>",
                          b % 8 == 0 ? align16(2) : "");
    std::string transposed = "memref<" + shape + "xbf16, strided<[" + str(a * b) + ", 1, " + str(a) + "]>>";
    std::string h = "tensor<" + shape + "xbf16>";
    return defineKernel(name, head, m + ", " + transposed + ", memref<2xf32>, " + transposed, "%a: " + t + ", %h: " + h,
                        sum + "%n = nn.neg %h : " + h + "\nexec.yield %s, %n : tensor<2xf32>, " + h);
  };
  for (auto [a, b] : {std::pair<int64_t, int64_t>(5, 64), {3, 40}, {7, 9}, {17, 600}}) {
    auto kernels = EmulatedKernels::compile(define("alone", a, b, false) + define("fused", a, b, true));
    ASSERT_TRUE(kernels);
    Memory input(2 * a * b * 4), halves(2 * a * b * 2), negated(2 * a * b * 2), alone(8), fused(8);
    std::vector<float> values = makeValues(2 * a * b);
    std::memcpy(input.data, values.data(), input.bytes);
    auto operand = [](Memory &memory) { return EmulatedOperand{memory.data, memory.bytes}; };
    EXPECT_EQ(kernels->run("alone", {operand(input), operand(alone)}), "");
    EXPECT_EQ(kernels->run("fused", {operand(input), operand(halves), operand(fused), operand(negated)}), "");
    EXPECT_EQ(std::memcmp(alone.data, fused.data, 8), 0) << a << "x" << b;
    double expected = 0;
    for (int64_t i = 0; i < a * b; ++i)
      expected += values[i];
    float sum;
    std::memcpy(&sum, alone.data, sizeof(sum));
    EXPECT_NEAR(sum, expected, 1e-3);
  }
}

/// The kernels that a model comes to.
std::string compileExample(const std::string &name, const std::string &precision, int64_t tp) {
  mlir::DialectRegistry registry;
  driver::registerDialects(registry);
  mlir::MLIRContext context(registry);
  driver::Options options;
  options.model = std::string(SHARDC_EXAMPLES) + "/" + name;
  options.emit = driver::Emit::Exec;
  options.precision = precision;
  options.tp = tp;
  options.pp = tp;
  std::string text;
  llvm::raw_string_ostream stream(text);
  EXPECT_TRUE(mlir::succeeded(driver::compile(context, options, stream)));
  return text;
}

TEST(GpuKernel, AllKernelsOfAModel) { Comparison(compileExample("tinygpt.onnx", "fp32", 1)).run(2); }
TEST(GpuKernel, AllKernelsOfASplitModelInBf16) { Comparison(compileExample("tinygpt.onnx", "bf16", 2)).run(1); }

} // namespace
