//===-- ExternalData.cpp - opens external data below one folder ---------------------------------------------------===//
//
// Like openat2(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS), but component by component, as that call is not everywhere.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Tensors.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA1.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace mlir;
using namespace shardc::importer;

namespace {

/// Why a location is refused as it stands; empty if it is a plain relative path.
std::string findFaultOfLocation(StringRef location) {
  if (location.empty())
    return "is empty";
  if (location.starts_with("/") || location.contains('\\') || location.contains('\0'))
    return "is not a relative path";
  SmallVector<StringRef> parts;
  location.split(parts, '/');
  for (StringRef part : parts)
    if (part == "..")
      return "leaves the folder by '..'";
  return {};
}

/// Opens `location` below the folder, each component without following links. Returns a descriptor or -errno.
int openBelow(const std::string &root, StringRef location) {
  int folder = ::open(root.empty() ? "." : root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0)
    return -errno;
  SmallVector<StringRef> parts;
  location.split(parts, '/', -1, /*KeepEmpty=*/false);
  for (auto [index, part] : llvm::enumerate(parts)) {
    bool isLast = index + 1 == parts.size();
    // O_NONBLOCK: a named pipe must not block before it is seen to be no regular file.
    int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | (isLast ? O_NONBLOCK : O_DIRECTORY);
    int next = ::openat(folder, part.str().c_str(), flags);
    int code = errno;
    ::close(folder);
    if (next < 0)
      return -code;
    folder = next;
  }
  return folder;
}

/// SHA-1 of a whole file, in lower case hexadecimal; what cannot be read gives another digest.
std::string computeDigest(int descriptor) {
  llvm::SHA1 hash;
  std::vector<uint8_t> chunk(1 << 20);
  off_t offset = 0;
  for (ssize_t got; (got = ::pread(descriptor, chunk.data(), chunk.size(), offset)) > 0; offset += got)
    hash.update(llvm::ArrayRef<uint8_t>(chunk.data(), static_cast<size_t>(got)));
  return llvm::toHex(hash.final(), /*LowerCase=*/true);
}

} // namespace

ExternalData::~ExternalData() {
  for (auto &[location, file] : files)
    ::close(file->descriptor);
}

FailureOr<const ExternalData::File *> ExternalData::open(StringRef location, StringRef tensor) {
  for (auto &[known, file] : files)
    if (known == location)
      return file.get();
  if (std::string fault = findFaultOfLocation(location); !fault.empty())
    return diagnostics.error("external-44", "tensor", tensor,
                             Twine("the location '") + location + "' of its external data " + fault,
                             "the file must lie in the model's folder, or below --external-data-root");
  int descriptor = openBelow(root, location);
  if (descriptor == -ELOOP)
    return diagnostics.error("external-45", "tensor", tensor,
                             Twine("the external data '") + location + "' is a symbolic link",
                             "give the folder that holds the real file as --external-data-root");
  if (descriptor < 0)
    return diagnostics.error("external-46", "tensor", tensor,
                             Twine("the external data '") + location +
                                 "' cannot be opened: " + std::strerror(-descriptor),
                             "put the file beside the model, or give its folder as --external-data-root");
  struct stat status = {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor);
    return diagnostics.error("external-46", "tensor", tensor,
                             Twine("the external data '") + location + "' is not a regular file");
  }
  if (status.st_nlink > 1) {
    ::close(descriptor);
    return diagnostics.error("external-45", "tensor", tensor,
                             Twine("the external data '") + location + "' is a hard link: it has " +
                                 Twine(static_cast<uint64_t>(status.st_nlink)) + " names",
                             "copy the file");
  }
  auto file = std::make_unique<File>();
  file->path = root.empty() ? location.str() : root + "/" + location.str();
  file->descriptor = descriptor;
  file->bytes = static_cast<int64_t>(status.st_size);
  files.emplace_back(location.str(), std::move(file));
  return files.back().second.get();
}

LogicalResult ExternalData::checkDigest(StringRef location, StringRef expected, StringRef tensor) {
  auto found = llvm::find_if(files, [&](const auto &entry) { return entry.first == location; });
  File &file = *found->second;
  if (file.digest.empty())
    file.digest = computeDigest(file.descriptor);
  if (expected.equals_insensitive(file.digest))
    return success();
  return diagnostics.error("external-50", "tensor", tensor,
                           Twine("its external data '") + location + "' has the SHA-1 " + file.digest + ", expected " +
                               expected,
                           "the file is damaged or belongs to another model: copy it again");
}
