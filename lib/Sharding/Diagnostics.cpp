//===-- Diagnostics.cpp - how this stage names things -------------------------------------------------------------===//

#include "lib/Sharding/Diagnostics.h"

#include "mlir/IR/Location.h"

using namespace mlir;

std::string shardc::sharding::describeNode(Operation *op) {
  std::string name;
  op->getLoc()->walk([&](Location loc) {
    if (auto named = dyn_cast<NameLoc>(loc)) {
      name = named.getName().str();
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  if (name.empty())
    return ("op '" + op->getName().getStringRef() + "'").str();
  return "node '" + name + "'";
}
