//===-- ReverseMode.cpp - reverse-mode differentiation of one block -----------------------------------------------===//

#include "ReverseMode.h"

#include "dialects/nn/Builders.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::autodiff;

namespace {

/// How a diagnostic names an op: its node, or its kind where it has no name.
std::string describe(Operation *op) {
  StringRef name = findName(op->getLoc());
  return name.empty() ? ("'" + op->getName().getStringRef() + "'").str() : ("'" + name + "'").str();
}

std::string describe(BlockArgument argument) {
  auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  auto parameter = function.getArgAttrOfType<DictionaryAttr>(argument.getArgNumber(), nn::kParameterAttr);
  auto name = parameter ? parameter.getAs<StringAttr>("name") : StringAttr();
  return name ? ("'" + name.getValue() + "'").str() : "argument " + std::to_string(argument.getArgNumber());
}

/// A pad of zeros along exactly one dimension, without gaps: a tile of a tensor that was split along it.
struct Tile {
  nn::PadOp pad;
  int64_t dim, start, size;
};

std::optional<Tile> matchTile(Value value) {
  auto pad = value.getDefiningOp<nn::PadOp>();
  if (!pad || llvm::any_of(pad.getInterior(), [](int64_t gap) { return gap != 0; }) ||
      pad.getValue() != nn::getScalarAttr(pad.getValue().getType(), 0))
    return std::nullopt;
  std::optional<Tile> tile;
  for (auto [dim, amounts] : llvm::enumerate(llvm::zip(pad.getLow(), pad.getHigh()))) {
    auto [low, high] = amounts;
    if (low == 0 && high == 0)
      continue;
    if (tile)
      return std::nullopt;
    tile = Tile{pad, static_cast<int64_t>(dim), low, nn::getTensorType(pad.getInput()).getDimSize(dim)};
  }
  return tile;
}

/// Whether the tiles, which are sorted by their start, cover dimension `dim` once.
bool doCover(ArrayRef<Tile> tiles) {
  int64_t end = 0;
  for (const Tile &tile : tiles) {
    if (tile.dim != tiles.front().dim || tile.start != end)
      return false;
    end += tile.size;
  }
  nn::PadOp first = tiles.front().pad;
  return tiles.size() > 1 && end == cast<RankedTensorType>(first.getType()).getDimSize(tiles.front().dim);
}

} // namespace

ReverseMode::ReverseMode(Block &block, ArrayRef<BlockArgument> parameters)
    : block(block), parameters(parameters), provenance(block.getParentOp()->getContext()),
      builder(block.getTerminator(), &provenance) {
  propagateActivity();
}

void ReverseMode::propagateActivity() {
  active.insert_range(parameters);
  for (Operation &op : block)
    if (llvm::any_of(op.getOperands(), [&](Value operand) { return isActive(operand); }))
      for (Value result : op.getResults())
        if (isa<FloatType>(getElementTypeOrSelf(result)))
          active.insert(result);
}

void ReverseMode::seed(Value value, double number, bool isScaled) {
  Operation *op = value.getDefiningOp();
  provenance.setGradientOf(op);
  nn::TensorBuilder build(builder, op->getLoc());
  Value cotangent = build.splatLike(value, number);
  if (isScaled) {
    auto type = RankedTensorType::get({}, builder.getF32Type());
    Value scale = nn::ControlOp::create(builder, op->getLoc(), type, nn::ControlField::LossScale);
    cotangent = build.mul(build.convert(scale, nn::getTensorType(value).getElementType()), cotangent);
  }
  contributions[value].push_back({cotangent, op});
}

LogicalResult ReverseMode::run() {
  SmallVector<Operation *> ops;
  for (Operation &op : block.without_terminator())
    ops.push_back(&op);
  LogicalResult result = success();
  for (Operation *op : llvm::reverse(ops))
    if (failed(differentiate(op)))
      result = failure();
  return result;
}

LogicalResult ReverseMode::differentiate(Operation *op) {
  SmallVector<Value> cotangents;
  for (Value value : op->getResults())
    cotangents.push_back(sumContributions(value));
  SmallVector<bool> needed;
  for (Value operand : op->getOperands())
    needed.push_back(isActive(operand));
  bool isOnTheWay = llvm::any_of(cotangents, [](Value cotangent) { return cotangent != nullptr; });
  if (!isOnTheWay || !llvm::is_contained(needed, true))
    return success();
  if (failed(checkDifferentiable(op, cotangents)))
    return failure();

  provenance.setGradientOf(op);
  auto differentiable = cast<nn::DifferentiableOpInterface>(op);
  SmallVector<Value> built = differentiable.buildCotangents(builder, cotangents, needed);
  for (size_t index = built.size(); index-- > 0;)
    if (built[index] && needed[index])
      contributions[op->getOperand(index)].push_back({built[index], op});
  return success();
}

LogicalResult ReverseMode::checkDifferentiable(Operation *op, ArrayRef<Value> cotangents) {
  auto differentiable = dyn_cast<nn::DifferentiableOpInterface>(op);
  if (!differentiable) {
    InFlightDiagnostic diagnostic = op->emitError() << "node " << describe(op) << ": '" << op->getName()
                                                    << "' has no gradient, but lies between a trainable parameter and "
                                                       "the loss [training-70]";
    attachPath(diagnostic, op);
    return diagnostic;
  }
  for (auto [index, cotangent] : llvm::enumerate(cotangents))
    if (cotangent && !differentiable.isDifferentiableResult(index)) {
      InFlightDiagnostic diagnostic = op->emitError()
                                      << "node " << describe(op) << ": result " << index << " of '" << op->getName()
                                      << "' has no gradient, but the loss depends on it [training-73]";
      attachPath(diagnostic, op);
      return diagnostic;
    }
  return success();
}

void ReverseMode::attachPath(InFlightDiagnostic &diagnostic, Operation *op) {
  SmallVector<std::string> steps{describe(op)};
  auto getActiveOperand = [&](Operation *from) {
    return *llvm::find_if(from->getOperands(), [&](Value operand) { return isActive(operand); });
  };
  Value value = getActiveOperand(op);
  for (; Operation *from = value.getDefiningOp(); value = getActiveOperand(from))
    steps.push_back(describe(from));
  // Of a long way the ends say most.
  constexpr size_t kShown = 6;
  if (steps.size() > 2 * kShown) {
    std::string rest = "(" + std::to_string(steps.size() - 2 * kShown) + " more)";
    steps.erase(steps.begin() + kShown, steps.end() - kShown);
    steps.insert(steps.begin() + kShown, rest);
  }
  Diagnostic &note = diagnostic.attachNote() << "path: parameter " << describe(cast<BlockArgument>(value));
  for (const std::string &step : llvm::reverse(steps))
    note << " -> " << step;
}

Value ReverseMode::getGradient(BlockArgument parameter) { return sumContributions(parameter); }

Value ReverseMode::sumContributions(Value value) {
  auto found = contributions.find(value);
  if (found == contributions.end())
    return {};
  SmallVector<Contribution, 2> all = std::move(found->second);
  contributions.erase(found);
  concatTiles(all);
  bool isLow = all.size() > 1 && nn::isLowPrecision(nn::getTensorType(value).getElementType());
  if (isLow)
    widen(all);
  Value sum = all.front().value;
  for (const Contribution &next : ArrayRef<Contribution>(all).drop_front())
    sum = add(sum, next, isa<BlockArgument>(value));
  if (isLow) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfter(sum.getDefiningOp());
    provenance.setGradientOf(all.back().use);
    sum = nn::TensorBuilder(builder, sum.getLoc()).convert(sum, nn::getTensorType(value).getElementType());
  }
  contributions[value].push_back({sum, all.back().use});
  return sum;
}

/// Low contributions in f32: what was rounded to become one, or else its f32 numbers. So their sum is rounded once.
void ReverseMode::widen(SmallVectorImpl<Contribution> &all) {
  for (Contribution &contribution : all) {
    auto convert = contribution.value.getDefiningOp<nn::ConvertOp>();
    if (convert && convert->hasAttr(nn::kBackwardAttr) &&
        nn::getTensorType(convert.getInput()).getElementType().isF32()) {
      contribution.value = convert.getInput();
      continue;
    }
    OpBuilder::InsertionGuard guard(builder);
    if (Operation *definition = contribution.value.getDefiningOp())
      builder.setInsertionPointAfter(definition);
    provenance.setGradientOf(contribution.use);
    nn::TensorBuilder build(builder, contribution.use->getLoc());
    contribution.value = build.convert(contribution.value, builder.getF32Type());
  }
}

void ReverseMode::concatTiles(SmallVectorImpl<Contribution> &all) {
  SmallVector<Tile> tiles;
  SmallVector<Contribution> rest;
  Operation *use = nullptr;
  for (const Contribution &contribution : all)
    if (std::optional<Tile> tile = matchTile(contribution.value)) {
      tiles.push_back(*tile);
      use = contribution.use;
    } else {
      rest.push_back(contribution);
    }
  llvm::stable_sort(tiles, [](const Tile &a, const Tile &b) { return a.start < b.start; });
  if (tiles.empty() || !doCover(tiles))
    return;

  provenance.setGradientOf(use);
  SmallVector<Value> pieces;
  for (Tile &tile : tiles)
    pieces.push_back(tile.pad.getInput());
  Value whole = nn::ConcatOp::create(builder, use->getLoc(), pieces, tiles.front().dim);
  all.assign(rest.begin(), rest.end());
  all.push_back({whole, use});
}

/// The sum stands right behind its later operand, so that nothing lives longer than it must.
Value ReverseMode::add(Value sum, const Contribution &next, bool isGradient) {
  OpBuilder::InsertionGuard guard(builder);
  Operation *last = sum.getDefiningOp(), *other = next.value.getDefiningOp();
  if (other && (!last || last->isBeforeInBlock(other)))
    last = other;
  if (last)
    builder.setInsertionPointAfter(last);
  provenance.setGradientOf(next.use);
  auto result = nn::AddOp::create(builder, next.use->getLoc(), sum, next.value);
  if (isGradient)
    result->setAttr(nn::kGradientSumAttr, builder.getUnitAttr());
  return result;
}
