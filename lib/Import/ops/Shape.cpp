//===-- Shape.cpp - operators that move elements ------------------------------------------------------------------===//

#include "../OpTable.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::importer;
using onnx::TensorProto;

namespace {

/// Axes: an attribute before opset `since`, then input 1. Nothing where they are left out.
FailureOr<std::optional<Shape>> getAxes(NodeBuilder &builder, int64_t since, int64_t rank) {
  Shape axes;
  if (builder.getNode().opset >= since) {
    if (!builder.hasInput(1))
      return std::optional<Shape>();
    FailureOr<Shape> values = builder.getIntsOfInput(1, "axes");
    if (failed(values))
      return failure();
    axes = *values;
  } else {
    if (!builder.hasAttribute("axes"))
      return std::optional<Shape>();
    axes = builder.getInts("axes");
  }
  FailureOr<Shape> normalized = builder.normalizeAxes(axes, rank);
  if (failed(normalized))
    return failure();
  axes = std::move(*normalized);
  return std::optional<Shape>(std::move(axes));
}

/// 0 keeps the input's dimension (unless allowzero), −1 takes what remains.
LogicalResult buildReshape(NodeBuilder &builder) {
  Operand input = builder.getInput(0);
  FailureOr<Shape> target = builder.getIntsOfInput(1, "shape");
  if (failed(target))
    return failure();
  Shape shape = *target;
  std::optional<size_t> inferred;
  int64_t known = 1;
  for (auto [index, dim] : llvm::enumerate(shape)) {
    if (dim == 0 && builder.getInt("allowzero", 0) == 0) {
      if (index >= input.getShape().size())
        return builder.fail("shape-56", Twine("dimension ") + Twine(index) +
                                            " of its shape is 0, but the input has rank " + Twine(input.getRank()));
      dim = input.getShape()[index];
    }
    if (dim < -1 || (dim == -1 && inferred))
      return builder.fail("shape-56", Twine("has shape [") + formatShape(*target) + "], expected at most one -1");
    if (dim == -1)
      inferred = index;
    else if (llvm::MulOverflow(known, dim, known))
      return builder.fail("tensor-33", Twine("the product of its shape [") + formatShape(*target) + "] overflows");
  }
  if (inferred)
    shape[*inferred] = known == 0 ? 0 : input.getNumElements() / known;
  if (countElements(shape) != input.getNumElements())
    return builder.fail(
        "shape-56", Twine("cannot turn ") + formatShape(input.getShape()) + " into " + formatShape(*target),
        "a size that was fixed by the exporter may be the batch: export with a dynamic batch dimension");
  return builder.setResult(0, builder.reshape(input, shape));
}

LogicalResult buildFlatten(NodeBuilder &builder) {
  Operand input = builder.getInput(0);
  int64_t rank = input.getRank(), axis = builder.getInt("axis", 1);
  if (axis < -rank || axis > rank)
    return builder.fail("shape-57",
                        Twine("axis ") + Twine(axis) + " is not in [" + Twine(-rank) + ", " + Twine(rank) + "]");
  axis = axis < 0 ? axis + rank : axis;
  int64_t rows = countElements(input.getShape().take_front(axis)).value_or(0);
  int64_t columns = countElements(input.getShape().drop_front(axis)).value_or(0);
  return builder.setResult(0, builder.reshape(input, {rows, columns}));
}

LogicalResult buildSqueeze(NodeBuilder &builder) {
  Operand input = builder.getInput(0);
  auto axes = getAxes(builder, 13, input.getRank());
  if (failed(axes))
    return failure();
  Shape shape;
  for (int64_t dim = 0; dim < input.getRank(); ++dim) {
    int64_t size = input.getShape()[dim];
    bool isListed = *axes ? llvm::is_contained(**axes, dim) : size == 1;
    if (isListed && size != 1)
      return builder.fail("shape-57", Twine("dimension ") + Twine(dim) + " has size " + Twine(size) + ", expected 1");
    if (!isListed)
      shape.push_back(size);
  }
  return builder.setResult(0, builder.reshape(input, shape));
}

LogicalResult buildUnsqueeze(NodeBuilder &builder) {
  Operand input = builder.getInput(0);
  Shape given = builder.getInts("axes");
  if (builder.getNode().opset >= 13) {
    FailureOr<Shape> values = builder.getIntsOfInput(1, "axes");
    if (failed(values))
      return failure();
    given = *values;
  }
  int64_t rank = input.getRank() + static_cast<int64_t>(given.size());
  FailureOr<Shape> axes = builder.normalizeAxes(given, rank);
  if (failed(axes))
    return failure();
  Shape shape;
  for (int64_t dim = 0, next = 0; dim < rank; ++dim)
    shape.push_back(llvm::is_contained(*axes, dim) ? 1 : input.getShape()[next++]);
  return builder.setResult(0, builder.reshape(input, shape));
}

LogicalResult buildTranspose(NodeBuilder &builder) {
  Operand input = builder.getInput(0);
  Shape permutation = builder.getInts("perm");
  if (!builder.hasAttribute("perm"))
    for (int64_t dim = input.getRank() - 1; dim >= 0; --dim)
      permutation.push_back(dim);
  Shape sorted = permutation;
  llvm::sort(sorted);
  for (auto [index, dim] : llvm::enumerate(sorted))
    if (static_cast<int64_t>(index) != dim)
      return builder.fail("shape-57", "its perm is no permutation of the dimensions");
  if (static_cast<int64_t>(sorted.size()) != input.getRank())
    return builder.fail("shape-57",
                        Twine("its perm has ") + Twine(sorted.size()) + " entries, expected " + Twine(input.getRank()));
  return builder.setResult(0, builder.transpose(input, permutation));
}

LogicalResult buildExpand(NodeBuilder &builder) {
  Operand input = builder.getInput(0);
  FailureOr<Shape> target = builder.getIntsOfInput(1, "shape");
  if (failed(target))
    return failure();
  std::optional<SmallVector<int64_t>> shape = broadcastShapes(input.getShape(), *target);
  if (!shape || !countElements(*shape))
    return builder.fail("shape-55",
                        Twine("cannot expand ") + formatShape(input.getShape()) + " to " + formatShape(*target));
  return builder.setResult(0, builder.broadcast(input, *shape));
}

/// Tiling inserts a dimension before each, repeats it, and merges the two.
LogicalResult buildTile(NodeBuilder &builder) {
  Operand input = builder.getInput(0);
  FailureOr<Shape> repeats = builder.getIntsOfInput(1, "repeats");
  if (failed(repeats))
    return failure();
  if (static_cast<int64_t>(repeats->size()) != input.getRank())
    return builder.fail("shape-57",
                        Twine("has ") + Twine(repeats->size()) + " repeats, expected " + Twine(input.getRank()));
  Shape split, repeated, merged;
  for (auto [size, repeat] : llvm::zip(input.getShape(), *repeats)) {
    if (repeat < 0)
      return builder.fail("shape-59", Twine("repeats a dimension ") + Twine(repeat) + " times");
    split.append({1, size});
    repeated.append({repeat, size});
    merged.push_back(repeat * size);
  }
  if (!countElements(repeated))
    return builder.fail("tensor-33", "the product of its dimensions overflows");
  Operand result = builder.broadcast(builder.reshape(input, split), repeated);
  return builder.setResult(0, builder.reshape(result, merged));
}

LogicalResult buildConcat(NodeBuilder &builder) {
  SmallVector<Operand> inputs;
  for (int64_t i = 0; i < builder.getNumInputs(); ++i) {
    inputs.push_back(builder.getInput(i));
    if (!inputs.back())
      return builder.fail("graph-24", Twine("its input ") + Twine(i) + " is empty");
  }
  FailureOr<int64_t> axis = builder.normalizeAxis(builder.getInt("axis", 0), inputs[0].getRank());
  if (failed(axis))
    return failure();
  for (const Operand &input : inputs) {
    Shape a(input.getShape()), b(inputs[0].getShape());
    if (a.size() == b.size())
      a[*axis] = b[*axis] = 0;
    if (a != b || input.getType() != inputs[0].getType())
      return builder.fail("shape-55", Twine("cannot join ") + formatShape(inputs[0].getShape()) + " and " +
                                          formatShape(input.getShape()) + " along axis " + Twine(*axis));
  }
  return builder.setResult(0, builder.concat(inputs, *axis));
}

/// The sizes of the parts: given, or equal (the last one smaller where num_outputs does not divide).
FailureOr<Shape> getSplitSizes(NodeBuilder &builder, int64_t total) {
  int64_t opset = builder.getNode().opset, outputs = builder.getNumOutputs();
  if (opset >= 13 && builder.hasInput(1))
    return builder.getIntsOfInput(1, "split");
  if (opset < 13 && builder.hasAttribute("split"))
    return builder.getInts("split");
  int64_t parts = builder.getInt("num_outputs", outputs);
  if (parts != outputs)
    return builder.fail("shape-60", Twine("has num_outputs ") + Twine(parts) + " and " + Twine(outputs) + " outputs");
  if (opset < 18 && total % parts != 0)
    return builder.fail("shape-60", Twine("cannot split ") + Twine(total) + " into " + Twine(parts) + " equal parts");
  int64_t size = (total + parts - 1) / parts;
  Shape sizes(parts, size);
  sizes.back() = total - size * (parts - 1);
  return sizes;
}

LogicalResult buildSplit(NodeBuilder &builder) {
  Operand input = builder.getInput(0);
  FailureOr<int64_t> axis = builder.normalizeAxis(builder.getInt("axis", 0), input.getRank());
  if (failed(axis))
    return failure();
  int64_t total = input.getShape()[*axis], sum = 0;
  FailureOr<Shape> sizes = getSplitSizes(builder, total);
  if (failed(sizes))
    return failure();
  for (int64_t size : *sizes)
    sum = size < 0 || size > total ? total + 1 : sum + size;
  if (sum != total || static_cast<int64_t>(sizes->size()) != builder.getNumOutputs())
    return builder.fail("shape-60", Twine("splits a dimension of ") + Twine(total) + " into " + formatShape(*sizes) +
                                        " for " + Twine(builder.getNumOutputs()) + " outputs");
  Shape starts(input.getRank(), 0), limits(input.getShape()), strides(input.getRank(), 1);
  int64_t begin = 0;
  for (auto [index, size] : llvm::enumerate(*sizes)) {
    starts[*axis] = begin;
    limits[*axis] = begin += size;
    (void)builder.setResult(static_cast<int64_t>(index), builder.slice(input, starts, limits, strides));
  }
  return success();
}

/// Starts, ends, axes and steps: attributes before opset 10, then inputs. A negative step reverses, and is only known
/// for constants.
struct SliceBounds {
  Shape starts, ends, axes, steps;
};

FailureOr<SliceBounds> getSliceBounds(NodeBuilder &builder, int64_t rank) {
  SliceBounds bounds{builder.getInts("starts"), builder.getInts("ends"), builder.getInts("axes"), {}};
  if (builder.getNode().opset >= 10) {
    for (auto [index, name, into] : {std::tuple<int64_t, StringRef, Shape *>{1, "starts", &bounds.starts},
                                     {2, "ends", &bounds.ends},
                                     {3, "axes", &bounds.axes},
                                     {4, "steps", &bounds.steps}}) {
      if (!builder.hasInput(index))
        continue;
      FailureOr<Shape> values = builder.getIntsOfInput(index, name);
      if (failed(values))
        return failure();
      *into = *values;
    }
  }
  size_t count = bounds.starts.size();
  if (bounds.axes.empty())
    for (size_t i = 0; i < count; ++i)
      bounds.axes.push_back(static_cast<int64_t>(i));
  if (bounds.steps.empty())
    bounds.steps.assign(count, 1);
  if (bounds.ends.size() != count || bounds.axes.size() != count || bounds.steps.size() != count)
    return builder.fail("shape-57", "its starts, ends, axes and steps differ in number");
  for (int64_t &axis : bounds.axes) {
    FailureOr<int64_t> dim = builder.normalizeAxis(axis, rank);
    if (failed(dim))
      return failure();
    axis = *dim;
  }
  return bounds;
}

LogicalResult buildSlice(NodeBuilder &builder) {
  Operand input = builder.getInput(0);
  FailureOr<SliceBounds> bounds = getSliceBounds(builder, input.getRank());
  if (failed(bounds))
    return failure();
  Shape starts(input.getRank(), 0), limits(input.getShape()), strides(input.getRank(), 1);
  for (auto [start, end, axis, step] : llvm::zip(bounds->starts, bounds->ends, bounds->axes, bounds->steps)) {
    int64_t size = input.getShape()[axis];
    auto clamp = [&](int64_t bound, int64_t low, int64_t high) {
      return std::clamp(bound < 0 ? (bound < -size ? low : bound + size) : bound, low, high);
    };
    if (step == 0)
      return builder.fail("shape-59", "its step is 0");
    if (step > 0) {
      starts[axis] = clamp(start, 0, size);
      limits[axis] = std::max(starts[axis], clamp(end, 0, size));
      strides[axis] = step;
      continue;
    }
    if (!input.isConstant())
      return builder.fail("shape-59", Twine("has step ") + Twine(step) + ", expected a positive one",
                          "reversing a value that is computed from the data is not supported");
    std::vector<int64_t> picks;
    int64_t last = end < -size ? -1 : std::clamp<int64_t>(end < 0 ? end + size : end, -1, size - 1);
    for (int64_t i = clamp(start, -1, size - 1); i > last && i >= 0; i += std::max(step, -size - 1))
      picks.push_back(i);
    Shape pickShape{static_cast<int64_t>(picks.size())};
    input = builder.gather(input, Constant::makeInts(TensorProto::INT64, pickShape, std::move(picks)), axis);
    limits[axis] = input.getShape()[axis];
  }
  return builder.setResult(0, builder.slice(input, starts, limits, strides));
}

/// Low and high amounts: an attribute before opset 11, then inputs; axes since 18. Negative amounts cut.
LogicalResult buildPad(NodeBuilder &builder) {
  Operand input = builder.getInput(0);
  int64_t rank = input.getRank();
  if (std::string mode = builder.getString("mode", "constant"); mode != "constant")
    return builder.fail("graph-26", Twine("has mode '") + mode + "', expected 'constant'");
  Shape pads = builder.getInts("pads"), axes;
  double value = builder.getFloat("value", 0);
  if (builder.getNode().opset >= 11) {
    FailureOr<Shape> amounts = builder.getIntsOfInput(1, "pads");
    if (failed(amounts))
      return failure();
    pads = *amounts;
    if (builder.hasInput(2)) {
      FailureOr<double> constant = builder.getScalarOfInput(2, "value");
      if (failed(constant))
        return failure();
      value = *constant;
    }
  }
  for (int64_t dim = 0; dim < rank; ++dim)
    axes.push_back(dim);
  if (builder.hasInput(3)) {
    FailureOr<Shape> given = builder.getIntsOfInput(3, "axes");
    if (failed(given))
      return failure();
    axes = *given;
  }
  if (pads.size() != 2 * axes.size())
    return builder.fail("shape-57", Twine("has ") + Twine(pads.size()) + " pads, expected " + Twine(2 * axes.size()));
  Shape low(rank, 0), high(rank, 0), starts(rank, 0), limits(input.getShape()), strides(rank, 1);
  for (auto [index, axis] : llvm::enumerate(axes)) {
    FailureOr<int64_t> dim = builder.normalizeAxis(axis, rank);
    if (failed(dim))
      return failure();
    int64_t before = pads[index], after = pads[axes.size() + index];
    low[*dim] = std::max<int64_t>(before, 0);
    high[*dim] = std::max<int64_t>(after, 0);
    starts[*dim] = std::max<int64_t>(-before, 0);
    limits[*dim] += std::min<int64_t>(after, 0);
    if (limits[*dim] < starts[*dim])
      return builder.fail("shape-59", Twine("cuts more than dimension ") + Twine(*dim) + " has");
  }
  Operand result = builder.slice(input, starts, limits, strides);
  if (llvm::all_of(low, [](int64_t a) { return a == 0; }) && llvm::all_of(high, [](int64_t a) { return a == 0; }))
    return builder.setResult(0, result);
  return builder.setResult(0, builder.pad(result, low, high, value));
}

/// Keeps what lies on or above (upper) or on or below the k-th diagonal.
LogicalResult buildTrilu(NodeBuilder &builder) {
  Operand input = builder.getInput(0);
  int64_t rank = input.getRank();
  if (rank < 2)
    return builder.fail("shape-57", Twine("its input has rank ") + Twine(rank) + ", expected at least 2");
  double diagonal = 0;
  if (builder.hasInput(1)) {
    FailureOr<double> given = builder.getScalarOfInput(1, "k");
    if (failed(given))
      return failure();
    diagonal = *given;
  }
  Shape matrix(input.getShape().take_back(2));
  Operand row = builder.iota(matrix, 0, TensorProto::INT64), column = builder.iota(matrix, 1, TensorProto::INT64);
  Operand border = builder.binary(BinaryKind::Add, row, diagonal);
  bool isUpper = builder.getInt("upper", 1) != 0;
  Operand keep = builder.compare(isUpper ? nn::CompareDirection::GE : nn::CompareDirection::LE, column, border);
  return builder.setResult(0, builder.select(keep, input, builder.makeScalar(input.getType(), 0)));
}

const OpInfo kOps[] = {
    {"Concat", 4, 1, kManyInputs, 1, "axis:i!", buildConcat},
    {"Expand", 8, 2, 2, 1, "", buildExpand},
    {"Flatten", 1, 1, 1, 1, "axis:i", buildFlatten},
    {"Pad", 2, 1, 4, 1, "mode:s pads:is value:f", buildPad},
    {"Reshape", 5, 2, 2, 1, "allowzero:i", buildReshape},
    {"Slice", 1, 1, 5, 1, "starts:is ends:is axes:is", buildSlice},
    {"Split", 2, 1, 2, kManyInputs, "axis:i split:is num_outputs:i", buildSplit},
    {"Squeeze", 1, 1, 2, 1, "axes:is", buildSqueeze},
    {"Tile", 6, 2, 2, 1, "", buildTile},
    {"Transpose", 1, 1, 1, 1, "perm:is", buildTranspose},
    {"Trilu", 14, 1, 2, 1, "upper:i", buildTrilu},
    {"Unsqueeze", 1, 1, 2, 1, "axes:is", buildUnsqueeze},
};

} // namespace

ArrayRef<OpInfo> shardc::importer::getShapeOps() { return kOps; }
