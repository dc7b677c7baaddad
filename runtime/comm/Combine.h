//===-- Combine.h - the arithmetic of collectives in one address space --------------------------------------------===//
//
// A collective over memory that all members can reach is divided into shares, one a member, which may run at the same
// time: no share writes what another one reads or writes. Results do not depend on the division.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_COMM_COMBINE_H
#define SHARDC_RUNTIME_COMM_COMBINE_H

#include "runtime/comm/Communicator.h"

namespace shardc::rt {

/// Checks one call: the element type can be reduced, the size divides, input and output overlap only where they may.
Status checkCollective(const CollectiveCall &call, int64_t members);

/// Checks that the calls of all members are the same collective of the same size.
Status checkAgreement(std::span<const CollectiveCall *const> calls);

/// Combines the first `elements` of the inputs, in the members' order, into `output`, which may be an input's place.
void combineInputs(std::span<const CollectiveCall *const> calls, int64_t elements, void *output);

/// Does the share of member `member` of the collective that `calls` (one a member, in ascending order) make up.
void performShare(std::span<const CollectiveCall *const> calls, int64_t member);

} // namespace shardc::rt

#endif
