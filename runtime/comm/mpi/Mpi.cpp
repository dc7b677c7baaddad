//===-- Mpi.cpp - the transport over MPI --------------------------------------------------------------------------===//
//
// A module of its own, which shardrun loads when mpirun has started it. MPI never blocks here: waiting, with sleep in
// between, is the caller's, so that more ranks than cores do not spin.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "runtime/comm/process/Transport.h"

#include <algorithm>
#include <mpi.h>

namespace {

/// MPI counts in int.
constexpr int64_t kMaxPiece = int64_t(1) << 30;

const char *textOf(int error) {
  if (error == MPI_SUCCESS)
    return nullptr;
  static thread_local char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  return MPI_Error_string(error, text, &length) == MPI_SUCCESS ? text : "an error of MPI";
}

/// A request fits into a handle; more than one lie in an array that the handle points to.
static_assert(sizeof(MPI_Request) <= sizeof(void *));

MPI_Request *requestsOf(shardrtRequest *request) {
  return request->count == 1 ? reinterpret_cast<MPI_Request *>(&request->handle)
                             : static_cast<MPI_Request *>(request->handle);
}

/// Begins the pieces of a message; `begin(offset, count, request)`.
template <typename Begin> const char *beginPieces(int64_t bytes, shardrtRequest *request, Begin begin) {
  request->count = std::max<int64_t>(1, (bytes + kMaxPiece - 1) / kMaxPiece);
  if (request->count > 1)
    request->handle = static_cast<void *>(new MPI_Request[request->count]);
  for (int64_t piece = 0; piece < request->count; ++piece) {
    int64_t at = piece * kMaxPiece;
    int error = begin(at, static_cast<int>(std::min(kMaxPiece, bytes - at)), requestsOf(request) + piece);
    if (error != MPI_SUCCESS)
      return textOf(error);
  }
  return nullptr;
}

const char *send(void *, int32_t peer, int32_t tag, const void *data, int64_t bytes, shardrtRequest *request) {
  return beginPieces(bytes, request, [&](int64_t at, int count, MPI_Request *piece) {
    return MPI_Isend(static_cast<const char *>(data) + at, count, MPI_BYTE, peer, tag, MPI_COMM_WORLD, piece);
  });
}

const char *receive(void *, int32_t peer, int32_t tag, void *data, int64_t bytes, shardrtRequest *request) {
  return beginPieces(bytes, request, [&](int64_t at, int count, MPI_Request *piece) {
    return MPI_Irecv(static_cast<char *>(data) + at, count, MPI_BYTE, peer, tag, MPI_COMM_WORLD, piece);
  });
}

const char *test(void *, shardrtRequest *request, int32_t *done) {
  int all = 0;
  int error = MPI_Testall(static_cast<int>(request->count), requestsOf(request), &all, MPI_STATUSES_IGNORE);
  *done = all != 0 || error != MPI_SUCCESS;
  if (*done && request->count > 1)
    delete[] static_cast<MPI_Request *>(request->handle);
  return textOf(error);
}

void close(void *) { MPI_Finalize(); }

void abort(void *, int32_t exitCode) { MPI_Abort(MPI_COMM_WORLD, exitCode); }

} // namespace

extern "C" __attribute__((visibility("default"))) const char *shardrtConnectTransport(shardrtTransport *transport) {
  int provided = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS)
    return "MPI cannot be started";
  if (provided < MPI_THREAD_MULTIPLE)
    return "this MPI does not serve several threads (MPI_THREAD_MULTIPLE)";
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  *transport = {SHARDRT_TRANSPORT_VERSION, 0, 0, nullptr, send, receive, test, close, abort};
  MPI_Comm_size(MPI_COMM_WORLD, &transport->processes);
  MPI_Comm_rank(MPI_COMM_WORLD, &transport->process);
  return nullptr;
}
