//===-- GatherTensors.h - from shards to whole tensors ------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_EXECUTOR_GATHERTENSORS_H
#define SHARDC_RUNTIME_EXECUTOR_GATHERTENSORS_H

#include "runtime/executor/RankExecutor.h"
#include "runtime/io/SafeTensors.h"

namespace shardc::rt {

/// The parameters (region PARAMETER) or gradients (region GRADIENT) of a plan in their global shapes, in the plan's
/// order, times `scale`. Of replicas the first one counts; of tied copies the first stage's. Parameters without such a
/// buffer are left out. `executors` has all ranks.
Result<std::vector<NamedTensor>> gatherTensors(const plan::Plan &plan, const MeshView &mesh,
                                               const std::vector<std::unique_ptr<RankExecutor>> &executors,
                                               plan::Region region, double scale);

} // namespace shardc::rt

#endif
