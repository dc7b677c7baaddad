//===-- Query.h - questions about a plan --------------------------------------------------------------------------===//
//
// Meshes: a rank is the mixed-radix number of its coordinates, the first axis being the most significant. The members
// of a communicator are ordered by rank, which is by ascending coordinates.
//
// Shards: a dimension is a list of sub-dimensions, outermost first; a rank holds, of each sub-dimension, the block that
// its coordinates on the sub-dimension's axes (outermost first) select. So the local indices of a dimension map to
// global ones by digits: local digit + block * local size for each sub-dimension. Global indices beyond the logical
// size are padding.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_FORMAT_QUERY_H
#define SHARDC_RUNTIME_FORMAT_QUERY_H

#include "runtime/format/plan.pb.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shardc::rt {

/// Bytes of one element in memory; 0 for an unspecified type.
int64_t elementBytes(plan::ElementType type);
/// "f32", "i64", …
std::string_view elementName(plan::ElementType type);
/// "all_reduce", …
std::string_view collectiveName(plan::Collective::Kind kind);
/// What an instruction is called in messages: "kernel", "gemm", "all_reduce", "group", …
std::string_view instructionName(const plan::Instruction &instruction);

/// Product of sizes.
template <typename Sizes> int64_t elementCount(const Sizes &sizes) {
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  return count;
}

/// True if the elements of the view follow one another in row-major order without gaps.
bool isContiguous(const plan::Operand &operand);

/// "[4, 64]"
std::string formatShape(const std::vector<int64_t> &shape);

using Coordinates = std::vector<int64_t>;

/// The mesh of a plan.
class MeshView {
public:
  explicit MeshView(const plan::Mesh &mesh);

  int64_t ranks() const { return rankCount; }
  size_t axes() const { return sizes.size(); }
  int64_t axisSize(size_t axis) const { return sizes[axis]; }
  /// Index of the axis of that name, -1 if there is none.
  int axisIndex(std::string_view name) const;
  /// Size of the axis of that name, 1 if there is none.
  int64_t axisSize(std::string_view name) const;

  Coordinates coordinates(int64_t rank) const;
  int64_t rank(const Coordinates &coordinates) const;
  /// The coordinate of a rank on the axis of that name, 0 if there is none.
  int64_t coordinate(int64_t rank, std::string_view name) const;
  /// "rank 5 (dp 0, pp 1, tp 1)"
  std::string describe(int64_t rank) const;

  /// The ranks that communicate with `rank` through a communicator, itself included, ascending; empty if the rank is
  /// no member.
  std::vector<int64_t> members(const plan::Communicator &communicator, int64_t rank) const;

private:
  std::vector<std::string> names;
  std::vector<int64_t> sizes;
  int64_t rankCount = 1;
};

/// The local shape of a value of this sharding, the same on all ranks.
std::vector<int64_t> localShape(const plan::Sharding &sharding, const MeshView &mesh);

/// For each dimension of a rank's shard, the global index of each local index; -1 for padding.
struct ShardIndex {
  std::vector<std::vector<int64_t>> dims;

  std::vector<int64_t> shape() const;
};

/// The shard of `rank` of a tensor of logical shape `shape`. A sharding without dimensions means a whole tensor.
ShardIndex shardIndex(const plan::Sharding &sharding, const std::vector<int64_t> &shape, const MeshView &mesh,
                      int64_t rank);

} // namespace shardc::rt

#endif
