//===-- Launch.cpp - how the threads of a GPU divide the work of a kernel -----------------------------------------===//

#include "Launch.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace shardc::codegen;

int64_t shardc::codegen::getRowThreads(int64_t length) {
  int64_t chunks = llvm::divideCeil(length, kRowLanes);
  return std::min<int64_t>(llvm::PowerOf2Ceil(chunks), 512);
}

int64_t shardc::codegen::getRowGroups(int64_t rows) {
  return std::clamp<int64_t>(llvm::PowerOf2Ceil(llvm::divideCeil(rows, 4)), kWarp / kBlockColumns, 32);
}
