// Batch norm over batch_norm_area.cl. A group is computed by one work-group (batch_norm_whole), or
// by `parts` work-groups: batch_norm_moments and batch_norm_sums write partial statistics to the
// workspace, and batch_norm_apply merges them and writes the results. DIRECTION is 0 for training,
// 1 for inference, 2 for backward.

#define OPERAND(type, name) type name, long name##_offset
#define ARGUMENTS                                                                              \
  OPERAND(__global const ELEMENT*, x), OPERAND(__global const ELEMENT*, dy),                   \
      OPERAND(__global const ELEMENT*, residual), OPERAND(__global const float*, gamma),       \
      OPERAND(__global const float*, beta), OPERAND(__global const float*, mean),              \
      OPERAND(__global const float*, variance), OPERAND(__global float*, running_mean),        \
      OPERAND(__global float*, running_variance), OPERAND(__global float*, saved_mean),        \
      OPERAND(__global float*, saved_inverse_deviation), OPERAND(__global float*, dgamma),     \
      OPERAND(__global float*, dbeta), OPERAND(__global ELEMENT*, dresidual),                  \
      OPERAND(__global ELEMENT*, y), OPERAND(__global ELEMENT*, dx),                           \
      OPERAND(__global ELEMENT*, workspace), int outer, int groups, int inner, int row_parts,  \
      int column_parts, int count, float epsilon, float momentum

// The operands and counts of the functions below.
typedef struct {
  __global const ELEMENT *x, *dy, *residual;
  __global const float *gamma, *beta, *mean, *variance;
  __global float *running_mean, *running_variance, *saved_mean, *saved_inverse;
  __global float *dgamma, *dbeta;
  __global ELEMENT *dresidual, *y, *dx;
  __global float* partials;
  int parts, groups;
  float count, epsilon, momentum;
} Tensors;

#define SET(member, name) tensors.member = name + name##_offset
#define BEGIN                                                                       \
  const Area area = area_of(outer, groups, inner, row_parts, column_parts);         \
  Tensors tensors;                                                                  \
  SET(x, x), SET(dy, dy), SET(residual, residual), SET(gamma, gamma);               \
  SET(beta, beta), SET(mean, mean), SET(variance, variance);                        \
  SET(running_mean, running_mean), SET(running_variance, running_variance);         \
  SET(saved_mean, saved_mean), SET(saved_inverse, saved_inverse_deviation);         \
  SET(dgamma, dgamma), SET(dbeta, dbeta), SET(dresidual, dresidual);                \
  SET(y, y), SET(dx, dx);                                                           \
  tensors.partials = (__global float*)(workspace + workspace_offset);               \
  tensors.parts = row_parts * column_parts, tensors.groups = groups;                \
  tensors.count = (float)count, tensors.epsilon = epsilon, tensors.momentum = momentum;

// Partial statistics: one number for each part and group. The sums of the backward pass come first.
#define PARTIAL(kind, part) \
  (tensors.partials + ((long)(kind)*tensors.parts + (part)) * tensors.groups)
#if DIRECTION == 0
#define FIRST_MOMENT 0
#else
#define FIRST_MOMENT 2
#endif

typedef struct {
  WIDE mean, variance, inverse;
} Statistics;

typedef struct {
  WIDE sum, product;  // Sums of gradients, and of gradients times x - mean.
} Sums;

WIDE first_values(Area area, Tensors tensors) {
#if COLUMNS
  return load_lanes(tensors.x + area.group, area.group_lanes);
#else
  return NUMBER_AT(tensors.x + area.base);
#endif
}

// The moments of the part of this work-group.
GroupMoments part_moments(Area area, Tensors tensors, __local WIDE* scratch, __local float* kept) {
  const WIDE origin = first_values(area, tensors);
#if METHOD == 1
  const Moments own = item_moments(area, tensors.x, origin, kept);
#else
  const Moments means = item_means(area, tensors.x, origin, kept);
  const GroupMoments all = merged_moments(moments_of_lanes(means), scratch);
  const Moments own = item_deviations(area, tensors.x, origin, all.mean, kept);
#endif
  return merged_moments(moments_of_lanes(own), scratch);
}

GroupMoments moments_of_parts(Area area, Tensors tensors, __local WIDE* scratch) {
  GroupMoments own;
  own.n = own.mean = own.m2 = (WIDE)(0.0f);
  for (int part = SLOT; part < tensors.parts; part += SLOTS) {
    GroupMoments one;
    one.n = groups_at(PARTIAL(FIRST_MOMENT, part), area);
    one.mean = groups_at(PARTIAL(FIRST_MOMENT + 1, part), area);
    one.m2 = groups_at(PARTIAL(FIRST_MOMENT + 2, part), area);
    MERGE(WIDE, own, one)
  }
  return merged_moments(own, scratch);
}

Statistics statistics_of(Area area, Tensors tensors, GroupMoments moments) {
  Statistics of;
  of.mean = first_values(area, tensors) + moments.mean;
  of.variance = moments.m2 / tensors.count;
  of.inverse = rsqrt(of.variance + tensors.epsilon);
  return of;
}

// The statistics of inference, or those that the forward pass saved for backward.
Statistics given_statistics(Area area, Tensors tensors) {
  Statistics of;
#if DIRECTION == 1
  of.mean = groups_at(tensors.mean, area);
  of.variance = groups_at(tensors.variance, area);
  of.inverse = rsqrt(of.variance + tensors.epsilon);
#else
  of.mean = groups_at(tensors.saved_mean, area);
  of.inverse = groups_at(tensors.saved_inverse, area);
  of.variance = (WIDE)(0.0f);  // Not used.
#endif
  return of;
}

void write_statistics(Area area, Tensors tensors, Statistics of) {
#if RUNNING
  const float rest = 1.0f - tensors.momentum;
  const WIDE unbiased = of.variance * (tensors.count / (tensors.count - 1.0f));
  const WIDE mean = groups_at(tensors.running_mean, area);
  const WIDE variance = groups_at(tensors.running_variance, area);
  put_groups(rest * mean + tensors.momentum * of.mean, tensors.running_mean, area);
  put_groups(rest * variance + tensors.momentum * unbiased, tensors.running_variance, area);
#endif
#if SAVED
  put_groups(of.mean, tensors.saved_mean, area);
  put_groups(of.inverse, tensors.saved_inverse, area);
#endif
}

WIDE scale_of(Area area, Tensors tensors, Statistics of) {
#if AFFINE
  return of.inverse * groups_at(tensors.gamma, area);
#else
  return of.inverse;
#endif
}

// The results of training and inference. Kept values are those of x.
void write_y(Area area, Tensors tensors, Statistics of, __local float* kept) {
  const WIDE scale = scale_of(area, tensors, of);
#if AFFINE
  const WIDE shift = groups_at(tensors.beta, area);
#else
  const WIDE shift = (WIDE)(0.0f);
#endif
  EACH_VECTOR {
    VECTOR value = fma(READ(tensors.x, kept) - of.mean, (VECTOR)(scale), (VECTOR)(shift));
#if ADD
    value += load_lanes(tensors.residual + AT, LANES);
#endif
#if RELU
    value = select(value, (VECTOR)(0.0f), value < 0.0f);  // A NaN stays one.
#endif
    store_lanes(value, tensors.y + AT, LANES);
  }
}

// The gradient behind the ReLU: dy, or 0 where y is 0.
#if RELU
#define GRADIENT                                                            \
  select(load_lanes(tensors.dy + AT, LANES), (VECTOR)(0.0f),                \
         load_lanes(tensors.y + AT, LANES) <= 0.0f)
#else
#define GRADIENT load_lanes(tensors.dy + AT, LANES)
#endif
#define KEPT_GRADIENTS(kept) ((kept) + KEEP * ITEMS * VEC)

// Sums of the backward pass over the part of this work-group. Keeps x, unless that was done, and
// the gradient.
Sums part_sums(Area area, Tensors tensors, WIDE mean, __local WIDE* scratch, __local float* kept) {
  VECTOR sum = (VECTOR)(0.0f), product = sum, block_sum = sum, block_product = sum;
  EACH_VECTOR {
    const VECTOR gradient = GRADIENT;
#if SAVED
    const VECTOR value = load_lanes(tensors.x + AT, LANES);
    KEEP_VECTOR(value, kept)
#else
    const VECTOR value = READ(tensors.x, kept);
#endif
    KEEP_VECTOR(gradient, KEPT_GRADIENTS(kept))
    block_sum += gradient;
    block_product = fma(gradient, (value - mean) * weights_of(LANES), block_product);
    if (t % BLOCK == BLOCK - 1) {
      sum += block_sum;
      product += block_product;
      block_sum = block_product = (VECTOR)(0.0f);
    }
  }
  Sums sums;
  sums.sum = merged_sum(sum_of_lanes(sum + block_sum), scratch);
  sums.product = merged_sum(sum_of_lanes(product + block_product), scratch);
  return sums;
}

Sums sums_of_parts(Area area, Tensors tensors, __local WIDE* scratch) {
  Sums own;
  own.sum = own.product = (WIDE)(0.0f);
  for (int part = SLOT; part < tensors.parts; part += SLOTS) {
    own.sum += groups_at(PARTIAL(0, part), area);
    own.product += groups_at(PARTIAL(1, part), area);
  }
  own.sum = merged_sum(own.sum, scratch);
  own.product = merged_sum(own.product, scratch);
  return own;
}

void write_gradients(Area area, Tensors tensors, Statistics of, Sums sums) {
#if AFFINE
  put_groups(sums.product * of.inverse, tensors.dgamma, area);
  put_groups(sums.sum, tensors.dbeta, area);
#endif
}

void write_dx(Area area, Tensors tensors, Statistics of, Sums sums, __local float* kept) {
  const WIDE scale = scale_of(area, tensors, of);
  const WIDE mean_gradient = sums.sum / tensors.count;
  const WIDE slope = sums.product / tensors.count * of.inverse * of.inverse;
  EACH_VECTOR {
    const VECTOR gradient = t < KEEP ? LOAD_NUMBERS(KEPT(KEPT_GRADIENTS(kept))) : GRADIENT;
    const VECTOR difference = READ(tensors.x, kept) - of.mean;
    const VECTOR change = (gradient - mean_gradient) - difference * slope;
    store_lanes(change * scale, tensors.dx + AT, LANES);
#if ADD && RELU
    store_lanes(gradient, tensors.dresidual + AT, LANES);
#endif
  }
}

#define KERNEL __kernel __attribute__((reqd_work_group_size(WG_X, WG_Y, 1)))

#if SPLIT == 1 && DIRECTION != 1
// Tensors of the backward pass that are kept.
#define KEPT_TENSORS (DIRECTION == 2 ? 2 : 1)
KERNEL void batch_norm_whole(ARGUMENTS) {
  __local WIDE scratch[3 * ITEMS];
  __local float kept[KEEP > 0 ? KEEP * ITEMS * VEC * KEPT_TENSORS : 1];
  BEGIN
#if DIRECTION == 2 && SAVED
  const Statistics of = given_statistics(area, tensors);
#else
  const Statistics of = statistics_of(area, tensors, part_moments(area, tensors, scratch, kept));
#endif
#if DIRECTION == 0
  if (SLOT == 0) write_statistics(area, tensors, of);
  write_y(area, tensors, of, kept);
#else
  const Sums sums = part_sums(area, tensors, of.mean, scratch, kept);
  if (SLOT == 0) write_gradients(area, tensors, of, sums);
  write_dx(area, tensors, of, sums, kept);
#endif
}

#else

KERNEL void batch_norm_moments(ARGUMENTS) {
  __local WIDE scratch[3 * ITEMS];
  __local float kept[1];
  BEGIN
  const GroupMoments moments = part_moments(area, tensors, scratch, kept);
  if (SLOT != 0) return;
  put_groups(moments.n, PARTIAL(FIRST_MOMENT, area.part), area);
  put_groups(moments.mean, PARTIAL(FIRST_MOMENT + 1, area.part), area);
  put_groups(moments.m2, PARTIAL(FIRST_MOMENT + 2, area.part), area);
}

// The statistics of the group. An earlier launch summed the parts.
Statistics known_statistics(Area area, Tensors tensors, __local WIDE* scratch) {
#if DIRECTION == 1 || (DIRECTION == 2 && SAVED)
  return given_statistics(area, tensors);
#else
  return statistics_of(area, tensors, moments_of_parts(area, tensors, scratch));
#endif
}

#if DIRECTION == 2
KERNEL void batch_norm_sums(ARGUMENTS) {
  __local WIDE scratch[3 * ITEMS];
  __local float kept[1];
  BEGIN
  const Statistics of = known_statistics(area, tensors, scratch);
  const Sums sums = part_sums(area, tensors, of.mean, scratch, kept);
  if (SLOT != 0) return;
  put_groups(sums.sum, PARTIAL(0, area.part), area);
  put_groups(sums.product, PARTIAL(1, area.part), area);
}
#endif

KERNEL void batch_norm_apply(ARGUMENTS) {
  __local WIDE scratch[3 * ITEMS];
  __local float kept[1];
  BEGIN
  const Statistics of = known_statistics(area, tensors, scratch);
  const int is_first = SLOT == 0 && area.part == 0;
#if DIRECTION == 2
  const Sums sums = sums_of_parts(area, tensors, scratch);
  if (is_first) write_gradients(area, tensors, of, sums);
  write_dx(area, tensors, of, sums, kept);
#else
  if (DIRECTION == 0 && is_first) write_statistics(area, tensors, of);
  write_y(area, tensors, of, kept);
#endif
}
#endif
