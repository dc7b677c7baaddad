#ifndef SHARDC_CODEGEN_PASSES_TD
#define SHARDC_CODEGEN_PASSES_TD

include "mlir/Pass/PassBase.td"

def BuildCpuKernelsPass : Pass<"codegen-build-cpu-kernels", "::mlir::ModuleOp"> {
  let summary = "Turns kernel definitions into functions on pointers, with loops and vectors of 16 lanes";
  let description = [{
    Each exec.kernel_def becomes two functions: one of its name with the runtime's kernel signature, which loads the
    operands' pointers, and `<name>.body`. docs/codegen.md describes the code. Not done, with an error, where a kernel
    breaks the kernel model of docs/phases.md.

        exec.kernel_def @k0 row …  ⇒  func.func @k0(%buffers, %control, %begin, %end), func.func @k0.body(…)
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::math::MathDialect", "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def LowerCpuKernelsPass : Pass<"codegen-lower-cpu-kernels", "::mlir::ModuleOp"> {
  let summary = "Lowers built kernels to the LLVM dialect";
  let description = [{
    exp, tanh, erf, log, sin and cos become polynomials; then loops, vectors and arithmetic become LLVM's.

        func.func @k0 …  ⇒  llvm.func @k0 …
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::cf::ControlFlowDialect"];
}

#endif
