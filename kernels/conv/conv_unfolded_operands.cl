// Convolution as matrix products over the unfolded image `col` (im2col.cl), for tiled_product.cl.
// col[image * groups + group][tap, input channel included][output pixel]. The filter is packed in the order k, c, f,
// and the pixels of an output channel are equally far from each other (true of both orders of channels).

#define TAPS (IN_PER_GROUP * FILTER_SIZE)
#define COL_SIZE (TAPS * OUT_SIZE)
#define U_SCRATCH
#define SETUP_U(t, u)

#if DIRECTION == 0
// z is image * groups + group, u the output pixel, v the output channel.
#define EXTENT_U OUT_SIZE
#define EXTENT_V OUT_PER_GROUP
#define EXTENT_K TAPS
#define PRODUCT_BEGIN                                                                  \
  const int group = z % GROUPS;                                                        \
  __global const REAL* col = in0 + in0_offset + (long)z * COL_SIZE;                    \
  __global const REAL* w = in1 + in1_offset + group * OUT_PER_GROUP * TAPS;            \
  __global REAL* y =                                                                   \
      out + out_offset + (z / GROUPS) * Y_STRIDE_N + group * OUT_PER_GROUP * Y_STRIDE_K;
#define ROW_U(k) __global const REAL* col_row = col + (k)*OUT_SIZE
#define LOAD_U(k, u, t) col_row[u]
#define ROW_V(k)
#define LOAD_V(k, v) w[(v)*TAPS + (k)]
#if HAS_BIAS
#define BIAS_OF(v) +bias[bias_offset + group * OUT_PER_GROUP + (v)]
#else
#define BIAS_OF(v)
#endif
#define STORE(u, v, value) y[(v)*Y_STRIDE_K + (u)*Y_STRIDE_W] = (value)BIAS_OF(v)

#elif DIRECTION == 1
// z is image * groups + group, u the output pixel, v the tap.
#define EXTENT_U OUT_SIZE
#define EXTENT_V TAPS
#define EXTENT_K OUT_PER_GROUP
#define PRODUCT_BEGIN                                                                      \
  const int group = z % GROUPS;                                                            \
  __global const REAL* dy =                                                                \
      in0 + in0_offset + (z / GROUPS) * Y_STRIDE_N + group * OUT_PER_GROUP * Y_STRIDE_K;   \
  __global const REAL* w = in1 + in1_offset + group * OUT_PER_GROUP * TAPS;                \
  __global REAL* col = out + out_offset + (long)z * COL_SIZE;
#define ROW_U(k) __global const REAL* dy_row = dy + (k)*Y_STRIDE_K
#define LOAD_U(k, u, t) dy_row[(u)*Y_STRIDE_W]
#define ROW_V(k) __global const REAL* w_row = w + (k)*TAPS
#define LOAD_V(k, v) w_row[v]
#define STORE(u, v, value) col[(v)*OUT_SIZE + (u)] = (value)

#else
// z is the group, u the tap, v the output channel, k the output pixel of the whole batch.
#define EXTENT_U TAPS
#define EXTENT_V OUT_PER_GROUP
#define EXTENT_K (BATCH * OUT_SIZE)
#define PRODUCT_BEGIN                                                                      \
  __global const REAL* col = in0 + in0_offset + (long)z * COL_SIZE;                        \
  __global const REAL* dy = in1 + in1_offset + z * OUT_PER_GROUP * Y_STRIDE_K;             \
  __global REAL* dw = out + out_offset + z * OUT_PER_GROUP * TAPS;
#define ROW_U(k)                                                                           \
  __global const REAL* col_column =                                                        \
      col + ((k) / OUT_SIZE) * ((long)GROUPS * COL_SIZE) + (k) % OUT_SIZE
#define LOAD_U(k, u, t) col_column[(u)*OUT_SIZE]
#define ROW_V(k)                                                                           \
  __global const REAL* dy_pixel =                                                          \
      dy + ((k) / OUT_SIZE) * Y_STRIDE_N + ((k) % OUT_SIZE) * Y_STRIDE_W
#define LOAD_V(k, v) dy_pixel[(v)*Y_STRIDE_K]
#define STORE(u, v, value) dw[(v)*TAPS + (u)] = (value)
#endif
