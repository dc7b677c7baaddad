//===-- BindShapes.h - the sizes of the model's inputs ------------------------------------------------------------===//
#ifndef SHARDC_LIB_IMPORT_BINDSHAPES_H
#define SHARDC_LIB_IMPORT_BINDSHAPES_H

#include "NodeBuilder.h"

#include "shardc/Import/Import.h"

namespace shardc::importer {

struct ModelInput {
  std::string name;
  int32_t type = 0;
  Shape shape;
};

/// The sizes of symbols and of inputs. The batch dimension (dimension 0 of every input) is `options.microBatch ·
/// options.dataParallel`; every other symbol needs `--dim` or `--shape`. [shape-52, shape-53, tensor-40]
class ShapeBinding {
public:
  ShapeBinding(Diagnostics &diagnostics, const ImportOptions &options, const OnnxFile &file)
      : diagnostics(diagnostics), options(options), file(file) {}

  mlir::FailureOr<std::vector<ModelInput>> bind();
  /// Compares what was inferred with what the file declares for inner values and outputs [shape-54, tensor-42].
  mlir::LogicalResult checkDeclared(const onnx::ValueInfoProto &declared, const Operand &value) const;

  int64_t getBatch() const { return options.microBatch * options.dataParallel; }

private:
  mlir::LogicalResult bindSymbols();
  mlir::LogicalResult bindBatch(const onnx::ValueInfoProto &input);
  mlir::LogicalResult bindSymbol(mlir::StringRef symbol, int64_t size, mlir::StringRef input);
  mlir::LogicalResult checkRank(const onnx::ValueInfoProto &info, const std::vector<int64_t> *given);
  mlir::FailureOr<int64_t> bindDim(mlir::StringRef input, int64_t index, const onnx::TensorShapeProto::Dimension &dim,
                                   std::optional<int64_t> given);
  mlir::FailureOr<ModelInput> bindInput(const onnx::ValueInfoProto &input);
  mlir::LogicalResult checkBatch(const ModelInput &input, bool isFixed);
  const std::vector<int64_t> *findGivenShape(mlir::StringRef input) const;
  std::vector<const onnx::ValueInfoProto *> getInputs() const;

  Diagnostics &diagnostics;
  const ImportOptions &options;
  const OnnxFile &file;
  llvm::StringMap<int64_t> symbols;
};

} // namespace shardc::importer

#endif
