//===-- Register.cpp - all dialects and passes of the compiler ----------------------------------------------------===//

#include "shardc/Driver/Register.h"

#include "dialects/exec/Exec.h"
#include "shardc/Autodiff/Passes.h"
#include "shardc/Codegen/Passes.h"
#include "shardc/Memory/Passes.h"
#include "shardc/Pipeline/Passes.h"
#include "shardc/Plan/Passes.h"
#include "shardc/Sharding/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/Passes.h"

void shardc::driver::registerDialects(mlir::DialectRegistry &registry) {
  registry.insert<dist::DistDialect, nn::NNDialect, exec::ExecDialect>();
  registry.insert<mlir::arith::ArithDialect, mlir::func::FuncDialect, mlir::gpu::GPUDialect, mlir::LLVM::LLVMDialect,
                  mlir::math::MathDialect, mlir::memref::MemRefDialect, mlir::scf::SCFDialect,
                  mlir::vector::VectorDialect>();
}

void shardc::driver::registerPasses() {
  mlir::registerTransformsPasses();
  autodiff::registerAutodiffPasses();
  sharding::registerShardingPasses();
  pipeline::registerPipelinePasses();
  codegen::registerCodegenPasses();
  memory::registerMemoryPasses();
  plan::registerPlanPasses();
}
