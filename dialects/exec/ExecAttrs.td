#ifndef SHARDC_EXEC_ATTRS_TD
#define SHARDC_EXEC_ATTRS_TD

include "dialects/exec/ExecBase.td"

class Exec_Attr<string name, string attrMnemonic> : AttrDef<Exec_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def Exec_Region : I32EnumAttr<"Region", "what a buffer is for; the meaning is the plan format's", [
    I32EnumAttrCase<"Parameter", 1, "parameter">, I32EnumAttrCase<"Gradient", 2, "gradient">,
    I32EnumAttrCase<"State", 3, "state">, I32EnumAttrCase<"Stash", 4, "stash">,
    I32EnumAttrCase<"Message", 5, "message">, I32EnumAttrCase<"Input", 6, "input">,
    I32EnumAttrCase<"Scratch", 7, "scratch">, I32EnumAttrCase<"Output", 8, "output">]> {
  let cppNamespace = "::shardc::exec";
  let genSpecializedAttr = 0;
}
def Exec_RegionAttr : EnumAttr<Exec_Dialect, Exec_Region, "region">;

def Exec_ActionKind : I32EnumAttr<"ActionKind", "what a schedule does with a micro-batch", [
    I32EnumAttrCase<"Communicate", 0, "communicate">, I32EnumAttrCase<"Forward", 1, "forward">,
    I32EnumAttrCase<"Backward", 2, "backward">, I32EnumAttrCase<"Update", 3, "update">,
    I32EnumAttrCase<"Evaluate", 4, "evaluate">, I32EnumAttrCase<"Report", 5, "report">]> {
  let cppNamespace = "::shardc::exec";
  let genSpecializedAttr = 0;
}
def Exec_ActionKindAttr : EnumAttr<Exec_Dialect, Exec_ActionKind, "action_kind">;

def Exec_KernelKind : I32EnumAttr<"KernelKind", "how the work of a kernel is cut into items; docs/phases.md has the model", [
    I32EnumAttrCase<"Row", 0, "row">, I32EnumAttrCase<"Column", 1, "column">,
    I32EnumAttrCase<"Gather", 2, "gather">, I32EnumAttrCase<"ScatterAdd", 3, "scatter_add">,
    I32EnumAttrCase<"BlockSumSquares", 4, "block_sum_squares">, I32EnumAttrCase<"LocalSlice", 5, "local_slice">]> {
  let cppNamespace = "::shardc::exec";
  let genSpecializedAttr = 0;
}
def Exec_KernelKindAttr : EnumAttr<Exec_Dialect, Exec_KernelKind, "kernel_kind">;

def Exec_BindAttr : Exec_Attr<"Bind", "bind"> {
  let summary = "The buffer behind an argument or a result of a pipelined function";
  let description = [{
    Stands as `exec.bind` on arguments and results. Equal names in the functions of one pp coordinate are one buffer; an
    argument and a result of one function may share it (an update in place).
    Example: `%x: tensor<4x64xf32> {exec.bind = #exec.bind<stash "h.0/ln_1/y">}`
  }];
  let parameters = (ins EnumParameter<Exec_Region>:$region, StringRefParameter<>:$name);
  let assemblyFormat = "`<` $region $name `>`";
}

def Exec_ActionAttr : Exec_Attr<"Action", "action"> {
  let summary = "One action of a schedule: its kind, micro-batch, and stash slot";
  let description = [{
    The module's `pipe.schedule` is an array with one array of actions for each pp coordinate; so is `pipe.evaluation`.
    Example: `#exec.action<backward 3 slot 1>`
  }];
  let parameters = (ins EnumParameter<Exec_ActionKind>:$kind, "int64_t":$microBatch, "int64_t":$slot);
  let assemblyFormat = "`<` $kind $microBatch `slot` $slot `>`";
}

def Exec_MessageAttr : Exec_Attr<"Message", "message"> {
  let summary = "A value that one pp coordinate sends to a neighbour, for every micro-batch";
  let description = [{
    The module's `pipe.messages` lists them in a fixed order. `name` names the buffer on both sides and the message
    itself. A forward message goes from `from` to `from + 1`, a backward one to `from - 1`.
    Example: `#exec.message<"h.1/add" from 0 forward>`
  }];
  let parameters = (ins StringRefParameter<>:$name, "int64_t":$from, EnumParameter<Exec_ActionKind>:$direction);
  let assemblyFormat = "`<` $name `from` $from $direction `>`";
}

def Exec_EntryAttr : Exec_Attr<"Entry", "entry"> {
  let summary = "One run of a block: its registers, each a micro-batch and a slot";
  let description = [{
    `registers` is flat: micro-batch and slot of register 0, then of register 1.
    Example: `#exec.entry<@backward [3, 1]>`
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$block, ArrayRefParameter<"int64_t">:$registers);
  let assemblyFormat = "`<` $block custom<Integers>($registers) `>`";
}

#endif
