//===-- Parameters.h - parameters between files and shards --------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_EXECUTOR_PARAMETERS_H
#define SHARDC_RUNTIME_EXECUTOR_PARAMETERS_H

#include "runtime/base/File.h"
#include "runtime/base/Status.h"
#include "runtime/format/Query.h"

#include <functional>
#include <string>
#include <vector>

namespace shardc::rt {

/// The weight files of a plan, open. Shared by all ranks of a process.
class WeightFiles {
public:
  /// Opens the files; relative paths start at the plan folder. An error if one is missing or has another size than
  /// when the plan was made.
  static Result<WeightFiles> open(const plan::Plan &plan, const std::string &folder);

  const File &file(size_t index) const { return files[index]; }

private:
  std::vector<File> files;
};

/// A run of elements that is contiguous in the shard and in the whole tensor; offsets in elements.
struct ShardRun {
  int64_t local = 0, global = 0, count = 0;
};

/// Calls `visit` for each run of a shard's elements that are not padding, in ascending local order, until it fails.
/// `shape` is the logical shape of the whole.
Status forEachShardRun(const ShardIndex &index, const std::vector<int64_t> &shape,
                       const std::function<Status(const ShardRun &)> &visit);

/// Reads a rank's shard of a parameter into `target`, which has the local shape; padding becomes zero.
Status readParameter(const plan::Parameter &parameter, const File &file, const MeshView &mesh, int64_t rank,
                     void *target, int64_t targetBytes);

} // namespace shardc::rt

#endif
