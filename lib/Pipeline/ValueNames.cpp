//===-- ValueNames.cpp - names of buffers and messages ------------------------------------------------------------===//

#include "ValueNames.h"
#include "StageGraph.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::pipeline;

/// The first name in a location.
static StringRef findName(Location loc) {
  StringRef name;
  loc->walk([&](Location part) {
    auto named = dyn_cast<NameLoc>(part);
    if (!named)
      return WalkResult::advance();
    name = named.getName();
    return WalkResult::interrupt();
  });
  return name;
}

std::string shardc::pipeline::getNodeName(Operation *op) {
  StringRef node = findName(op->getLoc());
  return node.empty() ? ("op#" + Twine(getOrigin(op))).str() : node.str();
}

void ValueNames::assign(Value value, StringRef name) {
  names[value] = name.str();
  taken.insert(name);
}

std::string ValueNames::get(Value value) {
  std::string &name = names[value];
  if (!name.empty())
    return name;
  Operation *op = value.getDefiningOp();
  std::string base = getNodeName(op);
  if (isBackward(op)) {
    StringRef stem = base;
    stem.consume_front("gradient of ");
    base = ("grad:" + stem).str();
  }
  name = base;
  for (int number = 2; !taken.insert(name).second; ++number)
    name = (base + "#" + Twine(number)).str();
  return name;
}
