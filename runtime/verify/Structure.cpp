//===-- Structure.cpp - whether a plan is well formed: mesh, tensors, communicators ------------------------------===//

#include "runtime/verify/Structure.h"

#include "runtime/verify/Form.h"

namespace shardc::rt::verify {
namespace {

class StructureCheck {
public:
  StructureCheck(const plan::Plan &plan, Report &report) : plan(plan), report(report) {}

  void run() {
    checkMesh();
    checkTraining();
    if (!report.empty())
      return; // ranks cannot be named
    checkTensors();
    checkCommunicators();
    if (plan.programs_size() != ppSize)
      report.add(
          "plan-mesh", {},
          fmt::format("programs, expected {} (one for each pp coordinate), got {}", ppSize, plan.programs_size()));
    for (int p = 0; p < plan.programs_size(); ++p)
      if (plan.programs(p).pp() != uint32_t(p))
        report.add("plan-mesh", {},
                   fmt::format("pp coordinate of program {}, expected {}, got {}", p, p, plan.programs(p).pp()));
    if (!report.empty())
      return;
    for (int p = 0; p < plan.programs_size(); ++p)
      checkProgram(plan, p, report);
  }

private:
  const plan::Plan &plan;
  Report &report;
  int64_t ppSize = 1;

  bool checkIndex(const Place &place, std::string_view what, int64_t index, int64_t count) {
    return verify::checkIndex(report, place, what, index, count);
  }

  void checkMesh() {
    int64_t ranks = 1;
    int pps = 0;
    if (plan.mesh().axes_size() > kMaxAxes)
      report.add("plan-mesh", {},
                 fmt::format("mesh axes, expected at most {}, got {}", kMaxAxes, plan.mesh().axes_size()));
    for (const plan::Mesh::Axis &axis : plan.mesh().axes()) {
      if (axis.size() < 1)
        report.add("plan-mesh", {},
                   fmt::format("size of mesh axis '{}', expected at least 1, got {}", axis.name(), axis.size()));
      ranks = saturatingMul(ranks, axis.size());
      if (axis.name() == "pp") {
        ++pps;
        ppSize = axis.size();
      }
    }
    if (pps != 1)
      report.add("plan-mesh", {}, fmt::format("mesh axes named 'pp', expected 1, got {}", pps));
    if (ppSize > kMaxStages)
      report.add("plan-mesh", {}, fmt::format("pp, expected at most {}, got {}", kMaxStages, ppSize));
    if (ranks > INT32_MAX)
      report.add("plan-mesh", {}, fmt::format("ranks, expected at most {}, got {}", INT32_MAX, ranks));
  }

  void checkTraining() {
    const plan::Training &training = plan.training();
    if (training.micro_batch() < 1 || training.micro_batches() < 1)
      report.add("plan-training", {},
                 fmt::format("micro-batch and micro-batches, expected at least 1, got {} and {}",
                             training.micro_batch(), training.micro_batches()));
    else if (training.micro_batches() > kMaxSlots || training.micro_batch() > kMaxBytes)
      report.add("plan-training", {},
                 fmt::format("micro-batches, expected at most {}, got {}", kMaxSlots, training.micro_batches()));
  }

  void checkTensors() {
    for (const plan::WeightFile &file : plan.weight_files())
      if (file.bytes() < 0)
        report.add("plan-index", {},
                   fmt::format("bytes of weight file '{}', expected at least 0, got {}", file.path(), file.bytes()));
    for (const plan::Parameter &parameter : plan.parameters()) {
      std::string what = fmt::format("weight file (parameter '{}')", parameter.name());
      if (!checkIndex({}, what, parameter.weight_file(), plan.weight_files_size()))
        continue;
      checkParameter(parameter);
    }
    for (const plan::Input &input : plan.inputs())
      if (!validType(input.type()) || !positive(input.sample_shape()))
        report.add("plan-shape", {},
                   fmt::format("input '{}', expected a type and positive sizes, got type {} and {}", input.name(),
                               int(input.type()), shapeName(input.sample_shape())));
  }

  void checkParameter(const plan::Parameter &parameter) {
    if (!validType(parameter.type()) || !positive(parameter.shape())) {
      report.add("plan-shape", {},
                 fmt::format("parameter '{}', expected a type and positive sizes, got type {} and {}", parameter.name(),
                             int(parameter.type()), shapeName(parameter.shape())));
      return;
    }
    int64_t bytes = saturatingMul(product(parameter.shape()), elementBytes(parameter.type()));
    const plan::WeightFile &file = plan.weight_files(parameter.weight_file());
    if (parameter.file_offset() < 0 || saturatingAdd(parameter.file_offset(), bytes) > file.bytes())
      report.add("plan-index", {},
                 fmt::format("parameter '{}' in weight file '{}', expected to end within {} bytes, got {} bytes at {}",
                             parameter.name(), file.path(), file.bytes(), bytes, parameter.file_offset()));
    checkSharding(parameter);
  }

  void checkSharding(const plan::Parameter &parameter) {
    const plan::Sharding &sharding = parameter.sharding();
    if (sharding.dims_size() != 0 && sharding.dims_size() != parameter.shape_size()) {
      report.add("plan-shape", {},
                 fmt::format("sharding of parameter '{}', expected {} dimensions, got {}", parameter.name(),
                             parameter.shape_size(), sharding.dims_size()));
      return;
    }
    uint32_t used = 0;
    for (int i = 0; i < sharding.dims_size(); ++i) {
      int64_t padded = 1;
      for (const plan::Sharding::SubDim &sub : sharding.dims(i).sub_dims()) {
        padded = saturatingMul(padded, sub.size());
        int64_t ranks = 1;
        for (uint32_t axis : sub.axes()) {
          if (!checkIndex({}, fmt::format("mesh axis (sharding of '{}')", parameter.name()), axis,
                          plan.mesh().axes_size()))
            return;
          if (used >> axis & 1)
            report.add("plan-shape", {},
                       fmt::format("sharding of parameter '{}' uses mesh axis '{}' twice", parameter.name(),
                                   plan.mesh().axes(axis).name()));
          used |= 1u << axis;
          ranks *= plan.mesh().axes(axis).size();
        }
        if (sub.size() < 1 || sub.size() % ranks != 0)
          report.add("plan-shape", {},
                     fmt::format("sharding of parameter '{}', expected a size divisible by {}, got {}",
                                 parameter.name(), ranks, sub.size()));
      }
      if (sharding.dims(i).sub_dims_size() != 0 && padded < parameter.shape(i))
        report.add("plan-shape", {},
                   fmt::format("sharding of parameter '{}', expected dimension {} to hold {}, got {}", parameter.name(),
                               i, parameter.shape(i), padded));
    }
  }

  void checkCommunicators() {
    for (const plan::Communicator &communicator : plan.communicators()) {
      uint32_t used = 0;
      std::string what = fmt::format("mesh axis (communicator '{}')", communicator.name());
      bool valid = true;
      for (uint32_t axis : communicator.axes()) {
        if (!checkIndex({}, what, axis, plan.mesh().axes_size())) {
          valid = false;
          continue;
        }
        if (used >> axis & 1)
          report.add("plan-communicator", {},
                     fmt::format("communicator '{}' names mesh axis '{}' twice", communicator.name(),
                                 plan.mesh().axes(axis).name()));
        used |= 1u << axis;
      }
      if (valid)
        checkMembers(communicator);
    }
  }

  void checkMembers(const plan::Communicator &communicator) {
    if (communicator.axes_size() == 0)
      report.add("plan-communicator", {}, fmt::format("communicator '{}' has no axes", communicator.name()));
    if (communicator.members_size() == 0)
      return;
    if (communicator.axes_size() != 1) {
      report.add("plan-communicator", {},
                 fmt::format("communicator '{}' with members, expected 1 axis, got {}", communicator.name(),
                             communicator.axes_size()));
      return;
    }
    int64_t size = plan.mesh().axes(communicator.axes(0)).size();
    for (int i = 0; i < communicator.members_size(); ++i) {
      checkIndex({}, fmt::format("member (communicator '{}')", communicator.name()), communicator.members(i), size);
      if (i && communicator.members(i) <= communicator.members(i - 1))
        report.add("plan-communicator", {},
                   fmt::format("members of communicator '{}', expected ascending, got {} "
                               "after {}",
                               communicator.name(), communicator.members(i), communicator.members(i - 1)));
    }
  }
};

} // namespace

bool checkIndex(Report &report, const Place &place, std::string_view what, int64_t index, int64_t count) {
  if (index >= 0 && index < count)
    return true;
  report.add("plan-index", place,
             fmt::format("the index of the {} is out of range, expected less than {}, got {}", what, count, index));
  return false;
}

void checkStructure(const plan::Plan &plan, Report &report) { StructureCheck(plan, report).run(); }

} // namespace shardc::rt::verify
