//===-- LoadPlan.cpp - plan folders, read and written -------------------------------------------------------------===//

#include "runtime/format/LoadPlan.h"

#include "runtime/base/File.h"
#include "runtime/base/XxHash.h"
#include "runtime/format/CheckPlan.h"
#include "runtime/format/CpuFeatures.h"

#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <sys/stat.h>

namespace shardc::rt {
namespace {

/// Tag of the field `checksum` (number 15, fixed64): one byte.
constexpr char kChecksumTag = (plan::Plan::kChecksumFieldNumber << 3) | 1;
constexpr size_t kChecksumBytes = 1 + sizeof(uint64_t);

Status corrupt(const std::string &path, const char *what) {
  return Status(StatusKind::Corrupt, fmt::format("plan '{}': {} [plan-file]", path, what), "compile the model again");
}

/// One of a plan's two files cannot be read.
Status unreadable(const std::string &folder, const char *name, const Status &cause) {
  Status status(cause.kind(),
                fmt::format("plan '{}': no readable {} in it: {} [plan-file]", folder, name, cause.message()));
  if (cause.kind() == StatusKind::NotFound)
    return status.addNote("a plan is a folder with plan.pb and kernels.so: shardc MODEL.onnx -o FOLDER writes it");
  for (const std::string &note : cause.violations().front().notes)
    status.addNote(note);
  return status;
}

bool hasChecksum(std::string_view bytes) {
  return bytes.size() >= kChecksumBytes && bytes[bytes.size() - kChecksumBytes] == kChecksumTag;
}

Status checkTarget(const plan::Plan &plan) {
  const plan::Target &target = plan.target();
  if (!target.kind().empty() && target.kind() != "cpu" && target.kind() != "cuda")
    return Status(StatusKind::Unsupported,
                  fmt::format("plan: made for target '{}', expected 'cpu' or 'cuda' [plan-target]", target.kind()),
                  "compile the model again without another --target");
  std::vector<std::string> missing = missingCpuFeatures({target.features().begin(), target.features().end()});
  if (missing.empty())
    return {};
  return Status(StatusKind::Unsupported,
                fmt::format("plan: its kernels need CPU features that this machine lacks: {} [plan-target]",
                            fmt::join(missing, ", ")),
                fmt::format("the kernels were compiled for '{}'; compile the model on this machine", target.cpu()));
}

} // namespace

std::string serializePlan(plan::Plan plan) {
  plan.set_format_version(kPlanFormatVersion);
  plan.clear_checksum();
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    plan.SerializeToCodedStream(&coded);
  }
  uint64_t checksum = xxHash64(bytes);
  bytes.push_back(kChecksumTag);
  bytes.append(reinterpret_cast<const char *>(&checksum), sizeof(checksum));
  return bytes;
}

Result<plan::Plan> parsePlan(std::string_view bytes, const std::string &path) {
  if (bytes.empty())
    return corrupt(path, "the file is empty");
  if (!hasChecksum(bytes))
    return corrupt(path, "is truncated, or no plan at all");
  // Before parsing, since protobuf has messages of its own for damaged bytes. Every version ends with the checksum.
  uint64_t checksum;
  std::memcpy(&checksum, bytes.data() + bytes.size() - sizeof(checksum), sizeof(checksum));
  if (checksum != xxHash64(bytes.substr(0, bytes.size() - kChecksumBytes)))
    return corrupt(path, "is truncated or damaged (its checksum differs)");
  plan::Plan plan;
  if (!plan.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return corrupt(path, "is no plan");
  if (plan.format_version() > kPlanFormatVersion)
    return Status(StatusKind::Unsupported,
                  fmt::format("plan '{}': format version {}, expected at most {} [plan-file]", path,
                              plan.format_version(), kPlanFormatVersion),
                  "use the shardrun that belongs to the shardc that made the plan");
  if (plan.format_version() != kPlanFormatVersion)
    return corrupt(path, "has no format version");
  return plan;
}

Result<LoadedPlan> openPlanFolder(const std::string &folder) {
  struct stat info;
  if (stat(folder.c_str(), &info) != 0)
    return Status(StatusKind::NotFound, fmt::format("plan '{}': no such folder [plan-file]", folder),
                  "shardc MODEL.onnx -o FOLDER makes one");
  std::string path = folder + "/" + kPlanFile;
  auto bytes = readFile(path);
  if (!bytes.isOk())
    return unreadable(folder, kPlanFile, bytes.takeStatus());
  SHARDRT_ASSIGN(plan::Plan plan, parsePlan(*bytes, path));
  return LoadedPlan{folder, std::move(plan)};
}

Status checkKernelsFile(const LoadedPlan &loaded) {
  if (loaded.plan.kernels().empty())
    return {};
  const char *name = loaded.plan.target().kind() == "cuda" ? kPtxFile : kKernelsFile;
  std::string path = loaded.folder + "/" + name;
  Result<std::string> kernels = readFile(path);
  if (!kernels.isOk())
    return unreadable(loaded.folder, name, kernels.takeStatus());
  if (xxHash64(*kernels) != loaded.plan.kernels_checksum())
    return corrupt(path, "is not the file that the plan was made with (its checksum differs)");
  return {};
}

Result<LoadedPlan> readPlanFolder(const std::string &folder) {
  SHARDRT_ASSIGN(LoadedPlan loaded, openPlanFolder(folder));
  SHARDRT_RETURN_IF_ERROR(checkPlan(loaded.plan));
  return loaded;
}

Result<LoadedPlan> loadPlan(const std::string &folder) {
  SHARDRT_ASSIGN(LoadedPlan loaded, readPlanFolder(folder));
  SHARDRT_RETURN_IF_ERROR(checkTarget(loaded.plan));
  SHARDRT_RETURN_IF_ERROR(checkKernelsFile(loaded));
  return loaded;
}

} // namespace shardc::rt
