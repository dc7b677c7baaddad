//===-- StepData.cpp - what one step of training is fed with -----------------------------------------------------===//

#include "test/Passes/StepData.h"

#include <cmath>

using namespace mlir;
using namespace shardc;
using namespace shardc::test;
using nn::Tensor;
using nn::Tensors;

dist::MeshAttr test::withStages(dist::MeshAttr mesh, int64_t stages) {
  SmallVector<dist::AxisAttr> axes;
  for (dist::AxisAttr axis : mesh.getAxes())
    axes.push_back(
        dist::AxisAttr::get(mesh.getContext(), axis.getName(), axis.getName() == "pp" ? stages : axis.getSize()));
  return dist::MeshAttr::get(mesh.getContext(), axes);
}

Coordinates test::locate(dist::MeshAttr mesh, int64_t rank) {
  Coordinates coordinates;
  for (dist::AxisAttr axis : llvm::reverse(mesh.getAxes())) {
    coordinates[axis.getName().str()] = rank % axis.getSize();
    rank /= axis.getSize();
  }
  return coordinates;
}

int64_t test::getRank(dist::MeshAttr mesh, const Coordinates &coordinates) {
  int64_t rank = 0;
  for (dist::AxisAttr axis : mesh.getAxes())
    rank = rank * axis.getSize() + coordinates.at(axis.getName().str());
  return rank;
}

Tensor Data::getInput(StringRef name, const Coordinates &at, int64_t microBatch) {
  func::FuncOp function = functions[0];
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (auto input = function.getArgAttrOfType<StringAttr>(i, nn::kInputAttr); input && input == name)
      return get(function, i, at, 1 + microBatch);
  llvm_unreachable("every input is an argument of @accumulate");
}

Tensor Data::getPersistent(StringRef name, const Coordinates &at) {
  for (func::FuncOp function : functions)
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (getName(function, i) == name)
        return get(function, i, at, 0);
  llvm_unreachable("every parameter is an argument of @accumulate, every state of @update");
}

StringRef Data::getName(func::FuncOp function, unsigned argument) {
  for (StringRef kind : {StringRef(nn::kParameterAttr), StringRef("nn.state")})
    if (auto attribute = function.getArgAttrOfType<DictionaryAttr>(argument, kind))
      return attribute.getAs<StringAttr>("name").getValue();
  return "";
}

Tensor Data::get(func::FuncOp function, unsigned argument, const Coordinates &at, uint64_t seed) {
  auto sharding = function.getArgAttrOfType<dist::ShardingAttr>(argument, dist::kShardingAttr);
  for (const auto &[axis, coordinate] : at)
    seed = 31 * seed + (sharding && axis != "pp" && sharding.isSplitOver(axis) ? coordinate : 0);
  auto [found, fresh] = cache.try_emplace({function.getName().str(), seed});
  if (fresh)
    found->second = nn::makeArguments(function, seed);
  return found->second[argument];
}

double test::roundTo(Type type, double value) { return type.isF32() ? static_cast<float>(value) : value; }

void test::addTo(Tensor &sum, const Tensor &summand) {
  Type type = sum.type.getElementType();
  for (auto [element, other] : llvm::zip_equal(sum.floats, summand.floats))
    element = roundTo(type, element + other);
}

Tensor test::makeScalar(MLIRContext *context, Type type, double value) {
  Tensor tensor = Tensor::getZeros(RankedTensorType::get({}, type));
  if (tensor.isFloat())
    tensor.floats[0] = roundTo(type, value);
  else
    tensor.integers[0] = value;
  return tensor;
}

nn::ControlValues test::getControl(int64_t microBatch, int64_t samples) {
  return {7, 3, microBatch * samples, 0.01, 1};
}
