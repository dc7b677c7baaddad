#include "Kernel.h"
using namespace mlir;
using namespace shardc::codegen;
LogicalResult shardc::codegen::buildColumnKernel(Kernel &kernel) { return kernel.def.emitOpError("not yet"); }
LogicalResult shardc::codegen::buildGatherKernel(Kernel &kernel) { return kernel.def.emitOpError("not yet"); }
LogicalResult shardc::codegen::buildScatterAddKernel(Kernel &kernel) { return kernel.def.emitOpError("not yet"); }
LogicalResult shardc::codegen::buildBlockSumSquaresKernel(Kernel &kernel) { return kernel.def.emitOpError("not yet"); }
LogicalResult shardc::codegen::buildLocalSliceKernel(Kernel &kernel) { return kernel.def.emitOpError("not yet"); }
