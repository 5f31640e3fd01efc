// Convolutions with few channels in each group, depthwise ones above all, in any type and layout: every result gathers
// what its window sees. Lanes lie along what is contiguous in the result, so neighbours read neighbours. CHANNELS_LAST
// says whether that is the channel; DIRECTION is 0 forward, 1 backward data, 2 backward weights.

#if DIRECTION == 0
#define OUTER_CHANNELS OUT_CHANNELS
#define OUTER_PER_GROUP OUT_PER_GROUP
#define INNER_PER_GROUP IN_PER_GROUP
#define OUTER_H OUT_H
#define OUTER_W OUT_W
#define OUTER_SIZE_D OUT_D
#define INNER_D IN_D
#define INNER_H IN_H
#define INNER_W IN_W
#define SOURCE(n, c, d, h, w) \
  ((n)*X_STRIDE_N + (c)*X_STRIDE_C + (d)*X_STRIDE_D + (h)*X_STRIDE_H + (w)*X_STRIDE_W)
#define RESULT(n, c, d, h, w) \
  ((n)*Y_STRIDE_N + (c)*Y_STRIDE_K + (d)*Y_STRIDE_D + (h)*Y_STRIDE_H + (w)*Y_STRIDE_W)
#define FILTER_OF(outer, inner) ((outer)*W_STRIDE_K + (inner)*W_STRIDE_C)
#elif DIRECTION == 1
#define OUTER_CHANNELS IN_CHANNELS
#define OUTER_PER_GROUP IN_PER_GROUP
#define INNER_PER_GROUP OUT_PER_GROUP
#define OUTER_H IN_H
#define OUTER_W IN_W
#define OUTER_SIZE_D IN_D
#define INNER_D OUT_D
#define INNER_H OUT_H
#define INNER_W OUT_W
#define SOURCE(n, c, d, h, w) \
  ((n)*Y_STRIDE_N + (c)*Y_STRIDE_K + (d)*Y_STRIDE_D + (h)*Y_STRIDE_H + (w)*Y_STRIDE_W)
#define RESULT(n, c, d, h, w) \
  ((n)*X_STRIDE_N + (c)*X_STRIDE_C + (d)*X_STRIDE_D + (h)*X_STRIDE_H + (w)*X_STRIDE_W)
#define FILTER_OF(outer, inner) \
  (((outer) / IN_PER_GROUP * OUT_PER_GROUP + (inner)) * W_STRIDE_K + (outer) % IN_PER_GROUP * W_STRIDE_C)
#endif

#if DIRECTION != 2
// Where the tap at `offset` of the window at `at` lies along one axis; false if that is nowhere.
__device__ __forceinline__ bool find_source(int at, int pad, int offset, int stride, int extent, int& from) {
#if DIRECTION == 0
  from = at * stride - pad + offset;
#else
  const int moved = at + pad - offset;
  if (moved < 0) return false;
  from = moved / stride;
  if (from * stride != moved) return false;
#endif
  return (unsigned)from < (unsigned)extent;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    conv_window(const ELEMENT* source, const ELEMENT* filter, const ELEMENT* bias, ELEMENT* result, CONV_SIZE_ARGUMENTS) {
  const int columns = (OUTER_W + PIXELS - 1) / PIXELS;
#if CHANNELS_LAST
  const int channel_blocks = (OUTER_CHANNELS + BLOCK - 1) / BLOCK;
  const int channel = blockIdx.x % channel_blocks * BLOCK + threadIdx.x;
  const int place = blockIdx.x / channel_blocks;
#else
  const int channel = blockIdx.y;
  const int place = blockIdx.x * BLOCK + threadIdx.x;
#endif
  const int image = blockIdx.z;
  const int first_w = place % columns * PIXELS;
  const int h = place / columns % OUTER_H;
  const int d = place / columns / OUTER_H;
  if (channel >= OUTER_CHANNELS || d >= OUTER_SIZE_D) return;

  REAL sum[PIXELS] = {};
  for (int inner = 0; inner < INNER_PER_GROUP; ++inner) {
    const int from_channel = channel / OUTER_PER_GROUP * INNER_PER_GROUP + inner;
    for (int tap_d = 0; tap_d < FILTER_D; ++tap_d) {
      int from_d;
      if (!find_source(d, PAD_D, tap_d * DILATION_D, STRIDE_D, INNER_D, from_d)) continue;
      for (int tap_h = 0; tap_h < FILTER_H; ++tap_h) {
        int from_h;
        if (!find_source(h, PAD_H, tap_h * DILATION_H, STRIDE_H, INNER_H, from_h)) continue;
        const ELEMENT* const row = source + SOURCE(image, from_channel, from_d, from_h, 0);
        const ELEMENT* const taps = filter + FILTER_OF(channel, inner) + tap_d * W_STRIDE_D + tap_h * W_STRIDE_H;
        for (int tap = 0; tap < FILTER_W; ++tap) {
          const REAL weight = real_of(taps[tap * W_STRIDE_W]);
#pragma unroll
          for (int i = 0; i < PIXELS; ++i) {
            int from;
            if (find_source(first_w + i, PAD_W, tap * DILATION_W, STRIDE_W, INNER_W, from)) {
              sum[i] = fma(real_of(row[SOURCE(0, 0, 0, 0, from)]), weight, sum[i]);
            }
          }
        }
      }
    }
  }
  const REAL shift = HAS_BIAS ? real_of(bias[HAS_BIAS ? channel : 0]) : (REAL)0;
#pragma unroll
  for (int i = 0; i < PIXELS; ++i) {
    if (first_w + i < OUTER_W) result[RESULT(image, channel, d, h, first_w + i)] = rounded(sum[i] + shift);
  }
}
#else
#define WARPS (BLOCK / 32)
// A block computes one tap of one filter, its threads along the pixels; or, if channels are last, of 32 filters, its lanes
// along these. Sums are added in one order.
extern "C" __global__ void __launch_bounds__(BLOCK)
    conv_window_weights(const ELEMENT* x, const ELEMENT* dy, ELEMENT* dw, CONV_SIZE_ARGUMENTS) {
  __shared__ REAL shared_sums[WARPS][32];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int tap = blockIdx.x % FILTER_SIZE;
  const int inner = blockIdx.x / FILTER_SIZE % IN_PER_GROUP;
  const int filter = blockIdx.x / FILTER_SIZE / IN_PER_GROUP * (CHANNELS_LAST ? 32 : 1) + (CHANNELS_LAST ? lane : 0);
  const int tap_w = tap % FILTER_W;
  const int tap_h = tap / FILTER_W % FILTER_H;
  const int tap_d = tap / FILTER_W / FILTER_H;
  const bool exists = filter < OUT_CHANNELS;
  const ELEMENT* const from_x = x + (exists ? filter / OUT_PER_GROUP * IN_PER_GROUP + inner : 0) * X_STRIDE_C;
  const ELEMENT* const from_dy = dy + (exists ? filter : 0) * Y_STRIDE_K;

  REAL sum = 0;
  for (int pixel = CHANNELS_LAST ? warp : threadIdx.x; pixel < BATCH * OUT_SIZE; pixel += CHANNELS_LAST ? WARPS : BLOCK) {
    const int w = pixel % OUT_W;
    const int h = pixel / OUT_W % OUT_H;
    const int d = pixel / OUT_W / OUT_H % OUT_D;
    const int image = pixel / OUT_SIZE;
    const int from_w = w * STRIDE_W - PAD_W + tap_w * DILATION_W;
    const int from_h = h * STRIDE_H - PAD_H + tap_h * DILATION_H;
    const int from_d = d * STRIDE_D - PAD_D + tap_d * DILATION_D;
    if ((unsigned)from_w >= (unsigned)IN_W || (unsigned)from_h >= (unsigned)IN_H || (unsigned)from_d >= (unsigned)IN_D)
      continue;
    sum = fma(real_of(from_dy[image * Y_STRIDE_N + d * Y_STRIDE_D + h * Y_STRIDE_H + w * Y_STRIDE_W]),
              real_of(from_x[image * X_STRIDE_N + from_d * X_STRIDE_D + from_h * X_STRIDE_H + from_w * X_STRIDE_W]), sum);
  }
  if (!CHANNELS_LAST) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  }
  shared_sums[warp][lane] = sum;
  __syncthreads();
  if (warp != 0 || !exists || (!CHANNELS_LAST && lane != 0)) return;
  REAL total = 0;
  for (int other = 0; other < WARPS; ++other) total += shared_sums[other][lane];
  dw[filter * W_STRIDE_K + inner * W_STRIDE_C + tap_d * W_STRIDE_D + tap_h * W_STRIDE_H + tap_w * W_STRIDE_W] =
      rounded(total);
}
#endif
