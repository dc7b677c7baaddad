//===-- Collectives.cpp - evaluates the ops of dist ---------------------------------------------------------------===//

#include "dialects/nn/evaluate/Families.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace shardc::nn {

SmallVector<int64_t> getCoordinates(dist::MeshAttr mesh, int64_t rank) {
  SmallVector<int64_t> coordinates(mesh.getAxes().size());
  for (size_t axis = coordinates.size(); axis-- > 0;) {
    int64_t size = mesh.getAxes()[axis].getSize();
    coordinates[axis] = rank % size;
    rank /= size;
  }
  return coordinates;
}

int64_t getRank(dist::MeshAttr mesh, ArrayRef<int64_t> coordinates) {
  int64_t rank = 0;
  for (auto [axis, coordinate] : llvm::zip(mesh.getAxes(), coordinates))
    rank = rank * axis.getSize() + coordinate;
  return rank;
}

namespace {

/// The axes over which `op` communicates; none where it does not.
SmallVector<StringRef> getAxes(Operation *op) {
  return llvm::TypeSwitch<Operation *, SmallVector<StringRef>>(op)
      .Case([](dist::AllReduceOp reduce) { return llvm::to_vector(reduce.getAxes().getAsValueRange<StringAttr>()); })
      .Case<dist::AllGatherOp, dist::ReduceScatterOp, dist::AllToAllOp>(
          [](auto collective) { return SmallVector<StringRef>{collective.getAxis()}; })
      .Default([](Operation *) { return SmallVector<StringRef>(); });
}

/// Elements [block · size, (block + 1) · size) of `source` become those of `target` from `to` on.
void copyBlock(const Tensor &source, int64_t from, Tensor &target, int64_t to, int64_t size) {
  for (int64_t i = 0; i < size; ++i)
    copyElement(source, from + i, target, to + i);
}

/// Combines `value`'s elements from `from` on into all of `sum`.
void accumulate(dist::ReductionKind kind, const Tensor &value, int64_t from, Tensor &sum) {
  bool isMax = kind == dist::ReductionKind::Max;
  for (auto [i, element] : llvm::enumerate(sum.floats)) {
    double next = value.floats[from + i];
    element = !isMax ? element + next : (next != next || next > element ? next : element);
  }
  for (auto [i, element] : llvm::enumerate(sum.integers)) {
    int64_t next = value.integers[from + i];
    element = isMax ? std::max(element, next) : element + next;
  }
}

/// Combines the elements from `from` on of all operands, in their order.
Tensor combineAll(dist::ReductionKind kind, ArrayRef<const Tensor *> operands, int64_t from, RankedTensorType type) {
  Tensor sum = Tensor::getZeros(type);
  copyBlock(*operands.front(), from, sum, 0, sum.getNumElements());
  for (const Tensor *operand : operands.drop_front())
    accumulate(kind, *operand, from, sum);
  return sum;
}

} // namespace

SmallVector<int64_t> getMembers(Operation *op, dist::MeshAttr mesh, int64_t rank) {
  SmallVector<StringRef> axes = getAxes(op);
  if (axes.empty())
    return {};
  auto reduce = dyn_cast<dist::AllReduceOp>(op);
  std::optional<ArrayRef<int64_t>> only = reduce ? reduce.getMembers() : std::nullopt;
  SmallVector<int64_t> own = getCoordinates(mesh, rank), members;
  for (int64_t other = 0; other < mesh.getNumRanks(); ++other) {
    SmallVector<int64_t> coordinates = getCoordinates(mesh, other);
    bool isMember = true;
    for (auto [index, axis] : llvm::enumerate(mesh.getAxes())) {
      bool isFree = llvm::is_contained(axes, axis.getName());
      isMember &= isFree ? !only || llvm::is_contained(*only, coordinates[index]) : coordinates[index] == own[index];
    }
    if (isMember)
      members.push_back(other);
  }
  return members;
}

std::vector<Tensor> evaluateCollective(Operation *op, ArrayRef<const Tensor *> operands) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  int64_t count = operands.size(), size = type.getNumElements();
  std::vector<Tensor> results;
  for (int64_t member = 0; member < count; ++member) {
    Tensor &result = results.emplace_back(Tensor::getZeros(type));
    if (auto reduce = dyn_cast<dist::AllReduceOp>(op)) {
      result = combineAll(reduce.getKind(), operands, 0, type);
    } else if (auto scatter = dyn_cast<dist::ReduceScatterOp>(op)) {
      result = combineAll(scatter.getKind(), operands, member * size, type);
    } else {
      // All-gather takes all of the other's blocks, all-to-all the member's own one.
      int64_t block = size / count, from = isa<dist::AllToAllOp>(op) ? member * block : 0;
      for (int64_t other = 0; other < count; ++other)
        copyBlock(*operands[other], from, result, other * block, block);
    }
  }
  return results;
}

bool evaluateLocal(const Evaluation &evaluation) {
  auto getCoordinate = [&](StringRef axis) -> int64_t {
    dist::MeshAttr mesh = dist::MeshAttr::of(evaluation.op);
    int index = mesh ? mesh.getIndex(axis) : -1;
    return index < 0 || evaluation.coordinates.empty() ? 0 : evaluation.coordinates[index];
  };
  if (auto index = dyn_cast<dist::AxisIndexOp>(evaluation.op)) {
    evaluation.results[0].integers[0] = getCoordinate(index.getAxis());
    return true;
  }
  if (auto slice = dyn_cast<dist::LocalSliceOp>(evaluation.op)) {
    Tensor &result = evaluation.results[0];
    int64_t size = result.getNumElements();
    copyBlock(*evaluation.operands[0], getCoordinate(slice.getAxis()) * size, result, 0, size);
    return true;
  }
  return false;
}

} // namespace shardc::nn
