//===-- ReferenceTest.cpp - imported models compute what PyTorch computes -----------------------------------------===//
//
// Imports a committed example, differentiates it, evaluates the result with the reference evaluator on the first batch
// of the reference data, and compares loss and gradients, initializer by initializer.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "dialects/dist/Dist.h"
#include "dialects/nn/Evaluate.h"
#include "shardc/Autodiff/Passes.h"
#include "shardc/Import/Import.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"

#include "llvm/Support/Endian.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace mlir;
using namespace shardc;

namespace {

constexpr int64_t kBatch = 8;

std::string getExample(const std::string &path) { return std::string(SHARDC_EXAMPLES) + "/" + path; }

std::string readFile(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  EXPECT_TRUE(bool(buffer)) << path;
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

/// Decodes f32 or i64 elements from the beginning of `bytes` on.
nn::Tensor decode(RankedTensorType type, StringRef bytes) {
  nn::Tensor tensor = nn::Tensor::getZeros(type);
  for (int64_t i = 0; i < tensor.getNumElements(); ++i) {
    if (tensor.isFloat())
      tensor.floats[i] = llvm::bit_cast<float>(llvm::support::endian::read32le(bytes.data() + 4 * i));
    else
      tensor.integers[i] = static_cast<int64_t>(llvm::support::endian::read64le(bytes.data() + 8 * i));
  }
  return tensor;
}

/// The first samples of a NumPy file (format 1.0).
nn::Tensor readSamples(const std::string &path, RankedTensorType type) {
  std::string bytes = readFile(path);
  size_t header = 10 + llvm::support::endian::read16le(bytes.data() + 8);
  return decode(type, StringRef(bytes).drop_front(header));
}

/// The tensors of a safetensors file, f32.
llvm::StringMap<std::vector<double>> readSafetensors(const std::string &path) {
  std::string bytes = readFile(path);
  uint64_t size = llvm::support::endian::read64le(bytes.data());
  llvm::StringMap<std::vector<double>> tensors;
  llvm::Expected<llvm::json::Value> header = llvm::json::parse(StringRef(bytes).substr(8, size));
  EXPECT_TRUE(bool(header));
  for (auto &[name, value] : *header->getAsObject()) {
    const llvm::json::Array *offsets = value.getAsObject()->getArray("data_offsets");
    if (!offsets)
      continue;
    int64_t begin = *(*offsets)[0].getAsInteger(), end = *(*offsets)[1].getAsInteger();
    std::vector<double> &elements = tensors[name];
    for (int64_t at = begin; at < end; at += 4)
      elements.push_back(llvm::bit_cast<float>(llvm::support::endian::read32le(bytes.data() + 8 + size + at)));
  }
  return tensors;
}

struct Example {
  const char *model, *reference, *loss;
};

class ImportReference : public testing::TestWithParam<Example> {
protected:
  OwningOpRef<ModuleOp> build(const Example &example) {
    importer::ImportOptions options;
    options.loss = example.loss;
    options.dropout = 0;
    options.microBatch = kBatch;
    auto module = importer::importOnnx(&context, getExample(example.model), options);
    if (failed(module))
      return {};
    Builder builder(&context);
    (*module)->getOperation()->setAttr(
        "nn.training",
        builder.getDictionaryAttr({builder.getNamedAttr("global_batch", builder.getI64IntegerAttr(kBatch)),
                                   builder.getNamedAttr("micro_batch", builder.getI64IntegerAttr(kBatch)),
                                   builder.getNamedAttr("micro_batches", builder.getI64IntegerAttr(1))}));
    PassManager passes(&context);
    passes.addPass(autodiff::createBuildGradientsPass());
    return succeeded(passes.run(**module)) ? std::move(*module) : OwningOpRef<ModuleOp>();
  }

  nn::Tensors readArguments(ModuleOp module, func::FuncOp function, const std::string &data) {
    nn::Tensors arguments;
    auto files = module->getAttrOfType<ArrayAttr>("nn.weight_files");
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      auto type = cast<RankedTensorType>(function.getArgument(i).getType());
      if (auto input = function.getArgAttrOfType<StringAttr>(i, nn::kInputAttr)) {
        arguments.push_back(readSamples(getExample(data) + "/" + input.str() + ".npy", type));
        continue;
      }
      auto parameter = function.getArgAttrOfType<DictionaryAttr>(i, nn::kParameterAttr);
      auto file = cast<DictionaryAttr>(files[parameter.getAs<IntegerAttr>("file").getInt()]);
      std::string bytes = readFile(file.getAs<StringAttr>("path").str());
      EXPECT_EQ(static_cast<int64_t>(bytes.size()), file.getAs<IntegerAttr>("bytes").getInt());
      arguments.push_back(decode(type, StringRef(bytes).substr(parameter.getAs<IntegerAttr>("offset").getInt(),
                                                               parameter.getAs<IntegerAttr>("bytes").getInt())));
    }
    return arguments;
  }

  MLIRContext context;
};

double getRelativeDistance(const std::vector<double> &values, const std::vector<double> &reference, double scale) {
  double distance = 0, norm = 0;
  for (auto [value, expected] : llvm::zip_equal(values, reference)) {
    distance += (value * scale - expected) * (value * scale - expected);
    norm += expected * expected;
  }
  return std::sqrt(distance) / std::max(std::sqrt(norm), 1e-12);
}

TEST_P(ImportReference, LossAndGradients) {
  const Example &example = GetParam();
  context.loadDialect<dist::DistDialect, nn::NNDialect, func::FuncDialect>();
  OwningOpRef<ModuleOp> module = build(example);
  ASSERT_TRUE(bool(module));
  std::string folder = getExample(std::string("reference/") + example.reference);
  llvm::Expected<llvm::json::Value> losses = llvm::json::parse(readFile(folder + "/losses.json"));
  ASSERT_TRUE(bool(losses));
  auto accumulate = module->lookupSymbol<func::FuncOp>("accumulate");
  ASSERT_TRUE(bool(accumulate));

  std::string data = losses->getAsObject()->getString("data")->str();
  FailureOr<nn::Tensors> results =
      nn::evaluate(accumulate, readArguments(*module, accumulate, data), nn::ControlValues());
  ASSERT_TRUE(succeeded(results));
  double sum = (*results)[0].floats[0], weight = (*results)[1].floats[0];
  double expected = *(*losses->getAsObject()->getObject("sgd")->getArray("losses"))[0].getAsNumber();
  EXPECT_NEAR(sum / weight, expected, 1e-5 * expected);

  double seed = module->getOperation()
                    ->getAttrOfType<DictionaryAttr>("nn.training")
                    .getAs<FloatAttr>("loss_seed")
                    .getValueAsDouble();
  llvm::StringMap<std::vector<double>> reference = readSafetensors(folder + "/gradients.safetensors");
  size_t compared = 0;
  for (unsigned i = 0; i < accumulate.getNumResults(); ++i) {
    auto name = accumulate.getResultAttrOfType<StringAttr>(i, nn::kGradientAttr);
    if (!name)
      continue;
    ASSERT_TRUE(reference.contains(name)) << name.str();
    EXPECT_LT(getRelativeDistance((*results)[i].floats, reference[name], seed / weight), 2e-5) << name.str();
    ++compared;
  }
  EXPECT_EQ(compared, reference.size());
}

INSTANTIATE_TEST_SUITE_P(
    Models, ImportReference,
    testing::Values(Example{"models/mlp_ts17.onnx", "mlp_ts17", "cross_entropy"},
                    Example{"models/mlp_ts17_perturbed.onnx", "mlp_ts17_perturbed", "cross_entropy"},
                    Example{"models/mlp_dynamo18.onnx", "mlp_dynamo18", "cross_entropy"},
                    Example{"models/functions_mlp_perturbed.onnx", "functions_mlp_perturbed", "cross_entropy"},
                    Example{"models/tinygpt_perturbed.onnx", "tinygpt_perturbed", ""},
                    Example{"models/tinygpt_tied_dynamo18.onnx", "tinygpt_tied_dynamo18", ""},
                    Example{"models/tinygpt_untied_dynamo20.onnx", "tinygpt_untied_dynamo20", ""},
                    Example{"models/tinygpt_untied_ts17_perturbed.onnx", "tinygpt_untied_ts17_perturbed", ""}),
    [](const testing::TestParamInfo<Example> &info) { return std::string(info.param.reference); });

} // namespace
