/* Observing a run time: counters, events, and waiting for its background. Part of attune.h. */
#ifndef ATTUNE_OBSERVE_H_
#define ATTUNE_OBSERVE_H_

#include "attune/attune.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Why a call looked for a plan, and the result. */
typedef enum attune_miss_reason {
  ATTUNE_MISS_FIRST_CALL = 0, /* A record of this target, or a forced candidate, serves. */
  ATTUNE_MISS_UNRECORDED = 1, /* Nothing is recorded of the problem here. */
  ATTUNE_MISS_STALE = 2,      /* The record cannot be used here. */
  ATTUNE_MISS_NOT_READY = 3,  /* A record serves as soon as its candidate has been made ready. */
  ATTUNE_MISS_FAILED = 4      /* Nothing can serve. */
} attune_miss_reason;

/* Since the run time was created. */
typedef struct attune_counters {
  size_t struct_size;
  uint64_t hits;
  uint64_t misses;
  uint64_t by_provenance[6]; /* Misses by the origin of the candidate that served, indexed by
                              * attune_provenance. */
  uint64_t stand_ins; /* Misses served by another candidate while the better one was made ready. */
  uint64_t skipped_records; /* Records with a candidate that no longer exists or fits. */
  uint64_t tunings, tuning_failures;
  uint64_t recorded; /* Problems recorded under the tag, in the database or not yet. */
  uint64_t swaps, evictions;
  uint64_t builds_in_caller, builds_in_background;
  uint64_t miss_ns, tuning_ns; /* Time spent. */
  uint64_t none;               /* Misses that nothing could serve; in no by_provenance. */
  uint64_t tunings_dropped;    /* Tunings and recordings that found the queue full. */
  uint64_t by_reason[5];       /* Misses, indexed by attune_miss_reason. */
} attune_counters;
#define ATTUNE_COUNTERS_INIT                                                                    \
  {                                                                                             \
    sizeof(attune_counters), 0, 0, {0, 0, 0, 0, 0, 0}, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, { \
      0, 0, 0, 0, 0                                                                             \
    }                                                                                           \
  }
ATTUNE_API attune_code attune_get_counters(attune_runtime* runtime, attune_counters* counters);
/* The same as Prometheus text; to be given back with attune_free. */
ATTUNE_API attune_code attune_metrics(attune_runtime* runtime, char** text);

typedef enum attune_event {
  ATTUNE_EVENT_MISS = 0,
  ATTUNE_EVENT_SWAP = 1,
  ATTUNE_EVENT_TUNED = 2,
  ATTUNE_EVENT_TUNING_FAILED = 3,
  ATTUNE_EVENT_EVICTED = 4,
  ATTUNE_EVENT_SKIPPED = 5 /* A record that cannot be used, or a tuning that is put off while a
                              stream is captured; the message says why. */
} attune_event;
typedef void (*attune_listener)(void* context, attune_event event, const char* problem,
                                const char* candidate, const char* message);
/* Called by whichever thread notices; must not call back into this run time, and must not throw.
 * Null ends it. */
ATTUNE_API attune_code attune_set_listener(attune_runtime* runtime, attune_listener listener,
                                           void* context);

/* Waits until nothing is being tuned or made ready in the background, at most `timeout_ms`: not at
 * all if that is negative, and for good with INT64_MAX. It also fails if a recorded problem
 * is not in a file beside the database (policy ATTUNE_RECORD) or in the untuned file
 * (attune/tunable.h). */
ATTUNE_API attune_code attune_wait_idle(attune_runtime* runtime, int64_t timeout_ms);

/* Records the problem of a call (ATTUNE_RECORD) without computing, for a caller that computes
 * itself. It also works in a child of fork(), where, unlike other calls, it makes no run time. */
ATTUNE_API attune_code attune_record_gemm(attune_runtime* runtime, const attune_gemm* gemm,
                                          const attune_arguments* arguments);

/* Writes the recorded problems (ATTUNE_RECORD) and takes at most 0.1 s. Call it before _exit() or
 * execve(), which run no exit handlers. Signal handlers can call it. Null is allowed. */
ATTUNE_API void attune_flush_records(attune_runtime* runtime);

#ifdef __cplusplus
}
#endif

#endif /* ATTUNE_OBSERVE_H_ */
