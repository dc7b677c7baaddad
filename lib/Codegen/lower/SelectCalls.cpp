//===-- SelectCalls.cpp - turns products into library calls on views ----------------------------------------------===//

#include "shardc/Codegen/Passes.h"

#include "Rewriting.h"
#include "dialects/nn/Builders.h"

namespace shardc::codegen {
#define GEN_PASS_DEF_SELECTCALLSPASS
#include "shardc/Codegen/Passes.h.inc"
} // namespace shardc::codegen

using namespace mlir;
using namespace shardc;
using namespace shardc::codegen;

namespace {

using nn::getTensorType;
using nn::TensorBuilder;

/// Groups the dimensions of `x`: first `batch` one by one, then the product of `rows`, then the product of `columns`.
Value groupDims(TensorBuilder &b, Value x, ArrayRef<int64_t> batch, ArrayRef<int64_t> rows, ArrayRef<int64_t> columns) {
  SmallVector<int64_t> permutation(batch), shape;
  llvm::append_range(permutation, rows);
  llvm::append_range(permutation, columns);
  auto type = getTensorType(x);
  for (int64_t dim : batch)
    shape.push_back(type.getDimSize(dim));
  for (ArrayRef<int64_t> dims : {rows, columns}) {
    int64_t size = 1;
    for (int64_t dim : dims)
      size *= type.getDimSize(dim);
    shape.push_back(size);
  }
  return b.reshape(b.transpose(x, permutation), shape);
}

/// Orders the contracted dimensions by where they lie in lhs, which is what collapses into one most often.
void sortContracted(nn::DotGeneralOp dot, SmallVectorImpl<int64_t> &lhs, SmallVectorImpl<int64_t> &rhs) {
  SmallVector<std::pair<int64_t, int64_t>> pairs;
  for (auto [l, r] : llvm::zip(dot.getLhsContract(), dot.getRhsContract()))
    pairs.push_back({l, r});
  llvm::sort(pairs);
  for (auto [l, r] : pairs) {
    lhs.push_back(l);
    rhs.push_back(r);
  }
}

LogicalResult selectProduct(nn::DotGeneralOp dot) {
  auto type = cast<RankedTensorType>(dot.getType());
  Type factors = getTensorType(dot.getLhs()).getElementType();
  if (!factors.isF32() && !nn::isLowPrecision(factors))
    return dot.emitError("products need element type f32, bf16 or f16, got ") << factors << " [kernel-type]";
  OpBuilder builder(dot);
  TensorBuilder b(builder, dot.getLoc());
  Operation *before = dot->getPrevNode();
  SmallVector<int64_t> lhsContract, rhsContract;
  sortContracted(dot, lhsContract, rhsContract);
  Value lhs = groupDims(b, dot.getLhs(), dot.getLhsBatch(), dot.getLhsFree(), lhsContract);
  Value rhs = groupDims(b, dot.getRhs(), dot.getRhsBatch(), rhsContract, dot.getRhsFree());
  SmallVector<int64_t> shape(getTensorType(lhs).getShape().drop_back());
  shape.push_back(getTensorType(rhs).getShape().back());
  auto productType = RankedTensorType::get(shape, type.getElementType());
  auto product = exec::ProductOp::create(builder, dot.getLoc(), productType, lhs, rhs, Value());
  if (dist::ShardingAttr sharding = dist::getSharding(dot.getResult()))
    dist::setSharding(product.getResult(), sharding);
  Value result = b.reshape(product.getResult(), type.getShape());
  for (Operation *op = before ? before->getNextNode() : &dot->getBlock()->front(); op != dot; op = op->getNextNode())
    nn::copyOrigin(dot, op);
  dot.replaceAllUsesWith(result);
  dot.erase();
  return success();
}

//===-- Accumulation ----------------------------------------------------------------------------------------------===//

/// The name of the gradient buffer behind an argument or a result of the function; empty where it is none.
StringRef getGradientName(Attribute bind) {
  auto attr = dyn_cast_if_present<exec::BindAttr>(bind);
  return attr && attr.getRegion() == exec::Region::Gradient ? attr.getName() : StringRef();
}

/// Follows views with one use from `value` to the product that they look at.
exec::ProductOp findProduct(Value value, SmallVectorImpl<Operation *> &views) {
  while (Operation *op = value.getDefiningOp()) {
    if (!op->hasOneUse())
      return nullptr;
    if (auto product = dyn_cast<exec::ProductOp>(op))
      return product.getSum() ? nullptr : product;
    if (!isa<nn::TransposeOp, nn::ReshapeOp>(op))
      return nullptr;
    views.push_back(op);
    value = op->getOperand(0);
  }
  return nullptr;
}

/// Makes `sum` look like the product from which `views` lead to the shape of `sum` (the last view first).
Value invertViews(TensorBuilder &b, Value sum, ArrayRef<Operation *> views) {
  for (Operation *view : views) {
    if (auto transpose = dyn_cast<nn::TransposeOp>(view))
      sum = b.transpose(sum, nn::invertPermutation(transpose.getPermutation()));
    else
      sum = b.reshape(sum, getTensorType(view->getOperand(0)).getShape());
  }
  return sum;
}

/// Where `add` is new sum = old sum + product, both sums being one gradient buffer, lets the product accumulate.
void accumulate(func::FuncOp function, nn::AddOp add) {
  if (!add->hasOneUse() || !isa<func::ReturnOp>(*add->user_begin()))
    return;
  OpOperand &use = *add->use_begin();
  StringRef name = getGradientName(function.getResultAttr(use.getOperandNumber(), exec::kBindAttr));
  for (auto [old, other] : {std::pair(add.getLhs(), add.getRhs()), std::pair(add.getRhs(), add.getLhs())}) {
    auto argument = dyn_cast<BlockArgument>(old);
    if (!argument || !argument.hasOneUse() || name.empty() ||
        getGradientName(function.getArgAttr(argument.getArgNumber(), exec::kBindAttr)) != name)
      continue;
    SmallVector<Operation *> views;
    exec::ProductOp product = findProduct(other, views);
    if (!product)
      continue;
    OpBuilder builder(product);
    TensorBuilder b(builder, product.getLoc());
    product.getSumMutable().assign(invertViews(b, old, views));
    add.replaceAllUsesWith(other);
    add.erase();
    return;
  }
}

struct SelectCallsPass : codegen::impl::SelectCallsPassBase<SelectCallsPass> {
  using SelectCallsPassBase::SelectCallsPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    Block &body = function.getBody().front();
    bool hasFailed = false;
    for (auto dot : llvm::make_early_inc_range(body.getOps<nn::DotGeneralOp>()))
      hasFailed |= failed(selectProduct(dot));
    if (hasFailed)
      return signalPassFailure();
    for (auto add : llvm::make_early_inc_range(body.getOps<nn::AddOp>()))
      accumulate(function, add);
  }
};

} // namespace
