/* Calls of operators other than gemm and conv. Each has a header in attune/ops with its struct and
 * a function that calls attune_run(). */
#ifndef ATTUNE_OPERATORS_H_
#define ATTUNE_OPERATORS_H_

#include "attune/attune.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The operands of a call, in the order that the header of the operator gives. */
typedef struct attune_operands {
  size_t struct_size;
  void* const* data; /* `count` buffers like those of attune_arguments. Inputs are only read. */
  size_t count;
  double alpha, beta; /* For operators that have them; ATTUNE_OPERANDS_INIT sets 1 and 0. */
  void* workspace;    /* The rest is as in attune_arguments. */
  size_t workspace_bytes;
  void* queue;
} attune_operands;
#define ATTUNE_OPERANDS_INIT \
  { sizeof(attune_operands), NULL, 0, 1, 0, NULL, 0, NULL }

/* Computes with the best candidate known for this shape, as attune_run_gemm does. `problem` is the
 * struct of the operator, and `problem_bytes` its size. Every operand starts at a multiple of
 * alignment_bytes of the struct, or of an element if that is 0 (4 bytes for batch_norm, which has
 * operands of f32 beside tensors of any type); else the call returns ATTUNE_INVALID_ARGUMENT and
 * writes nothing. */
ATTUNE_API attune_code attune_run(attune_runtime* runtime, const char* operator_name,
                                  const void* problem, size_t problem_bytes,
                                  const attune_operands* operands);

#ifdef __cplusplus
}
#endif

#endif /* ATTUNE_OPERATORS_H_ */
