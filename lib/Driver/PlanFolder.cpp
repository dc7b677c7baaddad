//===-- PlanFolder.cpp - the folder that a plan is written to -----------------------------------------------------===//

#include "PlanFolder.h"

#include "runtime/base/FileDigest.h"
#include "runtime/format/LoadPlan.h"
#include "runtime/verify/Verify.h"
#include "shardc/Plan/BuildPlan.h"

#include "mlir/IR/Diagnostics.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace shardc;
using llvm::sys::path::parent_path;

namespace {

std::string join(StringRef folder, StringRef file) {
  SmallString<128> path(folder);
  llvm::sys::path::append(path, file);
  return std::string(path);
}

bool isEmptyFolder(const std::string &folder) {
  std::error_code error;
  llvm::sys::fs::directory_iterator first(folder, error), end;
  return !error && first == end;
}

/// The folder as given, without a trailing separator.
std::string normalise(StringRef folder) { return folder.size() > 1 ? folder.rtrim('/').str() : folder.str(); }

/// A folder next to the final one, removed unless it is committed.
class PartialFolder {
public:
  explicit PartialFolder(StringRef target) : target(normalise(target)) {
    // LLVM puts relative names into the system's temporary folder, from where a rename may cross file systems.
    SmallString<128> absolute(this->target);
    (void)llvm::sys::fs::make_absolute(absolute);
    this->target = std::string(absolute);
    isMade = !llvm::sys::fs::createUniqueDirectory(this->target + ".partial", path);
  }
  ~PartialFolder() {
    if (isMade && !isCommitted)
      (void)llvm::sys::fs::remove_directories(path);
  }
  PartialFolder(const PartialFolder &) = delete;
  PartialFolder &operator=(const PartialFolder &) = delete;

  explicit operator bool() const { return isMade; }
  std::string getFile(StringRef name) const { return join(path, name); }

  std::error_code commit() {
    (void)llvm::sys::fs::remove_directories(target);
    std::error_code error = llvm::sys::fs::rename(path, target);
    isCommitted = !error;
    return error;
  }

private:
  std::string target;
  SmallString<128> path;
  bool isMade = false, isCommitted = false;
};

/// The violations name rank, instruction and node themselves.
LogicalResult report(MLIRContext *context, const rt::Status &status) {
  Location loc = UnknownLoc::get(context);
  for (const rt::Violation &violation : status.violations()) {
    InFlightDiagnostic diagnostic = emitError(loc, violation.message);
    for (const std::string &note : violation.notes)
      diagnostic.attachNote() << note;
  }
  return failure();
}

/// Weight files by absolute path, since the plan may be read from any folder, and moved; with a digest by which a
/// changed file is noticed. The digest of a file that cannot be read stays 0.
void describeWeightFiles(plan::Plan &plan) {
  for (plan::WeightFile &file : *plan.mutable_weight_files()) {
    SmallString<128> path(file.path());
    (void)llvm::sys::fs::make_absolute(path); // what stays relative is one that cannot be opened
    llvm::sys::path::remove_dots(path, /*remove_dot_dot=*/false);
    file.set_path(std::string(path));
    if (rt::Result<rt::File> weights = rt::File::open(file.path()); weights.isOk())
      if (rt::Result<uint64_t> digest = rt::digestFile(*weights); digest.isOk())
        file.set_digest(*digest);
  }
}

} // namespace

LogicalResult shardc::driver::checkPlanFolder(MLIRContext *context, const std::string &given) {
  Location loc = UnknownLoc::get(context);
  std::string folder = normalise(given);
  llvm::sys::fs::file_status status;
  if (llvm::sys::fs::status(folder, status)) {
    StringRef parent = parent_path(folder);
    if (!parent.empty() && !llvm::sys::fs::is_directory(parent))
      return emitError(loc) << "output '" << folder << "': folder '" << parent << "' does not exist [output-folder]";
    return success();
  }
  if (!llvm::sys::fs::is_directory(status))
    return emitError(loc) << "output '" << folder << "': is not a folder [output-folder]";
  if (llvm::sys::fs::exists(join(folder, rt::kPlanFile)) || isEmptyFolder(folder))
    return success();
  InFlightDiagnostic diagnostic = emitError(loc) << "output '" << folder << "': exists and is no plan [output-folder]";
  diagnostic.attachNote() << "a plan replaces only a plan or an empty folder; choose another name with -o";
  return diagnostic;
}

LogicalResult shardc::driver::writePlanFolder(ModuleOp module, const std::string &folder, const KernelTarget &target) {
  Location loc = module.getLoc();
  PartialFolder partial(folder);
  if (!partial)
    return emitError(loc) << "output '" << folder << "': cannot be made [output-folder]";

  plan::Plan plan;
  if (failed(plan::buildPlan(module, plan)))
    return failure();
  describeWeightFiles(plan);
  if (failed(emitKernelFiles(module, target, [&](StringRef name) { return partial.getFile(name); }, plan)))
    return failure();
  if (rt::Status status = rt::verifyPlan(plan); !status.isOk())
    return report(module.getContext(), status);

  if (failed(writeFile(loc, partial.getFile(rt::kPlanFile), rt::serializePlan(plan))))
    return failure();
  if (std::error_code error = partial.commit())
    return emitError(loc) << "output '" << folder << "': cannot be put in place: " << error.message()
                          << " [output-folder]";
  return success();
}
