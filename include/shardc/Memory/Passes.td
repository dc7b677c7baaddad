#ifndef SHARDC_MEMORY_PASSES_TD
#define SHARDC_MEMORY_PASSES_TD

include "mlir/Pass/PassBase.td"

#endif
