/* Calls of operators other than gemm and conv. attune/ops has the struct of each, and a function
 * that calls this. */
#ifndef ATTUNE_OPERATORS_H_
#define ATTUNE_OPERATORS_H_

#include "attune/attune.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Operands in the order that the header of the operator gives. */
typedef struct attune_operands {
  size_t struct_size;
  void* const* data; /* `count` of them, like those of attune_arguments; inputs are only read. */
  size_t count;
  double alpha, beta; /* Where the operator has them; ATTUNE_OPERANDS_INIT has 1 and 0. */
  void* workspace;    /* As in attune_arguments, like the rest. */
  size_t workspace_bytes;
  void* queue;
} attune_operands;
#define ATTUNE_OPERANDS_INIT \
  { sizeof(attune_operands), NULL, 0, 1, 0, NULL, 0, NULL }

/* Computes with what is best for this shape now, as attune_run_gemm does. `problem` is the struct
 * of the operator, of `problem_bytes`. */
ATTUNE_API attune_code attune_run(attune_runtime* runtime, const char* operator_name,
                                  const void* problem, size_t problem_bytes,
                                  const attune_operands* operands);

#ifdef __cplusplus
}
#endif

#endif /* ATTUNE_OPERATORS_H_ */
