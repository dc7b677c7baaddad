//===-- Parameters.cpp - parameters between files and shards ------------------------------------------------------===//

#include "runtime/executor/Parameters.h"

#include "runtime/base/FileDigest.h"

#include <cstring>
#include <filesystem>
#include <fmt/format.h>

namespace shardc::rt {

namespace {

Status checkUnchanged(const File &file, const plan::WeightFile &weights) {
  constexpr const char *remedy = "the file has changed since the plan was made; compile the model again";
  if (weights.bytes() > 0 && file.bytes() != weights.bytes())
    return Status(StatusKind::Corrupt,
                  fmt::format("weight file '{}': {} bytes, expected {} [run-weights]", file.path(), file.bytes(),
                              weights.bytes()),
                  remedy);
  if (weights.digest() == 0)
    return {};
  SHARDRT_ASSIGN(uint64_t digest, digestFile(file));
  if (digest != weights.digest())
    return Status(
        StatusKind::Corrupt,
        fmt::format("weight file '{}': its contents are not what the plan was made with [run-weights]", file.path()),
        remedy);
  return {};
}

} // namespace

Result<WeightFiles> WeightFiles::open(const plan::Plan &plan, const std::string &folder) {
  WeightFiles result;
  for (const plan::WeightFile &weights : plan.weight_files()) {
    std::filesystem::path path = weights.path();
    if (path.is_relative())
      path = std::filesystem::path(folder) / path;
    auto file = File::open(path.string());
    if (!file.isOk())
      return Status(file.takeStatus())
          .addNote(
              "the plan reads initial weights from this file; compile the model again if it has moved [run-weights]");
    SHARDRT_RETURN_IF_ERROR(checkUnchanged(*file, weights));
    result.files.push_back(std::move(*file));
  }
  return result;
}

namespace {

/// Walks the dimensions of a shard from the outside; the innermost dimensions that are whole form one unit.
class RunWalker {
public:
  RunWalker(const ShardIndex &index, const std::vector<int64_t> &shape,
            const std::function<Status(const ShardRun &)> &visit)
      : index(index), shape(shape), visit(visit), splitDims(shape.size()) {
    while (splitDims > 0 && isWhole(splitDims - 1))
      unit *= shape[--splitDims];
  }

  Status walk() { return splitDims == 0 ? visit({0, 0, unit}) : walkDim(0, 0, 0); }

private:
  bool isWhole(size_t dim) const {
    const std::vector<int64_t> &indices = index.dims[dim];
    if (static_cast<int64_t>(indices.size()) != shape[dim])
      return false;
    for (size_t i = 0; i < indices.size(); ++i)
      if (indices[i] != static_cast<int64_t>(i))
        return false;
    return true;
  }

  /// `local` and `global` number the index so far.
  Status walkDim(size_t dim, int64_t local, int64_t global) {
    const std::vector<int64_t> &indices = index.dims[dim];
    int64_t size = static_cast<int64_t>(indices.size());
    if (dim + 1 == splitDims)
      return walkRuns(indices, local * size, global * shape[dim]);
    for (int64_t i = 0; i < size; ++i)
      if (indices[i] >= 0)
        SHARDRT_RETURN_IF_ERROR(walkDim(dim + 1, local * size + i, global * shape[dim] + indices[i]));
    return {};
  }

  Status walkRuns(const std::vector<int64_t> &indices, int64_t local, int64_t global) {
    size_t size = indices.size();
    for (size_t begin = 0, end; begin < size; begin = end) {
      end = begin + 1;
      if (indices[begin] < 0)
        continue;
      while (end < size && indices[end] == indices[end - 1] + 1)
        ++end;
      ShardRun run = {(local + static_cast<int64_t>(begin)) * unit, (global + indices[begin]) * unit,
                      static_cast<int64_t>(end - begin) * unit};
      SHARDRT_RETURN_IF_ERROR(visit(run));
    }
    return {};
  }

  const ShardIndex &index;
  const std::vector<int64_t> &shape;
  const std::function<Status(const ShardRun &)> &visit;
  size_t splitDims; // dimensions before the unit
  int64_t unit = 1;
};

} // namespace

Status forEachShardRun(const ShardIndex &index, const std::vector<int64_t> &shape,
                       const std::function<Status(const ShardRun &)> &visit) {
  return RunWalker(index, shape, visit).walk();
}

Status readParameter(const plan::Parameter &parameter, const File &file, const MeshView &mesh, int64_t rank,
                     void *target, int64_t targetBytes) {
  std::vector<int64_t> shape(parameter.shape().begin(), parameter.shape().end());
  ShardIndex index = shardIndex(parameter.sharding(), shape, mesh, rank);
  int64_t bytes = elementBytes(parameter.type());
  if (elementCount(index.shape()) * bytes != targetBytes)
    return Status(StatusKind::Corrupt,
                  fmt::format("parameter '{}': buffer of {} bytes, expected {} for shard {}", parameter.name(),
                              targetBytes, elementCount(index.shape()) * bytes, formatShape(index.shape())));
  if (parameter.file_offset() + elementCount(shape) * bytes > file.bytes())
    return Status(StatusKind::Corrupt,
                  fmt::format("parameter '{}': ends beyond the end of '{}'", parameter.name(), file.path()));
  std::memset(target, 0, targetBytes);
  return forEachShardRun(index, shape, [&](const ShardRun &run) {
    return file.readAt(parameter.file_offset() + run.global * bytes, static_cast<char *>(target) + run.local * bytes,
                       run.count * bytes);
  });
}

} // namespace shardc::rt
