//===-- Link.cpp - one object into a shared library, by the system's linker ---------------------------------------===//

#include "ObjectFile.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace {

/// GNU ld comes first: it is there wherever a C++ compiler is, so that most machines produce the same bytes.
std::string findLinker() {
  for (StringRef name : {"ld", "ld.lld", "ld.lld-22", "ld.mold"})
    if (auto path = llvm::sys::findProgramByName(name))
      return *path;
  return "";
}

/// A file that is removed at the end of its scope.
class TemporaryFile {
public:
  explicit TemporaryFile(StringRef suffix) : error(llvm::sys::fs::createTemporaryFile("shardc", suffix, path)) {}
  ~TemporaryFile() {
    if (!error)
      (void)llvm::sys::fs::remove(path);
  }
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;

  SmallString<128> path;
  std::error_code error;
};

LogicalResult writeFile(StringRef path, ArrayRef<char> bytes) {
  std::error_code error;
  llvm::raw_fd_ostream stream(path, error);
  if (error)
    return failure();
  stream.write(bytes.data(), bytes.size());
  stream.close();
  bool wrote = !stream.has_error();
  stream.clear_error();
  return success(wrote);
}

std::string readFirstLine(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().split('\n').first.str() : "";
}

} // namespace

LogicalResult shardc::codegen::linkSharedLibrary(ArrayRef<char> object, StringRef outputPath, ModuleOp at) {
  std::string linker = findLinker();
  if (linker.empty()) {
    InFlightDiagnostic error =
        at.emitError("no linker found, expected one of ld, ld.lld, ld.mold on the path [target-linker]");
    error.attachNote() << "Debian's package binutils has one";
    return error;
  }
  TemporaryFile objectFile("o"), messages("txt");
  if (objectFile.error || messages.error || failed(writeFile(objectFile.path, object)))
    return at.emitError("cannot write temporary files for linking kernels [target-linker]");
  // No symbol may stay undefined, and nothing of the time or place of the build may enter.
  SmallVector<StringRef> arguments{linker,        "-shared", "--build-id=none", "--hash-style=gnu", "-z", "defs", "-z",
                                   "noexecstack", "-o",      outputPath,        objectFile.path};
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(""), StringRef(messages.path)};
  if (llvm::sys::ExecuteAndWait(linker, arguments, std::nullopt, redirects) != 0)
    return at.emitError("linking kernels into '")
           << outputPath << "' failed: " << readFirstLine(messages.path) << " [target-linker]";
  return success();
}
