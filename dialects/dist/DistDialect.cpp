//===-- DistDialect.cpp - registration and attribute methods ------------------------------------------------------===//

#include "dialects/dist/Dist.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace shardc::dist;

/// A list of dimensions in brackets, which may be empty.
static ParseResult parseDimList(AsmParser &parser, SmallVector<DimAttr> &dims) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
    auto dim = dyn_cast_or_null<DimAttr>(DimAttr::parse(parser, {}));
    if (!dim)
      return failure();
    dims.push_back(dim);
    return success();
  });
}

static void printDimList(AsmPrinter &printer, ArrayRef<DimAttr> dims) {
  printer << '[';
  llvm::interleaveComma(dims, printer, [&](DimAttr dim) { dim.print(printer); });
  printer << ']';
}

#include "dialects/dist/DistDialect.cpp.inc"
#include "dialects/dist/DistEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/dist/DistAttrs.cpp.inc"

void DistDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/dist/DistAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/dist/DistOps.cpp.inc"
      >();
}

//===-- Mesh ------------------------------------------------------------------------------------------------------===//

int64_t MeshAttr::getSize(StringRef axis) const {
  int index = getIndex(axis);
  return index < 0 ? 1 : getAxes()[index].getSize();
}

int MeshAttr::getIndex(StringRef axis) const {
  for (auto [index, candidate] : llvm::enumerate(getAxes()))
    if (candidate.getName() == axis)
      return index;
  return -1;
}

int64_t MeshAttr::getNumRanks() const {
  int64_t ranks = 1;
  for (AxisAttr axis : getAxes())
    ranks *= axis.getSize();
  return ranks;
}

MeshAttr MeshAttr::of(Operation *op) {
  auto module = isa<ModuleOp>(op) ? cast<ModuleOp>(op) : op->getParentOfType<ModuleOp>();
  return module ? module->getAttrOfType<MeshAttr>(kMeshAttr) : MeshAttr();
}

//===-- Sharding --------------------------------------------------------------------------------------------------===//

ShardingAttr ShardingAttr::getReplicated(MLIRContext *context, ArrayRef<int64_t> shape) {
  SmallVector<DimAttr> dims;
  for (int64_t size : shape)
    dims.push_back(DimAttr::get(context, SubDimAttr::get(context, size, {})));
  return get(context, dims, {});
}

SmallVector<int64_t> ShardingAttr::getLocalShape(MeshAttr mesh) const {
  SmallVector<int64_t> shape;
  for (DimAttr dim : getDims()) {
    int64_t size = 1;
    for (SubDimAttr sub : dim.getSubDims()) {
      int64_t ranks = 1;
      for (StringAttr axis : sub.getAxes())
        ranks *= mesh.getSize(axis);
      assert(sub.getSize() % ranks == 0 && "a split sub-dimension must divide");
      size *= sub.getSize() / ranks;
    }
    shape.push_back(size);
  }
  return shape;
}

bool ShardingAttr::isSplitOver(StringRef axis) const {
  for (DimAttr dim : getDims())
    for (SubDimAttr sub : dim.getSubDims())
      if (llvm::any_of(sub.getAxes(), [&](StringAttr name) { return name == axis; }))
        return true;
  return false;
}

std::optional<ReductionKind> ShardingAttr::getPartial(StringRef axis) const {
  for (PartialAttr partial : getPartial())
    if (partial.getAxis() == axis)
      return partial.getKind();
  return std::nullopt;
}

ShardingAttr ShardingAttr::withoutPartial(StringRef axis) const {
  SmallVector<PartialAttr> rest;
  for (PartialAttr partial : getPartial())
    if (partial.getAxis() != axis)
      rest.push_back(partial);
  return get(getContext(), getDims(), rest);
}

//===-- Shardings of values ---------------------------------------------------------------------------------------===//

ShardingAttr shardc::dist::getSharding(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto function = dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
    return function ? function.getArgAttrOfType<ShardingAttr>(argument.getArgNumber(), kShardingAttr) : ShardingAttr();
  }
  auto result = cast<OpResult>(value);
  auto shardings = result.getOwner()->getAttrOfType<ArrayAttr>(kShardingsAttr);
  return shardings ? dyn_cast<ShardingAttr>(shardings[result.getResultNumber()]) : ShardingAttr();
}

void shardc::dist::setSharding(Value value, ShardingAttr sharding) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto function = cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
    function.setArgAttr(argument.getArgNumber(), kShardingAttr, sharding);
    return;
  }
  auto result = cast<OpResult>(value);
  Operation *op = result.getOwner();
  SmallVector<Attribute> all(op->getNumResults(), UnitAttr::get(op->getContext()));
  if (auto shardings = op->getAttrOfType<ArrayAttr>(kShardingsAttr))
    all.assign(shardings.begin(), shardings.end());
  all[result.getResultNumber()] = sharding;
  op->setAttr(kShardingsAttr, ArrayAttr::get(op->getContext(), all));
}
