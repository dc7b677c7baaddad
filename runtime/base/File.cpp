//===-- File.cpp - files, read and written ------------------------------------------------------------------------===//

#include "runtime/base/File.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace shardc::rt {
namespace {

const char *remedyFor(int error) {
  switch (error) {
  case ENOENT:
  case ENOTDIR:
    return "check the path";
  case EACCES:
  case EPERM:
  case EROFS:
    return "check the permissions of the file and its folder";
  case EISDIR:
    return "give the path of a file, not of a folder";
  case ENOSPC:
  case EDQUOT:
    return "free some space, or write elsewhere";
  default:
    return "check the path and the device that it is on";
  }
}

Status notRegular(const std::string &path) {
  return Status(StatusKind::InvalidArgument, fmt::format("file '{}': not a regular file", path),
                "pipes and devices will not do; give the path of a file");
}

Status systemError(const std::string &path, const char *doing, int error) {
  StatusKind kind = error == ENOENT || error == ENOTDIR ? StatusKind::NotFound : StatusKind::Io;
  return Status(kind, fmt::format("file '{}': cannot {}: {}", path, doing, std::strerror(error)), remedyFor(error));
}

} // namespace

Result<File> File::open(const std::string &path) {
  File file;
  file.filePath = path;
  file.descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); // a pipe must not make us wait
  if (file.descriptor < 0)
    return systemError(path, "open", errno);
  struct stat info;
  if (fstat(file.descriptor, &info) != 0)
    return systemError(path, "read", errno);
  if (S_ISDIR(info.st_mode))
    return systemError(path, "read", EISDIR);
  if (!S_ISREG(info.st_mode))
    return notRegular(path);
  file.size = info.st_size;
  return file;
}

File::File(File &&other) noexcept { *this = std::move(other); }

File &File::operator=(File &&other) noexcept {
  std::swap(filePath, other.filePath);
  std::swap(descriptor, other.descriptor);
  std::swap(size, other.size);
  return *this;
}

File::~File() {
  if (descriptor >= 0)
    ::close(descriptor);
}

Status File::readAt(int64_t offset, void *target, int64_t count) const {
  char *at = static_cast<char *>(target);
  while (count > 0) {
    ssize_t got = ::pread(descriptor, at, count, offset);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return systemError(filePath, "read", errno);
    if (got == 0)
      return Status(StatusKind::Corrupt,
                    fmt::format("file '{}': ends at byte {}, expected {} more", filePath, offset, count),
                    "it was cut short while it was read; write it again");
    at += got;
    offset += got;
    count -= got;
  }
  return {};
}

Result<MappedFile> MappedFile::open(const std::string &path) {
  SHARDRT_ASSIGN(File file, File::open(path));
  MappedFile mapped;
  mapped.filePath = path;
  if (file.bytes() == 0)
    return mapped;
  void *address = mmap(nullptr, file.bytes(), PROT_READ, MAP_PRIVATE, file.descriptor, 0);
  if (address == MAP_FAILED)
    return systemError(path, "map", errno);
  mapped.data = static_cast<const char *>(address);
  mapped.size = file.bytes();
  return mapped;
}

MappedFile::MappedFile(MappedFile &&other) noexcept { *this = std::move(other); }

MappedFile &MappedFile::operator=(MappedFile &&other) noexcept {
  std::swap(filePath, other.filePath);
  std::swap(data, other.data);
  std::swap(size, other.size);
  return *this;
}

MappedFile::~MappedFile() {
  if (data)
    munmap(const_cast<char *>(data), size);
}

Result<std::string> readFile(const std::string &path) {
  SHARDRT_ASSIGN(File file, File::open(path));
  std::string contents(file.bytes(), '\0');
  SHARDRT_RETURN_IF_ERROR(file.readAt(0, contents.data(), file.bytes()));
  return contents;
}

namespace {

/// What a file replaces must be a file: renaming would take away a device or a pipe.
Status checkTarget(const std::string &path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0)
    return {};
  if (S_ISDIR(info.st_mode))
    return systemError(path, "write", EISDIR);
  return S_ISREG(info.st_mode) ? Status() : notRegular(path);
}

} // namespace

Status writeFile(const std::string &path, std::string_view contents) {
  SHARDRT_RETURN_IF_ERROR(checkTarget(path));
  std::string partial = path + ".partial";
  int descriptor = ::open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0)
    return systemError(path, "write", errno);
  while (!contents.empty()) {
    ssize_t written = ::write(descriptor, contents.data(), contents.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0) {
      int error = errno;
      ::close(descriptor);
      ::unlink(partial.c_str());
      return systemError(path, "write", error);
    }
    contents.remove_prefix(written);
  }
  if (::close(descriptor) != 0 || ::rename(partial.c_str(), path.c_str()) != 0) {
    int error = errno;
    ::unlink(partial.c_str());
    return systemError(path, "write", error);
  }
  return {};
}

Status checkWritable(const std::string &path) {
  SHARDRT_RETURN_IF_ERROR(checkTarget(path));
  std::string partial = path + ".partial";
  int descriptor = ::open(partial.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0)
    return systemError(path, "write", errno);
  ::close(descriptor);
  ::unlink(partial.c_str());
  return {};
}

} // namespace shardc::rt
