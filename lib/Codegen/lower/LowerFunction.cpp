//===-- LowerFunction.cpp - gives values buffers and turns ops into instructions ----------------------------------===//
//
// First, backwards through the function, every value gets its place: a result the buffer that it is bound to, a piece
// of a concat its part of the whole, the operand of an all-reduce the place of its result, everything else scratch.
// Then, forwards, every op becomes instructions on views of these places. Views become strides wherever strides can
// express them, and copies otherwise.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Program.h"

#include "Partial.h"
#include "Rewriting.h"
#include "Strides.h"
#include "dialects/nn/Builders.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::codegen;

namespace {

using nn::getTensorType;

/// Where a value lives: a view of a buffer, in the slot of register 0 where the buffer has slots.
struct Place {
  exec::BufferOp buffer;
  MemRefType view;
  bool operator==(const Place &other) const { return buffer == other.buffer && view == other.view; }
};

/// Whether a kernel may compute output `write` in the memory of input `read`: both lie on the whole domain, and the
/// output is written in the last pass over a row, when nothing reads the input any more but for the same element.
bool mayShareMemory(exec::FusionOp fusion, int read, int write) {
  if (fusion.getKind() != exec::KernelKind::Row)
    return false;
  Block &body = fusion.getBody().front();
  auto yield = cast<exec::YieldOp>(body.back());
  auto readType = getTensorType(body.getArgument(read)), writeType = getTensorType(yield.getValues()[write]);
  ArrayRef<int64_t> domain = *fusion.getDomain();
  if (readType.getShape() != domain || writeType.getShape() != domain ||
      readType.getElementTypeBitWidth() != writeType.getElementTypeBitWidth())
    return false;
  llvm::DenseMap<Value, int> passes;
  int last = 0;
  for (Operation &op : body) {
    int pass = 0;
    for (Value operand : op.getOperands())
      pass = std::max(pass, passes.lookup(operand));
    last = std::max(last, pass);
    for (Value result : op.getResults())
      passes[result] = isa<nn::ReduceOp>(op) ? pass + 1 : pass;
  }
  return passes.lookup(yield.getValues()[write]) == last;
}

class FunctionLowering {
public:
  FunctionLowering(func::FuncOp function, exec::ProgramOp program, exec::BlockOp block, const BoundBuffers &buffers,
                   int &nextKernel)
      : function(function), program(program), block(block), buffers(buffers), nextKernel(nextKernel),
        builder(OpBuilder::atBlockEnd(&block.getBody().front())), body(function.getBody().front()), partial(function) {}

  LogicalResult run(ArrayRef<exec::BufferOp> loadedInputs) {
    placeValues();
    for (exec::BufferOp input : loadedInputs) {
      auto name = input->getAttrOfType<StringAttr>(nn::kInputAttr);
      Location loc = NameLoc::get(name);
      exec::LoadInputOp::create(builder, loc, name, getView({input, cast<MemRefType>(input.getType())}, loc));
    }
    for (Operation &op : body.without_terminator())
      if (failed(lower(&op)))
        return failure();
    return copyResults();
  }

private:
  //===-- Places --------------------------------------------------------------------------------------------------===//

  exec::BufferOp getBuffer(Attribute bind) const { return buffers.get(cast<exec::BindAttr>(bind).getName()); }

  static Place getWhole(exec::BufferOp buffer) { return {buffer, cast<MemRefType>(buffer.getType())}; }

  void placeValues() {
    for (BlockArgument argument : body.getArguments()) {
      exec::BufferOp buffer = getBuffer(function.getArgAttr(argument.getArgNumber(), exec::kBindAttr));
      places[argument] = getWhole(buffer);
      oldValues[buffer] = argument;
    }
    for (auto [index, value] : llvm::enumerate(body.getTerminator()->getOperands()))
      requestPlace(value, getWhole(getBuffer(function.getResultAttr(index, exec::kBindAttr))));
    for (Operation &op : llvm::reverse(body.without_terminator())) {
      if (isView(&op)) {
        placeForReshape(&op);
        continue;
      }
      for (Value result : op.getResults())
        if (!places.contains(result))
          places[result] = addScratch(getTensorType(result), op.getLoc());
      placeOperands(&op);
    }
  }

  /// Asks for operands to be computed where the op wants them.
  void placeOperands(Operation *op) {
    if (auto concat = dyn_cast<nn::ConcatOp>(op)) {
      for (auto [index, input] : llvm::enumerate(concat.getInputs()))
        requestPlace(input, getPiece(concat, index));
    } else if (auto reduce = dyn_cast<dist::AllReduceOp>(op)) {
      Value input = reduce.getInput();
      while (input.hasOneUse() && input.getDefiningOp() && isView(input.getDefiningOp()))
        input = input.getDefiningOp()->getOperand(0);
      if (input.hasOneUse())
        requestPlace(reduce.getInput(), places.at(reduce.getResult()));
    } else if (auto product = dyn_cast<exec::ProductOp>(op); product && product.getSum()) {
      Value sum = product.getSum();
      if (sum.hasOneUse())
        requestPlace(sum, places.at(product.getResult()));
    }
  }

  /// Where strides do not express a reshape of a transposed value, the value is computed the way round that lets them,
  /// such as the heads of attention, which end side by side.
  void placeForReshape(Operation *view) {
    if (!isa<nn::ReshapeOp>(view))
      return;
    SmallVector<Operation *> chain;
    Value root = view->getResult(0);
    while (root.getDefiningOp() && isView(root.getDefiningOp())) {
      chain.push_back(root.getDefiningOp());
      root = root.getDefiningOp()->getOperand(0);
    }
    if (places.contains(root))
      return;
    MemRefType type = getDenseType(getTensorType(root));
    for (Operation *op : llvm::reverse(chain))
      type = type ? applyView(op, type) : type;
    if (type)
      return;
    Place dense = addScratch(getTensorType(view->getResult(0)), view->getLoc());
    if (!requestPlace(view->getResult(0), dense))
      dense.buffer.erase();
  }

  /// The part of a concat's result that input `index` becomes.
  Place getPiece(nn::ConcatOp concat, int index) {
    Place whole = places.at(concat.getResult());
    int64_t dimension = concat.getDimension();
    SmallVector<int64_t> starts(whole.view.getRank(), 0), steps(whole.view.getRank(), 1);
    for (Value before : concat.getInputs().take_front(index))
      starts[dimension] += getTensorType(before).getDimSize(dimension);
    ArrayRef<int64_t> sizes = getTensorType(concat.getInputs()[index]).getShape();
    return {whole.buffer, sliceView(whole.view, starts, sizes, steps)};
  }

  /// Lets `value` be computed in `place` where it has none yet and that is possible; returns whether it will be.
  bool requestPlace(Value value, Place place) {
    while (value.getDefiningOp() && isView(value.getDefiningOp()) && place.view) {
      place.view = invertView(value.getDefiningOp(), place.view);
      value = value.getDefiningOp()->getOperand(0);
    }
    auto result = dyn_cast<OpResult>(value);
    if (!result || !place.view || places.contains(value))
      return false;
    bool needsDense = isa_and_present<dist::DistDialect>(result.getOwner()->getDialect());
    if ((needsDense && !isDense(place.view)) || !isOldValueFree(result, place))
      return false;
    places[value] = place;
    return true;
  }

  /// Whether computing `result` in `place` leaves alone the old value of a bound buffer as long as anyone reads it.
  bool isOldValueFree(OpResult result, const Place &place) {
    auto it = oldValues.find(place.buffer);
    if (it == oldValues.end())
      return true;
    Operation *writer = result.getOwner();
    SmallVector<Value> aliases{it->second};
    while (!aliases.empty()) {
      Value alias = aliases.pop_back_val();
      for (OpOperand &use : alias.getUses()) {
        Operation *user = use.getOwner();
        if (isView(user)) {
          aliases.push_back(user->getResult(0));
          continue;
        }
        bool isBefore = user != writer && !user->hasTrait<OpTrait::IsTerminator>() && user->isBeforeInBlock(writer);
        if (!isBefore && !(user == writer && mayOverwrite(use, result, place)))
          return false;
      }
    }
    return true;
  }

  /// Whether the op may write `result` to `place` although it reads the operand there.
  bool mayOverwrite(OpOperand &use, OpResult result, const Place &place) {
    std::optional<Place> read = findPlace(use.get());
    if (!read || !(*read == place))
      return false;
    return TypeSwitch<Operation *, bool>(use.getOwner())
        .Case([&](exec::FusionOp op) { return mayShareMemory(op, use.getOperandNumber(), result.getResultNumber()); })
        .Case([&](exec::ProductOp op) { return use.get() == op.getSum() && use.getOperandNumber() == 2; })
        .Case([](dist::AllReduceOp) { return true; })
        .Default([](Operation *) { return false; });
  }

  /// The place of a value as far as strides express it.
  std::optional<Place> findPlace(Value value) {
    if (auto it = places.find(value); it != places.end())
      return it->second;
    Operation *view = value.getDefiningOp();
    if (!view || !isView(view))
      return std::nullopt;
    std::optional<Place> source = findPlace(view->getOperand(0));
    MemRefType type = source ? applyView(view, source->view) : MemRefType();
    return type ? std::optional<Place>({source->buffer, type}) : std::nullopt;
  }

  /// The place of a value; copies it into scratch where strides do not express its shape.
  Place getPlace(Value value, Location loc) {
    if (std::optional<Place> place = findPlace(value))
      return places[value] = *place;
    Operation *view = value.getDefiningOp();
    Place source = getPlace(view->getOperand(0), loc);
    if (!applyView(view, source.view))
      source = getDenseCopy(source, view->getOperand(0), view);
    return places[value] = {source.buffer, applyView(view, source.view)};
  }

  Place addScratch(RankedTensorType type, Location loc) {
    if (!firstBlock)
      firstBlock = *program.getBody().getOps<exec::BlockOp>().begin();
    OpBuilder beforeBlocks(firstBlock);
    std::string name = (block.getSymName() + "/" + Twine(numScratch++)).str();
    auto buffer = exec::BufferOp::create(beforeBlocks, loc, getDenseType(type), name, exec::Region::Scratch, 1,
                                         IntegerAttr(), IntegerAttr(), StringAttr(), FloatAttr(),
                                         FlatSymbolRefAttr::get(block.getSymNameAttr()));
    return getWhole(buffer);
  }

  Place getDenseCopy(const Place &from, Value value, Operation *origin) {
    Place copy = addScratch(getTensorType(value), origin->getLoc());
    addCopy(from, copy, value, origin);
    return copy;
  }

  //===-- Instructions --------------------------------------------------------------------------------------------===//

  Value getView(Place place, Location loc) {
    Value &view = views[{place.buffer, place.view}];
    if (view)
      return view;
    Value &whole = views[{place.buffer, cast<MemRefType>(place.buffer.getType())}];
    if (!whole)
      whole = BoundBuffers::hasSlots(place.buffer)
                  ? exec::SlotOp::create(builder, loc, place.buffer.getResult(), 0).getResult()
                  : Value(place.buffer.getResult());
    if (place.view == place.buffer.getType())
      return whole;
    Value source = whole;
    return views[{place.buffer, place.view}] = exec::ViewOp::create(builder, loc, place.view, source);
  }

  /// Hands on the origin and says what the operands are partial over.
  void describe(Operation *instruction, Operation *op, ArrayRef<Value> reads, ArrayRef<Value> writes) {
    nn::copyOrigin(op, instruction);
    auto getAll = [&](ArrayRef<Value> values) {
      SmallVector<Attribute> all;
      for (Value value : values)
        all.push_back(partial.get(value));
      return builder.getArrayAttr(all);
    };
    instruction->setAttr(exec::kPartialReadsAttr, getAll(reads));
    instruction->setAttr(exec::kPartialWritesAttr, getAll(writes));
  }

  /// Copies `value` between places on behalf of `origin`.
  void addCopy(const Place &from, const Place &to, Value value, Operation *origin) {
    Location loc = origin->getLoc();
    Value source = getView(from, loc), target = getView(to, loc);
    auto copy = exec::CopyOp::create(builder, loc, source, target);
    describe(copy, origin, value, value);
  }

  LogicalResult lower(Operation *op) {
    if (isView(op))
      return success();
    return TypeSwitch<Operation *, LogicalResult>(op)
        .Case([&](exec::FusionOp op) { return lowerFusion(op); })
        .Case([&](exec::ProductOp op) { return lowerProduct(op); })
        .Case([&](nn::ConcatOp op) { return lowerConcat(op); })
        .Case([&](nn::PadOp op) { return lowerPad(op); })
        .Case([&](dist::AllReduceOp op) {
          return lowerCollective(op, "all_reduce", op.getAxes(), op.getKind(), op.getMembersAttr());
        })
        .Case([&](dist::AllGatherOp op) { return lowerCollective(op, "all_gather", getAxes(op.getAxisAttr())); })
        .Case([&](dist::ReduceScatterOp op) {
          return lowerCollective(op, "reduce_scatter", getAxes(op.getAxisAttr()), op.getKind());
        })
        .Case([&](dist::AllToAllOp op) { return lowerCollective(op, "all_to_all", getAxes(op.getAxisAttr())); })
        .Default([&](Operation *op) { return op->emitOpError("cannot become an instruction"); });
  }

  ArrayAttr getAxes(StringAttr axis) { return builder.getArrayAttr({axis}); }

  LogicalResult lowerFusion(exec::FusionOp fusion) {
    Location loc = fusion.getLoc();
    SmallVector<Value> reads, writes;
    SmallVector<MemRefType> types;
    for (Value input : fusion.getInputs()) {
      Place place = getPlace(input, loc);
      types.push_back(dropOffset(place.view));
      reads.push_back(getView(place, loc));
    }
    for (Value output : fusion.getOutputs()) {
      Place place = places.at(output);
      types.push_back(dropOffset(place.view));
      writes.push_back(getView(place, loc));
    }
    SmallVector<int64_t> inPlace;
    for (size_t read = 0; read < reads.size(); ++read)
      for (size_t write = 0; write < writes.size(); ++write)
        if (types[read].getShape() == types[reads.size() + write].getShape() &&
            types[read].getLayout() == types[reads.size() + write].getLayout() && mayShareMemory(fusion, read, write))
          inPlace.append({static_cast<int64_t>(read), static_cast<int64_t>(write)});
    exec::KernelDefOp kernel = addKernel(fusion.getLoc(), fusion.getKind(), fusion.getDomainAttr(), fusion.getRows(),
                                         fusion.getItems(), types, inPlace);
    kernel.getBody().takeBody(fusion.getBody());
    addKernelCall(kernel, fusion, reads, writes, SmallVector<Value>(fusion.getInputs()),
                  SmallVector<Value>(fusion.getOutputs()));
    return success();
  }

  exec::KernelDefOp addKernel(Location loc, exec::KernelKind kind, DenseI64ArrayAttr domain, int64_t rows,
                              int64_t items, ArrayRef<MemRefType> types, ArrayRef<int64_t> inPlace) {
    OpBuilder atProgram(program);
    SmallVector<Attribute> typeAttrs;
    for (MemRefType type : types)
      typeAttrs.push_back(TypeAttr::get(type));
    return exec::KernelDefOp::create(atProgram, loc, "k" + std::to_string(nextKernel++), kind, domain, rows,
                                     builder.getArrayAttr(typeAttrs), items,
                                     inPlace.empty() ? DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(inPlace));
  }

  void addKernelCall(exec::KernelDefOp kernel, Operation *op, ArrayRef<Value> reads, ArrayRef<Value> writes,
                     ArrayRef<Value> inputs, ArrayRef<Value> outputs) {
    auto call = exec::KernelOp::create(builder, op->getLoc(), kernel.getSymName(), reads, writes, kernel.getItems(),
                                       kernel.getInPlaceAttr());
    describe(call, op, inputs, outputs);
  }

  //===-- Products ------------------------------------------------------------------------------------------------===//

  /// Whether a library takes the view as a matrix: one of its last two strides is 1, and nothing is repeated.
  static bool isMatrix(MemRefType view) {
    auto [strides, offset] = view.getStridesAndOffset();
    bool hasRepeats = llvm::is_contained(strides, 0);
    return !hasRepeats && (strides.back() == 1 || strides[strides.size() - 2] == 1);
  }

  static bool hasUnitColumns(MemRefType view) { return view.getStridesAndOffset().first.back() == 1; }

  static Place swapLast(const Place &place) {
    SmallVector<int64_t> permutation = nn::getIotaDims(place.view.getRank());
    std::swap(permutation.back(), permutation[permutation.size() - 2]);
    return {place.buffer, transposeView(place.view, permutation)};
  }

  Place getMatrix(Value value, Operation *op) {
    Place place = getPlace(value, op->getLoc());
    return isMatrix(place.view) ? place : getDenseCopy(place, value, op);
  }

  LogicalResult lowerProduct(exec::ProductOp product) {
    Location loc = product.getLoc();
    Place a = getMatrix(product.getA(), product), b = getMatrix(product.getB(), product);
    Place result = places.at(product.getResult());
    Place c = isMatrix(result.view) ? result : addScratch(getTensorType(product.getResult()), loc);
    if (product.getSum()) {
      Place sum = getPlace(product.getSum(), loc);
      if (!(sum == c))
        addCopy(sum, c, product.getSum(), product);
    }
    bool isTransposed = !hasUnitColumns(c.view); // cᵀ = bᵀ · aᵀ
    Place first = isTransposed ? swapLast(b) : a, second = isTransposed ? swapLast(a) : b;
    Value firstView = getView(first, loc), secondView = getView(second, loc);
    Value resultView = getView(isTransposed ? swapLast(c) : c, loc);
    auto gemm =
        exec::GemmOp::create(builder, loc, firstView, secondView, resultView, Value(), product.getSum() != nullptr);
    SmallVector<Value> reads{product.getA(), product.getB()};
    if (isTransposed)
      std::swap(reads[0], reads[1]);
    if (product.getSum())
      reads.push_back(product.getSum());
    describe(gemm, product, reads, {product.getResult()});
    if (!(c == result))
      addCopy(c, result, product.getResult(), product);
    return success();
  }

  //===-- Movement and collectives --------------------------------------------------------------------------------===//

  LogicalResult lowerConcat(nn::ConcatOp concat) {
    for (auto [index, input] : llvm::enumerate(concat.getInputs())) {
      Place from = getPlace(input, concat.getLoc()), to = getPiece(concat, index);
      if (!(from == to))
        addCopy(from, to, input, concat);
    }
    return success();
  }

  /// Fills the whole, then copies the input into its place.
  LogicalResult lowerPad(nn::PadOp pad) {
    Location loc = pad.getLoc();
    Place whole = places.at(pad.getResult());
    auto type = cast<RankedTensorType>(pad.getType());
    int64_t rank = type.getRank(), items = 1;
    SmallVector<int64_t> steps;
    for (int64_t interior : pad.getInterior())
      steps.push_back(interior + 1);
    for (int64_t size : type.getShape().drop_back(rank > 0 ? 1 : 0))
      items *= size;
    exec::KernelDefOp fill = addKernel(loc, exec::KernelKind::Row, builder.getDenseI64ArrayAttr(type.getShape()),
                                       std::max<int64_t>(rank - 1, 0), items, {dropOffset(whole.view)}, {});
    OpBuilder inBody = OpBuilder::atBlockBegin(&fill.getBody().emplaceBlock());
    auto constant = nn::ConstantOp::create(inBody, loc, DenseElementsAttr::get(type, Attribute(pad.getValue())));
    exec::YieldOp::create(inBody, loc, constant.getResult());
    addKernelCall(fill, pad, {}, getView(whole, loc), {}, pad.getResult());
    ArrayRef<int64_t> sizes = getTensorType(pad.getInput()).getShape();
    addCopy(getPlace(pad.getInput(), loc), {whole.buffer, sliceView(whole.view, pad.getLow(), sizes, steps)},
            pad.getInput(), pad);
    return success();
  }

  /// Collectives move dense tensors.
  LogicalResult lowerCollective(Operation *op, StringRef kind, ArrayAttr axes,
                                dist::ReductionKind reduction = dist::ReductionKind::Sum,
                                DenseI64ArrayAttr members = {}) {
    Location loc = op->getLoc();
    Value input = op->getOperand(0);
    Place from = getPlace(input, loc), to = places.at(op->getResult(0));
    if (!isDense(from.view))
      from = getDenseCopy(from, input, op);
    Value source = getView(from, loc), target = getView(to, loc);
    auto collective = exec::CollectiveOp::create(builder, loc, kind, source, target, axes, reduction, members);
    describe(collective, op, input, op->getResult(0));
    return success();
  }

  /// Copies results that were not computed where they are bound to; first those whose source is a bound buffer, which
  /// another copy may overwrite.
  LogicalResult copyResults() {
    Operation *terminator = body.getTerminator();
    struct Copy {
      Place from, to;
      Value value;
      Operation *origin;
    };
    SmallVector<Copy> copies;
    for (auto [index, value] : llvm::enumerate(terminator->getOperands())) {
      Place to = getWhole(getBuffer(function.getResultAttr(index, exec::kBindAttr)));
      Operation *origin = value.getDefiningOp() ? value.getDefiningOp() : terminator;
      Place from = getPlace(value, origin->getLoc());
      if (!(from == to))
        copies.push_back({from, to, value, origin});
    }
    std::stable_partition(copies.begin(), copies.end(),
                          [&](const Copy &copy) { return oldValues.contains(copy.from.buffer); });
    llvm::SmallDenseSet<Operation *> overwritten;
    for (Copy &copy : copies) {
      if (overwritten.contains(copy.from.buffer))
        return function.emitError("results exchange the buffers '")
               << copy.from.buffer.getName() << "' and '" << copy.to.buffer.getName() << "'";
      addCopy(copy.from, copy.to, copy.value, copy.origin);
      overwritten.insert(copy.to.buffer);
    }
    return success();
  }

  func::FuncOp function;
  exec::ProgramOp program;
  exec::BlockOp block;
  const BoundBuffers &buffers;
  int &nextKernel;
  OpBuilder builder;
  Block &body;
  PartialAxes partial;
  exec::BlockOp firstBlock;
  int numScratch = 0;
  llvm::DenseMap<Value, Place> places;
  llvm::DenseMap<Operation *, BlockArgument> oldValues;
  llvm::DenseMap<std::pair<Operation *, Type>, Value> views;
};

} // namespace

LogicalResult shardc::codegen::lowerFunction(func::FuncOp function, exec::ProgramOp program, exec::BlockOp block,
                                             const BoundBuffers &buffers, ArrayRef<exec::BufferOp> loadedInputs,
                                             int &nextKernel) {
  return FunctionLowering(function, program, block, buffers, nextKernel).run(loadedInputs);
}
