//===-- LoadTransport.h - how a launcher connects processes -------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_COMM_PROCESS_LOADTRANSPORT_H
#define SHARDC_RUNTIME_COMM_PROCESS_LOADTRANSPORT_H

#include "runtime/base/Status.h"
#include "runtime/comm/process/Transport.h"

#include <optional>

namespace shardc::rt {

/// What the environment says about the processes that were started together with this one: nothing, if it is alone.
/// mpirun and srun (with PMIx) set what MPI needs. An error [run-world] if something else has started several
/// processes, such as torchrun, which sets RANK and WORLD_SIZE: every one of them would train all of the model by
/// itself.
Result<bool> isOneOfSeveral();

/// Loads libshardrt-mpi.so from beside the program, from its ../lib, or from where the system looks, and connects.
Result<shardrtTransport> connectProcesses();

} // namespace shardc::rt

#endif
