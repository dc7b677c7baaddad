#ifndef SHARDC_EXEC_OPS_TD
#define SHARDC_EXEC_OPS_TD

include "dialects/exec/ExecAttrs.td"
include "dialects/dist/DistAttrs.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Exec_Op<string mnemonic, list<Trait> traits = []> : Op<Exec_Dialect, mnemonic, traits>;

//===-- Structure ---------------------------------------------------------------------------------------------===//

def Exec_ProgramOp : Exec_Op<"program", [Symbol, SymbolTable, NoTerminator, SingleBlock, NoRegionArguments]> {
  let summary = "What the ranks of one pp coordinate run";
  let description = [{
    Holds `exec.buffer` and `exec.block` ops. `schedule` lists block runs of one training step (#exec.entry), `evaluation`
    those of one step of evaluation. `arena_bytes` is set by the placement of buffers.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$pp, OptionalAttr<ArrayAttr>:$schedule,
                       OptionalAttr<ArrayAttr>:$evaluation, OptionalAttr<I64Attr>:$arena_bytes);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name `pp` $pp attr-dict-with-keyword $body";
}

def Exec_BufferOp : Exec_Op<"buffer", [HasParent<"ProgramOp">]> {
  let summary = "Memory of one rank: `slots` copies of a contiguous tensor";
  let description = [{
    `parameter` names the parameter of a parameter, gradient or state buffer; `initial_value` fills state buffers.
    `block` names the owner of a scratch buffer. `offset` (bytes) and `slot_stride` are set by placement.

    Example: `%0 = exec.buffer "h.0/ln_1/y" stash slots 2 : memref<4x64xf32>`
  }];
  let arguments = (ins StrAttr:$name, Exec_RegionAttr:$region, DefaultValuedAttr<I64Attr, "1">:$slots,
                       OptionalAttr<I64Attr>:$offset, OptionalAttr<I64Attr>:$slot_stride,
                       OptionalAttr<StrAttr>:$parameter, OptionalAttr<F64Attr>:$initial_value,
                       OptionalAttr<FlatSymbolRefAttr>:$block);
  let results = (outs AnyStaticShapeMemRef:$result);
  let assemblyFormat = "$name $region (`slots` $slots^)? (`at` $offset^)? attr-dict `:` type($result)";
  let extraClassDeclaration = [{
    /// The bytes of one slot.
    int64_t getSlotBytes();
  }];
}

def Exec_BlockOp : Exec_Op<"block", [Symbol, HasParent<"ProgramOp">, NoTerminator, SingleBlock, NoRegionArguments]> {
  let summary = "Instructions that run as one entry of the schedule";
  let arguments = (ins SymbolNameAttr:$sym_name, Exec_ActionKindAttr:$action);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name $action attr-dict-with-keyword $body";
}

def Exec_OutputOp : Exec_Op<"output", [HasParent<"ProgramOp">]> {
  let summary = "A named scalar that the host reads after a step, of training or of evaluation";
  let arguments = (ins StrAttr:$name, AnyStaticShapeMemRef:$value, UnitAttr:$evaluation);
  let assemblyFormat = "$name $value (`evaluation` $evaluation^)? attr-dict `:` type($value)";
}

def Exec_SlotOp : Exec_Op<"slot", [Pure, SameOperandsAndResultType]> {
  let summary = "The slot of a buffer that a register of the running entry selects";
  let description = [{
    Example: `%1 = exec.slot %0 register 0 : memref<4x64xf32>`
  }];
  let arguments = (ins AnyStaticShapeMemRef:$buffer, I64Attr:$register_number);
  let results = (outs AnyStaticShapeMemRef:$result);
  let assemblyFormat = "$buffer `register` $register_number attr-dict `:` type($result)";
}

def Exec_ViewOp : Exec_Op<"view", [Pure]> {
  let summary = "The same memory under another shape, offset and strides";
  let description = [{
    The layout of the result type, in elements, counts from the start of the buffer (or slot) at the root of the chain.

    Example: `%1 = exec.view %0 : memref<4x192xf32> -> memref<4x4x16xf32, strided<[192, 16, 1], offset: 64>>`
  }];
  let arguments = (ins AnyStaticShapeMemRef:$source);
  let results = (outs AnyStaticShapeMemRef:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
}

//===-- Instructions ------------------------------------------------------------------------------------------===//

def Exec_InstructionOpInterface : OpInterface<"InstructionOpInterface"> {
  let cppNamespace = "::shardc::exec";
  let description = [{
    What every instruction tells: the memory that it reads and writes. Streams and events are the discardable
    attributes `stream` (i32), `waits` (array of i32) and `records` (i32), set by stream assignment. `partial_reads` and
    `partial_writes` (arrays of arrays of #dist.partial, one a read or write) are what its operands are partial over.
    `nn.origin` and the location say where it comes from.
  }];
  let methods = [
    InterfaceMethod<"The views that the instruction reads.", "::llvm::SmallVector<::mlir::Value>", "getReads">,
    InterfaceMethod<"The views that the instruction writes.", "::llvm::SmallVector<::mlir::Value>", "getWrites">,
  ];
}

class Exec_Instruction<string mnemonic, list<Trait> traits = []> :
    Exec_Op<mnemonic, [DeclareOpInterfaceMethods<Exec_InstructionOpInterface>] # traits>;

def Exec_KernelOp : Exec_Instruction<"kernel", [AttrSizedOperandSegments]> {
  let summary = "Runs a generated kernel over its work items";
  let description = [{
    `in_place` pairs (read, write) that may share memory, flat: r0, w0, r1, w1, …

    Example: `exec.kernel @k3 reads(%0, %1 : memref<…>, memref<…>) writes(%2 : memref<…>) items 64`
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<AnyStaticShapeMemRef>:$inputs,
                       Variadic<AnyStaticShapeMemRef>:$outputs, I64Attr:$items, OptionalAttr<DenseI64ArrayAttr>:$in_place);
  let assemblyFormat = [{
    $kernel `reads` `(` ($inputs^ `:` type($inputs))? `)` `writes` `(` $outputs `:` type($outputs) `)` `items` $items
    attr-dict
  }];
}

def Exec_GemmOp : Exec_Instruction<"gemm"> {
  let summary = "c = a · b (+ bias) (+ c) on strided views: a [batch…, m, k], b [batch…, k, n], c [batch…, m, n]";
  let arguments = (ins AnyStaticShapeMemRef:$a, AnyStaticShapeMemRef:$b, AnyStaticShapeMemRef:$c,
                       Optional<AnyStaticShapeMemRef>:$bias, UnitAttr:$accumulate);
  let assemblyFormat = [{
    $a `,` $b `into` $c (`bias` $bias^)? (`accumulate` $accumulate^)? attr-dict
    `:` type($a) `,` type($b) `,` type($c) (`,` type($bias)^)?
  }];
}

def Exec_CollectiveOp : Exec_Instruction<"collective"> {
  let summary = "A collective over the ranks along some axes";
  let description = [{
    `kind` is all_reduce, all_gather, reduce_scatter or all_to_all, with the meaning of dist's ops.
  }];
  let arguments = (ins StrAttr:$kind, AnyStaticShapeMemRef:$input, AnyStaticShapeMemRef:$output, StrArrayAttr:$axes,
                       Dist_ReductionKindAttr:$reduction, OptionalAttr<DenseI64ArrayAttr>:$members);
  let assemblyFormat = [{
    $kind $input `into` $output `axes` $axes $reduction (`members` $members^)? attr-dict `:` type($input) `->` type($output)
  }];
}

def Exec_GroupOp : Exec_Op<"group", [NoTerminator, SingleBlock, NoRegionArguments,
                                      DeclareOpInterfaceMethods<Exec_InstructionOpInterface>]> {
  let summary = "Sends and receives that progress together";
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "attr-dict-with-keyword $body";
}

def Exec_SendOp : Exec_Instruction<"send", [HasParent<"GroupOp">]> {
  let summary = "Sends a view to another pp coordinate";
  let arguments = (ins AnyStaticShapeMemRef:$value, StrAttr:$identity, I64Attr:$peer, Exec_ActionKindAttr:$direction);
  let assemblyFormat = "$value $identity `to` $peer $direction attr-dict `:` type($value)";
}

def Exec_RecvOp : Exec_Instruction<"recv", [HasParent<"GroupOp">]> {
  let summary = "Receives a view from another pp coordinate";
  let arguments = (ins AnyStaticShapeMemRef:$value, StrAttr:$identity, I64Attr:$peer, Exec_ActionKindAttr:$direction);
  let assemblyFormat = "$value $identity `from` $peer $direction attr-dict `:` type($value)";
}

def Exec_LoadInputOp : Exec_Instruction<"load_input"> {
  let summary = "Fills a view with this replica's rows of a model input for the current micro-batch";
  let arguments = (ins StrAttr:$input, AnyStaticShapeMemRef:$value);
  let assemblyFormat = "$input `into` $value attr-dict `:` type($value)";
}

def Exec_CopyOp : Exec_Instruction<"copy"> {
  let summary = "Copies between views of equal shape";
  let arguments = (ins AnyStaticShapeMemRef:$from, AnyStaticShapeMemRef:$to);
  let assemblyFormat = "$from `to` $to attr-dict `:` type($from) `to` type($to)";
}

//===-- Kernels -----------------------------------------------------------------------------------------------===//

def Exec_KernelDefOp : Exec_Op<"kernel_def", [Symbol, IsolatedFromAbove, NoTerminator, SingleBlock]> {
  let summary = "A fusion region: the nn ops that one kernel computes";
  let description = [{
    The block's arguments are the tensors that the kernel reads; `exec.yield` ends it with those that it writes.
    `operand_types` are the memref types (with their strides; an offset in them is the caller's) of reads, then writes;
    `items` the number of work items. `kind`, `domain` and `rows` are explained in docs/phases.md; row and column
    kernels have a domain. `in_place` pairs (read, write) that may share memory, flat: r0, w0, r1, w1, …; both have the
    same shape and strides. Calls with equal bodies and operand types share a definition.

    Example:
    ```
    exec.kernel_def @k0 row domain [4, 64] rows 1 items 4
        attributes {operand_types = [memref<4x64xf32>, memref<4x64xf32>]} {
    ^bb0(%a: tensor<4x64xf32>):
      %0 = nn.exp %a : tensor<4x64xf32>
      exec.yield %0 : tensor<4x64xf32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Exec_KernelKindAttr:$kind, OptionalAttr<DenseI64ArrayAttr>:$domain,
                       DefaultValuedAttr<I64Attr, "0">:$rows, TypeArrayAttr:$operand_types, I64Attr:$items,
                       OptionalAttr<DenseI64ArrayAttr>:$in_place);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name $kind (`domain` $domain^)? (`rows` $rows^)? `items` $items attr-dict-with-keyword $body
  }];
}

def Exec_YieldOp : Exec_Op<"yield", [ParentOneOf<["KernelDefOp", "FusionOp"]>, Pure]> {
  let summary = "The tensors that a kernel writes";
  let arguments = (ins Variadic<AnyStaticShapeTensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

//===-- Between tensors and buffers ---------------------------------------------------------------------------===//

// What a function is made of once Codegen has chosen kernels and library calls, before it gives values buffers.

def Exec_FusionOp : Exec_Op<"fusion", [Pure, IsolatedFromAbove, NoTerminator, SingleBlock]> {
  let summary = "A kernel to be: ops on tensors that one kernel computes";
  let description = [{
    Becomes an exec.kernel_def and an exec.kernel; the attributes are the kernel definition's.
    Example:
    ```
    %1 = exec.fusion row domain [4, 64] rows 1 items 4 reads(%0 : tensor<4x64xf32>) -> tensor<4x64xf32> {
    ^bb0(%a: tensor<4x64xf32>):
      %2 = nn.exp %a : tensor<4x64xf32>
      exec.yield %2 : tensor<4x64xf32>
    }
    ```
  }];
  let arguments = (ins Exec_KernelKindAttr:$kind, OptionalAttr<DenseI64ArrayAttr>:$domain,
                       DefaultValuedAttr<I64Attr, "0">:$rows, I64Attr:$items, Variadic<AnyStaticShapeTensor>:$inputs);
  let results = (outs Variadic<AnyStaticShapeTensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $kind (`domain` $domain^)? (`rows` $rows^)? `items` $items `reads` `(` ($inputs^ `:` type($inputs))? `)` `->` type($outputs)
    attr-dict-with-keyword $body
  }];
}

def Exec_ProductOp : Exec_Op<"product", [Pure]> {
  let summary = "A library call to be: a · b (+ sum), a [batch…, m, k], b [batch…, k, n], result and sum [batch…, m, n]";
  let description = [{
    Becomes an exec.gemm, accumulating where there is a `sum`.
    Example: `%2 = exec.product %0, %1 : (tensor<4x64xf32>, tensor<64x32xf32>) -> tensor<4x32xf32>`
  }];
  let arguments = (ins AnyStaticShapeTensor:$a, AnyStaticShapeTensor:$b, Optional<AnyStaticShapeTensor>:$sum);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$a `,` $b (`plus` $sum^)? attr-dict `:` functional-type(operands, $result)";
}

#endif
