/* Everything that PyTorch's TunableOp does, on a run time of attune: results in a CSV file that
 * people can read and edit, problems recorded to be tuned off line, dynamic dimensions.
 *
 * Each function has an environment variable ATTUNE_TUNABLE_* beside it, which wins:
 * ATTUNE_FAILED_PRECONDITION says so and changes nothing. docs/tunableop.md has both tables.
 * Everything is switched off until attune_tunable_enable(runtime, 1) or ATTUNE_TUNABLE_ENABLED=1.
 * Thread-safe. Texts that are given out have to be given back with attune_free.
 */
#ifndef ATTUNE_TUNABLE_H_
#define ATTUNE_TUNABLE_H_

#include "attune/attune.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- switches -----------------------------------------------------------------------------------
 */

/* Switches for serving results, tuning misses and recording misses. ENABLED=1, TUNING=0 and
 * RECORD_UNTUNED=1 of the environment cannot be taken back. A miss is recorded only while tuning
 * is off. */
ATTUNE_API attune_code attune_tunable_enable(attune_runtime* runtime, int enable);
ATTUNE_API int attune_tunable_is_enabled(attune_runtime* runtime);
ATTUNE_API attune_code attune_tunable_tuning_enable(attune_runtime* runtime, int enable);
ATTUNE_API int attune_tunable_tuning_is_enabled(attune_runtime* runtime);
ATTUNE_API attune_code attune_tunable_record_untuned_enable(attune_runtime* runtime, int enable);
ATTUNE_API int attune_tunable_record_untuned_is_enabled(attune_runtime* runtime);
ATTUNE_API attune_code attune_tunable_wildcard_fallback_enable(attune_runtime* runtime, int enable);
ATTUNE_API int attune_tunable_wildcard_fallback_is_enabled(attune_runtime* runtime);
/* Kept, and without effect: no device here has to flush it. */
ATTUNE_API attune_code attune_tunable_icache_flush_enable(attune_runtime* runtime, int enable);
ATTUNE_API int attune_tunable_icache_flush_is_enabled(attune_runtime* runtime);
/* Includes candidates of a library ("openblas") in tuning, or excludes them.
 * ATTUNE_INVALID_ARGUMENT if no solver of the device runs its code. */
ATTUNE_API attune_code attune_tunable_library_enable(attune_runtime* runtime, const char* library,
                                                     int enable);
ATTUNE_API int attune_tunable_library_is_enabled(attune_runtime* runtime, const char* library);

/* ---- limits of tuning ---------------------------------------------------------------------------
 */

/* Limits for one candidate; 0 is no limit, negative values count as 0. If neither limit is on, a
 * candidate is timed 100 times; it always is timed once. */
ATTUNE_API attune_code attune_tunable_set_max_tuning_duration(attune_runtime* runtime,
                                                              int64_t duration_ms);
ATTUNE_API int64_t attune_tunable_get_max_tuning_duration(attune_runtime* runtime);
ATTUNE_API attune_code attune_tunable_set_max_tuning_iterations(attune_runtime* runtime,
                                                                int64_t iterations);
ATTUNE_API int64_t attune_tunable_get_max_tuning_iterations(attune_runtime* runtime);
ATTUNE_API attune_code attune_tunable_set_max_warmup_duration(attune_runtime* runtime,
                                                              int64_t duration_ms);
ATTUNE_API int64_t attune_tunable_get_max_warmup_duration(attune_runtime* runtime);
ATTUNE_API attune_code attune_tunable_set_max_warmup_iterations(attune_runtime* runtime,
                                                                int64_t iterations);
ATTUNE_API int64_t attune_tunable_get_max_warmup_iterations(attune_runtime* runtime);
/* How many of the algorithms that a library lists on the device, best guess first (cuBLASLt,
 * cuDNN), are tried beside its default; below 1 counts as 1. The getter returns 0 while nothing
 * is set: as many as time permits. */
ATTUNE_API attune_code attune_tunable_set_requested_algo_count(attune_runtime* runtime,
                                                               int64_t count);
ATTUNE_API int64_t attune_tunable_get_requested_algo_count(attune_runtime* runtime);
/* Operands are copied until they exceed so much, and used in turn. 0: off; negative: the size of
 * the last-level cache, the default. The getter says bytes. */
ATTUNE_API attune_code attune_tunable_set_rotating_buffer_size(attune_runtime* runtime,
                                                               int64_t size_mib);
ATTUNE_API int64_t attune_tunable_get_rotating_buffer_size_bytes(attune_runtime* runtime);
/* "device_events" or "kernel_profile". Kept, and without effect: no device here has such a
 * profiler. */
ATTUNE_API attune_code attune_tunable_set_measurement_mode(attune_runtime* runtime,
                                                           const char* mode);
ATTUNE_API const char* attune_tunable_get_measurement_mode(attune_runtime* runtime);
/* Refuses candidates with an output that differs from the default's by more than this, beside
 * the check that every candidate has to pass anyway. Tolerances are positive and finite. */
ATTUNE_API attune_code attune_tunable_set_numerical_check_tolerances(attune_runtime* runtime,
                                                                     int enable, double atol,
                                                                     double rtol);
ATTUNE_API int attune_tunable_get_numerical_check_tolerances(attune_runtime* runtime, double* atol,
                                                             double* rtol);

/* ---- files --------------------------------------------------------------------------------------
 */

/* Where results are read from at first use and appended to as they come. With the ordinal: in place
 * of "%d", else before the last '.'. */
ATTUNE_API attune_code attune_tunable_set_filename(attune_runtime* runtime, const char* filename,
                                                   int insert_device_ordinal);
ATTUNE_API attune_code attune_tunable_get_filename(attune_runtime* runtime, char** filename);
/* The file of recorded problems; its name always takes the ordinal. */
ATTUNE_API attune_code attune_tunable_set_untuned_filename(attune_runtime* runtime,
                                                           const char* filename);
ATTUNE_API attune_code attune_tunable_get_untuned_filename(attune_runtime* runtime,
                                                           char** filename);
/* Adds the results of a file that hold here; known results stay. Null: the file of the run time. */
ATTUNE_API attune_code attune_tunable_read_file(attune_runtime* runtime, const char* filename);
/* Writes every result, now, or when the run time is destroyed. Other content of the file stays. */
ATTUNE_API attune_code attune_tunable_write_file(attune_runtime* runtime, const char* filename);
ATTUNE_API attune_code attune_tunable_write_file_on_exit(attune_runtime* runtime, int enable);
typedef struct attune_tunable_load {
  size_t struct_size;
  int64_t accepted;   /* Results that hold here and are new. */
  int64_t duplicates; /* Results that hold here and were known: the first one stays. */
  int64_t rejected;   /* Results with validators that do not hold here. */
  int64_t unreadable; /* Lines that mean nothing. */
} attune_tunable_load;
#define ATTUNE_TUNABLE_LOAD_INIT \
  { sizeof(attune_tunable_load), 0, 0, 0, 0 }
/* Adds the results of `lines` that hold here: the text of a results file, or of
 * attune_tunable_get_validators and then attune_tunable_get_results, of any run time. Nothing is
 * written. `report` may be null. */
ATTUNE_API attune_code attune_tunable_load_results(attune_runtime* runtime, const char* lines,
                                                   attune_tunable_load* report);
/* The results as lines of a results file, and the validators as theirs. */
ATTUNE_API attune_code attune_tunable_get_results(attune_runtime* runtime, char** lines);
ATTUNE_API attune_code attune_tunable_get_validators(attune_runtime* runtime, char** lines);
/* Forgets every result; files stay. */
ATTUNE_API attune_code attune_tunable_clear(attune_runtime* runtime);

/* ---- off line -----------------------------------------------------------------------------------
 */

typedef struct attune_tunable_offline {
  size_t struct_size;
  int64_t tuned;      /* Problems. */
  int64_t known;      /* Problems with a result before. */
  int64_t failed;     /* Problems without a result; attune_last_message names 50 at most. */
  int64_t unreadable; /* Lines. */
} attune_tunable_offline;
#define ATTUNE_TUNABLE_OFFLINE_INIT \
  { sizeof(attune_tunable_offline), 0, 0, 0, 0 }

/* Tunes every problem of an untuned file; tuning has to be enabled. `report` may be null. Problems
 * without a result and lines that mean nothing are no failure; attune_last_message() names 50 of
 * each at most. */
ATTUNE_API attune_code attune_tunable_tune_in_file(attune_runtime* runtime, const char* filename,
                                                   attune_tunable_offline* report);
/* The same over every file that matches `pattern` (as a shell would), each problem once, dealt in
 * turn to run times of different devices, which tune at the same time. Each gets its own results
 * file, and then all results in one with "_full" before its ordinal.
 * ATTUNE_INVALID_ARGUMENT if the pattern has no wildcard (*, ? or [...]) or matches a file that
 * results go to, or `count` is 0; ATTUNE_NOT_FOUND if nothing matches; the system's reason for a
 * file that cannot be read: nothing is written then. ATTUNE_UNAVAILABLE if a device tuned nothing
 * of its share or its results cannot be written: the message names it and its problems, and the
 * results of the others, with `report`, are there. */
ATTUNE_API attune_code attune_tunable_tune_in_files(attune_runtime* const* runtimes, size_t count,
                                                    const char* pattern,
                                                    attune_tunable_offline* report);
/* The same on devices 0 to count-1 of `kind` ("cuda", "opencl"), on run times that are made for
 * it with `options` (may be null; its device does not count), and ended with it. Results and
 * tuning are enabled; the names of files are those of the environment or the defaults.
 * ATTUNE_INVALID_ARGUMENT also for a count that is not in 1 to the number of devices,
 * ATTUNE_NOT_FOUND also for a kind without devices, ATTUNE_FAILED_PRECONDITION if the
 * environment forbids tuning: nothing is written then. A device that cannot be opened has
 * failed. */
ATTUNE_API attune_code attune_tunable_tune_on_devices(const attune_options* options,
                                                      const char* kind, int64_t count,
                                                      const char* pattern,
                                                      attune_tunable_offline* report);

/* ---- dynamic dimensions -------------------------------------------------------------------------
 */

#define ATTUNE_DYNAMIC_M 1u
#define ATTUNE_DYNAMIC_N 2u
#define ATTUNE_DYNAMIC_K 4u
#define ATTUNE_DYNAMIC_BATCH 8u
/* The mask is of a row-major caller, which swaps A with B: M and N change places. */
#define ATTUNE_DYNAMIC_ROW_MAJOR 16u
/* A result reaches to the sizes of the same power of two rather than to all. */
#define ATTUNE_DYNAMIC_BUCKETS 32u

/* Until the matching pop, calls of this thread have dynamic dimensions: a result that they find or
 * tune is kept as a wildcard too. At most 64 deep. */
ATTUNE_API attune_code attune_tunable_push_dynamic_dims(unsigned mask);
ATTUNE_API attune_code attune_tunable_pop_dynamic_dims(void);

/* ---- observing ----------------------------------------------------------------------------------
 */

typedef struct attune_tunable_counters {
  size_t struct_size;
  /* A call that finds no plan at hand looks up once. */
  int64_t hits_by_problem;  /* Lookups served by a result of the very problem, */
  int64_t hits_by_key;      /* by one of its key, which more problems have, */
  int64_t hits_by_wildcard; /* by a wildcard. */
  int64_t misses;
  int64_t unusable; /* Results found with a candidate that does not exist or apply here. */
  int64_t recorded; /* Lines added to the untuned file. */
  int64_t tuned, tuning_failures;
} attune_tunable_counters;
#define ATTUNE_TUNABLE_COUNTERS_INIT \
  { sizeof(attune_tunable_counters), 0, 0, 0, 0, 0, 0, 0, 0 }
ATTUNE_API attune_code attune_tunable_get_counters(attune_runtime* runtime,
                                                   attune_tunable_counters* counters);

#ifdef __cplusplus
}
#endif

#endif /* ATTUNE_TUNABLE_H_ */
