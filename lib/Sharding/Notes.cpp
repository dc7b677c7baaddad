//===-- Notes.cpp - tells the user what the layout is -------------------------------------------------------------===//

#include "lib/Sharding/Notes.h"

#include "lib/Sharding/Parameters.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::sharding;

namespace {

/// `3*4/tp*16 x 64`
std::string describe(dist::ShardingAttr sharding) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::interleave(
      sharding.getDims(), stream,
      [&](dist::DimAttr dim) {
        llvm::interleave(
            dim.getSubDims(), stream,
            [&](dist::SubDimAttr sub) {
              stream << sub.getSize();
              for (StringAttr axis : sub.getAxes())
                stream << '/' << axis.getValue();
            },
            "*");
      },
      " x ");
  return text;
}

} // namespace

void Notes::addSolution(const dist::Hardware &hardware, int64_t cost) {
  lines.push_back("hardware " + dist::describe(hardware));
  lines.push_back(
      llvm::formatv("layout over tp={0}: estimated {1:f3} ms a micro-batch, the least of all layouts allowed",
                    mesh.getSize("tp"), cost / 1e12));
}

void Notes::addParameters(func::FuncOp function) {
  int64_t replicatedBytes = 0, replicatedCount = 0;
  for (BlockArgument argument : function.getArguments()) {
    StringRef name = getParameterName(function, argument.getArgNumber());
    dist::ShardingAttr sharding = dist::getSharding(argument);
    if (name.empty() || !sharding)
      continue;
    auto type = cast<RankedTensorType>(argument.getType());
    if (sharding.isSplitOver("tp")) {
      lines.push_back(llvm::formatv("{0}: {1}", name, describe(sharding)));
      continue;
    }
    int64_t bytes = type.getNumElements() * ((type.getElementTypeBitWidth() + 7) / 8);
    if (type.getRank() >= 2)
      lines.push_back(llvm::formatv("{0}: replicated over tp, {1} bytes on each rank", name, bytes));
    replicatedBytes += bytes;
    ++replicatedCount;
  }
  lines.push_back(
      llvm::formatv("replicated over tp: {0} parameters, {1} bytes on each rank", replicatedCount, replicatedBytes));
}

void Notes::addCollectives(func::FuncOp function) {
  llvm::MapVector<std::pair<StringAttr, StringAttr>, std::pair<int64_t, int64_t>> counts;
  function.walk([&](Operation *op) {
    if (!isa_and_present<dist::DistDialect>(op->getDialect()) || isa<dist::LocalSliceOp, dist::AxisIndexOp>(op))
      return;
    auto axis = op->getAttrOfType<StringAttr>("axis");
    if (auto axes = op->getAttrOfType<ArrayAttr>("axes"); axes && !axes.empty())
      axis = cast<StringAttr>(axes[0]);
    auto &[calls, bytes] = counts[{op->getName().getIdentifier(), axis}];
    auto type = cast<RankedTensorType>(op->getOperand(0).getType());
    ++calls;
    bytes += type.getNumElements() * ((type.getElementTypeBitWidth() + 7) / 8);
  });
  for (auto &[key, count] : counts)
    lines.push_back(llvm::formatv("{0} over {1} in '{2}': {3} calls on {4} bytes a rank", key.first.getValue(),
                                  key.second.getValue(), function.getName(), count.first, count.second));
}

void Notes::append(ModuleOp module) {
  Builder builder(module.getContext());
  SmallVector<Attribute> all;
  if (auto notes = module->getAttrOfType<ArrayAttr>("nn.notes"))
    llvm::append_range(all, notes);
  for (const std::string &line : lines)
    all.push_back(builder.getStringAttr(line));
  if (!all.empty())
    module->setAttr("nn.notes", builder.getArrayAttr(all));
}
