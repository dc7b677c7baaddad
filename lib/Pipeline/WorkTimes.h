//===-- WorkTimes.h - what ops and messages take, by the compiler's cost model ------------------------------------===//
#ifndef SHARDC_LIB_PIPELINE_WORKTIMES_H
#define SHARDC_LIB_PIPELINE_WORKTIMES_H

#include "dialects/dist/CostModel.h"
#include "dialects/dist/Dist.h"

namespace shardc::pipeline {

/// Times in femtoseconds of the ops of one rank (types are local).
class WorkTimes {
public:
  WorkTimes(dist::MeshAttr mesh, const dist::Hardware &hardware)
      : mesh(mesh), hardware(hardware), costModel(hardware) {}

  std::string describeHardware() const { return dist::describe(hardware); }

  /// An op: of collectives the communication, of ops that fuse only the arithmetic, as in Sharding.
  int64_t get(mlir::Operation *op) const;
  /// The value, sent to another stage.
  int64_t getMessage(mlir::Value value) const;

private:
  int64_t countRanks(mlir::Operation *collective) const;

  dist::MeshAttr mesh;
  const dist::Hardware &hardware;
  dist::CostModel costModel;
};

} // namespace shardc::pipeline

#endif
