#ifndef SHARDC_EXEC_BASE_TD
#define SHARDC_EXEC_BASE_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Exec_Dialect : Dialect {
  let name = "exec";
  let cppNamespace = "::shardc::exec";
  let summary = "Programs of instructions on placed buffers";
  let description = [{
    The last form of a model before the plan, which it mirrors one to one (`runtime/format/plan.proto` fixes the
    meaning of streams, events and registers). A program per pp coordinate holds buffers, blocks of instructions and a
    schedule. The attributes `bind`, `action` and `message` already describe the pipelined functions that become
    blocks.
  }];
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::shardc::dist::DistDialect", "::shardc::nn::NNDialect"];
}

#endif
