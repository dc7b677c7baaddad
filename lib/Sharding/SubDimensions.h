//===-- SubDimensions.h - the sub-dimensions of every value of a function -----------------------------------------===//
//
// A reshape of [b, s, 64] to [b, s, 4, 16] says that the 64 are 4 · 16, and says it of every tensor that these 64 flow
// through: backwards through a product to the columns of its weight, forwards to the rows of the next one. Here each
// dimension of each value becomes an ordered list of *atoms*, the finest sub-dimensions that any op sees, by carrying
// the boundaries through the factors of the ops until nothing changes. Atoms that a factor links form a *class*: they
// are the same dimension of the model seen in different tensors (the heads of layer 3).
//
// Boundaries of one dimension form a chain of divisors. A boundary that does not nest with those already there is left
// out, and factors that would need it count as cut.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_LIB_SHARDING_SUBDIMENSIONS_H
#define SHARDC_LIB_SHARDING_SUBDIMENSIONS_H

#include "dialects/nn/NN.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace shardc::sharding {

/// One atom of a value: `size` blocks of `inner` elements of dimension `dim`.
struct Atom {
  int64_t size;
  nn::FactorPart part;
  int atomClass;
};

/// A factor of an op, or the part of it that is one atom of each tensor it appears in.
struct OpAtom : nn::Factor {
  int atomClass = -1;
};

class SubDimensions {
public:
  /// `equal` lists pairs of values of one shape that share their sub-dimensions although no op links them (a parameter
  /// and its gradient); `seeds` gives boundaries that a value has from elsewhere.
  SubDimensions(mlir::func::FuncOp function, llvm::ArrayRef<std::pair<mlir::Value, mlir::Value>> equal,
                llvm::ArrayRef<std::pair<mlir::Value, dist::ShardingAttr>> seeds = {});

  /// The atoms of a value, outermost first within each dimension; dimensions of size 1 have none.
  llvm::ArrayRef<Atom> getAtoms(mlir::Value value) const;
  /// The atom at `part` of a value; null where there is none.
  const Atom *findAtom(mlir::Value value, nn::FactorPart part) const;
  /// The factors of an op, by atoms, in the order of its factors, outermost atoms first.
  llvm::ArrayRef<OpAtom> getOpAtoms(mlir::Operation *op) const;
  int getNumClasses() const { return numClasses; }
  /// Whether some op picks from the blocks along the class.
  bool isCut(int atomClass) const { return cut[atomClass]; }

  /// The dimensions of a value with `axes` on the atoms at the given parts, neighbours without axes merged.
  dist::ShardingAttr getSharding(mlir::Value value, llvm::ArrayRef<std::pair<nn::FactorPart, mlir::StringAttr>> splits,
                                 llvm::ArrayRef<dist::PartialAttr> partial) const;

private:
  /// Boundaries of the dimensions of a value: inner sizes, ascending, without 1 and the whole.
  using Boundaries = llvm::SmallVector<llvm::SmallVector<int64_t>>;
  struct Appearance {
    int value;
    nn::FactorPart part;
  };
  /// A factor as the list of its appearances; `op` and `factor` are -1 for `equal` pairs.
  struct Link {
    int64_t size;
    int op, factor;
    llvm::SmallVector<Appearance> places;
  };

  int number(mlir::Value value);
  void collect(mlir::func::FuncOp function, llvm::ArrayRef<std::pair<mlir::Value, mlir::Value>> equal);
  bool addBoundary(const Appearance &place, int64_t inner);
  bool spread(const Link &link);
  llvm::SmallVector<int64_t> getInside(const Appearance &place, int64_t size) const;
  bool isAligned(const Link &link) const;
  void makeAtoms();
  void makeOpAtoms();
  void uniteAtoms(const Link &link);
  void cutOverlaps(const Link &link, bool aligned, llvm::SmallVectorImpl<int> &cutAtoms);
  OpAtom makeBlocked(const Link &link, const Appearance &place, const Atom &atom) const;
  void numberClasses(llvm::ArrayRef<int> cutAtoms);
  int findRoot(int id);
  void unite(int a, int b);
  int getAtomId(int value, nn::FactorPart part) const;

  llvm::SmallVector<mlir::Value> values;
  llvm::DenseMap<mlir::Value, int> numbers;
  llvm::SmallVector<mlir::Operation *> ops;
  llvm::DenseMap<mlir::Operation *, int> opNumbers;
  std::vector<llvm::SmallVector<nn::Factor>> factors;
  std::vector<Link> links;
  std::vector<Boundaries> boundaries;
  std::vector<llvm::SmallVector<Atom>> atoms;
  std::vector<int> firstAtom;
  std::vector<int> parents;
  std::vector<llvm::SmallVector<OpAtom>> opAtoms;
  std::vector<bool> cut;
  int numClasses = 0;
};

} // namespace shardc::sharding

#endif
