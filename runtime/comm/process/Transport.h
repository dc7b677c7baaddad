/* Transport.h - what carries bytes between processes
 *
 * A table of functions that a loadable module fills in, so that the runtime itself links no message-passing library.
 * Messages of one tag from one process to another arrive in order; nothing blocks. All functions may be called from
 * several threads. Those that can fail return null or what went wrong, in words that stay valid.
 */
#ifndef SHARDC_RUNTIME_COMM_PROCESS_TRANSPORT_H
#define SHARDC_RUNTIME_COMM_PROCESS_TRANSPORT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SHARDRT_TRANSPORT_VERSION 1

/* A message under way; the transport's own. */
typedef struct shardrtRequest {
  void *handle;
  int64_t count;
} shardrtRequest;

typedef struct shardrtTransport {
  int32_t version;
  int32_t processes;
  int32_t process; /* this one, from 0 */
  void *state;
  /* Begin to send or receive; `data` is in use until the request is done. */
  const char *(*send)(void *state, int32_t peer, int32_t tag, const void *data, int64_t bytes, shardrtRequest *request);
  const char *(*receive)(void *state, int32_t peer, int32_t tag, void *data, int64_t bytes, shardrtRequest *request);
  /* Sets `done` to 1 if the request is done, which ends it, else to 0. */
  const char *(*test)(void *state, shardrtRequest *request, int32_t *done);
  /* Leaves in good order; all processes do. */
  void (*close)(void *state);
  /* Ends all processes, this one too. */
  void (*abort)(void *state, int32_t exitCode);
} shardrtTransport;

/* What a module exports under this name: connects, and fills in the table. */
typedef const char *(*shardrtConnectFunction)(shardrtTransport *transport);
#define SHARDRT_CONNECT_SYMBOL "shardrtConnectTransport"

#ifdef __cplusplus
}
#endif

#endif
