// Direct forward convolution. A work-item computes VEC neighbouring columns of REG_H neighbouring rows of REG_K
// neighbouring output channels; dimension 0 runs over columns, 1 over rows and depths, 2 over images and channels.

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#if VEC == 1
typedef REAL VECTOR;
#define LOAD_VECTOR(p) (*(p))
#define STORE_VECTOR(value, p) (*(p) = (value))
#else
typedef JOIN(REAL, VEC) VECTOR;
#define LOAD_VECTOR(p) JOIN(vload, VEC)(0, p)
#define STORE_VECTOR(value, p) JOIN(vstore, VEC)(value, 0, p)
#endif

// VEC inputs, `step` columns apart, of one row; zero beside the image.
VECTOR row_of_inputs(__global const REAL* row, int first, int step, int width, int row_stride) {
  if (step == 1 && row_stride == 1 && first >= 0 && first + VEC <= width) {
    return LOAD_VECTOR(row + first);
  }
  REAL lanes[VEC];
  for (int lane = 0; lane < VEC; ++lane) {
    const int column = first + lane * step;
    lanes[lane] = (uint)column < (uint)width ? row[column * row_stride] : (REAL)0;
  }
  return LOAD_VECTOR(lanes);
}

__kernel __attribute__((reqd_work_group_size(WG_W, WG_H, 1))) void conv_direct(
    __global const REAL* x, long x_offset, __global const REAL* w, long w_offset,
    __global const REAL* bias, long bias_offset, __global REAL* y, long y_offset,
    CONV_SIZE_ARGUMENTS) {
  const int out_w0 = get_global_id(0) * VEC;
  const int row_blocks = (OUT_H + REG_H - 1) / REG_H;
  const int od = get_global_id(1) / row_blocks;
  const int oh0 = (get_global_id(1) % row_blocks) * REG_H;
  const int channel_blocks = (OUT_PER_GROUP + REG_K - 1) / REG_K;
  const int k0 = (get_global_id(2) % channel_blocks) * REG_K;
  const int image_group = get_global_id(2) / channel_blocks;
  const int group = image_group % GROUPS;
  const int image = image_group / GROUPS;
  if (out_w0 >= OUT_W || od >= OUT_D) return;
  x += x_offset + image * X_STRIDE_N + group * IN_PER_GROUP * X_STRIDE_C;
  w += w_offset + (group * OUT_PER_GROUP + k0) * W_STRIDE_K;

  VECTOR sum[REG_K][REG_H];
#pragma unroll
  for (int k = 0; k < REG_K; ++k) {
#pragma unroll
    for (int r = 0; r < REG_H; ++r) sum[k][r] = (VECTOR)(0);
  }
  // A block that sticks out beyond the last channel computes that one again instead of reading beyond the filter.
  const int last_k = OUT_PER_GROUP - 1 - k0;

  for (int c = 0; c < IN_PER_GROUP; ++c) {
    for (int fd = 0; fd < FILTER_D; ++fd) {
      const int d = od * STRIDE_D - PAD_D + fd * DILATION_D;
      if ((uint)d >= (uint)IN_D) continue;
      for (int fh = 0; fh < FILTER_H; ++fh) {
        for (int fw = 0; fw < FILTER_W; ++fw) {
          __global const REAL* tap =
              w + c * W_STRIDE_C + fd * W_STRIDE_D + fh * W_STRIDE_H + fw * W_STRIDE_W;
          VECTOR in[REG_H];
#pragma unroll
          for (int r = 0; r < REG_H; ++r) {
            const int h = (oh0 + r) * STRIDE_H - PAD_H + fh * DILATION_H;
            in[r] = (VECTOR)(0);
            if ((uint)h < (uint)IN_H) {
              in[r] = row_of_inputs(x + c * X_STRIDE_C + d * X_STRIDE_D + h * X_STRIDE_H,
                                    out_w0 * STRIDE_W - PAD_W + fw * DILATION_W, STRIDE_W, IN_W,
                                    X_STRIDE_W);
            }
          }
#pragma unroll
          for (int k = 0; k < REG_K; ++k) {
            const VECTOR weight = (VECTOR)(tap[min(k, last_k) * W_STRIDE_K]);
#pragma unroll
            for (int r = 0; r < REG_H; ++r) sum[k][r] = fma(in[r], weight, sum[k][r]);
          }
        }
      }
    }
  }

  y += y_offset + image * Y_STRIDE_N + (group * OUT_PER_GROUP + k0) * Y_STRIDE_K + od * Y_STRIDE_D;
#pragma unroll
  for (int k = 0; k < REG_K; ++k) {
#if HAS_BIAS
    const REAL shift = bias[bias_offset + group * OUT_PER_GROUP + k0 + min(k, last_k)];
#else
    const REAL shift = 0;
#endif
#pragma unroll
    for (int r = 0; r < REG_H; ++r) {
      REAL lanes[VEC];
      STORE_VECTOR(sum[k][r] + shift, lanes);
      const int columns = k <= last_k && oh0 + r < OUT_H ? min(VEC, OUT_W - out_w0) : 0;
      for (int lane = 0; lane < VEC; ++lane) {
        if (lane < columns) {
          y[k * Y_STRIDE_K + (oh0 + r) * Y_STRIDE_H + (out_w0 + lane) * Y_STRIDE_W] = lanes[lane];
        }
      }
    }
  }
}
