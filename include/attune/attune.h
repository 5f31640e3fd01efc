/* attune at run time: the fastest known implementation of an operator for a shape, served at once.
 *
 * The C interface of libattune.so. attune.hpp is the same for C++. Everything here is thread-safe
 * unless it says otherwise. A function that can fail returns an attune_code; the sentence that
 * explains the last failure of the calling thread is attune_last_message().
 *
 * Stability: functions and fields are only ever added. Structs that may grow begin with
 * struct_size, which the caller sets to sizeof; their initialisers below do. Fields left 0 have
 * their default.
 *
 * Wrong arguments: a null, a number or a text that means nothing, and an impossible struct_size
 * return ATTUNE_INVALID_ARGUMENT. A call that fails sets its output (a handle, a text) to null. As
 * in C, no check finds an array shorter than its count, host memory smaller than an operand, or a
 * handle that was destroyed. Destroy a run time, a plan, a kernel and a runner once, on one thread,
 * after its last use.
 */
#ifndef ATTUNE_ATTUNE_H_
#define ATTUNE_ATTUNE_H_

#include <stddef.h>
#include <stdint.h>

#define ATTUNE_API_VERSION 1

#if defined(__GNUC__)
#define ATTUNE_API __attribute__((visibility("default")))
#else
#define ATTUNE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum attune_code {
  ATTUNE_OK = 0,
  ATTUNE_INVALID_ARGUMENT = 1, /* The caller's value is wrong. */
  ATTUNE_NOT_FOUND = 2,        /* The named thing does not exist. */
  ATTUNE_UNSUPPORTED = 3,      /* Nothing here can compute this. */
  ATTUNE_UNAVAILABLE = 4,      /* A library, driver or database cannot be used now, or the choice is
                                  still being compiled. */
  ATTUNE_FAILED_PRECONDITION = 5,
  ATTUNE_RESOURCE_EXHAUSTED = 6, /* Memory, disk or a limit ran out. */
  ATTUNE_DEADLINE_EXCEEDED = 7,
  ATTUNE_DATA_LOSS = 8, /* Stored bytes are corrupt or invalid. */
  ATTUNE_INTERNAL = 9
} attune_code;

/* The API version of the library that is loaded. */
ATTUNE_API int attune_api_version(void);
/* The release of the library that is loaded, as "0.1.0". */
ATTUNE_API const char* attune_version(void);
/* Room for any message, with the 0 at its end; longer messages are cut between two characters. */
#define ATTUNE_MESSAGE_BYTES 8192
/* The message of this thread's last failed call; valid until its next call that fails. UTF-8.
 * Calls may fail, and this may be called, until the thread or the program has ended: in atexit
 * handlers and static destructors, too. */
ATTUNE_API const char* attune_last_message(void);

/* ---- problems -------------------------------------------------------------------------------- */

typedef enum attune_type {
  ATTUNE_F32 = 0,
  ATTUNE_F64 = 1,
  ATTUNE_F16 = 2,
  ATTUNE_BF16 = 3,
  /* The type of A and B; C and the bias are int32_t. attune_gemm only. alpha and beta must be whole
   * numbers that fit int32_t. Elements of the result that fit int32_t are exact; others are
   * unspecified. */
  ATTUNE_I8 = 4
} attune_type;

/* Permitted conversions of f32 inputs before they are multiplied. */
typedef enum attune_math { ATTUNE_STRICT = 0, ATTUNE_TF32 = 1, ATTUNE_BF16_MATH = 2 } attune_math;

typedef enum attune_bias {
  ATTUNE_BIAS_NONE = 0,
  ATTUNE_BIAS_PER_ROW = 1,
  ATTUNE_BIAS_PER_COLUMN = 2
} attune_bias;

typedef enum attune_activation {
  ATTUNE_ACTIVATION_NONE = 0,
  ATTUNE_RELU = 1,
  ATTUNE_GELU = 2, /* The erf form. */
  ATTUNE_TANH = 3,
  ATTUNE_SIGMOID = 4
} attune_activation;

/* C = activation(alpha * op(A) * op(B) + beta * C + bias), stored column-major as in BLAS: element
 * (i, j) of a matrix with leading dimension ld is at i + j * ld. A row-major caller computes the
 * transposed product: swap A with B and m with n. alpha and beta are arguments of the call. */
typedef struct attune_gemm {
  int64_t m, n, k;                      /* C is m x n, op(A) is m x k. */
  int64_t lda, ldb, ldc;                /* In elements; 0: packed. */
  int64_t batch_count;                  /* 0 counts as 1. */
  int64_t stride_a, stride_b, stride_c; /* Elements from one matrix of the batch to the next; A, B:
                                           0 shares one matrix; C: 0 is packed. */
  int32_t trans_a, trans_b;             /* 0 or 1. */
  int32_t type;                         /* attune_type of A, B and C (but see ATTUNE_I8). */
  int32_t bias;                         /* attune_bias */
  int32_t activation;                   /* attune_activation */
  int32_t deterministic;                /* 1: two runs must agree bit for bit. */
  int32_t alignment_bytes; /* Alignment of every operand, a power of two; 0: that of an element. */
  int32_t math;            /* attune_math, f32 only. */
} attune_gemm;

typedef enum attune_direction {
  ATTUNE_FORWARD = 0,         /* y = conv(x, w) */
  ATTUNE_BACKWARD_DATA = 1,   /* dx from dy and w */
  ATTUNE_BACKWARD_WEIGHTS = 2 /* dw from x and dy */
} attune_direction;

typedef enum attune_layout {
  ATTUNE_NCHW = 0,
  ATTUNE_NHWC = 1,
  ATTUNE_NCDHW = 2,
  ATTUNE_NDHWC = 3
} attune_layout;

/* Convolution as in deep learning (cross-correlation). Spatial fields are depth, height, width; 2-D
 * leaves depth 0. Zeros count as 1 in batch, channels, groups, extents, strides and dilations. */
typedef struct attune_conv {
  int64_t batch, in_channels, out_channels, groups;
  int64_t in[3], filter[3], pad[3], stride[3], dilation[3];
  int32_t direction;                             /* attune_direction */
  int32_t spatial_rank;                          /* 2 (or 0) or 3. */
  int32_t in_layout, weights_layout, out_layout; /* attune_layout */
  int32_t type;                                  /* attune_type */
  int32_t bias; /* 1: one value for each output channel is added; forward only. */
  int32_t deterministic;
  int32_t alignment_bytes; /* 0: that of an element. */
  int32_t math;            /* attune_math, f32 only. */
} attune_conv;

/* ---- run times ------------------------------------------------------------------------------- */

typedef struct attune_runtime attune_runtime;

/* How to serve a shape without a valid record. Nothing is timed in the calling thread but under
 * ATTUNE_INLINE, and nothing is compiled there but under ATTUNE_INLINE, in a deterministic run
 * time, and for a choice of ATTUNE_FORCE: while nothing of a device is compiled yet, the
 * processor computes on copies of the operands. */
typedef enum attune_policy {
  ATTUNE_POLICY_DEFAULT = 0, /* ATTUNE_POLICY of the environment, else ATTUNE_DEFERRED. */
  ATTUNE_NEVER = 1,          /* Serve the best that is known, and nothing else. */
  ATTUNE_RECORD = 2,         /* And add the problem to the tag of records, for later tuning. It is
                                in a file beside the database after 0.1 s. The next attune command
                                that opens the database imports it. */
  ATTUNE_DEFERRED = 3, /* And tune it in a helper process; the plan is swapped when it is done. */
  ATTUNE_INLINE = 4    /* Tune first, then serve: this call waits. */
} attune_policy;

/* Candidates that may serve or be tuned. */
typedef enum attune_scope {
  ATTUNE_SCOPE_DEFAULT = 0, /* The preset's scope, else all. */
  ATTUNE_SCOPE_DYNAMIC = 1, /* Those with one build for every size. */
  ATTUNE_SCOPE_LOADED = 2,  /* Those that need no build now. */
  ATTUNE_SCOPE_ALL = 3
} attune_scope;

/* Takes one line for the user, without a newline. Any thread can call it, also at exit. It must not
 * throw or call attune. */
typedef void (*attune_message)(void* context, const char* line);

/* Returns the number of threads that a call may use now; 0 or less: no limit. Any thread can call
 * it, and several at the same time. It must be fast, and must not throw or call attune. */
typedef int32_t (*attune_thread_limit)(void* context);

typedef struct attune_options {
  size_t struct_size;
  const char* device;   /* "cpu", "opencl:0"; null: ATTUNE_DEVICE, else "cpu". */
  const char* database; /* Null: ATTUNE_DB, else the user's. "" for none. */
  /* Read-only packages beneath it, separated by ':'. Null: ATTUNE_PACKAGES. */
  const char* packages;
  attune_policy policy;
  attune_scope scope;
  /* A find mode of MIOpen ("fast", "dynamic_hybrid"), which sets both. Null: none. */
  const char* preset;
  const char* record_tag;   /* Tag of recorded problems; null: "recorded". */
  int64_t max_plans;        /* Shapes kept ready; 0: 4096. */
  int64_t tuning_budget_ms; /* Background tuning of this run time, all in all; 0: no bound. */
  int64_t per_problem_ms;   /* Limit for one problem within it; 0: 2000. */
  double tuning_cpu_share; /* Processor time of tuning, on all cores together, as a part of one core
                              on average, (0, 1]; 0: 1. */
  int32_t deterministic;   /* 1: the choice for a shape never changes in this run time. */
  /* 1: a call is served only by a candidate that was measured to be better than the default
   * (here, on a compatible target or for the nearest tuned problem) or is forced; any other call
   * computes nothing and returns ATTUNE_NOT_FOUND, for callers that have an implementation of
   * their own. */
  int32_t known_only;
  /* The effect of a process limit (threads, memory, open files) that rules out the best candidate.
   * 1: the call computes nothing and returns ATTUNE_RESOURCE_EXHAUSTED, for callers with their own
   * BLAS. 0: another candidate computes, perhaps on one thread and instead of a forced one. */
  int32_t yields;
  /* 1: only solvers that follow IEEE 754 for NaN, infinity (0 times either is NaN) and denormal
   * numbers compute products, even if other solvers are faster. A solver named in
   * ATTUNE_FORCE is exempt. 0: ATTUNE_IEEE_SPECIAL_VALUES decides; by default any solver serves. */
  int32_t ieee_special_values;
  /* Receives the summary of ATTUNE_SUMMARY, and warnings of an unusable database and of lost
   * records, each once per tree of processes. Null: standard error, unless it was replaced. */
  attune_message message;
  void* message_context;
  /* For programs that change their number of threads while they run. Called when the run time is
   * created, which never uses more threads of the processor than that, and by calls that would use
   * several or meet a new problem. If it allows fewer then, `yields` decides. Null: the environment
   * and the processors of the process alone limit the threads. */
  attune_thread_limit thread_limit;
  void* thread_limit_context;
} attune_options;
#define ATTUNE_OPTIONS_INIT                                                                      \
  {                                                                                              \
    sizeof(attune_options), NULL, NULL, NULL, ATTUNE_POLICY_DEFAULT, ATTUNE_SCOPE_DEFAULT, NULL, \
        NULL, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL                                     \
  }

/* Maps the index of the database. If there is a database, and unless the run time is deterministic,
 * a thread is started that opens it and looks for newer records; other threads start when there is
 * something to do. Nothing is written before there is something to write. `options` may be null.
 * After a fork() the child may go on calling, plans included: its first call makes a run time of
 * its own with the same options and switches, counters at 0 and no listener, which uses no thread
 * that stayed in the parent. On devices other than the processor such a call fails with
 * ATTUNE_FAILED_PRECONDITION. ATTUNE_UNAVAILABLE if functions that the program exports replace a
 * part of a library of attune's, such as SQLite. ATTUNE_FAILED_PRECONDITION once the exit of the
 * process has begun. */
ATTUNE_API attune_code attune_runtime_create(const attune_options* options, attune_runtime** out);
/* Ends the background, which takes a second at most unless the database is locked or a kernel is
 * being compiled; plans must be released before. If a program exits without this call, the
 * background still ends; a run time that is destroyed after that keeps its memory. With
 * ATTUNE_SUMMARY=1 in the environment at creation, one line about the calls served goes to
 * standard error, then or at the exit. Null is fine. */
ATTUNE_API void attune_runtime_destroy(attune_runtime* runtime);

/* ---- calls ----------------------------------------------------------------------------------- */

/* The operands of a call. The device determines what a, b, bias, c and workspace point to:
 *
 *   cpu       addresses of host memory.
 *   opencl:N  cl_mem of clCreateBuffer or clCreateSubBuffer, of any context of the program that has
 *             the device. All else returns ATTUNE_INVALID_ARGUMENT: host memory, shared virtual
 *             memory, another platform, too few bytes, CL_MEM_READ_ONLY for an output. Drivers
 *             other than PoCL may refuse contexts of the program.
 *   cuda:N    addresses that the device can use: CUdeviceptr, managed or pinned memory. attune does
 *             not check them: pageable host memory is a fault of the device, as in CUDA.
 *
 * Operands start at multiples of alignment_bytes of the problem. gemm and conv do not check it, and
 * misaligned operands are undefined behaviour; attune_run returns ATTUNE_INVALID_ARGUMENT. If c
 * overlaps another operand, the result is unspecified. ATTUNE_I8 refuses a NaN or infinite alpha or
 * beta. Other types accept them, and implementations differ in the elements that become NaN. */
typedef struct attune_arguments {
  size_t struct_size;
  const void* a;      /* gemm: A.  conv forward: x,  backward data: dy, backward weights: x. */
  const void* b;      /* gemm: B.  conv forward: w,  backward data: w,  backward weights: dy. */
  const void* bias;   /* Null unless the problem has one. */
  void* c;            /* gemm: C.  conv forward: y,  backward data: dx, backward weights: dw. */
  double alpha, beta; /* gemm only; ATTUNE_ARGUMENTS_INIT has 1 and 0. */
  /* Null: the run time keeps memory for this thread. Else memory like that of operands, preferably
   * aligned to 64 bytes, for the best candidate that needs at most workspace_bytes. If none does,
   * the message of ATTUNE_RESOURCE_EXHAUSTED names the minimum. */
  void* workspace;
  size_t workspace_bytes;
  /* CUDA: the CUstream to enqueue on; the legacy default stream is CU_STREAM_LEGACY. While it is
   * captured, the call becomes part of the graph, nothing is tuned for it, and everything that
   * the graph uses stays as long as the graph, or the run time. Null: a queue of the run time.
   * Other devices take only null. */
  void* queue;
} attune_arguments;
#define ATTUNE_ARGUMENTS_INIT \
  { sizeof(attune_arguments), NULL, NULL, NULL, NULL, 1, 0, NULL, 0, NULL }

/* Computes with the best candidate for this shape now. The first call of a shape looks for it,
 * later ones find it without a lock or an allocation. */
ATTUNE_API attune_code attune_run_gemm(attune_runtime* runtime, const attune_gemm* gemm,
                                       const attune_arguments* arguments);
ATTUNE_API attune_code attune_run_conv(attune_runtime* runtime, const attune_conv* conv,
                                       const attune_arguments* arguments);

/* Returns when everything that this run time has launched on its device is complete. A call returns
 * earlier where a device works on its own: operands that the program reads, or gives to another
 * queue, are ready after this. On the processor they always are. */
ATTUNE_API attune_code attune_synchronize(attune_runtime* runtime);

/* Gives back a text that a function gave out. Null is fine. */
ATTUNE_API void attune_free(void* memory);

#ifdef __cplusplus
}
#endif

#include "attune/observe.h"
#include "attune/plans.h"
#include "attune/questions.h"

#endif /* ATTUNE_ATTUNE_H_ */
