#ifndef SHARDC_SHARDING_PASSES_TD
#define SHARDC_SHARDING_PASSES_TD

include "mlir/Pass/PassBase.td"

#endif
