#ifndef SHARDC_AUTODIFF_PASSES_TD
#define SHARDC_AUTODIFF_PASSES_TD

include "mlir/Pass/PassBase.td"

#endif
