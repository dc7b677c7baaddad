#ifndef SHARDC_PLAN_PASSES_TD
#define SHARDC_PLAN_PASSES_TD

include "mlir/Pass/PassBase.td"

def CollectModelPass : Pass<"plan-collect-model", "::mlir::ModuleOp"> {
  let summary = "Notes what the plan says about parameters, inputs and ops, while one function still has them all";
  let description = [{
    Reads the arguments of @accumulate after partitioning. Sets `nn.parameters`, an array with a dictionary for each
    parameter in the order of the imported graph (name, type, logical shape, file, offset, bytes, trainable, decays,
    sharding), and adds `type` and `sample_shape` to the dictionaries of `nn.inputs`.
    `nn.ops` lists the origins of the forward ops that a result needs and that depend on an argument: Pipeline gives each
    to exactly one stage, which the verifier checks.
  }];
}

#endif
