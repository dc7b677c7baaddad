//===-- Reads.h - a step's reads and writes under happens-before --------------------------------------------------===//
//
// One step of one program is played with symbols instead of numbers. Of every cell of every buffer slot is known what
// wrote it last (micro-batch, axes it is partial over), and who has read it since; of every byte of shared memory,
// which buffer slot used it last. Happens-before is a vector clock for each stream: the newest instruction of each
// stream that is ordered before. An access must be ordered after the last write of its cells, a write also after the
// reads since, and the first write to memory that another buffer used, after all accesses of that buffer.
//
// Where every block begins and ends joined on stream 0, runs of blocks are ordered, so that the inside of a block is
// the same in every run. It is played once; further runs only play what the block reads from outside of itself, and
// what it leaves. The end of a step and the beginning of the next meet in the same way; where blocks are not joined, a
// second step is played with the clocks of the first.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_VERIFY_READS_H
#define SHARDC_RUNTIME_VERIFY_READS_H

#include "runtime/verify/Accesses.h"

#include <map>
#include <set>

namespace shardc::rt::verify {

/// What is known of a parameter's gradient when the backward runs of a step are done.
struct GradientFacts {
  int buffer = -1;
  int64_t backwardRuns = 0; // how many wrote it
  int lastEntry = -1;       // the last of them
};

struct ReadsFacts {
  std::map<int, GradientFacts> gradients; // by parameter
};

/// The programs that hold each trainable parameter; a parameter of several is tied.
using Holders = std::vector<std::set<int>>;

/// Reports reads of what is not there, unordered accesses, overwritten live data, wrong slots, partial values that are
/// read as something else, and gradients of tied parameters that are used before, or twice, summed over their stages.
void checkReads(const plan::Plan &plan, int program, const ProgramAccesses &accesses, const Holders &holders,
                Report &report, ReadsFacts &facts);

} // namespace shardc::rt::verify

#endif
