//===-- LoadPlan.h - plan folders, read and written ---------------------------------------------------------------===//
//
// A plan folder holds plan.pb and kernels.so. plan.pb is a serialized plan::Plan whose last nine bytes are the field
// `checksum`, the xxh64 of all bytes before them: a file that is truncated or changed is told from a good one. Folders
// are only read, never locked or changed.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_FORMAT_LOADPLAN_H
#define SHARDC_RUNTIME_FORMAT_LOADPLAN_H

#include "runtime/base/Status.h"
#include "runtime/format/plan.pb.h"

#include <string>

namespace shardc::rt {

/// The version of the plan format that this library reads and writes.
inline constexpr uint32_t kPlanFormatVersion = 1;

inline constexpr const char *kPlanFile = "plan.pb";
inline constexpr const char *kKernelsFile = "kernels.so";
// Of a plan for target "cuda", in place of kernels.so.
inline constexpr const char *kPtxFile = "kernels.ptx";
inline constexpr const char *kEmulatorFile = "kernels.emulator.so";

/// The bytes of plan.pb: deterministic, with format_version and checksum set.
std::string serializePlan(plan::Plan plan);

/// Parses the bytes of a plan.pb and checks version and checksum. `path` is for messages.
Result<plan::Plan> parsePlan(std::string_view bytes, const std::string &path);

/// A plan folder that can run on this machine.
struct LoadedPlan {
  std::string folder;
  plan::Plan plan;
};

/// Reads plan.pb of a folder and checks version and checksum, not what it says: nothing may be indexed by it yet. For
/// the verifier, which explains more.
Result<LoadedPlan> openPlanFolder(const std::string &folder);

/// openPlanFolder, and checks that every index in the plan is in range (CheckPlan.h).
Result<LoadedPlan> readPlanFolder(const std::string &folder);

/// Checks that kernels.so (of a CUDA plan: kernels.ptx) is there and the one that plan.pb was made with.
Status checkKernelsFile(const LoadedPlan &loaded);

/// readPlanFolder, and checks that kernels.so is the plan's and that this CPU has the features it uses.
Result<LoadedPlan> loadPlan(const std::string &folder);

} // namespace shardc::rt

#endif
