/* control.h - the control block: everything that varies by rank, step or micro-batch and that kernels read
 *
 * Kernels get a pointer to it as their second argument; shardc addresses the fields by the offsets fixed here (the
 * static_asserts in the code generator keep both in step).
 */
#ifndef SHARDRT_CONTROL_H
#define SHARDRT_CONTROL_H

#include <stdint.h>

#define SHARDRT_MAX_MESH_AXES 8

typedef struct shardrtControl {
  uint64_t seed;
  int64_t step;         /* number of the step, from 0 */
  int64_t sampleOffset; /* first sample of the current micro-batch within the step, over all replicas: m * mb * dp */
  int64_t coordinates[SHARDRT_MAX_MESH_AXES]; /* of this rank, by mesh axis index */
  float learningRate;
  float lossScale;
} shardrtControl;

/* A kernel: pointers to its operands (reads, then writes), the control block, and a range of work items. */
typedef void (*shardrtKernel)(void *const *buffers, const shardrtControl *control, int64_t begin, int64_t end);

#endif
