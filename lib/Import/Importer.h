//===-- Importer.h - from a checked file to a function ------------------------------------------------------------===//
#ifndef SHARDC_LIB_IMPORT_IMPORTER_H
#define SHARDC_LIB_IMPORT_IMPORTER_H

#include "BindShapes.h"
#include "NodeBuilder.h"
#include "Parameters.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace shardc::importer {

/// What the model reads, as attributes of the module say it.
struct WeightFiles {
  /// The index of a file; added where it is new.
  int64_t getIndex(const std::string &path, int64_t bytes);
  std::vector<std::pair<std::string, int64_t>> files;
};

/// Builds @forward from a model: nodes one after another, then the loss.
class Importer {
public:
  Importer(Diagnostics &diagnostics, const ImportOptions &options, OnnxFile &file);

  mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>> run();

private:
  //===-- The file (Importer.cpp) ---------------------------------------------------------------------------------===//
  mlir::LogicalResult readGraph();
  mlir::LogicalResult checkTensors();
  mlir::LogicalResult checkExternalRoot();
  mlir::LogicalResult readConstants();
  void countUses();

  //===-- The nodes (Importer.cpp) --------------------------------------------------------------------------------===//
  void startFunction();
  void addParameters();
  mlir::LogicalResult buildNodes();
  void buildNode(const Node &node);
  bool isPoisoned(const Node &node);
  mlir::LogicalResult checkForeignTypes(NodeBuilder &builder);
  mlir::LogicalResult checkOutputs(NodeBuilder &builder);
  void checkDeclared(const Node &node);
  mlir::Location getLocation(mlir::StringRef name);

  //===-- The loss (ImportLoss.cpp) -------------------------------------------------------------------------------===//
  mlir::FailureOr<MeanParts> buildLoss();
  mlir::FailureOr<MeanParts> buildCrossEntropyLoss(NodeBuilder &builder);
  mlir::FailureOr<MeanParts> takeLossOutput(NodeBuilder &builder, mlir::StringRef output);
  mlir::FailureOr<std::string> chooseLossOutput();
  mlir::FailureOr<std::string> chooseLogits();
  std::vector<std::string> getOutputs() const;
  std::vector<std::string> getScalarOutputs() const;
  mlir::Value addLabels(mlir::ArrayRef<int64_t> shape);

  //===-- The module (FinishModule.cpp) ---------------------------------------------------------------------------===//
  mlir::LogicalResult finish(MeanParts loss);
  void eraseDeadOps();
  mlir::LogicalResult checkDropout();
  mlir::LogicalResult eraseUnusedParameters();
  void setFunctionType(MeanParts loss);
  void setModuleAttributes(mlir::Value lossWeight);
  mlir::Attribute describeInput(const ModelInput &input, mlir::BlockArgument argument, mlir::Value lossWeight);
  mlir::DictionaryAttr describeParameter(const Parameter &parameter);

  Diagnostics &diagnostics;
  const ImportOptions &options;
  OnnxFile &file;
  mlir::MLIRContext *context;
  ExternalData externalData;
  ImportState state;
  ShapeBinding binding;
  Graph graph;
  std::vector<Tensor> tensors;
  std::vector<ModelInput> inputs;
  std::vector<Parameter> parameters;
  llvm::StringMap<const onnx::ValueInfoProto *> declared;
  WeightFiles weightFiles;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;
  mlir::Block *body = nullptr;
};

} // namespace shardc::importer

#endif
