/* emulator.h - GPU kernels compiled for the CPU: one call is one GPU thread
 *
 * `kernels.emulator.so` of a plan with target "cuda" has one function for each kernel of the plan, under its name. It
 * is made from the same gpu.func as the PTX. Launch shape, bytes of shared memory and whether threads of a block meet
 * (barriers, shuffles) are in plan.pb: Kernel.launch. Threads of a kernel whose launch is not `cooperative` call
 * neither barrier nor shuffle, and may run one after another in any order; those of a cooperative one must be able to
 * wait.
 *
 * A *site* is the number of a call of a hook in its kernel, from 0 in program order: two threads are at the same
 * barrier exactly if their sites are equal and each has passed it as often as the other.
 */
#ifndef SHARDRT_EMULATOR_H
#define SHARDRT_EMULATOR_H

#include "shardrt/control.h"

#include <stdint.h>

#define SHARDRT_WARP_SIZE 32

/* In place of the number of an operand. */
#define SHARDRT_OPERAND_SHARED UINT32_MAX /* the block's shared memory */

typedef enum shardrtShuffleMode {
  SHARDRT_SHUFFLE_XOR = 0,  /* lane ^ operand */
  SHARDRT_SHUFFLE_UP = 1,   /* lane - operand */
  SHARDRT_SHUFFLE_DOWN = 2, /* lane + operand */
  SHARDRT_SHUFFLE_INDEX = 3 /* operand */
} shardrtShuffleMode;

typedef struct shardrtGpuThread shardrtGpuThread;

typedef struct shardrtGpuHooks {
  /* Returns once all threads of the block are here. */
  void (*barrier)(shardrtGpuThread *self, uint32_t site);
  /* Returns the `bits` of the lane that `mode` and `laneOrOffset` name among the `width` lanes of the caller's segment
   * of its warp, and in `*valid` 1; its own bits and 0 where there is no such lane. */
  uint32_t (*shuffle)(shardrtGpuThread *self, uint32_t bits, uint32_t laneOrOffset, uint32_t width, uint32_t mode,
                      uint32_t *valid, uint32_t site);
  /* Comes before a load or store of `bytes` at `address`, which the code takes to be a multiple of `alignment`, through
   * the kernel's operand `operand` (reads, then writes) or SHARDRT_OPERAND_SHARED. Loads of the control block and of
   * constants are not announced. May not return where the access is an error. */
  void (*access)(shardrtGpuThread *self, uint32_t operand, const void *address, uint32_t bytes, uint32_t alignment,
                 uint32_t isWrite, uint32_t site);
} shardrtGpuHooks;

/* What a thread knows of itself; the runner may keep more behind it. */
struct shardrtGpuThread {
  const shardrtGpuHooks *hooks;
  void *shared; /* Kernel.launch.shared_bytes, aligned to 16 */
  uint32_t blockIdx, threadIdx, gridDim, blockDim;
};

/* Buffers are the pointers of operands: reads, then writes. */
typedef void (*shardrtEmulatedKernel)(void *const *buffers, const shardrtControl *control, shardrtGpuThread *self);

#endif
