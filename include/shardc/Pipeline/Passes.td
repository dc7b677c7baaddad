#ifndef SHARDC_PIPELINE_PASSES_TD
#define SHARDC_PIPELINE_PASSES_TD

include "mlir/Pass/PassBase.td"

class Pipeline_Pass<string name> : Pass<name, "::mlir::ModuleOp"> {
  let dependentDialects = ["::shardc::nn::NNDialect", "::shardc::dist::DistDialect", "::shardc::exec::ExecDialect",
                           "::mlir::func::FuncDialect"];
}

def AssignSchedulePass : Pipeline_Pass<"pipeline-assign-schedule"> {
  let summary = "Lists the actions of each pp coordinate";
  let description = [{
    Generates the schedule that `nn.training` names, for the pp axis of the mesh and `micro_batches`, proves that it is
    complete and free of deadlock, and leaves it on the module, beside the forward-only schedule of evaluation.

        nn.training = {schedule = "1f1b", micro_batches = 1 : i64, …}
      ⇒
        pipe.schedule = [[#exec.action<forward 0 slot 0>, #exec.action<backward 0 slot 0>, #exec.action<update 0 slot 0>]]
        pipe.evaluation = [[#exec.action<evaluate 0 slot 0>, #exec.action<report 0 slot 0>]]
  }];
}

def CutStagesPass : Pipeline_Pass<"pipeline-cut-stages"> {
  let summary = "Gives each op of @accumulate its pipeline stage";
  let description = [{
    Imported ops, in the order of `nn.origin`, are cut into as many contiguous stages as the mesh has pp coordinates,
    such that the most expensive stage (forward and backward work, and what it sends and receives) is as cheap as
    possible; among equals the cheapest cuts, then the earliest. Cuts that one value crosses are preferred. Backward ops
    and collectives follow their `nn.origin`. Cheap ops that depend on no argument (constants, masks, random numbers) get
    no stage: they are cloned where they are used. Times are those of the compiler's cost model (dialects/dist/CostModel.h)
    for `hardware`, as in Sharding. With several stages, `nn.notes` says what each got. Fails where there are more stages than ops to begin one.

        %1 = nn.tanh %0 {nn.origin = 3 : i64} : tensor<4xf32>
      ⇒
        %1 = nn.tanh %0 {nn.origin = 3 : i64, pipe.stage = 1 : i64} : tensor<4xf32>
  }];
  let options = [
    Option<"hardware", "hardware", "std::string", "\"cpu\"", "row of the built-in hardware table that costs are for">,
  ];
}

def RecomputePass : Pipeline_Pass<"pipeline-recompute"> {
  let summary = "Decides what a stage keeps for its backward and what that computes again";
  let description = [{
    For each stage a minimum vertex cut of the forward graph, between what can only be kept and what the backward needs,
    chooses the fewest bytes to stash; what lies behind the cut is cloned into the backward, in front of its first use,
    in forward order, marked `pipe.recomputed` and `nn.backward`. Free ops (see CutStages) and parameters cost nothing.
    What may be computed again depends on `nn.training`'s `recompute`:
      none       cheap ops: elementwise, views, broadcasts
      selective  also what lies between two products of activations (attention's scores, softmax, dropout), and the first
      full       everything, collectives included, from the inputs of layers, which are always kept; layers are the
                 repeated structure between values that alone cross a cut of the graph
    Products, reductions and collectives are otherwise kept. Clones are the same ops on the same values.
  }];
}

def OutlineStagesPass : Pipeline_Pass<"pipeline-outline-stages"> {
  let summary = "Splits @accumulate into the functions of each pp coordinate";
  let description = [{
    Leaves `@pp<p>_forward`, `@pp<p>_backward_first`, `@pp<p>_backward` and `@pp<p>_evaluate` (for the last p also
    `@pp<p>_evaluate_first`), which is the forward without dropout and without what only a backward reads; binds arguments and results to
    buffers (`exec.bind`), and lists the messages between neighbours in `pipe.messages`. Forward values that a backward
    takes are stashed; values of earlier stages are handed through each stage in between. Gradients are summed over
    micro-batches in backward; the contributions of different stages to a tied parameter (`nn.gradient_sum`) stay apart.
    Fails where a value would have to travel against its direction or crosses a stage boundary while partial.
  }];
}

def ReduceStepPass : Pipeline_Pass<"pipeline-reduce-step"> {
  let summary = "Builds the update of each pp coordinate: reductions, norm, clipping, skipping, optimizer";
  let description = [{
    Leaves `@pp<p>_update`: gradients are reduced over the axes on which they are partial, and over the stages that share
    them; one world exchange of an f64 vector brings Σ S, Σ W and the block sums of squares of all gradients to all ranks
    (docs/pipeline.md has its layout), from which loss, norm, scale and skip follow; then come the ops of @update for the
    parameters of p. @update is erased. `@pp<p>_report` brings Σ S and Σ W of an evaluation to all ranks.
  }];
}

#endif
