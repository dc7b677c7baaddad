//===-- Query.cpp - questions about a plan ------------------------------------------------------------------------===//

#include "runtime/format/Query.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace shardc::rt {

int64_t elementBytes(plan::ElementType type) {
  switch (type) {
  case plan::F64:
  case plan::I64:
    return 8;
  case plan::F32:
  case plan::I32:
    return 4;
  case plan::BF16:
  case plan::F16:
    return 2;
  case plan::I1:
  case plan::I8:
  case plan::U8:
    return 1;
  default:
    return 0;
  }
}

std::string_view elementName(plan::ElementType type) {
  switch (type) {
  case plan::F32:
    return "f32";
  case plan::F64:
    return "f64";
  case plan::I32:
    return "i32";
  case plan::I64:
    return "i64";
  case plan::I1:
    return "i1";
  case plan::BF16:
    return "bf16";
  case plan::F16:
    return "f16";
  case plan::I8:
    return "i8";
  case plan::U8:
    return "u8";
  default:
    return "unspecified";
  }
}

std::string_view collectiveName(plan::Collective::Kind kind) {
  switch (kind) {
  case plan::Collective::ALL_REDUCE:
    return "all_reduce";
  case plan::Collective::ALL_GATHER:
    return "all_gather";
  case plan::Collective::REDUCE_SCATTER:
    return "reduce_scatter";
  case plan::Collective::ALL_TO_ALL:
    return "all_to_all";
  default:
    return "collective";
  }
}

std::string_view instructionName(const plan::Instruction &instruction) {
  switch (instruction.kind_case()) {
  case plan::Instruction::kKernel:
    return "kernel";
  case plan::Instruction::kGemm:
    return "gemm";
  case plan::Instruction::kCollective:
    return collectiveName(instruction.collective().kind());
  case plan::Instruction::kGroup:
    return "group";
  case plan::Instruction::kLoadInput:
    return "load_input";
  case plan::Instruction::kCopy:
    return "copy";
  default:
    return "instruction";
  }
}

bool isContiguous(const plan::Operand &operand) {
  int64_t expected = 1;
  for (int i = operand.sizes_size() - 1; i >= 0; --i) {
    if (operand.sizes(i) == 0)
      return true;
    if (operand.sizes(i) != 1 && operand.strides(i) != expected)
      return false;
    expected *= operand.sizes(i);
  }
  return true;
}

std::string formatShape(const std::vector<int64_t> &shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

MeshView::MeshView(const plan::Mesh &mesh) {
  for (const plan::Mesh::Axis &axis : mesh.axes()) {
    names.push_back(axis.name());
    sizes.push_back(axis.size());
    rankCount *= axis.size();
  }
}

int MeshView::axisIndex(std::string_view name) const {
  auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? -1 : static_cast<int>(found - names.begin());
}

int64_t MeshView::axisSize(std::string_view name) const {
  int axis = axisIndex(name);
  return axis < 0 ? 1 : sizes[axis];
}

Coordinates MeshView::coordinates(int64_t rank) const {
  Coordinates result(sizes.size());
  for (size_t i = sizes.size(); i-- > 0; rank /= sizes[i])
    result[i] = rank % sizes[i];
  return result;
}

int64_t MeshView::rank(const Coordinates &coordinates) const {
  int64_t result = 0;
  for (size_t i = 0; i < sizes.size(); ++i)
    result = result * sizes[i] + coordinates[i];
  return result;
}

int64_t MeshView::coordinate(int64_t rank, std::string_view name) const {
  int axis = axisIndex(name);
  return axis < 0 ? 0 : coordinates(rank)[axis];
}

std::string MeshView::describe(int64_t rank) const {
  std::string text;
  Coordinates at = coordinates(rank);
  for (size_t i = 0; i < names.size(); ++i)
    text += fmt::format("{}{} {}", i ? ", " : "", names[i], at[i]);
  return fmt::format("rank {} ({})", rank, text);
}

std::vector<int64_t> MeshView::members(const plan::Communicator &communicator, int64_t rank) const {
  auto isListed = [&](size_t axis) { return std::ranges::count(communicator.axes(), axis) != 0; };
  auto isMember = [&](const Coordinates &at) {
    return communicator.members().empty() || communicator.axes().empty() ||
           std::ranges::count(communicator.members(), at[communicator.axes(0)]) != 0;
  };
  Coordinates own = coordinates(rank);
  std::vector<int64_t> result;
  if (!isMember(own))
    return result;
  for (int64_t other = 0; other < rankCount; ++other) {
    Coordinates at = coordinates(other);
    bool agrees = true;
    for (size_t axis = 0; axis < sizes.size(); ++axis)
      agrees &= isListed(axis) || at[axis] == own[axis];
    if (agrees && isMember(at))
      result.push_back(other);
  }
  return result;
}

std::vector<int64_t> localShape(const plan::Sharding &sharding, const MeshView &mesh) {
  std::vector<int64_t> shape;
  for (const plan::Sharding::Dim &dim : sharding.dims()) {
    int64_t size = 1;
    for (const plan::Sharding::SubDim &sub : dim.sub_dims()) {
      size *= sub.size();
      for (uint32_t axis : sub.axes())
        size /= mesh.axisSize(axis);
    }
    shape.push_back(size);
  }
  return shape;
}

namespace {

/// Appends, for each index so far, the global indices of one more (inner) sub-dimension.
std::vector<int64_t> refine(const std::vector<int64_t> &outer, const plan::Sharding::SubDim &sub, const MeshView &mesh,
                            const Coordinates &at) {
  int64_t block = 0, local = sub.size();
  for (uint32_t axis : sub.axes()) {
    block = block * mesh.axisSize(axis) + at[axis];
    local /= mesh.axisSize(axis);
  }
  std::vector<int64_t> result;
  result.reserve(outer.size() * local);
  for (int64_t index : outer)
    for (int64_t digit = 0; digit < local; ++digit)
      result.push_back(index * sub.size() + block * local + digit);
  return result;
}

} // namespace

std::vector<int64_t> ShardIndex::shape() const {
  std::vector<int64_t> result;
  result.reserve(dims.size());
  for (const auto &dim : dims)
    result.push_back(static_cast<int64_t>(dim.size()));
  return result;
}

ShardIndex shardIndex(const plan::Sharding &sharding, const std::vector<int64_t> &shape, const MeshView &mesh,
                      int64_t rank) {
  ShardIndex result;
  Coordinates at = mesh.coordinates(rank);
  for (size_t d = 0; d < shape.size(); ++d) {
    std::vector<int64_t> indices = {0};
    if (static_cast<int>(d) < sharding.dims_size() && sharding.dims(d).sub_dims_size() > 0) {
      for (const plan::Sharding::SubDim &sub : sharding.dims(d).sub_dims())
        indices = refine(indices, sub, mesh, at);
    } else {
      indices.resize(shape[d]);
      for (int64_t i = 0; i < shape[d]; ++i)
        indices[i] = i;
    }
    for (int64_t &index : indices)
      if (index >= shape[d])
        index = -1;
    result.dims.push_back(std::move(indices));
  }
  return result;
}

} // namespace shardc::rt
