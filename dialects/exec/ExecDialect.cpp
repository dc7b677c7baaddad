//===-- ExecDialect.cpp - registration, buffers and what instructions touch ---------------------------------------===//

#include "dialects/exec/Exec.h"

#include "mlir/IR/DialectImplementation.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace shardc::exec;

/// A list of integers in brackets, which may be empty.
static ParseResult parseIntegers(AsmParser &parser, SmallVector<int64_t> &integers) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                        [&] { return parser.parseInteger(integers.emplace_back()); });
}

static void printIntegers(AsmPrinter &printer, ArrayRef<int64_t> integers) {
  printer << '[';
  llvm::interleaveComma(integers, printer);
  printer << ']';
}

#include "dialects/exec/ExecDialect.cpp.inc"
#include "dialects/exec/ExecEnums.cpp.inc"
#include "dialects/exec/ExecInterfaces.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/exec/ExecAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/exec/ExecOps.cpp.inc"

void ExecDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/exec/ExecAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/exec/ExecOps.cpp.inc"
      >();
}

BufferOp shardc::exec::getBuffer(Value view) {
  while (Operation *op = view.getDefiningOp()) {
    if (auto buffer = dyn_cast<BufferOp>(op))
      return buffer;
    view = isa<ViewOp>(op) ? cast<ViewOp>(op).getSource() : cast<SlotOp>(op).getBuffer();
  }
  llvm_unreachable("a view must stem from a buffer");
}

int64_t shardc::exec::getRegister(Value view) {
  while (Operation *op = view.getDefiningOp()) {
    if (auto slot = dyn_cast<SlotOp>(op))
      return slot.getRegisterNumber();
    if (!isa<ViewOp>(op))
      return -1;
    view = cast<ViewOp>(op).getSource();
  }
  return -1;
}

int64_t BufferOp::getSlotBytes() {
  auto type = cast<MemRefType>(getType());
  unsigned bits = type.getElementTypeBitWidth();
  return type.getNumElements() * ((bits + 7) / 8);
}

//===-- What instructions read and write --------------------------------------------------------------------------===//

SmallVector<Value> KernelOp::getReads() { return SmallVector<Value>(getInputs()); }
SmallVector<Value> KernelOp::getWrites() { return SmallVector<Value>(getOutputs()); }

SmallVector<Value> GemmOp::getReads() {
  SmallVector<Value> reads{getA(), getB()};
  if (getBias())
    reads.push_back(getBias());
  if (getAccumulate())
    reads.push_back(getC());
  return reads;
}
SmallVector<Value> GemmOp::getWrites() { return {getC()}; }

SmallVector<Value> CollectiveOp::getReads() { return {getInput()}; }
SmallVector<Value> CollectiveOp::getWrites() { return {getOutput()}; }

SmallVector<Value> SendOp::getReads() { return {getValue()}; }
SmallVector<Value> SendOp::getWrites() { return {}; }
SmallVector<Value> RecvOp::getReads() { return {}; }
SmallVector<Value> RecvOp::getWrites() { return {getValue()}; }

SmallVector<Value> GroupOp::getReads() {
  SmallVector<Value> reads;
  for (auto instruction : getBody().getOps<InstructionOpInterface>())
    llvm::append_range(reads, instruction.getReads());
  return reads;
}
SmallVector<Value> GroupOp::getWrites() {
  SmallVector<Value> writes;
  for (auto instruction : getBody().getOps<InstructionOpInterface>())
    llvm::append_range(writes, instruction.getWrites());
  return writes;
}

SmallVector<Value> LoadInputOp::getReads() { return {}; }
SmallVector<Value> LoadInputOp::getWrites() { return {getValue()}; }

SmallVector<Value> CopyOp::getReads() { return {getFrom()}; }
SmallVector<Value> CopyOp::getWrites() { return {getTo()}; }
