//===-- SequentialStep.cpp - a step of training without stages ---------------------------------------------------===//

#include "test/Passes/SequentialStep.h"

#include <cmath>

using namespace mlir;
using namespace shardc;
using namespace shardc::test;
using nn::Tensor;
using nn::Tensors;

LogicalResult SequentialStep::run() {
  sums.resize(mesh.getNumRanks());
  persistent.resize(mesh.getNumRanks());
  for (int64_t microBatch = 0; microBatch < training.microBatches; ++microBatch)
    if (failed(runMicroBatch(microBatch)))
      return failure();
  reduce();
  return runUpdate();
}

std::string SequentialStep::getResultName(unsigned result) {
  if (auto loss = accumulate.getResultAttrOfType<StringAttr>(result, nn::kLossAttr))
    return ("loss." + loss.getValue()).str();
  return accumulate.getResultAttrOfType<StringAttr>(result, nn::kGradientAttr).str();
}

LogicalResult SequentialStep::runMicroBatch(int64_t microBatch) {
  std::vector<Tensors> arguments(mesh.getNumRanks());
  for (auto [rank, tensors] : llvm::enumerate(arguments))
    for (unsigned i = 0; i < accumulate.getNumArguments(); ++i) {
      auto input = accumulate.getArgAttrOfType<StringAttr>(i, nn::kInputAttr);
      tensors.push_back(input ? data.getInput(input, locate(mesh, rank), microBatch)
                              : data.getPersistent(Data::getName(accumulate, i), locate(mesh, rank)));
    }
  auto results = nn::evaluate(accumulate, std::move(arguments), getControl(microBatch, training.samples), {true});
  if (failed(results))
    return failure();
  for (auto [rank, tensors] : llvm::enumerate(*results))
    for (auto [number, tensor] : llvm::enumerate(tensors)) {
      auto [sum, fresh] = sums[rank].try_emplace(getResultName(number), tensor);
      if (!fresh)
        addTo(sum->second, tensor);
    }
  return success();
}

void SequentialStep::reduce() {
  reduced = sums;
  for (unsigned result = 0; result < accumulate.getNumResults(); ++result) {
    auto sharding = accumulate.getResultAttrOfType<dist::ShardingAttr>(result, dist::kShardingAttr);
    std::string name = getResultName(result);
    for (auto [rank, tensors] : llvm::enumerate(reduced)) {
      Tensor total = Tensor::getZeros(tensors.at(name).type);
      for (auto [other, parts] : llvm::enumerate(sums)) {
        Coordinates here = locate(mesh, rank), there = locate(mesh, other);
        bool meet = llvm::all_of(here, [&](const auto &entry) {
          return entry.second == there[entry.first] || (sharding && sharding.getPartial(entry.first));
        });
        for (auto [element, part] : llvm::zip(total.floats, parts.at(name).floats))
          element += meet ? part : 0;
      }
      tensors.at(name) = total;
    }
  }
}

double SequentialStep::sumSquares() {
  double sum = 0;
  for (unsigned i = 0; i < update.getNumArguments(); ++i) {
    auto name = update.getArgAttrOfType<StringAttr>(i, nn::kGradientAttr);
    auto sharding = update.getArgAttrOfType<dist::ShardingAttr>(i, dist::kShardingAttr);
    for (auto [rank, tensors] : llvm::enumerate(reduced)) {
      bool counts = llvm::all_of(locate(mesh, rank), [&](const auto &entry) {
        return entry.second == 0 || (sharding && sharding.isSplitOver(entry.first));
      });
      if (name && counts)
        for (double element : tensors.at(name.str()).floats)
          sum += element * element;
    }
  }
  return sum;
}

LogicalResult SequentialStep::runUpdate() {
  double sum = reduced[0].at("loss.sum").floats[0], weight = reduced[0].at("loss.weight").floats[0];
  double mean = training.lossSeed / (weight == 0 ? 1 : weight);
  double norm = std::sqrt(sumSquares()) * mean;
  double clip = training.clipNorm > 0 ? std::min(1.0, training.clipNorm / (norm + 1e-6)) : 1.0;
  bool skip = weight == 0 || !std::isfinite(norm + sum);
  outputs = {{"loss", sum / (weight == 0 ? 1 : weight)},
             {"grad_norm", norm},
             {"loss_weight", weight},
             {"gradient_scale", mean},
             {"skipped", skip}};
  std::vector<Tensors> arguments(mesh.getNumRanks());
  for (auto [rank, tensors] : llvm::enumerate(arguments))
    for (unsigned i = 0; i < update.getNumArguments(); ++i) {
      auto gradient = update.getArgAttrOfType<StringAttr>(i, nn::kGradientAttr);
      auto scalar = update.getArgAttrOfType<StringAttr>(i, "nn.scalar");
      Type element = cast<RankedTensorType>(update.getArgumentTypes()[i]).getElementType();
      if (gradient)
        tensors.push_back(reduced[rank].at(gradient.str()));
      else if (scalar)
        tensors.push_back(makeScalar(update.getContext(), element, scalar == "scale" ? mean * clip : skip));
      else
        tensors.push_back(data.getPersistent(Data::getName(update, i), locate(mesh, rank)));
    }
  auto results = nn::evaluate(update, std::move(arguments), getControl(0, training.samples), {true});
  if (failed(results))
    return failure();
  for (auto [rank, tensors] : llvm::enumerate(*results))
    for (auto [number, tensor] : llvm::enumerate(tensors))
      for (StringRef kind : {StringRef(nn::kParameterAttr), StringRef("nn.state")})
        if (auto attribute = update.getResultAttrOfType<DictionaryAttr>(number, kind))
          persistent[rank][attribute.getAs<StringAttr>("name").str()] = tensor;
  return success();
}
