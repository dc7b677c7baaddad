#ifndef SHARDC_PIPELINE_PASSES_TD
#define SHARDC_PIPELINE_PASSES_TD

include "mlir/Pass/PassBase.td"

#endif
