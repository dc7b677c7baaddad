//===-- GatherTensors.h - from shards to whole tensors ------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_EXECUTOR_GATHERTENSORS_H
#define SHARDC_RUNTIME_EXECUTOR_GATHERTENSORS_H

#include "runtime/comm/World.h"
#include "runtime/executor/RankExecutor.h"
#include "runtime/io/SafeTensors.h"

namespace shardc::rt {

/// The parameters (region PARAMETER) or gradients (region GRADIENT) of a plan in their global shapes, in the plan's
/// order, times `scale`. Of replicas the first one counts; of tied copies the first stage's. Parameters without such a
/// buffer are left out. `executors` has, by rank, those of this process. The process of rank 0 gets the tensors; every
/// process calls it.
Result<std::vector<NamedTensor>> gatherTensors(const plan::Plan &plan, const MeshView &mesh,
                                               const std::vector<std::unique_ptr<RankExecutor>> &executors,
                                               World &world, plan::Region region, double scale);

} // namespace shardc::rt

#endif
