//===-- Layers.cpp - the repeated structure of a model ------------------------------------------------------------===//

#include "Layers.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::pipeline;

namespace {

class LayerFinder {
public:
  explicit LayerFinder(func::FuncOp accumulate) {
    for (Operation &op : accumulate.getBody().front().without_terminator())
      if (getStage(&op) >= 0 && !isBackward(&op))
        ops.push_back(&op);
    for (auto [position, op] : llvm::enumerate(ops))
      positions[op] = position;
  }

  SmallVector<Value> run() {
    findArticulations();
    for (size_t segment = 0; segment + 1 < articulations.size(); ++segment)
      signatures.push_back(number(describeSegment(segment)));
    return selectRepeated();
  }

private:
  struct Articulation {
    Value value;
    int64_t position; ///< behind the op at this position only `value` is live
  };

  //===-- Articulation values -------------------------------------------------------------------------------------===//

  void findArticulations() {
    llvm::DenseSet<Value> trained;
    std::vector<int64_t> live(ops.size() + 1, 0); // differences
    std::vector<Value> values;
    for (auto [position, op] : llvm::enumerate(ops)) {
      if (llvm::none_of(op->getOperands(),
                        [&](Value operand) { return isParameter(operand) || trained.contains(operand); }))
        continue;
      for (Value result : op->getResults()) {
        trained.insert(result);
        if (int64_t last = findLastUse(result); last > static_cast<int64_t>(position)) {
          live[position] += 1;
          live[last] -= 1;
          values.push_back(result);
        }
      }
    }
    int64_t count = 0;
    for (size_t position = 0; position < ops.size(); ++position) {
      count += live[position];
      if (count != 1)
        continue;
      Value value = *llvm::find_if(values, [&](Value candidate) {
        return positions[candidate.getDefiningOp()] <= static_cast<int64_t>(position) &&
               findLastUse(candidate) > static_cast<int64_t>(position);
      });
      if (!articulations.empty() && isSmallerForm(value, articulations.back().value))
        articulations.back() = {value, static_cast<int64_t>(position)};
      else if (articulations.empty() || articulations.back().value != value)
        articulations.push_back({value, static_cast<int64_t>(position)});
    }
  }

  /// Whether `value` is a cast of `other` that takes fewer bytes, to be kept in its place.
  static bool isSmallerForm(Value value, Value other) {
    auto convert = value.getDefiningOp<nn::ConvertOp>();
    return convert && convert.getInput() == other && getBytes(value) < getBytes(other);
  }

  /// The position of the last forward op that reads a value; -1 where there is none.
  int64_t findLastUse(Value value) {
    int64_t last = -1;
    for (Operation *user : value.getUsers())
      if (auto found = positions.find(user); found != positions.end())
        last = std::max(last, found->second);
    return last;
  }

  //===-- Segments ------------------------------------------------------------------------------------------------===//

  ArrayRef<Operation *> getSegment(size_t segment) {
    int64_t begin = articulations[segment].position + 1;
    int64_t end = articulations[segment + 1].position + 1;
    return ArrayRef(ops).slice(begin, end - begin);
  }

  std::string describeSegment(size_t segment) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    llvm::DenseMap<Value, int64_t> local{{articulations[segment].value, 0}};
    for (Operation *op : getSegment(segment)) {
      stream << op->getName();
      for (NamedAttribute attribute : op->getAttrDictionary())
        if (!attribute.getName().getValue().contains('.')) // others say where an op comes from, not what it is
          stream << ' ' << attribute.getName().getValue() << '=' << attribute.getValue();
      for (Value operand : op->getOperands()) {
        auto known = local.find(operand);
        stream << (isParameter(operand) ? " p" : " ") << (known == local.end() ? -1 : known->second) << ':'
               << operand.getType();
      }
      for (Value result : op->getResults()) {
        stream << " -> " << result.getType();
        local.try_emplace(result, local.size());
      }
      stream << '\n';
    }
    return text;
  }

  int64_t number(const std::string &signature) {
    return numbers.try_emplace(signature, static_cast<int64_t>(numbers.size())).first->second;
  }

  //===-- Repetition ----------------------------------------------------------------------------------------------===//

  SmallVector<Value> selectRepeated() {
    int64_t segments = signatures.size(), bestOps = 0, bestPeriod = 1, bestBegin = 0, bestEnd = segments;
    for (int64_t period = 1; 2 * period <= segments; ++period)
      for (int64_t begin = 0; begin + 2 * period <= segments; ++begin) {
        int64_t end = begin + period;
        while (end < segments && signatures[end] == signatures[end - period])
          ++end;
        end -= (end - begin) % period;
        int64_t covered = end - begin < 2 * period ? 0 : countOps(begin, end);
        if (covered > bestOps) {
          bestOps = covered;
          bestPeriod = period, bestBegin = begin, bestEnd = end;
        }
      }
    SmallVector<Value> inputs;
    for (int64_t i = bestBegin; i <= bestEnd && i < static_cast<int64_t>(articulations.size()); i += bestPeriod)
      inputs.push_back(articulations[i].value);
    return inputs;
  }

  int64_t countOps(int64_t begin, int64_t end) { return articulations[end].position - articulations[begin].position; }

  std::vector<Operation *> ops;
  llvm::DenseMap<Operation *, int64_t> positions;
  std::vector<Articulation> articulations;
  std::vector<int64_t> signatures;
  llvm::StringMap<int64_t> numbers;
};

} // namespace

SmallVector<Value> shardc::pipeline::findLayerInputs(func::FuncOp accumulate) { return LayerFinder(accumulate).run(); }
