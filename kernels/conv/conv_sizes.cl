// What every convolution kernel of this folder takes: the sizes, in the order of the kernel files. Strides are in
// elements; 2-D problems have extents of 1 and strides of 0 in depth.

#define CONV_SIZE_ARGUMENTS                                                                       \
  int batch, int in_channels, int out_channels, int groups, int in_d, int in_h, int in_w,         \
      int filter_d, int filter_h, int filter_w, int pad_d, int pad_h, int pad_w, int stride_d,    \
      int stride_h, int stride_w, int dilation_d, int dilation_h, int dilation_w, int out_d,      \
      int out_h, int out_w, int x_stride_n, int x_stride_c, int x_stride_d, int x_stride_h,       \
      int x_stride_w, int w_stride_k, int w_stride_c, int w_stride_d, int w_stride_h,             \
      int w_stride_w, int y_stride_n, int y_stride_k, int y_stride_d, int y_stride_h,             \
      int y_stride_w

// What tiled_product.cl takes for a convolution: two operands that are multiplied, a bias, the result, and the sizes.
#define PRODUCT_ARGUMENTS                                                                  \
  __global const REAL *in0, long in0_offset, __global const REAL *in1, long in1_offset,    \
      __global const REAL *bias, long bias_offset, __global REAL *out, long out_offset,    \
      CONV_SIZE_ARGUMENTS

#define IN_PER_GROUP (IN_CHANNELS / GROUPS)
#define OUT_PER_GROUP (OUT_CHANNELS / GROUPS)
#define FILTER_SIZE (FILTER_D * FILTER_H * FILTER_W)
#define OUT_SIZE (OUT_D * OUT_H * OUT_W)
#define IN_SIZE (IN_D * IN_H * IN_W)
