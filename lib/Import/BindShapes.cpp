//===-- BindShapes.cpp - the sizes of the model's inputs ----------------------------------------------------------===//

#include "BindShapes.h"
#include "ListNames.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace shardc::importer;

std::vector<const onnx::ValueInfoProto *> ShapeBinding::getInputs() const {
  llvm::StringSet<> initializers;
  for (const onnx::TensorProto &tensor : file.model->graph().initializer())
    initializers.insert(tensor.name());
  std::vector<const onnx::ValueInfoProto *> inputs;
  for (const onnx::ValueInfoProto &input : file.model->graph().input())
    if (!initializers.contains(input.name()))
      inputs.push_back(&input);
  return inputs;
}

const std::vector<int64_t> *ShapeBinding::findGivenShape(StringRef input) const {
  for (const auto &[name, shape] : options.shapes)
    if (name == input)
      return &shape;
  return nullptr;
}

LogicalResult ShapeBinding::bindSymbol(StringRef symbol, int64_t size, StringRef input) {
  auto [entry, isNew] = symbols.try_emplace(symbol, size);
  if (isNew || entry->second == size)
    return success();
  return diagnostics.error("shape-53", "input", input,
                           Twine("the dimension '") + symbol + "' is " + Twine(entry->second) + " and " + Twine(size));
}

/// The symbol in dimension 0 is the batch.
LogicalResult ShapeBinding::bindBatch(const onnx::ValueInfoProto &input) {
  const onnx::TypeProto::Tensor &type = input.type().tensor_type();
  if (!type.has_shape() || type.shape().dim_size() == 0 || type.shape().dim(0).dim_param().empty())
    return success();
  const std::string &symbol = type.shape().dim(0).dim_param();
  auto known = symbols.find(symbol);
  if (known == symbols.end() || known->second == getBatch()) {
    symbols[symbol] = getBatch();
    return success();
  }
  return diagnostics.error("shape-53", "input", input.name(),
                           Twine("its batch dimension '") + symbol + "' is given as " + Twine(known->second) +
                               ", expected micro-batch " + Twine(options.microBatch) + " × dp " +
                               Twine(options.dataParallel) + " = " + Twine(getBatch()),
                           "leave it out: --micro-batch and --dp give it");
}

LogicalResult ShapeBinding::bindSymbols() {
  std::vector<std::string> declared, names;
  for (const onnx::ValueInfoProto *input : getInputs()) {
    names.push_back(input->name());
    for (const auto &dim : input->type().tensor_type().shape().dim())
      if (!dim.dim_param().empty() && !llvm::is_contained(declared, dim.dim_param()))
        declared.push_back(dim.dim_param());
  }
  for (const auto &[symbol, size] : options.dims) {
    if (!llvm::is_contained(declared, symbol))
      (void)diagnostics.error("shape-52", "option", "--dim",
                              Twine("no input of the model has a dimension called '") + symbol + "'",
                              "its named dimensions are " + listNames(declared));
    else
      (void)bindSymbol(symbol, size, symbol);
  }
  for (const auto &[name, shape] : options.shapes)
    if (!llvm::any_of(getInputs(), [&](const auto *input) { return input->name() == name; }))
      (void)diagnostics.error("shape-52", "option", "--shape", Twine("the model has no input '") + name + "'",
                              "its inputs are " + listNames(names));
  for (const onnx::ValueInfoProto *input : getInputs())
    (void)bindBatch(*input);
  return success(!diagnostics.hasErrors());
}

LogicalResult ShapeBinding::checkBatch(const ModelInput &input, bool isFixed) {
  if (input.shape.empty())
    return diagnostics.error("shape-52", "input", input.name, "is a scalar, expected a batch as dimension 0",
                             "make it a constant of the model, or give it a value for each sample");
  if (input.shape[0] == getBatch())
    return success();
  return diagnostics.error(
      "shape-53", "input", input.name,
      Twine(isFixed ? "has a fixed batch of " : "has a batch of ") + Twine(input.shape[0]) + ", expected micro-batch " +
          Twine(options.microBatch) + " × dp " + Twine(options.dataParallel) + " = " + Twine(getBatch()),
      isFixed
          ? Twine("export with a dynamic batch: dynamic_axes={'") + input.name +
                "': {0: 'batch'}} (TorchScript) or dynamic_shapes with torch.export.Dim('batch') (dynamo); or choose "
                "--micro-batch and --dp so that their product is " +
                Twine(input.shape[0])
          : Twine("--micro-batch and --dp give the batch"));
}

/// Whether `--shape` and the file may speak of the same input.
LogicalResult ShapeBinding::checkRank(const onnx::ValueInfoProto &info, const std::vector<int64_t> *given) {
  const onnx::TypeProto::Tensor &type = info.type().tensor_type();
  if (!type.has_shape() && !given)
    return diagnostics.error("shape-52", "input", info.name(), "has no shape",
                             Twine("give it: --shape ") + info.name() + "=" + Twine(getBatch()) + "x…");
  if (given && type.has_shape() && static_cast<int>(given->size()) != type.shape().dim_size())
    return diagnostics.error("shape-53", "input", info.name(),
                             Twine("--shape gives it rank ") + Twine(given->size()) + ", the model rank " +
                                 Twine(type.shape().dim_size()),
                             "give all its dimensions, dimension 0 being the batch");
  return success();
}

/// The size of dimension `index`: the file's, else that of `--shape`, of its symbol, or of the batch.
FailureOr<int64_t> ShapeBinding::bindDim(StringRef input, int64_t index, const onnx::TensorShapeProto::Dimension &dim,
                                         std::optional<int64_t> given) {
  const std::string &symbol = dim.dim_param();
  if (dim.value_case() == onnx::TensorShapeProto::Dimension::kDimValue) {
    if (dim.dim_value() < 0)
      return diagnostics.error("tensor-32", "input", input,
                               Twine("dimension ") + Twine(index) + " is " + Twine(dim.dim_value()));
    if (given && *given != dim.dim_value())
      return diagnostics.error("shape-53", "input", input,
                               Twine("dimension ") + Twine(index) + " is " + Twine(dim.dim_value()) +
                                   " in the model, but " + Twine(*given) + " in --shape");
    return dim.dim_value();
  }
  if (given) {
    if (!symbol.empty() && failed(bindSymbol(symbol, *given, input)))
      return failure();
    return *given;
  }
  if (auto known = symbols.find(symbol); !symbol.empty() && known != symbols.end())
    return known->second;
  if (index == 0)
    return getBatch();
  return diagnostics.error(
      "shape-52", "input", input,
      Twine("dimension ") + Twine(index) + (symbol.empty() ? std::string() : " ('" + symbol + "')") + " has no size",
      symbol.empty() ? "give the whole shape: --shape " + input.str() + "=" + std::to_string(getBatch()) + "x…"
                     : "give it: --dim " + symbol + "=N");
}

FailureOr<ModelInput> ShapeBinding::bindInput(const onnx::ValueInfoProto &info) {
  static const onnx::TensorShapeProto::Dimension kUnknown;
  const onnx::TypeProto::Tensor &type = info.type().tensor_type();
  ModelInput input;
  input.name = info.name();
  input.type = type.elem_type();
  if (!getElementType(diagnostics.getContext(), input.type))
    return diagnostics.error("tensor-40", "input", input.name,
                             Twine("has element type ") + getTypeName(input.type) + ", which is not supported");
  const std::vector<int64_t> *given = findGivenShape(input.name);
  if (failed(checkRank(info, given)))
    return failure();
  int64_t rank = given ? static_cast<int64_t>(given->size()) : type.shape().dim_size();
  for (int64_t i = 0; i < rank; ++i) {
    const auto &dim = type.has_shape() ? type.shape().dim(static_cast<int>(i)) : kUnknown;
    FailureOr<int64_t> size = bindDim(input.name, i, dim, given ? std::optional((*given)[i]) : std::nullopt);
    if (failed(size))
      return failure();
    if (*size <= 0)
      return diagnostics.error("shape-59", "input", input.name,
                               Twine("dimension ") + Twine(i) + " is " + Twine(*size) + ", expected at least 1");
    input.shape.push_back(*size);
  }
  if (!countElements(input.shape))
    return diagnostics.error("tensor-33", "input", input.name, "the product of its dimensions overflows");
  bool isFixed =
      type.shape().dim_size() != 0 && type.shape().dim(0).value_case() == onnx::TensorShapeProto::Dimension::kDimValue;
  if (failed(checkBatch(input, isFixed)))
    return failure();
  return input;
}

FailureOr<std::vector<ModelInput>> ShapeBinding::bind() {
  if (failed(bindSymbols()))
    return failure();
  std::vector<ModelInput> inputs;
  // Shapes that are given bind symbols of other inputs too, whatever their order.
  for (const onnx::ValueInfoProto *info : getInputs())
    if (const std::vector<int64_t> *given = findGivenShape(info->name());
        given && static_cast<int>(given->size()) == info->type().tensor_type().shape().dim_size())
      for (auto [dim, size] : llvm::zip(info->type().tensor_type().shape().dim(), *given))
        if (!dim.dim_param().empty())
          (void)bindSymbol(dim.dim_param(), size, info->name());
  for (const onnx::ValueInfoProto *info : getInputs())
    if (FailureOr<ModelInput> input = bindInput(*info); succeeded(input))
      inputs.push_back(*input);
  if (diagnostics.hasErrors())
    return failure();
  return inputs;
}

LogicalResult ShapeBinding::checkDeclared(const onnx::ValueInfoProto &declared, const Operand &value) const {
  if (!declared.type().has_tensor_type())
    return success();
  const onnx::TypeProto::Tensor &type = declared.type().tensor_type();
  if (type.elem_type() != 0 && type.elem_type() != value.getType())
    return diagnostics.error("tensor-42", "value", declared.name(),
                             Twine("is declared as ") + getTypeName(type.elem_type()) + ", but is " +
                                 getTypeName(value.getType()));
  if (!type.has_shape())
    return success();
  bool differs = type.shape().dim_size() != value.getRank();
  for (int i = 0; !differs && i < type.shape().dim_size(); ++i) {
    const auto &dim = type.shape().dim(i);
    // Exporters write 0 where they do not know.
    differs = dim.dim_value() > 0 && dim.dim_value() != value.getShape()[i];
  }
  if (!differs)
    return success();
  std::string text;
  for (const auto &dim : type.shape().dim())
    text += (text.empty() ? "" : "x") + (dim.dim_param().empty() ? std::to_string(dim.dim_value()) : dim.dim_param());
  return diagnostics.error("shape-54", "value", declared.name(),
                           Twine("is declared as ") + (text.empty() ? "scalar" : text) + ", but is " +
                               formatShape(value.getShape()));
}
