//===-- Polynomials.cpp - transcendental functions as arithmetic --------------------------------------------------===//

#include "Polynomials.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

LogicalResult shardc::codegen::approximateFunctions(Operation *module) {
  const StringRef functions[] = {math::ExpOp::getOperationName(),  math::LogOp::getOperationName(),
                                 math::TanhOp::getOperationName(), math::ErfOp::getOperationName(),
                                 math::SinOp::getOperationName(),  math::CosOp::getOperationName()};
  RewritePatternSet patterns(module->getContext());
  populateMathPolynomialApproximationPatterns(patterns,
                                              [&](StringRef name) { return llvm::is_contained(functions, name); });
  return applyPatternsGreedily(module, std::move(patterns));
}
