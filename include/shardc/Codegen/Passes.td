#ifndef SHARDC_CODEGEN_PASSES_TD
#define SHARDC_CODEGEN_PASSES_TD

include "mlir/Pass/PassBase.td"

#endif
