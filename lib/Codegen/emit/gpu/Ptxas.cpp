//===-- Ptxas.cpp - PTX into machine code, by NVIDIA's assembler --------------------------------------------------===//

#include "shardc/Codegen/EmitGpu.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"

using namespace mlir;

std::optional<std::string> shardc::codegen::findPtxas() {
  if (auto path = llvm::sys::findProgramByName("ptxas"))
    return *path;
  return std::nullopt;
}

LogicalResult shardc::codegen::assemblePtx(StringRef ptxas, StringRef ptxPath, StringRef arch, StringRef cubinPath,
                                           ModuleOp at) {
  SmallString<128> messages;
  if (llvm::sys::fs::createTemporaryFile("shardc", "txt", messages))
    return at.emitError("cannot write temporary files for assembling kernels [target-ptxas]");
  llvm::FileRemover remover(messages);
  std::string option = ("-arch=" + arch).str();
  SmallVector<StringRef> arguments{ptxas, option, "-o", cubinPath, ptxPath};
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(messages), StringRef(messages)};
  if (llvm::sys::ExecuteAndWait(ptxas, arguments, std::nullopt, redirects) == 0)
    return success();
  auto text = llvm::MemoryBuffer::getFile(messages);
  InFlightDiagnostic error =
      at.emitError("assembling kernels for '")
      << arch << "' failed: " << (text ? (*text)->getBuffer().split('\n').first : StringRef("no message"))
      << " [target-ptxas]";
  return error;
}
