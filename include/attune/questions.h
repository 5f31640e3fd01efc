/* Queries about a problem: candidates that can compute it, the one that serves and why, and
 * whether a call would wait. Part of attune.h. */
#ifndef ATTUNE_QUESTIONS_H_
#define ATTUNE_QUESTIONS_H_

#include "attune/attune.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum attune_provenance {
  ATTUNE_FROM_FORCE = 0,  /* ATTUNE_FORCE says so, or a line of a results file without a time. */
  ATTUNE_FROM_RECORD = 1, /* Measured on this target. */
  ATTUNE_FROM_COMPATIBLE = 2, /* Measured on a compatible target. */
  ATTUNE_FROM_NEIGHBOUR = 3,  /* The choice of the nearest tuned shape. */
  ATTUNE_FROM_PREDICTION = 4,
  ATTUNE_FROM_DEFAULT = 5,
  ATTUNE_FROM_IMPORT = 6 /* An imported database's, of another GPU: it never serves. */
} attune_provenance;

typedef struct attune_solution {
  size_t struct_size;
  char candidate[256]; /* Canonical text, cut with "..." if longer. */
  int32_t provenance;  /* attune_provenance of the time. */
  int32_t is_measured; /* 1: time_ns was measured; 0: predicted, or 0 for unknown. */
  double time_ns;
  uint64_t workspace_bytes;
  int32_t is_dynamic;         /* One build serves every size. */
  int32_t is_ready;           /* 1: needs no build and no creation that takes long. */
  int32_t is_workspace_known; /* 0: workspace_bytes is 0, and is seen when it is made ready. */
  int32_t reserved;
} attune_solution;

/* Up to `capacity` ways to compute this: the preferred one, then the others by their times, then
 * those of unknown time in the order of the solvers; `count` gets the number of ways that exist.
 * Set struct_size of the first element; those that are written get the same. */
ATTUNE_API attune_code attune_gemm_solutions(attune_runtime* runtime, const attune_gemm* gemm,
                                             int alpha_class, int beta_class,
                                             attune_solution* solutions, size_t capacity,
                                             size_t* count);
ATTUNE_API attune_code attune_conv_solutions(attune_runtime* runtime, const attune_conv* conv,
                                             attune_solution* solutions, size_t capacity,
                                             size_t* count);

/* The same for calls with a workspace of so many bytes: omits candidates that are known to need
 * more. ATTUNE_RESOURCE_EXHAUSTED names the minimum workspace if nothing fits. */
ATTUNE_API attune_code attune_gemm_solutions_within(attune_runtime* runtime,
                                                    const attune_gemm* gemm, int alpha_class,
                                                    int beta_class, uint64_t workspace_limit_bytes,
                                                    attune_solution* solutions, size_t capacity,
                                                    size_t* count);
ATTUNE_API attune_code attune_conv_solutions_within(attune_runtime* runtime,
                                                    const attune_conv* conv,
                                                    uint64_t workspace_limit_bytes,
                                                    attune_solution* solutions, size_t capacity,
                                                    size_t* count);

/* The candidate that serves `problem` (a text as attune_plan_text takes it), the reason, and
 * better candidates that do not serve: JSON, to be given back with attune_free. */
ATTUNE_API attune_code attune_explain(attune_runtime* runtime, const char* problem, char** json);
/* 1 if a call would wait for a build, a tuning or a slow creation; 0 if not; the reason as a
 * message. A call with all operands at multiples of 64 bytes asks for the problem with alignment
 * 64, unless its struct has another one. */
ATTUNE_API attune_code attune_would_stall(attune_runtime* runtime, const char* problem,
                                          int* stalls);
/* Both for calls that bring a workspace of so many bytes; they fail as
 * attune_gemm_solutions_within does. */
ATTUNE_API attune_code attune_explain_within(attune_runtime* runtime, const char* problem,
                                             uint64_t workspace_limit_bytes, char** json);
ATTUNE_API attune_code attune_would_stall_within(attune_runtime* runtime, const char* problem,
                                                 uint64_t workspace_limit_bytes, int* stalls);
/* Entries of imported databases for a GPU that need not be present, `target` as `attune miopen
 * import` named it ("gfx906_60"): JSON in the form of attune_explain, with the name of the
 * source file, or the quickest candidate alone, in less than a microsecond once a first query
 * has mapped the index. Nothing of it ever serves. ATTUNE_NOT_FOUND if nothing was imported for
 * `target`, and of the second function also if no database has the problem. An alignment that
 * `conv` leaves open is 64 bytes. Set struct_size of `best`. */
ATTUNE_API attune_code attune_explain_for(attune_runtime* runtime, const char* target,
                                          const char* problem, char** json);
ATTUNE_API attune_code attune_conv_best_for(attune_runtime* runtime, const char* target,
                                            const attune_conv* conv, attune_solution* best);
/* The canonical text of a problem; to be given back with attune_free. */
ATTUNE_API attune_code attune_gemm_text(const attune_gemm* gemm, int alpha_class, int beta_class,
                                        char** text);
ATTUNE_API attune_code attune_conv_text(const attune_conv* conv, char** text);

#ifdef __cplusplus
}
#endif

#endif /* ATTUNE_QUESTIONS_H_ */
