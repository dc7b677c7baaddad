//===-- Verify.h - the proof that a plan is sound -----------------------------------------------------------------===//
//
// The verifier reads a Plan message, nothing else, and shows that running it is safe under the model of execution that
// plan.proto describes. It works on one step's schedule of each pp coordinate: the dp and tp ranks of a coordinate run
// the same program, so one rank stands for all of them. In particular collectives within dp and tp need no matching:
// all their members are ranks of one program and arrive at the same instruction, whatever the other programs do.
//
// In this order, each only when what it builds on holds:
//   Structure   every index, view, shape and size is in range; nothing below can be led out of bounds
//   Schedule    every micro-batch goes forward and backward once, and the step ends with one update
//   Stages      every op of the model is in exactly one stage, and no forward computes another stage's
//   Matching    messages agree with their receivers in order, identity and size; pp collectives agree in all members
//   Deadlock    a rendezvous execution of all programs, communication in issue order, comes to its end
//   Reads       every read finds what was written for it, and is ordered after it; no live bytes are overwritten
//   Reductions  partial sums are reduced exactly once before anything needs them whole
//
// Then the same for a step of evaluation, where the plan has one: it evaluates every micro-batch once, ends with one
// report, and writes neither parameters nor states.
//
// Cost: blocks that begin and end joined on stream 0 (all that shardc makes) are simulated once and then replayed by
// what they take from and leave to other runs; a step costs O(instructions of all blocks + schedule entries · boundary
// values), each access O(cells of its view + log of the buffers that share memory). Other blocks are simulated at every
// run, within kMaxSimulated.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_VERIFY_VERIFY_H
#define SHARDC_RUNTIME_VERIFY_VERIFY_H

#include "runtime/base/Status.h"
#include "runtime/format/plan.pb.h"

namespace shardc::rt {

/// What was verified, for the message of success.
struct VerifiedCounts {
  int64_t programs = 0;
  int64_t instructions = 0; // of all blocks
  int64_t runs = 0;         // instructions of one step, one rank for each pp coordinate
  int64_t messages = 0;     // of one step, one dp and tp rank
  int64_t collectives = 0;  // of one step, one rank for each pp coordinate
};

/// Success, or every independent violation: `rank R (dp d, pp p, tp t), <action> <micro-batch>, instruction N <kind>,
/// node '<ONNX node>': <what>, expected X, got Y [label]`. The labels stand in docs/errors.md.
Status verifyPlan(const plan::Plan &plan, VerifiedCounts *counts = nullptr);

} // namespace shardc::rt

#endif
