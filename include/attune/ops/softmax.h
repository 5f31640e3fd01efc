/* Softmax and log-softmax, forward and backward, along any axis of a packed tensor. */
#ifndef ATTUNE_OPS_SOFTMAX_H_
#define ATTUNE_OPS_SOFTMAX_H_

#include "attune/operators.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum attune_softmax_mask {
  ATTUNE_SOFTMAX_NO_MASK = 0,
  ATTUNE_SOFTMAX_CAUSAL = 1,  /* Row r sees positions 0 to r modulo queries. */
  ATTUNE_SOFTMAX_ADDITIVE = 2 /* A tensor queries x length is added, row r modulo queries of it. */
} attune_softmax_mask;

/* Softmax along one axis of a packed tensor: length is the extent of the axis, outer the product of
 * the extents before it, inner the product of those after it. Forward: y = softmax(alpha x + mask),
 * or its logarithm. Backward: dx from y and dy. 0 in inner or queries means 1. */
typedef struct attune_softmax {
  int64_t outer, length, inner;
  int64_t queries;   /* Rows of the mask; divides outer. 1 without a mask. */
  int32_t direction; /* 0: forward. 1: backward, without a mask, which y contains. */
  int32_t logarithm; /* 1: log-softmax. */
  int32_t mask;      /* attune_softmax_mask; needs inner = 1, a causal one logarithm = 0. */
  int32_t scaled;    /* 1: x (backward: dx) is multiplied by alpha of the call. 0: alpha is 1. */
  int32_t type;      /* ATTUNE_F32, ATTUNE_F16 or ATTUNE_BF16, of every operand. */
  int32_t deterministic;
  int64_t alignment_bytes; /* A power of two, of every operand. 0: as their addresses are, that of
                              an element at least. */
} attune_softmax;

/* A plain softmax along `axis` of a packed tensor with these `rank` extents, the first one with the
 * largest stride. An axis that is not there makes a length of 0, which no call accepts. */
static inline attune_softmax attune_softmax_along(const int64_t* extents, int32_t rank,
                                                  int32_t axis) {
  attune_softmax softmax = {1, 0, 1, 0, 0, 0, ATTUNE_SOFTMAX_NO_MASK, 0, ATTUNE_F32, 0, 0};
  int32_t i;
  for (i = 0; i < rank; ++i) {
    if (i < axis) softmax.outer *= extents[i];
    if (i == axis) softmax.length = extents[i];
    if (i > axis) softmax.inner *= extents[i];
  }
  return softmax;
}

/* Operands: forward x, [mask], y; backward y, dy, dx. */
static inline attune_code attune_run_softmax(attune_runtime* runtime, const attune_softmax* softmax,
                                             const attune_operands* operands) {
  return attune_run(runtime, "softmax", softmax, sizeof *softmax, operands);
}

#ifdef __cplusplus
}
#endif

#endif /* ATTUNE_OPS_SOFTMAX_H_ */
