//===-- NNDialect.cpp - registration and what all ops share -------------------------------------------------------===//

#include "dialects/nn/NN.h"

#include "mlir/IR/DialectImplementation.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace shardc::nn;

#include "dialects/nn/NNDialect.cpp.inc"
#include "dialects/nn/NNEnums.cpp.inc"
#include "dialects/nn/NNInterfaces.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/nn/NNAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/nn/NNOps.cpp.inc"

void NNDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/nn/NNAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/nn/NNOps.cpp.inc"
      >();
}

Operation *NNDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type, Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  return elements ? ConstantOp::create(builder, loc, type, elements) : nullptr;
}

void shardc::nn::copyOrigin(Operation *from, Operation *to) {
  for (StringRef name : {StringRef(kOriginAttr), StringRef(kBackwardAttr)})
    if (Attribute attr = from->getAttr(name))
      to->setAttr(name, attr);
  to->setLoc(from->getLoc());
}
