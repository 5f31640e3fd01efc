// Convolution as one matrix product per group for tiled_product.cl, without ever writing the unfolded matrix. z is
// the group. Any layout and both ranks: everything goes by strides.

// Where the pixel or tap of each u starts, set up once for a tile.
#define U_SCRATCH                  \
  __local int place_of[TILE_U];    \
  __local int d_of[TILE_U];        \
  __local int h_of[TILE_U];        \
  __local int w_of[TILE_U];

#if DIRECTION == 0
// y[n, k, o] = sum over (c, f) of x[n, c, o * stride - pad + f * dilation] * w[k, c, f].
// u is the output pixel of the whole batch, v the output channel.
#define EXTENT_U (BATCH * OUT_SIZE)
#define EXTENT_V OUT_PER_GROUP
#define EXTENT_K (IN_PER_GROUP * FILTER_SIZE)
#define PRODUCT_BEGIN                                                      \
  __global const REAL* x = in0 + in0_offset + z * IN_PER_GROUP * X_STRIDE_C; \
  __global const REAL* w = in1 + in1_offset + z * OUT_PER_GROUP * W_STRIDE_K; \
  __global REAL* y = out + out_offset + z * OUT_PER_GROUP * Y_STRIDE_K;
#define SETUP_U(t, u)                                                           \
  {                                                                             \
    const int in_image = (u) % OUT_SIZE;                                        \
    const int plane = in_image / OUT_W;                                         \
    d_of[t] = (plane / OUT_H) * STRIDE_D - PAD_D;                               \
    h_of[t] = (plane % OUT_H) * STRIDE_H - PAD_H;                               \
    w_of[t] = (in_image % OUT_W) * STRIDE_W - PAD_W;                            \
    place_of[t] = ((u) / OUT_SIZE) * X_STRIDE_N + d_of[t] * X_STRIDE_D +        \
                  h_of[t] * X_STRIDE_H + w_of[t] * X_STRIDE_W;                  \
  }
#define ROW_U(k)                                                                     \
  const int tap = (k) % FILTER_SIZE;                                                 \
  const int tap_d = (tap / (FILTER_H * FILTER_W)) * DILATION_D;                      \
  const int tap_h = (tap / FILTER_W % FILTER_H) * DILATION_H;                        \
  const int tap_w = (tap % FILTER_W) * DILATION_W;                                   \
  const int tap_place = ((k) / FILTER_SIZE) * X_STRIDE_C + tap_d * X_STRIDE_D +      \
                        tap_h * X_STRIDE_H + tap_w * X_STRIDE_W
// A negative index is a huge unsigned one, so one comparison checks both ends.
#define LOAD_U(k, u, t)                                                              \
  (((uint)(d_of[t] + tap_d) < (uint)IN_D && (uint)(h_of[t] + tap_h) < (uint)IN_H &&  \
    (uint)(w_of[t] + tap_w) < (uint)IN_W)                                            \
       ? x[place_of[t] + tap_place]                                                  \
       : (REAL)0)
#define ROW_V(k)                                                                            \
  const int tap = (k) % FILTER_SIZE;                                                        \
  const int w_place = ((k) / FILTER_SIZE) * W_STRIDE_C +                                    \
                      (tap / (FILTER_H * FILTER_W)) * W_STRIDE_D +                          \
                      (tap / FILTER_W % FILTER_H) * W_STRIDE_H + (tap % FILTER_W) * W_STRIDE_W
#define LOAD_V(k, v) w[(v)*W_STRIDE_K + w_place]
#if HAS_BIAS
#define BIAS_OF(v) +bias[bias_offset + z * OUT_PER_GROUP + (v)]
#else
#define BIAS_OF(v)
#endif
#define STORE(u, v, value)                                                                 \
  {                                                                                        \
    const int in_image = (u) % OUT_SIZE;                                                   \
    const int plane = in_image / OUT_W;                                                    \
    y[((u) / OUT_SIZE) * Y_STRIDE_N + (v)*Y_STRIDE_K + (plane / OUT_H) * Y_STRIDE_D +      \
      (plane % OUT_H) * Y_STRIDE_H + (in_image % OUT_W) * Y_STRIDE_W] = (value)BIAS_OF(v); \
  }

#elif DIRECTION == 1
// dx[n, c, i] = sum over (k, f) of dy[n, k, (i + pad - f * dilation) / stride] * w[k, c, f], where that is a whole
// number. u is the input pixel of the whole batch, v the input channel.
#define EXTENT_U (BATCH * IN_SIZE)
#define EXTENT_V IN_PER_GROUP
#define EXTENT_K (OUT_PER_GROUP * FILTER_SIZE)
#define PRODUCT_BEGIN                                                          \
  __global const REAL* dy = in0 + in0_offset + z * OUT_PER_GROUP * Y_STRIDE_K; \
  __global const REAL* w = in1 + in1_offset + z * OUT_PER_GROUP * W_STRIDE_K;  \
  __global REAL* dx = out + out_offset + z * IN_PER_GROUP * X_STRIDE_C;
#define SETUP_U(t, u)                                 \
  {                                                   \
    const int in_image = (u) % IN_SIZE;               \
    const int plane = in_image / IN_W;                \
    d_of[t] = plane / IN_H + PAD_D;                   \
    h_of[t] = plane % IN_H + PAD_H;                   \
    w_of[t] = in_image % IN_W + PAD_W;                \
    place_of[t] = ((u) / IN_SIZE) * Y_STRIDE_N;       \
  }
#define ROW_U(k)                                                        \
  const int tap = (k) % FILTER_SIZE;                                    \
  const int tap_d = (tap / (FILTER_H * FILTER_W)) * DILATION_D;         \
  const int tap_h = (tap / FILTER_W % FILTER_H) * DILATION_H;           \
  const int tap_w = (tap % FILTER_W) * DILATION_W;                      \
  const int tap_place = ((k) / FILTER_SIZE) * Y_STRIDE_K
int3 triple(int d, int h, int w) {
  int3 value;
  value.x = d;
  value.y = h;
  value.z = w;
  return value;
}
REAL from_output(__global const REAL* dy, int d, int h, int w, int3 stride, int3 extent,
                 int3 place_stride) {
  if (d < 0 || h < 0 || w < 0) return 0;
  const int out_d = d / stride.x;
  const int out_h = h / stride.y;
  const int out_w = w / stride.z;
  if (out_d * stride.x != d || out_h * stride.y != h || out_w * stride.z != w) return 0;
  if (out_d >= extent.x || out_h >= extent.y || out_w >= extent.z) return 0;
  return dy[out_d * place_stride.x + out_h * place_stride.y + out_w * place_stride.z];
}
#define LOAD_U(k, u, t)                                                                    \
  from_output(dy + place_of[t] + tap_place, d_of[t] - tap_d, h_of[t] - tap_h,              \
              w_of[t] - tap_w, triple(STRIDE_D, STRIDE_H, STRIDE_W),                       \
              triple(OUT_D, OUT_H, OUT_W), triple(Y_STRIDE_D, Y_STRIDE_H, Y_STRIDE_W))
#define ROW_V(k)                                                                            \
  const int tap = (k) % FILTER_SIZE;                                                        \
  const int w_place = ((k) / FILTER_SIZE) * W_STRIDE_K +                                    \
                      (tap / (FILTER_H * FILTER_W)) * W_STRIDE_D +                          \
                      (tap / FILTER_W % FILTER_H) * W_STRIDE_H + (tap % FILTER_W) * W_STRIDE_W
#define LOAD_V(k, v) w[(v)*W_STRIDE_C + w_place]
#define STORE(u, v, value)                                                                \
  {                                                                                       \
    const int in_image = (u) % IN_SIZE;                                                   \
    const int plane = in_image / IN_W;                                                    \
    dx[((u) / IN_SIZE) * X_STRIDE_N + (v)*X_STRIDE_C + (plane / IN_H) * X_STRIDE_D +      \
       (plane % IN_H) * X_STRIDE_H + (in_image % IN_W) * X_STRIDE_W] = (value);           \
  }

#else
// dw[k, c, f] = sum over (n, o) of dy[n, k, o] * x[n, c, o * stride - pad + f * dilation].
// u is the tap of the filter (input channel included), v the output channel.
#define EXTENT_U (IN_PER_GROUP * FILTER_SIZE)
#define EXTENT_V OUT_PER_GROUP
#define EXTENT_K (BATCH * OUT_SIZE)
#define PRODUCT_BEGIN                                                          \
  __global const REAL* x = in0 + in0_offset + z * IN_PER_GROUP * X_STRIDE_C;   \
  __global const REAL* dy = in1 + in1_offset + z * OUT_PER_GROUP * Y_STRIDE_K; \
  __global REAL* dw = out + out_offset + z * OUT_PER_GROUP * W_STRIDE_K;
#define SETUP_U(t, u)                                                                  \
  {                                                                                    \
    const int tap = (u) % FILTER_SIZE;                                                 \
    d_of[t] = (tap / (FILTER_H * FILTER_W)) * DILATION_D - PAD_D;                      \
    h_of[t] = (tap / FILTER_W % FILTER_H) * DILATION_H - PAD_H;                        \
    w_of[t] = (tap % FILTER_W) * DILATION_W - PAD_W;                                   \
    place_of[t] = ((u) / FILTER_SIZE) * X_STRIDE_C + d_of[t] * X_STRIDE_D +            \
                  h_of[t] * X_STRIDE_H + w_of[t] * X_STRIDE_W;                         \
  }
#define ROW_U(k)                                                                       \
  const int in_image = (k) % OUT_SIZE;                                                 \
  const int plane = in_image / OUT_W;                                                  \
  const int first_d = (plane / OUT_H) * STRIDE_D;                                      \
  const int first_h = (plane % OUT_H) * STRIDE_H;                                      \
  const int first_w = (in_image % OUT_W) * STRIDE_W;                                   \
  const int first_place = ((k) / OUT_SIZE) * X_STRIDE_N + first_d * X_STRIDE_D +       \
                          first_h * X_STRIDE_H + first_w * X_STRIDE_W
#define LOAD_U(k, u, t)                                                                \
  (((uint)(d_of[t] + first_d) < (uint)IN_D && (uint)(h_of[t] + first_h) < (uint)IN_H && \
    (uint)(w_of[t] + first_w) < (uint)IN_W)                                            \
       ? x[place_of[t] + first_place]                                                  \
       : (REAL)0)
#define ROW_V(k)                                                                         \
  const int in_image = (k) % OUT_SIZE;                                                   \
  const int plane = in_image / OUT_W;                                                    \
  const int dy_place = ((k) / OUT_SIZE) * Y_STRIDE_N + (plane / OUT_H) * Y_STRIDE_D +    \
                       (plane % OUT_H) * Y_STRIDE_H + (in_image % OUT_W) * Y_STRIDE_W
#define LOAD_V(k, v) dy[(v)*Y_STRIDE_K + dy_place]
#define STORE(u, v, value)                                                               \
  {                                                                                      \
    const int tap = (u) % FILTER_SIZE;                                                   \
    dw[(v)*W_STRIDE_K + ((u) / FILTER_SIZE) * W_STRIDE_C +                               \
       (tap / (FILTER_H * FILTER_W)) * W_STRIDE_D +                                      \
       (tap / FILTER_W % FILTER_H) * W_STRIDE_H + (tap % FILTER_W) * W_STRIDE_W] = (value); \
  }
#endif
