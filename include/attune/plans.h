/* Problems that are bound once and run often. Part of attune.h. */
#ifndef ATTUNE_PLANS_H_
#define ATTUNE_PLANS_H_

#include "attune/attune.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A problem bound once, to be run often. It follows swaps, keeps everything for a call, and is
 * never evicted. alpha_class and beta_class: 0 for the value 0, 1 for the value 1, 2 for any
 * other; a run with arguments that do not agree is refused. */
typedef struct attune_plan attune_plan;
#define ATTUNE_NO_LIMIT UINT64_MAX
ATTUNE_API attune_code attune_plan_gemm(attune_runtime* runtime, const attune_gemm* gemm,
                                        int alpha_class, int beta_class,
                                        uint64_t workspace_limit_bytes, attune_plan** out);
ATTUNE_API attune_code attune_plan_conv(attune_runtime* runtime, const attune_conv* conv,
                                        uint64_t workspace_limit_bytes, attune_plan** out);
/* A gemm or conv by its canonical text, also one that the structs cannot say (mixed types), or by a
 * MIOpenDriver command that names one direction. */
ATTUNE_API attune_code attune_plan_text(attune_runtime* runtime, const char* problem,
                                        uint64_t workspace_limit_bytes, attune_plan** out);
ATTUNE_API attune_code attune_plan_run(attune_plan* plan, const attune_arguments* arguments);
/* The size that a run with its own workspace must pass now; it may change with a swap, never
 * above the limit. */
ATTUNE_API uint64_t attune_plan_workspace_bytes(const attune_plan* plan);
ATTUNE_API void attune_plan_release(attune_plan* plan);

#ifdef __cplusplus
}
#endif

#endif /* ATTUNE_PLANS_H_ */
