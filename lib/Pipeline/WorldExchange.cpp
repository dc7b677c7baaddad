//===-- WorldExchange.cpp - what all ranks must know before they update -------------------------------------------===//

#include "WorldExchange.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::pipeline;

int64_t Section::countSlots() const {
  int64_t slots = 1;
  for (dist::AxisAttr axis : axes)
    slots *= axis.getSize();
  return slots;
}

int64_t WorldLayout::getLength() const {
  int64_t length = lossSum.getLength() + lossWeight.getLength();
  for (const Section &section : squares)
    length += section.getLength();
  return length;
}

void WorldLayout::addParameter(int64_t elements, ArrayRef<dist::AxisAttr> axes) {
  auto *section = llvm::find_if(squares, [&](const Section &candidate) { return ArrayRef(candidate.axes) == axes; });
  sections.push_back(section - squares.begin());
  blocks.push_back((elements + kNormBlock - 1) / kNormBlock);
  if (section == squares.end())
    squares.push_back({SmallVector<dist::AxisAttr>(axes), 0});
  squares[sections.back()].values += blocks.back();
}

SmallVector<dist::AxisAttr> shardc::pipeline::filterAxes(dist::MeshAttr mesh,
                                                         llvm::function_ref<bool(dist::AxisAttr)> select) {
  SmallVector<dist::AxisAttr> axes;
  for (dist::AxisAttr axis : mesh.getAxes())
    if (axis.getSize() > 1 && axis.getName() != "pp" && select(axis))
      axes.push_back(axis);
  return axes;
}

namespace {

class Exchanger {
public:
  Exchanger(OpBuilder &builder, dist::MeshAttr mesh)
      : builder(builder), mesh(mesh), loc(NameLoc::get(builder.getStringAttr("world exchange"))) {
    for (dist::AxisAttr axis : mesh.getAxes())
      if (axis.getSize() > 1) {
        auto name = builder.getStringAttr(axis.getName());
        axisNames.push_back(name);
        partial.push_back(dist::PartialAttr::get(builder.getContext(), name, dist::ReductionKind::Sum));
      }
  }

  /// Appends a section; `value` is a vector of its values, or null for zeros.
  void append(const Section &section, Value value) {
    if (value)
      add(pieces, place(section, value));
    else
      pieces.zeros += section.getLength();
  }

  /// A scalar that is a summand over the axes of its section.
  void appendScalar(const Section &section, Value scalar) {
    if (scalar)
      scalar = markPartial(broadcast(markPartial(toF64(scalar), section.axes), {1}, {}), section.axes);
    append(section, scalar);
  }

  /// Appends the block sums of one section; parameters whose gradient is null have zeros.
  void appendSquares(const WorldLayout &layout, size_t section, ArrayRef<Value> gradients) {
    Pieces blocks;
    for (auto [gradient, count, place] : llvm::zip_equal(gradients, layout.blocks, layout.sections)) {
      if (place != section)
        continue;
      if (gradient)
        add(blocks, nn::BlockSumSquaresOp::create(builder, loc, gradient, kNormBlock));
      else
        blocks.zeros += count;
    }
    append(layout.squares[section], blocks.values.empty() ? Value() : concatenate(blocks));
  }

  /// The vector's sum over all ranks.
  Value finish() {
    Value vector = markPartial(concatenate(pieces));
    if (axisNames.empty())
      return vector;
    return dist::AllReduceOp::create(builder, loc, vector.getType(), vector, builder.getArrayAttr(axisNames),
                                     dist::ReductionKind::Sum, nullptr);
  }

  Value sumPlaces(Value vector, int64_t begin, int64_t end) {
    if (begin == end)
      return nn::ConstantOp::create(builder, loc, DenseElementsAttr::get(vectorType({}), 0.0));
    Value places = nn::SliceOp::create(builder, loc, vector, {begin}, {end}, {1});
    return nn::ReduceOp::create(builder, loc, nn::ReduceKind::Sum, places, {0});
  }

private:
  /// Vectors after one another; `zeros` follow the last one.
  struct Pieces {
    SmallVector<Value> values;
    int64_t zeros = 0;
  };

  void add(Pieces &list, Value value) {
    flushZeros(list);
    list.values.push_back(value);
  }

  void flushZeros(Pieces &list) {
    if (list.zeros > 0)
      list.values.push_back(&list == &pieces ? markPartial(createZeros({list.zeros})) : createZeros({list.zeros}));
    list.zeros = 0;
  }

  Value concatenate(Pieces &list) {
    flushZeros(list);
    return list.values.size() == 1 ? list.values[0] : nn::ConcatOp::create(builder, loc, list.values, 0).getResult();
  }

  RankedTensorType vectorType(ArrayRef<int64_t> shape) { return RankedTensorType::get(shape, builder.getF64Type()); }

  Value toF64(Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    if (type.getElementType().isF64())
      return value;
    return nn::ConvertOp::create(builder, loc, vectorType(type.getShape()), value);
  }

  Value broadcast(Value value, ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
    auto type = RankedTensorType::get(shape, cast<RankedTensorType>(value.getType()).getElementType());
    return nn::BroadcastInDimOp::create(builder, loc, type, value, dims);
  }

  Value createZeros(ArrayRef<int64_t> shape) {
    return nn::ConstantOp::create(builder, loc, DenseElementsAttr::get(vectorType(shape), 0.0));
  }

  /// Says that a value is a summand of the vector.
  Value markPartial(Value value) { return markPartial(value, partial); }

  Value markPartial(Value value, ArrayRef<dist::AxisAttr> axes) {
    SmallVector<dist::PartialAttr> summed;
    for (dist::AxisAttr axis : axes)
      summed.push_back(dist::PartialAttr::get(builder.getContext(), builder.getStringAttr(axis.getName()),
                                              dist::ReductionKind::Sum));
    return markPartial(value, summed);
  }

  static Value markPartial(Value value, ArrayRef<dist::PartialAttr> over) {
    auto shape = cast<RankedTensorType>(value.getType()).getShape();
    auto whole = dist::ShardingAttr::getReplicated(value.getContext(), shape);
    dist::setSharding(value, dist::ShardingAttr::get(value.getContext(), whole.getDims(), over));
    return value;
  }

  /// The values in the slot of this rank; zeros in the others, and everywhere on ranks that do not contribute.
  Value place(const Section &section, Value value) {
    int64_t slots = section.countSlots();
    Value number = numberRank(section);
    if (!number) {
      // What is concatenated is computed in its place, so that it is a summand as soon as it is written.
      if (auto concat = value.getDefiningOp<nn::ConcatOp>())
        for (Value piece : concat.getInputs())
          markPartial(piece);
      return markPartial(value);
    }
    SmallVector<int64_t> shape{slots, section.values};
    auto indices = RankedTensorType::get(shape, builder.getI64Type());
    Value slot = nn::IotaOp::create(builder, loc, indices, 0);
    Value mine = nn::CompareOp::create(builder, loc, nn::CompareDirection::EQ, slot, broadcast(number, shape, {}));
    Value everywhere = broadcast(value, shape, {1});
    if (dist::ShardingAttr sharding = dist::getSharding(value))
      markPartial(everywhere, sharding.getPartial());
    Value placed = markPartial(nn::SelectOp::create(builder, loc, mine, everywhere, createZeros(shape)));
    return markPartial(nn::ReshapeOp::create(builder, loc, vectorType({slots * section.values}), placed));
  }

  /// The slot of this rank; not below the number of slots where a coordinate on an axis that has no slots is not 0.
  /// Null where there is one slot and one rank.
  Value numberRank(const Section &section) {
    Value number;
    int64_t stride = section.countSlots();
    auto add = [&](dist::AxisAttr axis, int64_t factor) {
      Value index = dist::AxisIndexOp::create(builder, loc, RankedTensorType::get({}, builder.getI64Type()),
                                              builder.getStringAttr(axis.getName()));
      Value term = nn::MulOp::create(builder, loc, index, createInteger(factor));
      number = number ? Value(nn::AddOp::create(builder, loc, number, term)) : term;
    };
    for (dist::AxisAttr axis :
         filterAxes(mesh, [&](dist::AxisAttr axis) { return !llvm::is_contained(section.axes, axis); }))
      add(axis, stride);
    for (dist::AxisAttr axis : section.axes)
      add(axis, stride /= axis.getSize());
    return number;
  }

  Value createInteger(int64_t value) {
    auto type = RankedTensorType::get({}, builder.getI64Type());
    return nn::ConstantOp::create(builder, loc,
                                  DenseElementsAttr::get(type, builder.getI64IntegerAttr(value).getValue()));
  }

  OpBuilder &builder;
  dist::MeshAttr mesh;
  Location loc;
  SmallVector<Attribute> axisNames;
  SmallVector<dist::PartialAttr> partial;
  Pieces pieces;
};

} // namespace

WorldSums shardc::pipeline::exchange(OpBuilder &builder, dist::MeshAttr mesh, const WorldLayout &layout, Value lossSum,
                                     Value lossWeight, ArrayRef<Value> gradients) {
  Exchanger exchanger(builder, mesh);
  exchanger.appendScalar(layout.lossSum, lossSum);
  exchanger.appendScalar(layout.lossWeight, lossWeight);
  for (size_t section = 0; section < layout.squares.size(); ++section)
    exchanger.appendSquares(layout, section, gradients);
  Value vector = exchanger.finish();
  int64_t weights = layout.lossSum.getLength();
  int64_t squares = weights + layout.lossWeight.getLength();
  return {exchanger.sumPlaces(vector, 0, weights), exchanger.sumPlaces(vector, weights, squares),
          exchanger.sumPlaces(vector, squares, layout.getLength())};
}
