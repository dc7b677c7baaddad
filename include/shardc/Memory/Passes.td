#ifndef SHARDC_MEMORY_PASSES_TD
#define SHARDC_MEMORY_PASSES_TD

include "mlir/Pass/PassBase.td"

def ReuseInPlacePass : Pass<"memory-reuse-in-place", "::mlir::ModuleOp"> {
  let summary = "Lets a kernel write over a scratch buffer that it is the last to read";
  let description = [{
    For each pair in a kernel's `in_place`: where both sides are whole scratch buffers of equal bytes, the read buffer is
    not used after the kernel, and the written one not before it, the written buffer becomes a view of the read one.
    Not done where the read buffer is touched by an instruction of another stream than the kernel's.

        exec.kernel @k reads(%a) writes(%b) items 4 {in_place = array<i64: 0, 0>}
          ⇒  exec.kernel @k reads(%a) writes(%b') …   with %b' = exec.view %a
  }];
}

def PlaceBuffersPass : Pass<"memory-place-buffers", "::mlir::ModuleOp"> {
  let summary = "Gives every buffer its offset in the arena of its program";
  let description = [{
    Buffers that outlive a block lie one after another, region by region, gradients side by side. The scratch of a block is
    packed by lifetimes; the scratch of all blocks shares the memory above. Lifetimes follow happens-before, not list
    position: an instruction on another stream than 0 may run from the event that it waits for until the instruction on
    stream 0 that waits for it.

        %0 = exec.buffer "x" scratch … ⇒ %0 = exec.buffer "x" scratch at 4096 {slot_stride = 1024 : i64} …
  }];
  let options = [Option<"alignment", "alignment", "int64_t", "64", "What offsets and slot strides are multiples of">];
}

#endif
