//===-- Communications.h - what one rank communicates in a step ---------------------------------------------------===//
//
// Ring-equivalent elements sent: what one rank sends when the collective runs as a ring over k members. For n elements
// (all_reduce: of the value; all_gather: of the output; reduce_scatter and all_to_all: of the input)
//   all_reduce 2·n·(k−1)/k    all_gather, reduce_scatter, all_to_all n·(k−1)/k    send n
//
// Categories. Collectives of the forward and the backward belong to `embedding` when they stem from the gathers before
// the first product with a parameter, to `head and loss` from the last such product on, else to `layers` (origins
// ascend in topological order). In the update: `gradients` (over dp and tp), `tied gradients` (over some stages), `norm
// exchange` (all ranks). Messages are `pipeline`.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_TOOLS_SHARDPLAN_COMMUNICATIONS_H
#define SHARDC_TOOLS_SHARDPLAN_COMMUNICATIONS_H

#include "runtime/format/plan.pb.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardc::shardplan {

struct CommunicationUse {
  std::string category;
  std::string direction; // "forward", "backward", "recomputation", "update"
  std::string kind;      // "all_reduce", …, "send", "receive"
  std::string reduction; // "sum", "max"; empty where nothing is reduced
  std::string communicator;
  std::vector<std::string> axes;
  int64_t members = 0;
  std::string node; // ONNX node, or the message's identity
  int64_t origin = -1;
  int64_t elements = 0; // n, of one run
  int64_t bytes = 0;    // of n elements
  int64_t runs = 0;     // in a step, of all instructions that are alike in this
  // Sent in one run by one rank: numerator over `members`, since k may not divide n.
  int64_t sentTimesMembers = 0;

  double sentElements() const { return double(sentTimesMembers) / double(members); }
};

/// Everything that one rank of a pp coordinate communicates, in the order of the blocks.
std::vector<CommunicationUse> findCommunications(const plan::Plan &plan, int program);

} // namespace shardc::shardplan

#endif
