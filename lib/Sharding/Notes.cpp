//===-- Notes.cpp - tells the user what the layout is -------------------------------------------------------------===//

#include "lib/Sharding/Notes.h"

#include "lib/Sharding/Parameters.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <map>

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

StringRef dropDialect(StringAttr op) { return op.getValue().split('.').second; }

/// The name with numbers between dots or slashes as stars: "h.*.mlp.fc.weight".
std::string getPattern(StringRef name) {
  std::string pattern;
  while (!name.empty()) {
    StringRef part = name.take_until([](char c) { return c == '.' || c == '/'; });
    bool isNumber = !part.empty() && llvm::all_of(part, llvm::isDigit);
    pattern += isNumber ? "*" : part.str();
    name = name.drop_front(part.size());
    pattern += name.take_front(1);
    name = name.drop_front(std::min<size_t>(1, name.size()));
  }
  return pattern;
}

/// Lines "name: text", those of layers that agree in one: "h.*.mlp.fc.weight (12 tensors): text".
class GroupedLines {
public:
  void add(StringRef name, const std::string &text) {
    Group &group = groups[{getPattern(name), text}];
    if (++group.count == 1)
      group.name = name.str();
  }

  void appendTo(SmallVectorImpl<std::string> &lines) const {
    for (const auto &[key, group] : groups)
      if (group.count == 1)
        lines.push_back(llvm::formatv("{0}: {1}", group.name, key.second));
      else
        lines.push_back(llvm::formatv("{0} ({1} tensors): {2}", key.first, group.count, key.second));
  }

private:
  struct Group {
    std::string name;
    int64_t count = 0;
  };
  llvm::MapVector<std::pair<std::string, std::string>, Group, std::map<std::pair<std::string, std::string>, unsigned>>
      groups;
};

} // namespace

void Notes::addSolution(const dist::Hardware &hardware, int64_t cost) {
  lines.push_back("hardware " + dist::describe(hardware));
  lines.push_back(
      llvm::formatv("layout over tp={0}: estimated {1:f3} ms a micro-batch, the least of all layouts allowed",
                    mesh.getSize("tp"), cost / 1e12));
}

void Notes::addParameters(func::FuncOp function) {
  int64_t replicatedBytes = 0, replicatedCount = 0;
  GroupedLines grouped;
  for (BlockArgument argument : function.getArguments()) {
    StringRef name = getParameterName(function, argument.getArgNumber());
    dist::ShardingAttr sharding = dist::getSharding(argument);
    if (name.empty() || !sharding)
      continue;
    auto type = cast<RankedTensorType>(argument.getType());
    if (sharding.isSplitOver("tp")) {
      grouped.add(name, describe(sharding));
      continue;
    }
    int64_t bytes = type.getNumElements() * ((type.getElementTypeBitWidth() + 7) / 8);
    if (type.getRank() >= 2)
      grouped.add(name, llvm::formatv("replicated over tp, {0} bytes on each rank", bytes));
    replicatedBytes += bytes;
    ++replicatedCount;
  }
  lines.push_back("parameters, by the factors of their dimensions (3*4/tp*16: the 4 is split over tp):");
  grouped.appendTo(lines);
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
    lines.push_back(llvm::formatv("{0} over {1}: {2} for each {3}, of {4} bytes a rank in all", dropDialect(key.first),
                                  key.second.getValue(), count.first,
                                  function.getName() == "update" ? "update" : "micro-batch", count.second));
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
