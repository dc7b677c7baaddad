//===-- LoadTransport.cpp - how a launcher connects processes -----------------------------------------------------===//

#include "runtime/comm/process/LoadTransport.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>
#include <string>

namespace shardc::rt {
namespace {

constexpr const char *kModule = "libshardrt-mpi.so";

/// The number that a variable holds; 0 where it is missing or holds none.
int64_t numberOf(const char *variable) {
  const char *text = std::getenv(variable);
  return text ? std::strtoll(text, nullptr, 10) : 0;
}

} // namespace

Result<bool> isOneOfSeveral() {
  // Open MPI and MPICH under their own launchers, and PMIx under another one's.
  for (const char *size : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})
    if (numberOf(size) > 0)
      return numberOf(size) > 1;
  if (std::getenv("PMIX_RANK"))
    return true;
  for (const char *size : {"WORLD_SIZE", "SLURM_NTASKS"}) {
    bool isStep = std::string_view(size) == "WORLD_SIZE" ? std::getenv("RANK") : std::getenv("SLURM_PROCID");
    if (numberOf(size) > 1 && isStep)
      return Status(
          StatusKind::Unsupported,
          fmt::format("environment: {}={}, but nothing that connects the processes [run-world]", size, numberOf(size)),
          "start CPU ranks with mpirun, or srun --mpi=pmix; to train all ranks in one process, unset it");
  }
  return false;
}

Result<shardrtTransport> connectProcesses() {
  std::error_code ignored;
  std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  std::string problem;
  void *module = nullptr;
  // Global symbols: MPI loads plug-ins of its own, which look for them.
  for (const std::string &path :
       {(folder / kModule).string(), (folder / "../lib" / kModule).string(), std::string(kModule)}) {
    module = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (module)
      break;
    problem = dlerror();
  }
  if (!module)
    return Status(
        StatusKind::Unsupported,
        fmt::format("several processes have been started, but {} cannot be loaded: {} [run-world]", kModule, problem),
        "install libopenmpi-dev and build again, or start one process");
  auto connect = reinterpret_cast<shardrtConnectFunction>(dlsym(module, SHARDRT_CONNECT_SYMBOL));
  shardrtTransport transport = {};
  const char *error = connect ? connect(&transport) : "it is another library";
  if (!error && transport.version != SHARDRT_TRANSPORT_VERSION)
    error = "it is of another version";
  if (error)
    return Status(StatusKind::Unsupported, fmt::format("{}: {} [run-world]", kModule, error), "build shardrun again");
  return transport;
}

} // namespace shardc::rt
