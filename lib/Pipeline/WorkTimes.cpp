//===-- WorkTimes.cpp - what ops and messages take, by the compiler's cost model ----------------------------------===//

#include "WorkTimes.h"
#include "StageGraph.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::pipeline;

static dist::CollectiveKind getKind(Operation *collective) {
  return TypeSwitch<Operation *, dist::CollectiveKind>(collective)
      .Case([](dist::AllGatherOp) { return dist::CollectiveKind::AllGather; })
      .Case([](dist::ReduceScatterOp) { return dist::CollectiveKind::ReduceScatter; })
      .Case([](dist::AllToAllOp) { return dist::CollectiveKind::AllToAll; })
      .Default([](Operation *) { return dist::CollectiveKind::AllReduce; });
}

int64_t WorkTimes::get(Operation *op) const {
  if (isCollective(op)) {
    dist::CollectiveKind kind = getKind(op);
    int64_t ranks = countRanks(op), bytes = std::max(getBytes(op->getOperand(0)), getBytes(op->getResult(0)));
    return costModel.getCollectiveTime(kind, ranks, kind == dist::CollectiveKind::AllToAll ? bytes * ranks : bytes);
  }
  auto cost = dyn_cast<nn::CostOpInterface>(op);
  return cost ? costModel.getWorkTime(cost.getFlops(), isa<nn::FusibleOpInterface>(op) ? 0 : cost.getBytes()) : 0;
}

int64_t WorkTimes::getMessage(Value value) const { return costModel.getMessageTime(getBytes(value)); }

int64_t WorkTimes::countRanks(Operation *collective) const {
  if (auto axis = collective->getAttrOfType<StringAttr>("axis"))
    return mesh.getSize(axis);
  int64_t ranks = 1;
  for (StringRef axis : cast<dist::AllReduceOp>(collective).getAxes().getAsValueRange<StringAttr>())
    ranks *= mesh.getSize(axis);
  return ranks;
}
