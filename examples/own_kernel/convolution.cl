// y = x * w for one picture, channels first: each work-item computes PIXELS_EACH columns of
// FILTERS_EACH output channels. The filters of a work-group go through local memory, one input
// channel at a time, if USE_LOCAL says so; UNROLL unrolls the loops over its rows and columns.
#define TAPS (EXTENT * EXTENT)

__kernel void convolution(__global const float* x, __global const float* w, __global float* y,
                          int channels, int height, int width, int filters) {
  const int out_height = height - EXTENT + 1;
  const int out_width = width - EXTENT + 1;
  const int first_column = get_group_id(0) * BLOCK_X * PIXELS_EACH + get_local_id(0);
  const int row = get_group_id(1) * BLOCK_Y + get_local_id(1);
  const int first_filter = get_group_id(2) * FILTERS_EACH;
  float sum[FILTERS_EACH][PIXELS_EACH];
  for (int f = 0; f < FILTERS_EACH; ++f) {
    for (int p = 0; p < PIXELS_EACH; ++p) sum[f][p] = 0;
  }
#if USE_LOCAL
  __local float part[FILTERS_EACH * TAPS];
#endif
  for (int c = 0; c < channels; ++c) {
#if USE_LOCAL
    for (int i = get_local_id(1) * BLOCK_X + get_local_id(0); i < FILTERS_EACH * TAPS;
         i += BLOCK_X * BLOCK_Y) {
      const int filter = first_filter + i / TAPS;
      part[i] = filter < filters ? w[(filter * channels + c) * TAPS + i % TAPS] : 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
#if UNROLL
#pragma unroll
#endif
    for (int r = 0; r < EXTENT; ++r) {
#if UNROLL
#pragma unroll
#endif
      for (int s = 0; s < EXTENT; ++s) {
        float pixel[PIXELS_EACH];
        for (int p = 0; p < PIXELS_EACH; ++p) {
          const int column = first_column + p * BLOCK_X;
          const int is_inside = row < out_height && column < out_width;
          pixel[p] = is_inside ? x[(c * height + row + r) * width + column + s] : 0;
        }
        for (int f = 0; f < FILTERS_EACH; ++f) {
#if USE_LOCAL
          const float tap = part[f * TAPS + r * EXTENT + s];
#else
          const int filter = first_filter + f;
          const float tap =
              filter < filters ? w[(filter * channels + c) * TAPS + r * EXTENT + s] : 0;
#endif
          for (int p = 0; p < PIXELS_EACH; ++p) sum[f][p] += tap * pixel[p];
        }
      }
    }
#if USE_LOCAL
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
  }
  for (int f = 0; f < FILTERS_EACH; ++f) {
    for (int p = 0; p < PIXELS_EACH; ++p) {
      const int column = first_column + p * BLOCK_X;
      if (first_filter + f < filters && row < out_height && column < out_width) {
        y[((first_filter + f) * out_height + row) * out_width + column] = sum[f][p];
      }
    }
  }
}

// One work-item for each element: what the tuned kernel is compared with.
__kernel void plain_convolution(__global const float* x, __global const float* w,
                                __global float* y, int channels, int height, int width,
                                int filters) {
  const int column = get_global_id(0);
  const int row = get_global_id(1);
  const int filter = get_global_id(2);
  if (row >= height - EXTENT + 1 || column >= width - EXTENT + 1) return;
  float sum = 0;
  for (int c = 0; c < channels; ++c) {
    for (int r = 0; r < EXTENT; ++r) {
      for (int s = 0; s < EXTENT; ++s) {
        sum += w[(filter * channels + c) * TAPS + r * EXTENT + s] *
               x[(c * height + row + r) * width + column + s];
      }
    }
  }
  y[(filter * (height - EXTENT + 1) + row) * (width - EXTENT + 1) + column] = sum;
}
