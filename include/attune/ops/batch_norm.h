/* Batch normalisation: training, inference and backward, with an optional residual and ReLU. */
#ifndef ATTUNE_OPS_BATCH_NORM_H_
#define ATTUNE_OPS_BATCH_NORM_H_

#include "attune/operators.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum attune_batch_norm_pass {
  ATTUNE_BATCH_NORM_TRAINING = 0,
  ATTUNE_BATCH_NORM_INFERENCE = 1,
  ATTUNE_BATCH_NORM_BACKWARD = 2
} attune_batch_norm_pass;

typedef enum attune_batch_norm_fusion {
  ATTUNE_BATCH_NORM_PLAIN = 0,
  ATTUNE_BATCH_NORM_RELU = 1,
  ATTUNE_BATCH_NORM_ADD = 2, /* A residual is added. */
  ATTUNE_BATCH_NORM_ADD_RELU = 3
} attune_batch_norm_fusion;

/* A packed tensor of batch x channels x depth x height x width elements in the order of the layout.
 * 0 in depth, height or width means 1. Statistics and parameters are f32: one value for each
 * channel, or per activation one for each element of an image, in the order of the layout. */
typedef struct attune_batch_norm {
  int64_t batch, channels, depth, height, width;
  int32_t pass;           /* attune_batch_norm_pass */
  int32_t per_activation; /* 0: spatial. */
  int32_t layout;         /* attune_layout */
  int32_t affine;         /* 1: gamma and beta are operands. 0: they are 1 and 0. */
  int32_t running;        /* 1: training updates the running mean and variance. */
  int32_t saved;          /* 1: training writes mean and inverse deviation, backward reads them. */
  int32_t fusion;         /* attune_batch_norm_fusion */
  int32_t type;           /* ATTUNE_F32, ATTUNE_F16 or ATTUNE_BF16, of the tensors. */
  int32_t deterministic;
  int32_t alignment_bytes; /* A power of two from 4, of every operand. 0: as their addresses are, 4
                              at least. */
} attune_batch_norm;

/* Operands, those in brackets only if the struct asks for them:
 *   training   x, [residual], [gamma, beta], [running_mean, running_variance],
 *              [saved_mean, saved_inverse_deviation], y. Running values are read and written:
 *              (1 - momentum) old + momentum new, with the unbiased variance.
 *   inference  x, [residual], [gamma, beta], mean, variance, y
 *   backward   x, dy, [y: with a ReLU], [gamma], [saved_mean, saved_inverse_deviation],
 *              [dgamma, dbeta], [dresidual: ATTUNE_BATCH_NORM_ADD_RELU], dx
 * epsilon and momentum replace alpha and beta of the operands. */
static inline attune_code attune_run_batch_norm(attune_runtime* runtime,
                                                const attune_batch_norm* norm, double epsilon,
                                                double momentum, const attune_operands* operands) {
  attune_operands scaled;
  if (operands == NULL) return attune_run(runtime, "batch_norm", norm, sizeof *norm, NULL);
  scaled = *operands;
  scaled.alpha = epsilon;
  scaled.beta = momentum;
  return attune_run(runtime, "batch_norm", norm, sizeof *norm, &scaled);
}

#ifdef __cplusplus
}
#endif

#endif /* ATTUNE_OPS_BATCH_NORM_H_ */
