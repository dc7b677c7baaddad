#ifndef SHARDC_CODEGEN_PASSES_TD
#define SHARDC_CODEGEN_PASSES_TD

include "mlir/Pass/PassBase.td"

//===-- lower: pipelined functions → programs and kernel definitions ----------------------------------------------===//

def DecomposePass : Pass<"codegen-decompose", "::mlir::func::FuncOp"> {
  let summary = "Writes norms, softmax and the like in terms of ops that fuse";
  let description = [{
    softmax, norm and cross_entropy become elementwise ops, broadcasts and reductions; a power with a constant exponent
    becomes products or roots where that is exact to the same degree; reductions over dimensions that are neither the
    first nor the last ones get a transpose; sums of disjoint zero-paddings become a concat; reshapes that only add
    dimensions of size 1 become broadcasts. The form depends on the op alone, never on what is around it, so that values
    do not depend on context. `nn.origin`, locations and what is partial are handed on.

    `nn.softmax %x axis 1` ⇒ reduce max, sub, exp, reduce sum, div.
  }];
  let dependentDialects = ["::shardc::nn::NNDialect"];
}

def SelectCallsPass : Pass<"codegen-select-calls", "::mlir::func::FuncOp"> {
  let summary = "Turns products into library calls on views";
  let description = [{
    `nn.dot_general` becomes `exec.product` of transposed and reshaped operands, which cost nothing where strides express
    them. Where the product is added to the old sum of the same gradient (an argument and a result bound to one buffer),
    the call accumulates.

    `%2 = nn.dot_general %x, %w batch [] x [] contract [1] x [1]` ⇒ `%1 = nn.transpose %w perm [1, 0]` and
    `%2 = exec.product %x, %1`. Element types other than f32 are an error.
  }];
  let dependentDialects = ["::shardc::nn::NNDialect", "::shardc::exec::ExecDialect"];
}

def FusePass : Pass<"codegen-fuse", "::mlir::func::FuncOp"> {
  let summary = "Groups ops into kernels";
  let description = [{
    Every op that is neither a view, a library call, a collective nor a pad or concat goes into an `exec.fusion`.
    Regions of kind row grow greedily along uses, in program order, as long as all values of a region lie on one domain
    or on its rows and no cycle arises. Reductions over leading dimensions make regions of kind column, which recompute
    elementwise producers that nothing else needs. Constants, iotas, random numbers and what follows from these alone are
    duplicated into their users, as are broadcasts. The order of collectives is kept.
  }];
  let dependentDialects = ["::shardc::exec::ExecDialect"];
}

def LowerToExecPass : Pass<"codegen-lower-to-exec", "::mlir::ModuleOp"> {
  let summary = "Turns the functions of each pp coordinate into a program";
  let description = [{
    Values get buffers, views become strided views, fusions become kernels and their definitions, products become gemms,
    collectives instructions. Results are computed in the buffers that they are bound to, in place where the old value is
    not needed any more; what is concatenated is computed in its place. Blocks that communicate are put between actions
    according to `pipe.schedule` and `pipe.messages`: one group each with what the finished action sends (register 0) and
    what the next one receives (register 1). The functions disappear.
  }];
  let dependentDialects = ["::shardc::exec::ExecDialect"];
}

def AssignStreamsPass : Pass<"codegen-assign-streams", "::mlir::ModuleOp"> {
  let summary = "Puts communication on streams of its own and orders streams by events";
  let description = [{
    Kernels, products and copies run on stream 0, a collective on stream 1 + the number of its communicator in the program.
    An instruction waits for events of what it depends on (through memory) on other streams, and every block begins and
    ends joined on stream 0. A collective that has no work of stream 0 before or after it in its block stays on stream 0.
  }];
  let dependentDialects = ["::shardc::exec::ExecDialect"];
}

def DedupKernelsPass : Pass<"codegen-dedup-kernels", "::mlir::ModuleOp"> {
  let summary = "Keeps one definition of equal kernels and numbers them k0, k1, …";
  let description = [{
    Kernels are equal when kind, domain, rows, items, operand types, aliases and bodies are, whatever their locations,
    origins and names.
  }];
  let dependentDialects = ["::shardc::exec::ExecDialect"];
}

//===-- emit: kernel definitions → object code ---------------------------------------------------------------------===//

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

def BuildGpuKernelsPass : Pass<"codegen-build-gpu-kernels", "::mlir::ModuleOp"> {
  let summary = "Turns kernel definitions into gpu.funcs, each for one launch shape";
  let description = [{
    Each exec.kernel_def becomes a gpu.func in one gpu.module, with its block and grid size, bytes of shared memory
    (`exec.shared_bytes`) and, where threads meet, `exec.cooperative`. docs/gpu-kernels.md describes the code. A
    definition's `exec.alignments` says what its pointers are multiples of. Not done, with an error, where a kernel
    breaks the kernel model of docs/phases.md.

        exec.kernel_def @k0 row …  ⇒  gpu.module @kernels { gpu.func @k0(%read, …, %write, …, %control) kernel … }
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::math::MathDialect", "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def LowerGpuKernelsPass : Pass<"codegen-lower-gpu-kernels", "::mlir::ModuleOp"> {
  let summary = "Lowers gpu.funcs to the LLVM and NVVM dialects";
  let description = [{
    exp, tanh, erf, log, sin and cos become polynomials, as on the CPU; nothing calls CUDA's library.

        gpu.func @k0 …  ⇒  llvm.func @k0 … {nvvm.kernel}
  }];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect"];
}

def BuildEmulatorKernelsPass : Pass<"codegen-build-emulator-kernels", "::mlir::ModuleOp"> {
  let summary = "Turns gpu.funcs into functions that run one GPU thread on a CPU";
  let description = [{
    The functions have the ABI of shardrt/emulator.h: ids are fields of the thread, barriers and shuffles are hooks, and
    a hook is called before each access to an operand or to shared memory.

        gpu.func @k0 …  ⇒  func.func @k0(%buffers, %control, %self)
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect"];
}

#endif
