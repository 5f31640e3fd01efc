/* A kernel of the program's own: opened from a kernel file, tuned for the sizes that matter, and
 * for every size that comes the config, the source and the launch that are best there
 * (docs/serving.md).
 *
 * attune compiles, checks and times the kernel in processes of its own; the program compiles the
 * source that it is given and launches it itself, on memory and queues of its own. kernels.hpp is
 * the same for C++, and writes kernel files, too.
 *
 * A handle is used by one thread at a time, and not in a child after fork().
 */
#ifndef ATTUNE_KERNELS_H_
#define ATTUNE_KERNELS_H_

#include "attune/attune.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct attune_kernel attune_kernel;

typedef struct attune_kernel_options {
  size_t struct_size;
  const char* device;   /* "opencl:0", "cuda:1"; null: the first of the kernel's language. */
  const char* database; /* null: ATTUNE_DB, else the usual one. */
  int64_t per_size_ns;  /* Time of one tuning; 0: 3 s. */
  uint64_t seed;        /* Seed of data, order and search; 0: 1. */
  /* For how long attune_kernel_choose waits for configs of near sizes to be checked, before the
   * default serves meanwhile; 0: 2 s, below 0: not at all. */
  int64_t check_wait_ns;
} attune_kernel_options;

#define ATTUNE_KERNEL_OPTIONS_INIT \
  { sizeof(attune_kernel_options), NULL, NULL, 0, 0, 0 }

/* m=4096. */
typedef struct attune_kernel_size {
  const char* name;
  int64_t value;
} attune_kernel_size;

typedef enum attune_kernel_source_of_choice {
  ATTUNE_KERNEL_EXACT = 0,   /* That size was tuned. */
  ATTUNE_KERNEL_NEAREST = 1, /* A near one was; its config launched and was right here, too. */
  /* No near one has a config that is, or they are still being checked (pending): the author's
   * default, unchecked. */
  ATTUNE_KERNEL_DEFAULT = 2
} attune_kernel_source_of_choice;

typedef struct attune_kernel_parameter {
  const char* name;
  const char* value;
} attune_kernel_parameter;

/* The value of a size or a parameter, as a constraint reads it. */
typedef enum attune_kernel_value_kind {
  ATTUNE_KERNEL_INTEGER = 0,
  ATTUNE_KERNEL_REAL = 1,
  ATTUNE_KERNEL_NAME = 2 /* A name in C: "float". */
} attune_kernel_value_kind;

typedef struct attune_kernel_value {
  const char* name;
  const char* text; /* As in attune_kernel_parameter, for every kind. */
  int64_t integer;  /* 0 of other kinds. */
  double real;      /* Also for an integer; 0 for a name. */
  int32_t kind;     /* attune_kernel_value_kind */
  int32_t reserved;
} attune_kernel_value;

/* Above 0: the constraint holds; 0: it does not; below 0: it cannot say, which fails the call. The
 * values are in the order of `names`, and gone when it returns. */
typedef int32_t (*attune_kernel_predicate)(const attune_kernel_value* values, void* user);

/* A constraint that is a function of the program. */
typedef struct attune_kernel_constraint {
  size_t struct_size;
  const char* text;         /* For messages; copied, as the names are. */
  const char* const* names; /* Sizes and parameters that it reads. */
  size_t name_count;
  attune_kernel_predicate holds;
  void* user; /* Passed to `holds`; stays until the kernel is closed. */
} attune_kernel_constraint;

#define ATTUNE_KERNEL_CONSTRAINT_INIT \
  { sizeof(attune_kernel_constraint), NULL, NULL, 0, NULL, NULL }

/* One of the launches, which follow each other in order. */
typedef struct attune_kernel_geometry {
  const char* function; /* For a template the argument of nvrtcAddNameExpression. */
  int32_t dimensions;   /* Number of entries of `local` and `groups` that count; the others are
                         * 1. */
  int32_t reserved;
  uint64_t local[3];     /* Work-items of a work-group. */
  uint64_t groups[3];    /* Work-groups. */
  uint64_t shared_bytes; /* Dynamic shared memory; CUDA alone. */
} attune_kernel_geometry;

typedef struct attune_kernel_choice {
  size_t struct_size; /* As the library knows it. */
  int32_t served_by;  /* attune_kernel_source_of_choice */
  int32_t reserved;
  const char* config; /* "BLOCK=16,VECTOR=4". */
  const attune_kernel_parameter* parameters;
  size_t parameter_count;
  const char* source;  /* The compiler's input: macros of sizes and parameters first. Empty for a
                        * kernel that is a binary, which is not compiled. */
  const char* options; /* Compiler options, separated by blanks. */
  const attune_kernel_geometry* launches;
  size_t launch_count;
  uint64_t workspace_bytes;
  double time_ns;         /* Time of one round of launches, measured for this size; 0 unless
                           * exact. */
  double default_time_ns; /* The same for the author's default, measured beside it. */
  int64_t pending;        /* 1: configs of near sizes are being checked; ask again. */
} attune_kernel_choice;

/* Opens the kernel of `file` on a device. Puts the file in front of ATTUNE_KERNEL_PATH of this
 * process, so that processes that attune starts find it, and sets OMP_WAIT_POLICY, OMP_PROC_BIND
 * and OPENBLAS_THREAD_TIMEOUT as a run time does (docs/serving.md): call it before other threads
 * read the environment. Null `options` are the defaults.
 *
 * ATTUNE_INVALID_ARGUMENT with file and line for a file that is no kernel of the operator
 * `kernel`, ATTUNE_UNSUPPORTED for a device that runs no kernels ("cpu"), with those that do,
 * ATTUNE_NOT_FOUND for a missing device. */
ATTUNE_API attune_code attune_kernel_open(const char* file, const attune_kernel_options* options,
                                          attune_kernel** kernel);
/* Its choices become invalid. Null is ignored. */
ATTUNE_API void attune_kernel_close(attune_kernel* kernel);

/* From now on, with this handle, only configs that the constraint allows are tried and served, and
 * the default is the first of these, in the order of the file. `holds` is called with parameters
 * and the sizes of the call, in attune_kernel_tune and attune_kernel_choose, by the calling thread,
 * and must return the same for the same values each time.
 *
 * A function is in no file and no record, and is sent to no process: worker processes, the verbs
 * and other programs do not know it. A config that won under it is recorded as any other config of
 * the kernel and serves them, too. Configs that were recorded without it serve here if it allows
 * them. A constraint that can be written as a text belongs into the kernel file.
 *
 * ATTUNE_INVALID_ARGUMENT for a name that is neither a size nor a parameter. */
ATTUNE_API attune_code attune_kernel_constrain(attune_kernel* kernel,
                                               const attune_kernel_constraint* constraint);

/* Tunes for these sizes, unless the database has a result for them that holds here and now. Omitted
 * sizes have their usual value. No other process should use the device meanwhile. A config that
 * crashes, hangs or is wrong costs itself alone.
 *
 * ATTUNE_INVALID_ARGUMENT for a size that the kernel lacks, or if constraints leave no config or
 * cannot be evaluated; ATTUNE_UNAVAILABLE if no config could be timed, ATTUNE_NOT_FOUND without
 * attune-evaluator, which is installed beside. */
ATTUNE_API attune_code attune_kernel_tune(attune_kernel* kernel, const attune_kernel_size* sizes,
                                          size_t size_count);

/* The best config for these sizes. At the first call with a size that was not tuned, the config of
 * the nearest one is compiled and checked on it, in a separate process: one that crashes or hangs
 * is passed over, up to four. A config hangs if it takes a hundred times as long as measurements of
 * near sizes predict, after 5 to 20 s. This waits for check_wait_ns; after that the checks continue
 * in the background, on a thread of attune's, and the choice is the default and has `pending` set
 * until they have ended. Then it is looked up. `choice` is valid until the next call with this
 * kernel. attune_kernel_tune and attune_kernel_close end checks.
 *
 * ATTUNE_INVALID_ARGUMENT for a size that the kernel lacks, ATTUNE_NOT_FOUND without
 * attune-evaluator if there is something to check. */
ATTUNE_API attune_code attune_kernel_choose(attune_kernel* kernel, const attune_kernel_size* sizes,
                                            size_t size_count, const attune_kernel_choice** choice);

#ifdef __cplusplus
}
#endif

#endif /* ATTUNE_KERNELS_H_ */
