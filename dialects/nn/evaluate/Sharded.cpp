//===-- Sharded.cpp - takes tensors apart by their shardings and puts them together -------------------------------===//

#include "dialects/nn/EvaluateSharded.h"

#include "dialects/nn/evaluate/Families.h"

#include <cmath>
#include <limits>
#include <random>

using namespace mlir;

namespace shardc::nn {
namespace {

/// The global positions along one dimension that a rank with these coordinates holds, in local order.
std::vector<int64_t> getPositions(dist::DimAttr dim, dist::MeshAttr mesh, ArrayRef<int64_t> coordinates) {
  std::vector<int64_t> positions{0};
  for (dist::SubDimAttr sub : dim.getSubDims()) {
    int64_t block = 0, ranks = 1;
    for (StringAttr axis : sub.getAxes()) {
      int index = mesh.getIndex(axis);
      block = block * mesh.getSize(axis) + (index < 0 ? 0 : coordinates[index]);
      ranks *= mesh.getSize(axis);
    }
    int64_t size = sub.getSize() / ranks;
    std::vector<int64_t> finer;
    for (int64_t outer : positions)
      for (int64_t i = 0; i < size; ++i)
        finer.push_back(outer * sub.getSize() + block * size + i);
    positions = std::move(finer);
  }
  return positions;
}

/// Calls `body` with the number of every local element and of the global one that it is; -1 in the padding.
void forEachElement(ArrayRef<int64_t> globalShape, dist::ShardingAttr sharding, dist::MeshAttr mesh, int64_t rank,
                    llvm::function_ref<void(int64_t local, int64_t global)> body) {
  SmallVector<int64_t> coordinates = getCoordinates(mesh, rank), strides = getStrides(globalShape), localShape;
  std::vector<std::vector<int64_t>> positions;
  for (dist::DimAttr dim : sharding.getDims()) {
    positions.push_back(getPositions(dim, mesh, coordinates));
    localShape.push_back(positions.back().size());
  }
  forEachIndex(localShape, [&](ArrayRef<int64_t> index, int64_t number) {
    int64_t offset = 0;
    bool isPadding = false;
    for (auto [dim, i] : llvm::enumerate(index)) {
      int64_t position = positions[dim][i];
      isPadding |= position >= globalShape[dim];
      offset += position * strides[dim];
    }
    body(number, isPadding ? -1 : offset);
  });
}

/// Numbers the replicas: the coordinates on the axes that neither split the value nor are partial.
int64_t getReplica(dist::ShardingAttr sharding, dist::MeshAttr mesh, int64_t rank) {
  int64_t replica = 0;
  for (auto [axis, coordinate] : llvm::zip(mesh.getAxes(), getCoordinates(mesh, rank))) {
    bool matters = sharding.isSplitOver(axis.getName()) || sharding.getPartial(axis.getName());
    replica = replica * axis.getSize() + (matters ? 0 : coordinate);
  }
  return replica;
}

void combineElement(std::optional<dist::ReductionKind> partial, const Tensor &from, int64_t source, Tensor &to,
                    int64_t target, bool isFirst) {
  if (!partial || isFirst)
    return copyElement(from, source, to, target);
  bool isMax = *partial == dist::ReductionKind::Max;
  if (to.isFloat()) {
    double &sum = to.floats[target], next = from.floats[source];
    sum = isMax ? std::fmax(sum, next) : sum + next;
  } else {
    int64_t &sum = to.integers[target], next = from.integers[source];
    sum = isMax ? std::max(sum, next) : sum + next;
  }
}

dist::ShardingAttr getShardingOrReplicated(dist::ShardingAttr sharding, RankedTensorType type) {
  return sharding ? sharding : dist::ShardingAttr::getReplicated(type.getContext(), type.getShape());
}

} // namespace

Tensor sliceShard(const Tensor &global, dist::ShardingAttr sharding, dist::MeshAttr mesh, int64_t rank) {
  Tensor local = Tensor::getZeros(global.type.clone(sharding.getLocalShape(mesh)));
  forEachElement(global.getShape(), sharding, mesh, rank, [&](int64_t to, int64_t from) {
    if (from >= 0)
      copyElement(global, from, local, to);
  });
  return local;
}

FailureOr<Tensor> assembleShards(ArrayRef<Tensor> locals, dist::ShardingAttr sharding, dist::MeshAttr mesh,
                                 RankedTensorType type, double tolerance, Location loc) {
  std::optional<dist::ReductionKind> partial;
  for (dist::PartialAttr entry : sharding.getPartial())
    partial = entry.getKind();
  std::vector<Tensor> replicas(mesh.getNumRanks());
  std::vector<std::vector<bool>> seen(mesh.getNumRanks());
  for (auto [rank, local] : llvm::enumerate(locals)) {
    RankedTensorType expected = type.clone(sharding.getLocalShape(mesh));
    if (local.type != expected)
      return emitError(loc) << "sharding " << sharding << " has local type " << expected << ", got " << local.type;
    int64_t replica = getReplica(sharding, mesh, rank);
    if (seen[replica].empty()) {
      replicas[replica] = Tensor::getZeros(type);
      seen[replica].resize(type.getNumElements());
    }
    forEachElement(type.getShape(), sharding, mesh, rank, [&, &local = local](int64_t from, int64_t to) {
      if (to < 0)
        return;
      combineElement(partial, local, from, replicas[replica], to, !seen[replica][to]);
      seen[replica][to] = true;
    });
  }
  for (auto [number, replica] : llvm::enumerate(replicas))
    if (!seen[number].empty())
      if (double difference = getDifference(replica, replicas.front()); difference > tolerance)
        return emitError(loc) << "replicas with sharding " << sharding << " differ by " << difference
                              << ", expected at most " << tolerance;
  return std::move(replicas.front());
}

double getDifference(const Tensor &actual, const Tensor &expected) {
  if (!expected.isFloat())
    return actual.integers == expected.integers ? 0 : std::numeric_limits<double>::infinity();
  double largest = 0, difference = 0;
  for (auto [a, b] : llvm::zip(actual.floats, expected.floats)) {
    if (a == b || (std::isnan(a) && std::isnan(b)))
      continue;
    double distance = std::abs(a - b);
    difference = std::max(difference, std::isnan(distance) ? std::numeric_limits<double>::infinity() : distance);
  }
  for (double b : expected.floats)
    if (std::isfinite(b))
      largest = std::max(largest, std::abs(b));
  return largest > 0 ? difference / largest : difference;
}

//===-- Arguments -------------------------------------------------------------------------------------------------===//

namespace {

/// The entry of the module's `nn.inputs` for an argument.
DictionaryAttr getInput(func::FuncOp function, unsigned argument) {
  auto name = function.getArgAttrOfType<StringAttr>(argument, kInputAttr);
  auto inputs = function->getParentOp()->getAttrOfType<ArrayAttr>("nn.inputs");
  if (name && inputs)
    for (auto input : inputs.getAsRange<DictionaryAttr>())
      if (input.get("name") == name)
        return input;
  return {};
}

void fillIntegers(Tensor &tensor, DictionaryAttr input, std::mt19937_64 &random) {
  auto bound = input ? input.getAs<IntegerAttr>("index_bound") : IntegerAttr();
  auto ignore = input ? input.getAs<IntegerAttr>("ignore_value") : IntegerAttr();
  uint64_t limit = bound && bound.getInt() > 0 ? bound.getInt() : 2;
  for (int64_t &element : tensor.integers) {
    element = random() % limit;
    if (ignore && random() % 8 == 0)
      element = ignore.getInt();
  }
}

} // namespace

Tensors makeArguments(func::FuncOp function, uint64_t seed) {
  std::mt19937_64 random(seed);
  Tensors arguments;
  for (auto [number, type] : llvm::enumerate(function.getArgumentTypes())) {
    Tensor &tensor = arguments.emplace_back(Tensor::getZeros(cast<RankedTensorType>(type)));
    // Second moments and powers of β are not negative.
    bool isPositive = function.getArgAttr(number, "nn.state") || function.getArgAttr(number, "nn.scalar");
    for (double &element : tensor.floats) {
      double uniform = static_cast<double>(random() >> 11) * 0x1p-53;
      element = isPositive ? 0.1 + 0.8 * uniform : 2 * uniform - 1;
    }
    fillIntegers(tensor, getInput(function, number), random);
    if (function.getArgAttr(number, "nn.scalar"))
      tensor.integers.assign(tensor.integers.size(), 0);
  }
  return arguments;
}

LogicalResult checkSequentialEqualsParallel(func::FuncOp global, func::FuncOp local, const Tensors &arguments,
                                            const ControlValues &control, double tolerance) {
  dist::MeshAttr mesh = dist::MeshAttr::of(local);
  if (!mesh)
    return local.emitError("stands in a module without '") << dist::kMeshAttr << "'";
  if (global.getNumArguments() != local.getNumArguments() || global.getNumResults() != local.getNumResults())
    return local.emitError("has ") << local.getNumArguments() << " arguments and " << local.getNumResults()
                                   << " results, expected " << global.getNumArguments() << " and "
                                   << global.getNumResults();
  FailureOr<Tensors> expected = evaluate(global, arguments, control);
  if (failed(expected))
    return failure();

  std::vector<Tensors> shards(mesh.getNumRanks());
  for (auto [number, argument] : llvm::enumerate(arguments)) {
    auto sharding = local.getArgAttrOfType<dist::ShardingAttr>(number, dist::kShardingAttr);
    for (auto [rank, tensors] : llvm::enumerate(shards))
      tensors.push_back(sliceShard(argument, getShardingOrReplicated(sharding, argument.type), mesh, rank));
  }
  FailureOr<std::vector<Tensors>> results = evaluate(local, std::move(shards), control);
  if (failed(results))
    return failure();

  bool isEqual = true;
  for (auto [number, whole] : llvm::enumerate(*expected)) {
    auto sharding = local.getResultAttrOfType<dist::ShardingAttr>(number, dist::kShardingAttr);
    std::vector<Tensor> parts;
    for (Tensors &tensors : *results)
      parts.push_back(std::move(tensors[number]));
    FailureOr<Tensor> assembled = assembleShards(parts, getShardingOrReplicated(sharding, whole.type), mesh, whole.type,
                                                 tolerance, local.getLoc());
    double difference = succeeded(assembled) ? getDifference(*assembled, whole) : 0;
    if (failed(assembled) || difference > tolerance) {
      local.emitError("result ") << number << " differs from the sequential one by " << difference
                                 << ", expected at most " << tolerance;
      isEqual = false;
    }
  }
  return success(isEqual);
}

} // namespace shardc::nn
