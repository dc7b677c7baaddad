//===-- NodeBuilder.h - what the operators are built with ---------------------------------------------------------===//
//
// A value of the ONNX graph is an Operand: a tensor that is known at import (a Constant) or an SSA value. The
// primitives here (one for each nn op) take and give Operands: what is known is computed, up to a cap on its size; the
// rest becomes ops. So an operator is written once, and constant folding follows. A NodeBuilder serves one node: its
// inputs, attributes, results and diagnostics.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_LIB_IMPORT_NODEBUILDER_H
#define SHARDC_LIB_IMPORT_NODEBUILDER_H

#include "Constant.h"
#include "Graph.h"

#include "dialects/nn/NN.h"

#include "llvm/ADT/StringMap.h"

namespace shardc::importer {

using Shape = llvm::SmallVector<int64_t>;

/// A tensor by value or as an SSA value.
class Operand {
public:
  Operand() = default;
  Operand(mlir::Value value) : value(value) {}
  Operand(Constant constant) : constant(std::make_shared<const Constant>(std::move(constant))) {}

  explicit operator bool() const { return constant || value; }
  bool isConstant() const { return constant != nullptr; }
  const Constant &getConstant() const { return *constant; }
  mlir::Value getValue() const { return value; }
  llvm::ArrayRef<int64_t> getShape() const;
  int64_t getRank() const { return static_cast<int64_t>(getShape().size()); }
  int64_t getNumElements() const { return countElements(getShape()).value_or(0); }
  /// ONNX's number of the element type.
  int32_t getType() const;
  bool isFloat() const { return isFloatType(getType()); }

private:
  std::shared_ptr<const Constant> constant;
  mlir::Value value;
};

/// A mean as its parts: mean = sum / weight. Both are scalars.
struct MeanParts {
  mlir::Value sum, weight;
};

/// What indexes a table or names a class: found for the inputs of the model. `weight` is W of the mean loss of labels,
/// to which labels of `ignored` (or kDefaultIgnore) add nothing.
struct IndexUse {
  mlir::Value indices;
  int64_t bound = 0;
  bool isLabel = false;
  std::optional<int64_t> ignored;
  mlir::Value weight;
};

/// What all nodes of a model share.
struct ImportState {
  ImportState(Diagnostics &diagnostics) : diagnostics(diagnostics), builder(diagnostics.getContext()) {}

  Diagnostics &diagnostics;
  mlir::OpBuilder builder;
  /// The values by name; what a failed node would have given is in `poisoned`.
  llvm::StringMap<Operand> values;
  llvm::StringMap<bool> poisoned;
  llvm::StringMap<MeanParts> means;
  /// The number of uses of each value by nodes and outputs.
  llvm::StringMap<int64_t> useCounts;
  std::vector<IndexUse> indexUses;
  std::vector<std::string> notes;
  /// The size of the batch dimension: one micro-batch over all replicas.
  int64_t batch = 1;
  double dropout = -1;
  int64_t randomOps = 0;
  /// Elements that folding may still make.
  int64_t foldBudget = int64_t(1) << 27;
};

enum class UnaryKind { Neg, Exp, Log, Sqrt, Tanh, Erf, Logistic, Sin, Cos, Ceil, Floor, Round };
enum class BinaryKind { Add, Sub, Mul, Div, Max, Min, Pow, And, Or, Xor };

/// Builds what one node means.
class NodeBuilder {
public:
  NodeBuilder(ImportState &state, const Node &node, mlir::Location loc) : state(state), node(node), loc(loc) {}

  //===-- The node ------------------------------------------------------------------------------------------------===//
  const Node &getNode() const { return node; }
  ImportState &getState() { return state; }
  mlir::Location getLoc() const { return loc; }
  int64_t getNumInputs() const { return static_cast<int64_t>(node.inputs.size()); }
  int64_t getNumOutputs() const { return static_cast<int64_t>(node.outputs.size()); }
  bool hasInput(int64_t index) const { return index < getNumInputs() && !node.inputs[index].empty(); }
  Operand getInput(int64_t index) const;
  /// The integers of a constant input; a failure (reported) if it is not known at import.
  mlir::FailureOr<Shape> getIntsOfInput(int64_t index, mlir::StringRef what);
  mlir::FailureOr<double> getScalarOfInput(int64_t index, mlir::StringRef what);
  bool hasAttribute(mlir::StringRef name) const { return node.getAttribute(name) != nullptr; }
  int64_t getInt(mlir::StringRef name, int64_t otherwise) const;
  double getFloat(mlir::StringRef name, double otherwise) const;
  std::string getString(mlir::StringRef name, mlir::StringRef otherwise) const;
  Shape getInts(mlir::StringRef name) const;
  /// Adds the rank to a negative axis; a failure (reported) outside of [-rank, rank).
  mlir::FailureOr<int64_t> normalizeAxis(int64_t axis, int64_t rank);
  mlir::FailureOr<Shape> normalizeAxes(llvm::ArrayRef<int64_t> axes, int64_t rank);
  bool isOutputUsed(int64_t index) const;
  mlir::LogicalResult setResult(int64_t index, Operand result);
  mlir::LogicalResult setMean(int64_t index, MeanParts parts);
  mlir::LogicalResult fail(mlir::StringRef label, const mlir::Twine &what, const mlir::Twine &remedy = {});

  //===-- Primitives ----------------------------------------------------------------------------------------------===//
  /// The SSA value of an operand. A constant becomes an op here: a scalar that is broadcast where all elements are
  /// equal, iota and compare where it is a band (a causal mask), else `nn.constant`.
  mlir::Value materialize(const Operand &operand);
  /// A scalar of a type.
  Operand makeScalar(int32_t type, double value);
  Operand unary(UnaryKind kind, const Operand &input);
  /// NumPy's broadcasting; the shapes have been checked (see checkBroadcast). Element types are equal.
  Operand binary(BinaryKind kind, const Operand &lhs, const Operand &rhs);
  Operand binary(BinaryKind kind, const Operand &lhs, double rhs) {
    return binary(kind, lhs, makeScalar(lhs.getType(), rhs));
  }
  Operand compare(nn::CompareDirection direction, const Operand &lhs, const Operand &rhs);
  Operand select(const Operand &predicate, const Operand &onTrue, const Operand &onFalse);
  Operand convert(const Operand &input, int32_t type);
  /// Aligned to the right, as NumPy does.
  Operand broadcast(const Operand &input, llvm::ArrayRef<int64_t> shape);
  Operand reshape(const Operand &input, llvm::ArrayRef<int64_t> shape);
  Operand transpose(const Operand &input, llvm::ArrayRef<int64_t> permutation);
  /// Bounds are within the shape; strides are positive.
  Operand slice(const Operand &input, llvm::ArrayRef<int64_t> starts, llvm::ArrayRef<int64_t> limits,
                llvm::ArrayRef<int64_t> strides);
  Operand concat(llvm::ArrayRef<Operand> inputs, int64_t dimension);
  Operand pad(const Operand &input, llvm::ArrayRef<int64_t> low, llvm::ArrayRef<int64_t> high, double value);
  /// Indices are within the bounds.
  Operand gather(const Operand &input, const Operand &indices, int64_t axis);
  /// The reduced dimensions disappear.
  Operand reduce(nn::ReduceKind kind, const Operand &input, llvm::ArrayRef<int64_t> dims);
  Operand iota(llvm::ArrayRef<int64_t> shape, int64_t dimension, int32_t type);
  mlir::Value dot(mlir::Value lhs, mlir::Value rhs, llvm::ArrayRef<int64_t> lhsBatch, llvm::ArrayRef<int64_t> rhsBatch,
                  llvm::ArrayRef<int64_t> lhsContract, llvm::ArrayRef<int64_t> rhsContract);

  /// Fails (reported) if the shapes do not broadcast.
  mlir::LogicalResult checkBroadcast(const Operand &a, const Operand &b);

  mlir::RankedTensorType getTensorType(llvm::ArrayRef<int64_t> shape, int32_t type) const;
  template <typename OpTy, typename... Args> mlir::Value create(Args &&...args) {
    return OpTy::create(state.builder, loc, std::forward<Args>(args)...)->getResult(0);
  }

private:
  bool mayFold(int64_t elements);
  mlir::LogicalResult checkInput(int64_t index, mlir::StringRef what);

  ImportState &state;
  const Node &node;
  mlir::Location loc;
};

} // namespace shardc::importer

#endif
