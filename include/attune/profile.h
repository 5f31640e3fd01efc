/* Runs profilers, programs that time operations and print the result, one at a time on each device,
 * for programs that make the commands themselves. `attune profile` does it with a file of commands
 * (docs/profile.md).
 *
 * Needs no run time. Thread-safe, but for attune_profile_destroy. A runner belongs to the process
 * that made it.
 */
#ifndef ATTUNE_PROFILE_H_
#define ATTUNE_PROFILE_H_

#include "attune/attune.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct attune_profile_runner attune_profile_runner;

typedef struct attune_profile_terms {
  size_t struct_size;
  int64_t deadline_ns;      /* Limit of each run: past it, it is killed with all that it has
                             * started. */
  int64_t max_output_bytes; /* Limit on the bytes read of each output. */
  int32_t attempts;         /* Runs of a command that does not start, dies or fails. */
  int32_t faults_to_retire; /* A device on which so many commands in a row died or took too long
                               gets no more, unless it is the last one. */
  int32_t any_output;       /* 1: a program that ends with 0 is done, with any output. */
  int32_t reserved;
  /* A file (docs/formats/profile_results.md), to which each outcome is written, durable, before
   * its callback; commands that it lists as done are not run again. Null: none. */
  const char* journal;
} attune_profile_terms;

#define ATTUNE_PROFILE_TERMS_INIT \
  { sizeof(attune_profile_terms), 30000000000, 4194304, 3, 3, 0, 0, NULL }

/* Texts are copied. */
typedef struct attune_profile_command {
  size_t struct_size;
  const char* const* words; /* The program, which PATH may know, and its arguments. */
  size_t word_count;
  const char* const* variables; /* "NAME=VALUE", beside those of this process. */
  size_t variable_count;
  const char* folder; /* Working folder; null: that of this process. */
} attune_profile_command;

#define ATTUNE_PROFILE_COMMAND_INIT \
  { sizeof(attune_profile_command), NULL, 0, NULL, 0, NULL }

typedef enum attune_profile_fate {
  ATTUNE_PROFILE_DONE = 0,        /* It ended well and printed all required output. */
  ATTUNE_PROFILE_NOT_STARTED = 1, /* The program is missing, or it cannot be started. */
  ATTUNE_PROFILE_EXIT_STATUS = 2, /* It ended with another status than 0. */
  ATTUNE_PROFILE_SIGNALLED = 3,   /* It died of a signal. */
  ATTUNE_PROFILE_TIMED_OUT = 4,   /* It was killed at its deadline. */
  ATTUNE_PROFILE_NO_RESULT = 5,   /* It ended well and printed no time, or an invalid one. */
  ATTUNE_PROFILE_STOPPED = 6,     /* It was killed, or never run, because the runner was stopped. */
  ATTUNE_PROFILE_REFUSED = 7      /* Its device could not be had. */
} attune_profile_fate;

typedef struct attune_profile_op {
  const char* name;        /* Empty where the program names none. */
  double time_ms;          /* The median of `samples` times. */
  int64_t workspace_bytes; /* Maximum over its samples. */
  int64_t samples;
} attune_profile_op;

/* Borrowed for the call of the callback. */
typedef struct attune_profile_outcome {
  size_t struct_size;
  int32_t fate;        /* attune_profile_fate */
  int32_t number;      /* The exit status or the signal. */
  int32_t attempts;    /* How often it was run. */
  int32_t is_resumed;  /* 1: it was done before, as the journal says. */
  int64_t wall_ns;     /* Duration of its last run. */
  const char* message; /* Why it is not done; empty if it is. */
  const char* device;  /* Device of its last run; empty if none. */
  const char* out;     /* Standard output and error of its last run, which may hold any bytes; */
  size_t out_bytes;    /* nothing of one that was done before. */
  const char* log;
  size_t log_bytes;
  const attune_profile_op* ops; /* Only if done. */
  size_t op_count;
} attune_profile_outcome;

/* Called once for every command that was pushed, by a thread of the runner, never two at the same
 * time. May push; may neither join nor destroy, nor throw. Another number than 0 is reported by the
 * join. */
typedef int (*attune_profile_callback)(void* user, const attune_profile_outcome* outcome);
/* Called by the thread that joins. May not throw. */
typedef int (*attune_profile_postprocess)(void* user);

/* `devices`: ordinals or vendors' names, each once, at least one. For each run CUDA_VISIBLE_DEVICES
 * and HIP_VISIBLE_DEVICES name its device alone; ordinals count among those that this process may
 * see. A device has one lock for everything that attune measures on it, in every process. Null
 * `terms` are those of ATTUNE_PROFILE_TERMS_INIT.
 *
 * ATTUNE_INVALID_ARGUMENT for invalid terms or devices, ATTUNE_NOT_FOUND for an ordinal that
 * this process may not see, ATTUNE_FAILED_PRECONDITION while another process writes the journal,
 * ATTUNE_DATA_LOSS for a file that is no journal. */
ATTUNE_API attune_code attune_profile_create(const char* const* devices, size_t device_count,
                                             const attune_profile_terms* terms,
                                             attune_profile_runner** out);
/* `callback` may be null. ATTUNE_INVALID_ARGUMENT for a command without words. */
ATTUNE_API attune_code attune_profile_push(attune_profile_runner* runner,
                                           const attune_profile_command* command,
                                           attune_profile_callback callback, void* user);
/* Waits until every command has had its callback, then calls `postprocess` (may be null) once. More
 * may be pushed afterwards. `complaints` (may be null) gets, for attune_free, a line for each
 * callback since the last join that returned another number than 0, and for the postprocessing.
 * Fails if outcomes could not be written to the journal; from there on commands are stopped. */
ATTUNE_API attune_code attune_profile_join(attune_profile_runner* runner,
                                           attune_profile_postprocess postprocess, void* user,
                                           char** complaints);
/* Why `device` gets no more commands, as of the last join, for attune_free; null if it does. */
ATTUNE_API attune_code attune_profile_retired(attune_profile_runner* runner, const char* device,
                                              char** reason);
/* Kills running commands. Waiting commands, and those that are pushed from now on, are stopped;
 * callbacks are still called. */
ATTUNE_API void attune_profile_stop(attune_profile_runner* runner);
/* Stops and waits for the callbacks. Null is fine. */
ATTUNE_API void attune_profile_destroy(attune_profile_runner* runner);

#ifdef __cplusplus
}
#endif

#endif /* ATTUNE_PROFILE_H_ */
