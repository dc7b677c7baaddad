//===-- BuildEmulatorKernels.cpp - gpu.funcs as functions that run one GPU thread on a CPU ------------------------===//
//
// The ABI is runtime/include/shardrt/emulator.h. The body stays what it was: ids become fields of the thread, barriers
// and shuffles calls of its hooks, and each access to an operand or to shared memory is announced.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "shardc/Codegen/Passes.h"
#include "shardrt/emulator.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <cstddef>

namespace shardc::codegen {
#define GEN_PASS_DEF_BUILDEMULATORKERNELSPASS
#include "shardc/Codegen/Passes.h.inc"
} // namespace shardc::codegen

using namespace mlir;
using namespace shardc;
using namespace shardc::codegen;

namespace {

constexpr unsigned kSharedSpace = 3;

/// A load or store, and what it goes through: the number of an operand, or SHARDRT_OPERAND_SHARED.
struct Access {
  Operation *op;
  Value address;
  uint32_t operand;
};

class EmulatorBuilder {
public:
  EmulatorBuilder(gpu::GPUFuncOp kernel, ModuleOp module)
      : kernel(kernel), module(module), builder(kernel.getContext()), loc(kernel.getLoc()) {}

  LogicalResult build();

private:
  void findAccesses();
  std::optional<uint32_t> findOperand(Value address);
  void addArguments();
  void announce(const Access &access);
  LogicalResult replace(Operation *op);
  void replaceShuffle(gpu::ShuffleOp shuffle);
  Value toIndex(Value value) { return arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(), value); }
  Value loadField(Value base, Type type, size_t offset);
  Value buildI32(int64_t value) { return arith::ConstantIntOp::create(builder, loc, value, 32); }
  void callHook(size_t offset, ArrayRef<Value> arguments) { (void)callHook(offset, {}, arguments); }
  Value callHook(size_t offset, Type result, ArrayRef<Value> arguments);
  Value buildSite() { return buildI32(nextSite++); }
  Type getPointer() { return LLVM::LLVMPointerType::get(builder.getContext()); }

  gpu::GPUFuncOp kernel;
  ModuleOp module;
  OpBuilder builder;
  Location loc;
  func::FuncOp function;
  Value buffers, control, self, valid;
  SmallVector<Access> accesses;
  int64_t nextSite = 0;
};

std::optional<uint32_t> EmulatorBuilder::findOperand(Value address) {
  while (auto element = address.getDefiningOp<LLVM::GEPOp>())
    address = element.getBase();
  if (auto argument = dyn_cast<BlockArgument>(address)) {
    bool isControl = argument.getArgNumber() + 1 == kernel.getNumArguments();
    return isControl ? std::nullopt : std::optional<uint32_t>(argument.getArgNumber());
  }
  bool isShared = cast<LLVM::LLVMPointerType>(address.getType()).getAddressSpace() == kSharedSpace;
  return isShared ? std::optional<uint32_t>(SHARDRT_OPERAND_SHARED) : std::nullopt;
}

void EmulatorBuilder::findAccesses() {
  kernel.walk([&](Operation *op) {
    Value address;
    if (auto load = dyn_cast<LLVM::LoadOp>(op))
      address = load.getAddr();
    else if (auto store = dyn_cast<LLVM::StoreOp>(op))
      address = store.getAddr();
    else
      return;
    if (std::optional<uint32_t> operand = findOperand(address))
      accesses.push_back({op, address, *operand});
  });
}

Value EmulatorBuilder::loadField(Value base, Type type, size_t offset) {
  Value field = LLVM::GEPOp::create(builder, loc, getPointer(), builder.getI8Type(), base,
                                    ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
  return LLVM::LoadOp::create(builder, loc, type, field);
}

Value EmulatorBuilder::callHook(size_t offset, Type result, ArrayRef<Value> arguments) {
  Value hooks = loadField(self, getPointer(), offsetof(shardrtGpuThread, hooks));
  SmallVector<Value> operands{loadField(hooks, getPointer(), offset), self};
  llvm::append_range(operands, arguments);
  SmallVector<Type> types;
  for (Value operand : ArrayRef(operands).drop_front())
    types.push_back(operand.getType());
  Type resultType = result ? result : Type(LLVM::LLVMVoidType::get(builder.getContext()));
  auto call = LLVM::CallOp::create(builder, loc, LLVM::LLVMFunctionType::get(resultType, types), operands);
  return result ? call.getResult() : Value();
}

/// The entry block gets the arguments of the ABI; the kernel's become loads of `buffers`.
void EmulatorBuilder::addArguments() {
  Block &entry = function.getBody().front();
  builder.setInsertionPointToStart(&entry);
  SmallVector<Value> old(entry.getArguments());
  buffers = entry.addArgument(getPointer(), loc);
  control = entry.addArgument(getPointer(), loc);
  self = entry.addArgument(getPointer(), loc);
  for (auto [number, argument] : llvm::enumerate(old)) {
    Value pointer = control;
    if (number + 1 < old.size())
      pointer = loadField(buffers, getPointer(), number * sizeof(void *));
    argument.replaceAllUsesWith(LLVM::AddrSpaceCastOp::create(builder, loc, argument.getType(), pointer));
  }
  entry.eraseArguments(0, old.size());
  valid = LLVM::AllocaOp::create(builder, loc, getPointer(), builder.getI32Type(), buildI32(1));
}

void EmulatorBuilder::announce(const Access &access) {
  builder.setInsertionPoint(access.op);
  auto load = dyn_cast<LLVM::LoadOp>(access.op);
  auto store = dyn_cast<LLVM::StoreOp>(access.op);
  Type type = load ? load.getType() : store.getValue().getType();
  int64_t bytes = getElementTypeOrSelf(type).getIntOrFloatBitWidth() / 8;
  std::optional<uint64_t> stated = load ? load.getAlignment() : store.getAlignment();
  int64_t alignment = stated ? static_cast<int64_t>(*stated) : bytes;
  if (auto vector = dyn_cast<VectorType>(type))
    bytes *= vector.getNumElements();
  Value pointer = load ? load.getAddr() : store.getAddr();
  pointer = LLVM::AddrSpaceCastOp::create(builder, loc, getPointer(), pointer);
  int64_t operand = access.operand == SHARDRT_OPERAND_SHARED ? -1 : static_cast<int64_t>(access.operand);
  callHook(offsetof(shardrtGpuHooks, access),
           {buildI32(operand), pointer, buildI32(bytes), buildI32(alignment), buildI32(store ? 1 : 0), buildSite()});
}

void EmulatorBuilder::replaceShuffle(gpu::ShuffleOp shuffle) {
  uint32_t mode = SHARDRT_SHUFFLE_INDEX;
  switch (shuffle.getMode()) {
  case gpu::ShuffleMode::XOR:
    mode = SHARDRT_SHUFFLE_XOR;
    break;
  case gpu::ShuffleMode::UP:
    mode = SHARDRT_SHUFFLE_UP;
    break;
  case gpu::ShuffleMode::DOWN:
    mode = SHARDRT_SHUFFLE_DOWN;
    break;
  case gpu::ShuffleMode::IDX:
    break;
  }
  Type i32 = builder.getI32Type();
  Value bits =
      callHook(offsetof(shardrtGpuHooks, shuffle), i32,
               {shuffle.getValue(), shuffle.getOffset(), shuffle.getWidth(), buildI32(mode), valid, buildSite()});
  Value isValid = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne,
                                        LLVM::LoadOp::create(builder, loc, i32, valid), buildI32(0));
  shuffle.getShuffleResult().replaceAllUsesWith(bits);
  shuffle.getValid().replaceAllUsesWith(isValid);
}

LogicalResult EmulatorBuilder::replace(Operation *op) {
  builder.setInsertionPoint(op);
  Type i32 = builder.getI32Type();
  auto replaceIndex = [&](size_t offset) {
    op->getResult(0).replaceAllUsesWith(toIndex(loadField(self, i32, offset)));
  };
  if (isa<gpu::ThreadIdOp>(op)) {
    replaceIndex(offsetof(shardrtGpuThread, threadIdx));
  } else if (isa<gpu::BlockIdOp>(op)) {
    replaceIndex(offsetof(shardrtGpuThread, blockIdx));
  } else if (isa<gpu::BarrierOp>(op)) {
    callHook(offsetof(shardrtGpuHooks, barrier), {buildSite()});
  } else if (auto shuffle = dyn_cast<gpu::ShuffleOp>(op)) {
    replaceShuffle(shuffle);
  } else if (isa<gpu::ReturnOp>(op)) {
    func::ReturnOp::create(builder, loc);
  } else if (auto address = dyn_cast<LLVM::AddressOfOp>(op)) {
    if (cast<LLVM::LLVMPointerType>(address.getType()).getAddressSpace() != kSharedSpace)
      return success();
    Value shared = loadField(self, getPointer(), offsetof(shardrtGpuThread, shared));
    address.getResult().replaceAllUsesWith(LLVM::AddrSpaceCastOp::create(builder, loc, address.getType(), shared));
  } else if (isa<gpu::GPUDialect>(op->getDialect())) {
    return op->emitOpError("cannot be emulated");
  } else {
    return success();
  }
  op->erase();
  return success();
}

LogicalResult EmulatorBuilder::build() {
  findAccesses();
  SmallVector<Operation *> ops;
  kernel.getBody().walk([&](Operation *op) { ops.push_back(op); });
  OpBuilder atModule = OpBuilder::atBlockEnd(module.getBody());
  Type pointer = getPointer();
  function =
      func::FuncOp::create(atModule, loc, kernel.getName(), builder.getFunctionType({pointer, pointer, pointer}, {}));
  function.getBody().takeBody(kernel.getBody());
  addArguments();
  // Accesses first, so that sites of all hooks do not depend on their kind; each op is one of the body's own.
  for (const Access &access : accesses)
    announce(access);
  for (Operation *op : ops)
    if (failed(replace(op)))
      return failure();
  return success();
}

class BuildEmulatorKernelsPass : public codegen::impl::BuildEmulatorKernelsPassBase<BuildEmulatorKernelsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (auto kernels : llvm::make_early_inc_range(module.getOps<gpu::GPUModuleOp>())) {
      for (Operation &op : llvm::make_early_inc_range(*kernels.getBody())) {
        if (auto kernel = dyn_cast<gpu::GPUFuncOp>(op)) {
          if (failed(EmulatorBuilder(kernel, module).build()))
            return signalPassFailure();
        } else if (auto global = dyn_cast<LLVM::GlobalOp>(op); global && global.getAddrSpace() != kSharedSpace) {
          op.moveBefore(kernels);
        }
      }
      kernels.erase();
    }
  }
};

} // namespace
