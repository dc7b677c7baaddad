//===-- ReferenceTest.cpp - gradients of the example models against PyTorch's -------------------------------------===//
//
// The whole front of the compiler, without any code generation: the model is imported and differentiated, the evaluator
// computes the gradients of the first eight samples in fp64 from the weights of the file, and each is compared with
// PyTorch's, which is fp32.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "TestModule.h"

#include "shardc/Import/Import.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"

#include <cstring>
#include <map>

using namespace mlir;
using namespace shardc;

namespace {

/// A case: the model and the folder of its references below examples/, and where its batches lie.
struct Model {
  std::string file, reference, data, loss;
};

void PrintTo(const Model &model, std::ostream *os) { *os << model.file; }

constexpr int64_t kSamples = 8;

std::string getPath(const std::string &name) { return std::string(SHARDC_SOURCE_DIR "/examples/") + name; }

std::string readFile(const std::string &path) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    ADD_FAILURE() << path << ": " << file.getError().message();
  return file ? (*file)->getBuffer().str() : std::string();
}

/// Elements of a file, from byte `offset` on.
void fill(nn::Tensor &tensor, const std::string &bytes, size_t offset) {
  if (tensor.isFloat()) {
    std::vector<float> elements(tensor.floats.size());
    ASSERT_LE(offset + elements.size() * sizeof(float), bytes.size());
    std::memcpy(elements.data(), bytes.data() + offset, elements.size() * sizeof(float));
    tensor.floats.assign(elements.begin(), elements.end());
    return;
  }
  ASSERT_LE(offset + tensor.integers.size() * sizeof(int64_t), bytes.size());
  std::memcpy(tensor.integers.data(), bytes.data() + offset, tensor.integers.size() * sizeof(int64_t));
}

/// The first rows of an .npy array.
void fillFromArray(nn::Tensor &tensor, const std::string &path) {
  std::string bytes = readFile(path);
  ASSERT_GE(bytes.size(), 10u);
  fill(tensor, bytes, 10 + static_cast<uint8_t>(bytes[8]) + 256 * static_cast<uint8_t>(bytes[9]));
}

/// The arguments of @accumulate: batches by the names of the inputs, weights from the files.
nn::Tensors getArguments(const Model &model, ModuleOp module, func::FuncOp function) {
  nn::Tensors arguments;
  auto files = module->getAttrOfType<ArrayAttr>("nn.weight_files");
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes())) {
    nn::Tensor &tensor = arguments.emplace_back(nn::Tensor::getZeros(cast<RankedTensorType>(type)));
    if (auto input = function.getArgAttrOfType<StringAttr>(index, nn::kInputAttr)) {
      fillFromArray(tensor, getPath("reference/" + model.data + "/" + input.str() + ".npy"));
      continue;
    }
    auto parameter = function.getArgAttrOfType<DictionaryAttr>(index, nn::kParameterAttr);
    auto file = cast<DictionaryAttr>(files[parameter.getAs<IntegerAttr>("file").getInt()]);
    std::string path = file.getAs<StringAttr>("path").str();
    if (!llvm::sys::path::is_absolute(path))
      path = (llvm::sys::path::parent_path(getPath(model.file)) + "/" + path).str();
    fill(tensor, readFile(path), parameter.getAs<IntegerAttr>("offset").getInt());
  }
  return arguments;
}

/// The tensors of a safetensors file, all f32.
std::map<std::string, std::vector<float>> readSafetensors(const std::string &path) {
  std::string bytes = readFile(path);
  uint64_t headerBytes = 0;
  std::memcpy(&headerBytes, bytes.data(), sizeof(headerBytes));
  std::map<std::string, std::vector<float>> tensors;
  llvm::Expected<llvm::json::Value> header = llvm::json::parse(StringRef(bytes).substr(8, headerBytes));
  if (!header) {
    ADD_FAILURE() << path << ": " << llvm::toString(header.takeError());
    return tensors;
  }
  for (const auto &[name, entry] : *header->getAsObject()) {
    const llvm::json::Array *offsets = entry.getAsObject()->getArray("data_offsets");
    if (!offsets)
      continue;
    int64_t begin = *(*offsets)[0].getAsInteger(), end = *(*offsets)[1].getAsInteger();
    std::vector<float> &elements = tensors[name.str()];
    elements.resize((end - begin) / sizeof(float));
    std::memcpy(elements.data(), bytes.data() + 8 + headerBytes + begin, end - begin);
  }
  return tensors;
}

/// The largest difference, relative to the largest element of `expected`.
double getDifference(const std::vector<double> &actual, const std::vector<float> &expected) {
  if (actual.size() != expected.size())
    return std::numeric_limits<double>::infinity();
  double largest = 0, difference = 0;
  for (auto [a, b] : llvm::zip(actual, expected)) {
    largest = std::max(largest, std::abs(static_cast<double>(b)));
    difference = std::max(difference, std::abs(a - b));
  }
  return largest > 0 ? difference / largest : difference;
}

class Reference : public testing::TestWithParam<Model> {};

TEST_P(Reference, GradientsEqualPyTorchs) {
  const Model &model = GetParam();
  DialectRegistry registry;
  registry.insert<dist::DistDialect, nn::NNDialect, func::FuncDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  importer::ImportOptions options;
  options.loss = model.loss;
  options.dropout = 0;
  options.microBatch = kSamples;
  FailureOr<OwningOpRef<ModuleOp>> module = importer::importOnnx(&context, getPath(model.file), options);
  ASSERT_TRUE(succeeded(module));
  PassManager passes(&context);
  passes.addPass(autodiff::createBuildGradientsPass());
  ASSERT_TRUE(succeeded(passes.run(**module)));

  auto accumulate = (*module)->lookupSymbol<func::FuncOp>("accumulate");
  FailureOr<nn::Tensors> results = nn::evaluate(accumulate, getArguments(model, **module, accumulate), {});
  ASSERT_TRUE(succeeded(results));
  auto training = (**module)->getAttrOfType<DictionaryAttr>("nn.training");
  double scale = training.getAs<FloatAttr>("loss_seed").getValueAsDouble() / (*results)[1].floats[0];

  auto expected = readSafetensors(getPath("reference/" + model.reference + "/gradients.safetensors"));
  EXPECT_EQ(results->size() - 2, expected.size());
  for (size_t index = 2; index < results->size(); ++index) {
    std::string name = accumulate.getResultAttrOfType<StringAttr>(index, nn::kGradientAttr).str();
    std::vector<double> gradient = (*results)[index].floats;
    for (double &x : gradient)
      x *= scale;
    ASSERT_TRUE(expected.count(name)) << name;
    EXPECT_LT(getDifference(gradient, expected[name]), 2e-5) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Examples, Reference,
    testing::Values(Model{"models/mlp_ts17.onnx", "mlp_ts17", "features", "cross_entropy"},
                    Model{"models/mlp_ts17_perturbed.onnx", "mlp_ts17_perturbed", "features", "cross_entropy"},
                    Model{"models/mlp_dynamo18_perturbed.onnx", "mlp_dynamo18_perturbed", "features", "cross_entropy"},
                    Model{"models/functions_mlp_perturbed.onnx", "functions_mlp_perturbed", "features",
                          "cross_entropy"},
                    Model{"tinygpt.onnx", "tinygpt", "tokens", ""},
                    Model{"models/tinygpt_perturbed.onnx", "tinygpt_perturbed", "tokens", ""},
                    Model{"models/tinygpt_untied_ts17_perturbed.onnx", "tinygpt_untied_ts17_perturbed", "tokens", ""},
                    Model{"models/tinygpt_tied_dynamo18.onnx", "tinygpt_tied_dynamo18", "tokens", ""},
                    Model{"models/tinygpt_untied_dynamo20.onnx", "tinygpt_untied_dynamo20", "tokens", ""}),
    [](const auto &info) { return info.param.reference; });

} // namespace
