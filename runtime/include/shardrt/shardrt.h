/* shardrt.h - the runtime's C interface
 *
 * Loads a plan, trains with it, and tells how it goes:
 *
 *     shardrtPlan *plan;        shardrtLoadPlan("plan", &plan);
 *     shardrtData *data;        shardrtOpenText(plan, "corpus.txt", &data);
 *     shardrtTrainerOptions o;  shardrtInitTrainerOptions(&o, sizeof(o));
 *     shardrtTrainer *trainer;  shardrtCreateTrainer(plan, data, &o, &trainer);
 *     shardrtStepMetrics m = {.size = sizeof(m)};
 *     while (!shardrtRunStep(trainer, &m)) …
 *
 * Functions that can fail return an error, null on success, which the caller frees. Nothing exits, nothing throws.
 * Handles are opaque, and freeing null does nothing. A trainer keeps what it needs of its plan and data: they may be
 * freed in any order; worlds come last. A handle is for one thread at a time. In structs that the caller fills, `size`
 * is the struct's size as the caller knows it, so that fields can be added at the end.
 */
#ifndef SHARDRT_SHARDRT_H
#define SHARDRT_SHARDRT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct shardrtError shardrtError;
typedef struct shardrtPlan shardrtPlan;
typedef struct shardrtData shardrtData;
typedef struct shardrtTrainer shardrtTrainer;

/* Errors. The text has `error: …` and `note: …` lines and belongs to the error. */
const char *shardrtGetErrorText(const shardrtError *error);
void shardrtFreeError(shardrtError *error);

/* Plans. Loading checks version and checksums, that this CPU can run the kernels, and verifies the plan. */
shardrtError *shardrtLoadPlan(const char *folder, shardrtPlan **plan);
void shardrtFreePlan(shardrtPlan *plan);

typedef struct shardrtPlanInfo {
  size_t size;
  int64_t ranks;
  int64_t globalBatch;  /* samples a step */
  int64_t microBatch;   /* samples a micro-batch and replica */
  int64_t microBatches; /* a step and replica */
  double learningRate;  /* before its schedule */
} shardrtPlanInfo;

shardrtError *shardrtGetPlanInfo(const shardrtPlan *plan, shardrtPlanInfo *info);

/* Several processes, each of them one rank of the plan, started by mpirun. All of them make the same calls in the same
 * order. A process that is alone has no world (null), and all ranks of a plan are its threads. */
typedef struct shardrtWorld shardrtWorld;

/* Connects with the processes that were started together with this one; null if there are none. A process that is
 * silent for `timeout` seconds is given up. */
shardrtError *shardrtConnect(double timeout, shardrtWorld **world);
/* Takes an error, or null, from every process. Null if all gave null. Else the first process that has an error gets it
 * back, and the others one without a text. Without a world, what was given. */
shardrtError *shardrtAgree(shardrtWorld *world, shardrtError *error);
/* Whether any process says so. */
shardrtError *shardrtAgreeOnAny(shardrtWorld *world, int32_t mine, int32_t *any);
/* Gives each process its rank of the plan. */
shardrtError *shardrtAssignRanks(shardrtWorld *world, const shardrtPlan *plan);
/* Whether this process writes files and tells how it goes: it has rank 0, or there is no world. */
int32_t shardrtIsPrimary(const shardrtWorld *world);
/* Which rank runs where, a line each, without the last line break; belongs to the world. */
const char *shardrtGetPlacement(const shardrtWorld *world);
/* What a signal handler may call when a launcher asks for the end: a process that is silent then is given up soon. */
void shardrtNoteTermination(void);
/* Leaves in good order, with all others; after shardrtFail it ends all of them. Trainers must have been freed. */
void shardrtFail(shardrtWorld *world);
void shardrtDisconnect(shardrtWorld *world);

/* Data: the bytes of a text as tokens; one .npy file for each model input; or random samples. */
shardrtError *shardrtOpenText(const shardrtPlan *plan, const char *path, shardrtData **data);
shardrtError *shardrtOpenArrays(const shardrtPlan *plan, const char *const *names, const char *const *paths,
                                size_t count, shardrtData **data);
shardrtError *shardrtMakeSynthetic(const shardrtPlan *plan, uint64_t seed, shardrtData **data);
int64_t shardrtGetSampleCount(const shardrtData *data);
/* What to tell about the data, lines without the last line break; belongs to the data. */
const char *shardrtGetDataRemarks(const shardrtData *data);
void shardrtFreeData(shardrtData *data);

/* Training. */
typedef struct shardrtTrainerOptions {
  size_t size;
  uint64_t seed;
  int64_t steps; /* of the whole run, for learning-rate schedules that end with it */
  int32_t threadsPerRank;
  int32_t shuffles;     /* 0: samples in file order */
  int32_t poisons;      /* memory that nobody may read is filled with signalling NaN */
  double learningRate;  /* instead of the plan's; NaN: the plan's */
  int32_t checksFinite; /* a step without finite loss or gradient is an error that names its first NaN or infinity */
  int32_t emulates;     /* the kernels of a plan for CUDA run in the emulator, in an order drawn by the seed */
} shardrtTrainerOptions;

/* Sets the defaults. */
void shardrtInitTrainerOptions(shardrtTrainerOptions *options, size_t size);

typedef struct shardrtStepMetrics {
  size_t size;
  int64_t step; /* steps done */
  double loss;  /* mean; NaN if the plan computes none, as all that follow */
  double gradientNorm;
  double learningRate;
  double lossWeight;
  double gradientScale; /* of the gradient buffers, to the mean gradient */
  int32_t skipped;      /* the update was left out */
  double lossScale;     /* that the step ran with */
} shardrtStepMetrics;

/* The loss over all of an evaluation's data. */
typedef struct shardrtEvaluation {
  size_t size;
  double loss;     /* mean over all that counts */
  int64_t samples; /* that it is the mean of */
  int64_t dropped; /* samples left over, where a batch cannot be padded */
} shardrtEvaluation;

/* Allocates all memory, reads the weights, and starts a thread for each rank. Without data (null) the trainer only
 * evaluates. With a world (else null) it runs the rank of this process. */
shardrtError *shardrtCreateTrainer(const shardrtPlan *plan, const shardrtData *data,
                                   const shardrtTrainerOptions *options, shardrtWorld *world, shardrtTrainer **trainer);
/* Runs one step on all ranks. After an error no further step can run. */
shardrtError *shardrtRunStep(shardrtTrainer *trainer, shardrtStepMetrics *metrics);
/* The loss of the parameters as they are, without dropout. Training goes on afterwards as if nothing had been. */
shardrtError *shardrtEvaluate(shardrtTrainer *trainer, const shardrtData *data, shardrtEvaluation *evaluation);
/* Bytes allocated for a rank's arena, and beside it for matrix products; -1 if there is no such rank here. */
int64_t shardrtGetArenaBytes(const shardrtTrainer *trainer, int64_t rank);
int64_t shardrtGetWorkspaceBytes(const shardrtTrainer *trainer, int64_t rank);
/* What to tell about how the plan runs on this machine, a line without a break, or empty; belongs to the trainer. */
const char *shardrtGetTrainerRemarks(const shardrtTrainer *trainer);
/* Steps of an epoch, and samples that are left over and dropped in each. */
int64_t shardrtGetStepsPerEpoch(const shardrtTrainer *trainer);
int64_t shardrtGetDroppedSamples(const shardrtTrainer *trainer);
/* Writes the last step's mean gradients (reduced, before clipping), or the parameters: by name, in global shapes, f32,
 * as safetensors. With a world the primary process writes them, and all call it. */
shardrtError *shardrtDumpGradients(const shardrtTrainer *trainer, const char *path);
shardrtError *shardrtDumpParameters(const shardrtTrainer *trainer, const char *path);
/* Whether a file could be written there: for asking before training what a dump would find out after it. */
shardrtError *shardrtCheckWritable(const char *path);
void shardrtFreeTrainer(shardrtTrainer *trainer);

#ifdef __cplusplus
}
#endif

#endif
