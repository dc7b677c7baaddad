//===-- File.h - files, read and written --------------------------------------------------------------------------===//
//
// Files are read whole, by position, or mapped, and written whole. Nothing is locked. Errors name the path and the
// system's reason, and a note says what usually helps.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_BASE_FILE_H
#define SHARDC_RUNTIME_BASE_FILE_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace shardc::rt {

/// An open regular file: no pipe, device or folder. Errors name its path and the system's reason.
class File {
public:
  static Result<File> open(const std::string &path);
  File(File &&other) noexcept;
  File &operator=(File &&other) noexcept;
  ~File();

  const std::string &path() const { return filePath; }
  int64_t bytes() const { return size; }

  /// Fills `target` with the `count` bytes at `offset`.
  Status readAt(int64_t offset, void *target, int64_t count) const;

private:
  friend class MappedFile;
  File() = default;

  std::string filePath;
  int descriptor = -1;
  int64_t size = 0;
};

/// A file mapped into memory, read only. Moves keep the address of the bytes.
class MappedFile {
public:
  static Result<MappedFile> open(const std::string &path);
  MappedFile() = default;
  MappedFile(MappedFile &&other) noexcept;
  MappedFile &operator=(MappedFile &&other) noexcept;
  ~MappedFile();

  std::string_view contents() const { return {data, size}; }
  const std::string &path() const { return filePath; }

private:
  std::string filePath;
  const char *data = nullptr;
  size_t size = 0;
};

/// The whole file.
Result<std::string> readFile(const std::string &path);

/// Writes a file whole: under another name first, then renamed, so that no half-written file is ever seen.
Status writeFile(const std::string &path, std::string_view contents);

/// Checks that writeFile could write there, by making and removing the file that it writes first.
Status checkWritable(const std::string &path);

} // namespace shardc::rt

#endif
