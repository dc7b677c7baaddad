//===-- StageFunction.h - building the function of one stage ------------------------------------------------------===//
#ifndef SHARDC_LIB_PIPELINE_STAGEFUNCTION_H
#define SHARDC_LIB_PIPELINE_STAGEFUNCTION_H

#include "StageGraph.h"

#include "dialects/exec/Exec.h"

#include "mlir/IR/IRMapping.h"

namespace shardc::pipeline {

/// The name of the function of one stage: "pp1_forward".
std::string getStageFunctionName(int64_t stage, llvm::StringRef action);

/// The name of the buffer of a parameter's gradient.
std::string getGradientName(llvm::StringRef parameter);

/// `exec.bind` with what else an argument or result carries; null attributes are left out.
mlir::NamedAttrList bindTo(mlir::MLIRContext *context, exec::Region region, llvm::StringRef name,
                           dist::ShardingAttr sharding);

/// Whether a function drops out elements.
enum class Dropout { On, Off };

/// A function that grows at the end of a module from ops of another one. Ops without a stage are cloned when they are
/// first needed.
class StageFunction {
public:
  /// Ops and arguments are those of `source`, which stands in the module too.
  StageFunction(mlir::func::FuncOp source, llvm::StringRef name, Dropout dropout = Dropout::On);

  /// Adds an argument, which stands for `value` of the source function.
  mlir::Value addArgument(mlir::Value value, const mlir::NamedAttrList &attributes);
  /// Adds an argument that stands for nothing there.
  mlir::Value addArgument(mlir::Type type, mlir::Location loc, const mlir::NamedAttrList &attributes);
  /// Clones an op, whose operands have been cloned or are free. Where dropout is off, what an op of a Dropout passes on
  /// stands for it.
  void clone(mlir::Operation *op);
  /// What stands for a value of the source function here.
  mlir::Value get(mlir::Value value);
  /// Says what stands for a value of the source function.
  void set(mlir::Value value, mlir::Value here) { mapping.map(value, here); }

  void addResult(mlir::Value value, const mlir::NamedAttrList &attributes);
  /// Ends the function with its return.
  mlir::func::FuncOp finish();

  mlir::OpBuilder &getBuilder() { return builder; }

private:
  mlir::Value passDropout(mlir::Operation *op);

  mlir::func::FuncOp function;
  mlir::OpBuilder builder;
  Dropout dropout;
  mlir::IRMapping mapping;
  llvm::SmallVector<mlir::Attribute> argumentAttributes;
  llvm::SmallVector<mlir::Attribute> resultAttributes;
  llvm::SmallVector<mlir::Value> results;
};

} // namespace shardc::pipeline

#endif
