//===-- Rewriting.h - small changes that several lowering passes make ---------------------------------------------===//
#ifndef SHARDC_LIB_CODEGEN_LOWER_REWRITING_H
#define SHARDC_LIB_CODEGEN_LOWER_REWRITING_H

#include "dialects/exec/Exec.h"

namespace shardc::codegen {

/// Erases the ops of `block` without effects whose results nobody uses.
void eraseUnusedOps(mlir::Block &block);

/// Whether an op makes another view of its first operand's elements: transpose, reshape, slice.
bool isView(mlir::Operation *op);

} // namespace shardc::codegen

#endif
