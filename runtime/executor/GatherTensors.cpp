//===-- GatherTensors.cpp - from shards to whole tensors ----------------------------------------------------------===//

#include "runtime/executor/GatherTensors.h"

#include <algorithm>
#include <fmt/format.h>

namespace shardc::rt {
namespace {

/// The buffer of a parameter in a program; null if there is none.
const plan::Buffer *findBuffer(const plan::Program &program, int parameter, plan::Region region) {
  for (const plan::Buffer &buffer : program.buffers())
    if (buffer.region() == region && buffer.parameter() == parameter)
      return &buffer;
  return nullptr;
}

/// True if a rank's shard differs from those of lower ranks of its stage: its coordinates on all axes that the sharding
/// does not use are 0.
bool isOwner(const plan::Sharding &sharding, const MeshView &mesh, int64_t rank) {
  Coordinates at = mesh.coordinates(rank);
  int pp = mesh.axisIndex("pp");
  for (size_t axis = 0; axis < at.size(); ++axis) {
    if (at[axis] == 0 || static_cast<int>(axis) == pp)
      continue;
    bool used = false;
    for (const plan::Sharding::Dim &dim : sharding.dims())
      for (const plan::Sharding::SubDim &sub : dim.sub_dims())
        used |= std::ranges::count(sub.axes(), axis) != 0;
    if (!used)
      return false;
  }
  return true;
}

/// Copies a rank's shard into the whole tensor.
Status placeShard(const plan::Parameter &parameter, const MeshView &mesh, int64_t rank, const float *shard,
                  double scale, NamedTensor &tensor) {
  ShardIndex index = shardIndex(parameter.sharding(), tensor.shape, mesh, rank);
  return forEachShardRun(index, tensor.shape, [&](const ShardRun &run) {
    for (int64_t i = 0; i < run.count; ++i)
      tensor.values[run.global + i] = static_cast<float>(shard[run.local + i] * scale);
    return Status();
  });
}

} // namespace

Result<std::vector<NamedTensor>> gatherTensors(const plan::Plan &plan, const MeshView &mesh,
                                               const std::vector<std::unique_ptr<RankExecutor>> &executors,
                                               World &world, plan::Region region, double scale) {
  std::vector<NamedTensor> tensors;
  for (int p = 0; p < plan.parameters_size(); ++p) {
    const plan::Parameter &parameter = plan.parameters(p);
    auto program = std::ranges::find_if(
        plan.programs(), [&](const plan::Program &candidate) { return findBuffer(candidate, p, region) != nullptr; });
    if (program == plan.programs().end())
      continue;
    if (findBuffer(*program, p, region)->type() != plan::F32)
      return Status(StatusKind::Unsupported, fmt::format("parameter '{}': cannot write elements of type {}",
                                                         parameter.name(), elementName(parameter.type())));
    NamedTensor tensor = {parameter.name(), {parameter.shape().begin(), parameter.shape().end()}, {}};
    const plan::Buffer &buffer = *findBuffer(*program, p, region);
    std::vector<float> shard(world.isPrimary() ? buffer.bytes() / sizeof(float) : 0);
    tensor.values.resize(world.isPrimary() ? elementCount(tensor.shape) : 0);
    for (int64_t rank = 0; rank < mesh.ranks(); ++rank) {
      if (mesh.coordinate(rank, "pp") != program->pp() || !isOwner(parameter.sharding(), mesh, rank))
        continue;
      const char *data = executors[rank] ? executors[rank]->bufferData(buffer) : nullptr;
      SHARDRT_RETURN_IF_ERROR(world.collect(rank, data, shard.data(), buffer.bytes()));
      if (world.isPrimary())
        SHARDRT_RETURN_IF_ERROR(placeShard(parameter, mesh, rank, shard.data(), scale, tensor));
    }
    if (world.isPrimary())
      tensors.push_back(std::move(tensor));
  }
  return tensors;
}

} // namespace shardc::rt
