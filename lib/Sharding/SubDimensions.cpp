//===-- SubDimensions.cpp - the sub-dimensions of every value of a function ---------------------------------------===//

#include "lib/Sharding/SubDimensions.h"

#include "dialects/nn/sharding/Reshard.h"

using namespace mlir;
using namespace shardc;
using namespace shardc::sharding;

namespace {

ArrayRef<int64_t> getShape(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }

} // namespace

SubDimensions::SubDimensions(func::FuncOp function, ArrayRef<std::pair<Value, Value>> equal,
                             ArrayRef<std::pair<Value, dist::ShardingAttr>> seeds) {
  collect(function, equal);
  for (auto [value, sharding] : seeds)
    for (auto [dim, attr] : llvm::enumerate(sharding.getDims())) {
      int64_t inner = 1;
      for (dist::SubDimAttr sub : llvm::reverse(attr.getSubDims())) {
        inner *= sub.getSize();
        addBoundary({number(value), {static_cast<int>(dim), 1}}, inner);
      }
    }
  // Forwards, then backwards, so that a boundary crosses a whole function in one sweep of either kind.
  bool changed = true, forwards = true;
  while (changed) {
    changed = false;
    for (size_t i = 0; i < links.size(); ++i)
      changed |= spread(links[forwards ? i : links.size() - 1 - i]);
    forwards = !forwards;
  }
  makeAtoms();
  makeOpAtoms();
}

int SubDimensions::number(Value value) {
  auto [entry, isNew] = numbers.try_emplace(value, values.size());
  if (isNew) {
    values.push_back(value);
    boundaries.emplace_back(getShape(value).size());
  }
  return entry->second;
}

void SubDimensions::collect(func::FuncOp function, ArrayRef<std::pair<Value, Value>> equal) {
  for (Value argument : function.getArguments())
    number(argument);
  for (Operation &op : function.getBody().front().without_terminator()) {
    auto shardable = dyn_cast<nn::ShardableOpInterface>(op);
    if (!shardable)
      continue;
    opNumbers[&op] = ops.size();
    ops.push_back(&op);
    factors.push_back(shardable.getFactors());
    for (auto [index, factor] : llvm::enumerate(factors.back())) {
      Link link{factor.size, static_cast<int>(ops.size()) - 1, static_cast<int>(index), {}};
      for (auto [part, operand] : llvm::zip_equal(factor.operands, op.getOperands()))
        if (part)
          link.places.push_back({number(operand), part});
      for (auto [part, result] : llvm::zip_equal(factor.results, op.getResults()))
        if (part)
          link.places.push_back({number(result), part});
      links.push_back(std::move(link));
    }
    for (Value result : op.getResults())
      number(result);
  }
  for (auto [a, b] : equal)
    for (auto [dim, size] : llvm::enumerate(getShape(a)))
      if (size > 1) {
        nn::FactorPart part{static_cast<int>(dim), 1};
        links.push_back({size, -1, -1, {{number(a), part}, {number(b), part}}});
      }
}

/// Adds the boundary at `inner` times the inner size of the place; false where it is there or does not nest.
bool SubDimensions::addBoundary(const Appearance &place, int64_t inner) {
  int64_t whole = getShape(values[place.value])[place.part.dim];
  int64_t boundary = place.part.inner * inner;
  if (boundary <= 1 || boundary >= whole || whole % boundary != 0)
    return false;
  auto &list = boundaries[place.value][place.part.dim];
  auto position = llvm::lower_bound(list, boundary);
  if (position != list.end() && (*position == boundary || *position % boundary != 0))
    return false;
  if (position != list.begin() && boundary % *std::prev(position) != 0)
    return false;
  list.insert(position, boundary);
  return true;
}

/// The boundaries inside a factor, in units of its inner size.
SmallVector<int64_t> SubDimensions::getInside(const Appearance &place, int64_t size) const {
  SmallVector<int64_t> inside;
  int64_t inner = place.part.inner;
  for (int64_t boundary : boundaries[place.value][place.part.dim])
    if (boundary > inner && boundary < inner * size && boundary % inner == 0)
      inside.push_back(boundary / inner);
  return inside;
}

/// Carries the boundaries of a factor to all its appearances; whether any is new.
bool SubDimensions::spread(const Link &link) {
  bool changed = false;
  for (const Appearance &place : link.places) {
    changed |= addBoundary(place, 1);
    changed |= addBoundary(place, link.size);
  }
  for (const Appearance &from : link.places)
    for (int64_t inner : getInside(from, link.size))
      for (const Appearance &to : link.places)
        changed |= addBoundary(to, inner);
  return changed;
}

/// Whether all appearances of a factor are whole atoms, the same ones.
bool SubDimensions::isAligned(const Link &link) const {
  for (const Appearance &place : link.places) {
    int64_t whole = getShape(values[place.value])[place.part.dim];
    auto &list = boundaries[place.value][place.part.dim];
    for (int64_t edge : {place.part.inner, place.part.inner * link.size})
      if (edge != 1 && edge != whole && !llvm::is_contained(list, edge))
        return false;
    if (getInside(place, link.size) != getInside(link.places.front(), link.size))
      return false;
  }
  return true;
}

void SubDimensions::makeAtoms() {
  for (auto [value, lists] : llvm::zip_equal(values, boundaries)) {
    firstAtom.push_back(parents.size());
    SmallVector<Atom> &list = atoms.emplace_back();
    for (auto [dim, size] : llvm::enumerate(getShape(value))) {
      if (size <= 1)
        continue;
      SmallVector<int64_t> edges(lists[dim]);
      edges.insert(edges.begin(), 1);
      edges.push_back(size);
      for (size_t i = edges.size() - 1; i > 0; --i) {
        list.push_back({edges[i] / edges[i - 1], {static_cast<int>(dim), edges[i - 1]}, -1});
        parents.push_back(parents.size());
      }
    }
  }
}

int SubDimensions::getAtomId(int value, nn::FactorPart part) const {
  for (auto [index, atom] : llvm::enumerate(atoms[value]))
    if (atom.part.dim == part.dim && atom.part.inner == part.inner)
      return firstAtom[value] + index;
  return -1;
}

int SubDimensions::findRoot(int id) {
  while (parents[id] != id)
    id = parents[id] = parents[parents[id]];
  return id;
}

void SubDimensions::unite(int a, int b) {
  a = findRoot(a), b = findRoot(b);
  parents[std::max(a, b)] = std::min(a, b);
}

/// Splits the factors into atoms, unites the atoms that they link, and numbers the classes.
void SubDimensions::makeOpAtoms() {
  opAtoms.resize(ops.size());
  SmallVector<int> cutAtoms;
  for (const Link &link : links) {
    bool aligned = isAligned(link);
    if (aligned)
      uniteAtoms(link);
    if (!aligned || (link.op >= 0 && factors[link.op][link.factor].kind == nn::FactorKind::Cut))
      cutOverlaps(link, aligned, cutAtoms);
  }
  numberClasses(cutAtoms);
}

/// Unites the atoms of all places of a link, one after another, and gives its op one for each.
void SubDimensions::uniteAtoms(const Link &link) {
  SmallVector<int64_t> edges = getInside(link.places.front(), link.size);
  edges.insert(edges.begin(), 1);
  edges.push_back(link.size);
  auto getId = [&](const Appearance &place, int64_t inner) {
    return getAtomId(place.value, {place.part.dim, place.part.inner * inner});
  };
  for (size_t i = edges.size() - 1; i > 0; --i) {
    for (const Appearance &place : link.places)
      unite(getId(link.places[0], edges[i - 1]), getId(place, edges[i - 1]));
    if (link.op < 0)
      continue;
    OpAtom atom{factors[link.op][link.factor]};
    atom.size = edges[i] / edges[i - 1];
    for (auto *parts : {&atom.operands, &atom.results})
      for (nn::FactorPart &part : *parts)
        part.inner *= edges[i - 1];
    opAtoms[link.op].push_back(atom);
  }
}

/// Whatever lies within a cut is cut; where the factor is not aligned, the op has a cut for each such atom.
void SubDimensions::cutOverlaps(const Link &link, bool aligned, SmallVectorImpl<int> &cutAtoms) {
  for (const Appearance &place : link.places)
    for (auto [index, atom] : llvm::enumerate(atoms[place.value])) {
      bool overlaps = atom.part.dim == place.part.dim && atom.part.inner * atom.size > place.part.inner &&
                      atom.part.inner < place.part.inner * link.size;
      if (!overlaps)
        continue;
      cutAtoms.push_back(firstAtom[place.value] + index);
      if (!aligned && link.op >= 0)
        opAtoms[link.op].push_back(makeBlocked(link, place, atom));
    }
}

/// The cut of a link's op that stands for one atom of one of its values.
OpAtom SubDimensions::makeBlocked(const Link &link, const Appearance &place, const Atom &atom) const {
  OpAtom blocked{factors[link.op][link.factor]};
  blocked.size = atom.size;
  blocked.kind = nn::FactorKind::Cut;
  for (auto *parts : {&blocked.operands, &blocked.results})
    llvm::fill(*parts, nn::FactorPart());
  for (auto [operand, part] : llvm::zip_equal(ops[link.op]->getOperands(), blocked.operands))
    if (numbers.lookup(operand) == place.value)
      part = atom.part;
  for (auto [result, part] : llvm::zip_equal(ops[link.op]->getResults(), blocked.results))
    if (numbers.lookup(result) == place.value)
      part = atom.part;
  return blocked;
}

void SubDimensions::numberClasses(ArrayRef<int> cutAtoms) {
  DenseMap<int, int> classes;
  for (auto [value, list] : llvm::enumerate(atoms))
    for (auto [index, atom] : llvm::enumerate(list))
      atom.atomClass = classes.try_emplace(findRoot(firstAtom[value] + index), classes.size()).first->second;
  numClasses = classes.size();
  cut.assign(numClasses, false);
  for (int id : cutAtoms)
    cut[classes.lookup(findRoot(id))] = true;
  for (auto [op, list] : llvm::zip_equal(ops, opAtoms))
    for (OpAtom &atom : list) {
      for (auto [part, operand] : llvm::zip_equal(atom.operands, op->getOperands()))
        if (part)
          atom.atomClass = findAtom(operand, part)->atomClass;
      for (auto [part, result] : llvm::zip_equal(atom.results, op->getResults()))
        if (part)
          atom.atomClass = findAtom(result, part)->atomClass;
    }
}

ArrayRef<Atom> SubDimensions::getAtoms(Value value) const {
  auto entry = numbers.find(value);
  return entry == numbers.end() ? ArrayRef<Atom>() : ArrayRef<Atom>(atoms[entry->second]);
}

const Atom *SubDimensions::findAtom(Value value, nn::FactorPart part) const {
  for (const Atom &atom : getAtoms(value))
    if (atom.part.dim == part.dim && atom.part.inner == part.inner)
      return &atom;
  return nullptr;
}

ArrayRef<OpAtom> SubDimensions::getOpAtoms(Operation *op) const {
  auto entry = opNumbers.find(op);
  return entry == opNumbers.end() ? ArrayRef<OpAtom>() : ArrayRef<OpAtom>(opAtoms[entry->second]);
}

dist::ShardingAttr SubDimensions::getSharding(Value value, ArrayRef<std::pair<nn::FactorPart, StringAttr>> splits,
                                              ArrayRef<dist::PartialAttr> partial) const {
  MLIRContext *context = value.getContext();
  SmallVector<dist::DimAttr> dims;
  for (auto [dim, size] : llvm::enumerate(getShape(value))) {
    SmallVector<dist::SubDimAttr> subs;
    for (const Atom &atom : getAtoms(value)) {
      if (atom.part.dim != static_cast<int>(dim))
        continue;
      SmallVector<StringAttr> axes;
      for (auto [part, axis] : splits)
        if (part.dim == atom.part.dim && part.inner == atom.part.inner)
          axes.push_back(axis);
      subs.push_back(dist::SubDimAttr::get(context, atom.size, axes));
    }
    if (subs.empty())
      subs.push_back(dist::SubDimAttr::get(context, size, {}));
    dims.push_back(dist::DimAttr::get(context, subs));
  }
  return nn::canonicalize(dist::ShardingAttr::get(context, dims, partial));
}
