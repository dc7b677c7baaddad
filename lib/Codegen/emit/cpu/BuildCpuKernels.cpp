//===-- BuildCpuKernels.cpp - from kernel definitions to functions on pointers ------------------------------------===//

#include "../Kernel.h"
#include "../KernelContract.h"

#include "shardc/Codegen/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace shardc::codegen {
#define GEN_PASS_DEF_BUILDCPUKERNELSPASS
#include "shardc/Codegen/Passes.h.inc"
} // namespace shardc::codegen

using namespace mlir;
using namespace shardc;
using namespace shardc::codegen;

namespace {

LogicalResult buildKernelBody(Kernel &kernel) {
  switch (kernel.def.getKind()) {
  case exec::KernelKind::Row:
    return buildRowKernel(kernel);
  case exec::KernelKind::Column:
    return buildColumnKernel(kernel);
  case exec::KernelKind::Gather:
    return buildGatherKernel(kernel);
  case exec::KernelKind::ScatterAdd:
    return buildScatterAddKernel(kernel);
  case exec::KernelKind::BlockSumSquares:
    return buildBlockSumSquaresKernel(kernel);
  case exec::KernelKind::LocalSlice:
    return buildLocalSliceKernel(kernel);
  }
  llvm_unreachable("all kinds are handled");
}

func::FuncOp createBody(OpBuilder &builder, exec::KernelDefOp def, ArrayRef<Type> argumentTypes) {
  auto body = func::FuncOp::create(builder, def.getLoc(), (def.getSymName() + ".body").str(),
                                   builder.getFunctionType(argumentTypes, {}));
  body.setPrivate();
  body->setAttr("llvm.linkage", LLVM::LinkageAttr::get(builder.getContext(), LLVM::Linkage::Internal));
  SmallVector<bool> shares = getSharing(def);
  unsigned numReads = def.getBody().front().getNumArguments(), numOperands = shares.size();
  for (unsigned operand = 0; operand <= numOperands; ++operand) {
    if (operand == numOperands || !shares[operand])
      body.setArgAttr(operand, LLVM::LLVMDialect::getNoAliasAttrName(), builder.getUnitAttr());
    if (operand < numReads || operand == numOperands)
      body.setArgAttr(operand, LLVM::LLVMDialect::getReadonlyAttrName(), builder.getUnitAttr());
  }
  body.addEntryBlock();
  return body;
}

/// The function that the runtime calls.
void createEntry(OpBuilder &builder, exec::KernelDefOp def, func::FuncOp body) {
  Location loc = def.getLoc();
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext()), i64 = builder.getI64Type();
  auto entry =
      func::FuncOp::create(builder, loc, def.getSymName(), builder.getFunctionType({pointer, pointer, i64, i64}, {}));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(entry.addEntryBlock());
  SmallVector<Value> arguments;
  for (size_t operand = 0; operand < def.getOperandTypes().size(); ++operand) {
    Value slot = entry.getArgument(0);
    if (operand > 0)
      slot = LLVM::GEPOp::create(builder, loc, pointer, pointer, slot,
                                 ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(operand)});
    arguments.push_back(LLVM::LoadOp::create(builder, loc, pointer, slot));
  }
  llvm::append_range(arguments, entry.getArguments().drop_front());
  func::CallOp::create(builder, loc, body, arguments);
  func::ReturnOp::create(builder, loc);
}

LogicalResult buildKernel(exec::KernelDefOp def) {
  if (failed(verifyKernel(def)))
    return failure();
  OpBuilder builder(def);
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext()), i64 = builder.getI64Type();
  SmallVector<Type> types(def.getOperandTypes().size() + 1, pointer);
  types.append({i64, i64});
  func::FuncOp body = createBody(builder, def, types);
  createEntry(builder, def, body);

  builder.setInsertionPointToStart(&body.getBody().front());
  auto arguments = body.getArguments();
  size_t numOperands = def.getOperandTypes().size();
  Kernel kernel{builder,
                def.getLoc(),
                def,
                SmallVector<Value>(arguments.take_front(numOperands)),
                arguments[numOperands],
                arguments[numOperands + 1],
                arguments[numOperands + 2]};
  if (failed(buildKernelBody(kernel)))
    return failure();
  builder.setInsertionPointToEnd(&body.getBody().front());
  func::ReturnOp::create(builder, def.getLoc());
  return success();
}

class BuildCpuKernelsPass : public codegen::impl::BuildCpuKernelsPassBase<BuildCpuKernelsPass> {
  void runOnOperation() override {
    bool allBuilt = true;
    for (auto def : llvm::make_early_inc_range(getOperation().getOps<exec::KernelDefOp>())) {
      // The definition stays while its functions are built beside it, so it lends them its name.
      if (failed(buildKernel(def)))
        allBuilt = false;
      def.erase();
    }
    if (!allBuilt)
      signalPassFailure();
  }
};

} // namespace
