//===-- Provenance.cpp - marks what a pass builds -----------------------------------------------------------------===//

#include "Provenance.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::autodiff;

StringRef autodiff::findName(Location loc) {
  StringRef name;
  loc->walk([&](Location inner) {
    if (auto named = dyn_cast<NameLoc>(inner))
      name = named.getName().getValue();
    return name.empty() ? WalkResult::advance() : WalkResult::interrupt();
  });
  return name;
}

void Provenance::setGradientOf(Operation *op) {
  StringRef name = findName(op->getLoc());
  if (name.empty())
    name = op->getName().getStringRef();
  loc = NameLoc::get(StringAttr::get(op->getContext(), "gradient of " + name), op->getLoc());
  origin = op->getAttrOfType<IntegerAttr>(nn::kOriginAttr);
  isBackward = true;
}

void Provenance::setUpdateOf(StringRef name) {
  MLIRContext *context = loc.getContext();
  loc = NameLoc::get(StringAttr::get(context, "update of " + name));
  origin = IntegerAttr::get(IntegerType::get(context, 64), -1);
  isBackward = false;
}

void Provenance::notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) {
  op->setLoc(loc);
  if (op->hasTrait<OpTrait::IsTerminator>())
    return;
  if (origin)
    op->setAttr(nn::kOriginAttr, origin);
  if (isBackward)
    op->setAttr(nn::kBackwardAttr, UnitAttr::get(op->getContext()));
}
