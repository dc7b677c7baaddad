//===-- Evaluate.cpp - runs functions on virtual ranks ------------------------------------------------------------===//

#include "dialects/nn/Evaluate.h"

#include "dialects/nn/evaluate/Families.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;

namespace shardc::nn {

//===-- Tensors ---------------------------------------------------------------------------------------------------===//

Tensor Tensor::getZeros(RankedTensorType type) {
  Tensor tensor{type, {}, {}};
  if (tensor.isFloat())
    tensor.floats.resize(type.getNumElements());
  else
    tensor.integers.resize(type.getNumElements());
  return tensor;
}

Tensor Tensor::get(ElementsAttr elements) {
  Tensor tensor = getZeros(cast<RankedTensorType>(elements.getShapedType()));
  if (tensor.isFloat()) {
    for (auto [to, from] : llvm::zip(tensor.floats, elements.getValues<APFloat>()))
      to = from.convertToDouble();
    return tensor;
  }
  bool isBit = tensor.type.getElementType().isInteger(1);
  for (auto [to, from] : llvm::zip(tensor.integers, elements.getValues<APInt>()))
    to = isBit ? static_cast<int64_t>(from.getZExtValue()) : from.getSExtValue();
  return tensor;
}

SmallVector<int64_t> getStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (size_t dim = shape.size(); dim-- > 1;)
    strides[dim - 1] = strides[dim] * shape[dim];
  return strides;
}

void forEachIndex(ArrayRef<int64_t> shape, llvm::function_ref<void(ArrayRef<int64_t>, int64_t)> body) {
  SmallVector<int64_t> index(shape.size(), 0);
  int64_t count = llvm::product_of(shape);
  for (int64_t number = 0; number < count; ++number) {
    body(index, number);
    for (size_t dim = shape.size(); dim-- > 0;) {
      if (++index[dim] < shape[dim])
        break;
      index[dim] = 0;
    }
  }
}

std::vector<int64_t> getOffsets(ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> strides = getStrides(shape), sizes;
  for (int64_t dim : dims)
    sizes.push_back(shape[dim]);
  std::vector<int64_t> offsets;
  forEachIndex(sizes, [&](ArrayRef<int64_t> index, int64_t) {
    int64_t offset = 0;
    for (auto [dim, position] : llvm::zip(dims, index))
      offset += strides[dim] * position;
    offsets.push_back(offset);
  });
  return offsets;
}

void copyElement(const Tensor &source, int64_t from, Tensor &target, int64_t to) {
  if (source.isFloat())
    target.floats[to] = source.floats[from];
  else
    target.integers[to] = source.integers[from];
}

//===-- Ranks -----------------------------------------------------------------------------------------------------===//

namespace {

/// One virtual rank: its function, where it stands in it, and the values so far.
struct Rank {
  Block::iterator next;
  llvm::DenseMap<Value, Tensor> values;
  SmallVector<int64_t> coordinates;
};

void roundToF32(Tensor &tensor) {
  if (!tensor.type.getElementType().isF32())
    return;
  for (double &element : tensor.floats)
    element = static_cast<float>(element);
}

/// 16-bit floats are always rounded: mixed precision is about nothing else.
void roundToLow(Tensor &tensor) {
  Type type = tensor.type.getElementType();
  if (!isLowPrecision(type))
    return;
  const llvm::fltSemantics &semantics = cast<FloatType>(type).getFloatSemantics();
  for (double &element : tensor.floats) {
    APFloat value(element);
    bool losesInfo;
    value.convert(semantics, APFloat::rmNearestTiesToEven, &losesInfo);
    value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
    element = value.convertToDouble();
  }
}

class Machine {
public:
  Machine(dist::MeshAttr mesh, const ControlValues &control, EvaluateOptions options)
      : mesh(mesh), control(control), options(options) {}

  LogicalResult addRank(func::FuncOp function, Tensors arguments);
  LogicalResult run();
  std::vector<Tensors> takeResults();

private:
  bool isAtEnd(const Rank &rank) const { return rank.next->hasTrait<OpTrait::IsTerminator>(); }
  /// Runs `rank` up to its next collective or its end; sets `progress` where it does anything.
  LogicalResult advance(Rank &rank, bool &progress);
  /// Runs the collective at which `rank` stands, if all its members stand at the same.
  LogicalResult meet(int64_t rank, bool &progress);
  void setResult(Rank &rank, Value value, Tensor tensor);
  SmallVector<const Tensor *> getOperands(const Rank &rank) const;

  dist::MeshAttr mesh;
  const ControlValues &control;
  EvaluateOptions options;
  std::vector<Rank> ranks;
};

LogicalResult Machine::addRank(func::FuncOp function, Tensors arguments) {
  if (!function.getBody().hasOneBlock())
    return function.emitError("has ") << function.getBody().getBlocks().size() << " blocks, expected 1";
  Block &body = function.getBody().front();
  if (arguments.size() != body.getNumArguments())
    return function.emitError("has ") << body.getNumArguments() << " arguments, got " << arguments.size();
  Rank rank;
  rank.next = body.begin();
  if (mesh)
    rank.coordinates = getCoordinates(mesh, ranks.size());
  for (auto [value, tensor] : llvm::zip(body.getArguments(), arguments)) {
    if (value.getType() != tensor.type)
      return function.emitError("argument ")
             << value.getArgNumber() << " has type " << value.getType() << ", got " << tensor.type;
    setResult(rank, value, std::move(tensor));
  }
  ranks.push_back(std::move(rank));
  return success();
}

void Machine::setResult(Rank &rank, Value value, Tensor tensor) {
  if (options.roundToF32)
    roundToF32(tensor);
  roundToLow(tensor);
  rank.values[value] = std::move(tensor);
}

SmallVector<const Tensor *> Machine::getOperands(const Rank &rank) const {
  SmallVector<const Tensor *> operands;
  for (Value operand : rank.next->getOperands())
    operands.push_back(&rank.values.find(operand)->second);
  return operands;
}

LogicalResult Machine::advance(Rank &rank, bool &progress) {
  for (; !isAtEnd(rank); ++rank.next, progress = true) {
    Operation *op = &*rank.next;
    if (!mesh && isa_and_present<dist::DistDialect>(op->getDialect()))
      return op->emitOpError("needs the ranks of a mesh, but is evaluated on one rank without");
    if (!getMembers(op, mesh, 0).empty())
      return success();
    SmallVector<Tensor> results;
    for (Type type : op->getResultTypes())
      results.push_back(Tensor::getZeros(cast<RankedTensorType>(type)));
    SmallVector<const Tensor *> operands = getOperands(rank);
    Evaluation evaluation{op, operands, results, control, rank.coordinates};
    if (!evaluateElementwise(evaluation) && !evaluateShape(evaluation) && !evaluateContraction(evaluation) &&
        !evaluateReduction(evaluation) && !evaluateNormalization(evaluation) && !evaluateRandom(evaluation) &&
        !evaluateLocal(evaluation))
      return op->emitOpError("has no meaning for the evaluator");
    for (auto [value, tensor] : llvm::zip(op->getResults(), results))
      setResult(rank, value, std::move(tensor));
  }
  return success();
}

/// Whether two ranks stand at the same collective.
bool isSameCollective(Operation *a, Operation *b) {
  if (a == b)
    return true;
  return a->getName() == b->getName() && a->getPropertiesAsAttribute() == b->getPropertiesAsAttribute() &&
         a->getOperandTypes() == b->getOperandTypes();
}

LogicalResult Machine::meet(int64_t number, bool &progress) {
  Rank &rank = ranks[number];
  if (isAtEnd(rank))
    return success();
  Operation *op = &*rank.next;
  SmallVector<int64_t> members = getMembers(op, mesh, number);
  SmallVector<const Tensor *> operands;
  for (int64_t member : members) {
    const Rank &other = ranks[member];
    if (isAtEnd(other) || !isSameCollective(op, &*other.next))
      return success();
    operands.push_back(getOperands(other).front());
  }
  std::vector<Tensor> results = evaluateCollective(op, operands);
  for (auto [member, result] : llvm::zip(members, results)) {
    setResult(ranks[member], ranks[member].next->getResult(0), std::move(result));
    ++ranks[member].next;
  }
  progress = true;
  return success();
}

LogicalResult Machine::run() {
  bool progress = true;
  while (progress) {
    progress = false;
    for (Rank &rank : ranks)
      if (failed(advance(rank, progress)))
        return failure();
    for (size_t number = 0; number < ranks.size(); ++number)
      if (failed(meet(number, progress)))
        return failure();
  }
  for (auto [number, rank] : llvm::enumerate(ranks))
    if (!isAtEnd(rank))
      return rank.next->emitOpError("waits for other ranks forever on rank ") << number;
  return success();
}

std::vector<Tensors> Machine::takeResults() {
  std::vector<Tensors> results;
  for (Rank &rank : ranks) {
    Tensors &tensors = results.emplace_back();
    for (Value operand : rank.next->getOperands())
      tensors.push_back(rank.values[operand]);
  }
  return results;
}

} // namespace

FailureOr<std::vector<Tensors>> evaluate(ArrayRef<func::FuncOp> functions, std::vector<Tensors> arguments,
                                         const ControlValues &control, EvaluateOptions options) {
  assert(functions.size() == arguments.size() && !functions.empty() && "one function and one argument list a rank");
  func::FuncOp first = functions.front();
  dist::MeshAttr mesh = dist::MeshAttr::of(first);
  int64_t numRanks = functions.size();
  if (numRanks == 1 && (!mesh || mesh.getNumRanks() != 1))
    mesh = {};
  else if (!mesh || mesh.getNumRanks() != numRanks)
    return first.emitError("runs on ") << numRanks << " ranks, but the mesh is " << mesh;
  Machine machine(mesh, control, options);
  for (auto [function, tensors] : llvm::zip(functions, arguments))
    if (failed(machine.addRank(function, std::move(tensors))))
      return failure();
  if (failed(machine.run()))
    return failure();
  return machine.takeResults();
}

FailureOr<std::vector<Tensors>> evaluate(func::FuncOp function, std::vector<Tensors> arguments,
                                         const ControlValues &control, EvaluateOptions options) {
  SmallVector<func::FuncOp> functions(arguments.size(), function);
  return evaluate(functions, std::move(arguments), control, options);
}

FailureOr<Tensors> evaluate(func::FuncOp function, Tensors arguments, const ControlValues &control,
                            EvaluateOptions options) {
  std::vector<Tensors> all;
  all.push_back(std::move(arguments));
  FailureOr<std::vector<Tensors>> results =
      evaluate(ArrayRef<func::FuncOp>(function), std::move(all), control, options);
  if (failed(results))
    return failure();
  return std::move(results->front());
}

} // namespace shardc::nn
