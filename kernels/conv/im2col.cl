// Unfolds images and folds them back. `col` is described in conv_unfolded_operands.cl.

// One work-item for each element of col: dimension 0 the output pixel, 1 the tap with its channel, 2 the image and
// its group.
__kernel __attribute__((reqd_work_group_size(COPY_WG, 1, 1))) void im2col(
    __global const REAL* x, long x_offset, __global REAL* col, long col_offset,
    CONV_SIZE_ARGUMENTS) {
  const int pixel = get_global_id(0);
  const int row = get_group_id(1);
  const int z = get_group_id(2);
  if (pixel >= OUT_SIZE) return;
  const int tap = row % FILTER_SIZE;
  const int channel = (z % GROUPS) * IN_PER_GROUP + row / FILTER_SIZE;
  const int plane = pixel / OUT_W;
  const int d = (plane / OUT_H) * STRIDE_D - PAD_D + (tap / (FILTER_H * FILTER_W)) * DILATION_D;
  const int h = (plane % OUT_H) * STRIDE_H - PAD_H + (tap / FILTER_W % FILTER_H) * DILATION_H;
  const int w = (pixel % OUT_W) * STRIDE_W - PAD_W + (tap % FILTER_W) * DILATION_W;
  REAL value = 0;
  if ((uint)d < (uint)IN_D && (uint)h < (uint)IN_H && (uint)w < (uint)IN_W) {
    value = x[x_offset + (z / GROUPS) * X_STRIDE_N + channel * X_STRIDE_C + d * X_STRIDE_D +
              h * X_STRIDE_H + w * X_STRIDE_W];
  }
  col[col_offset + ((long)z * (IN_PER_GROUP * FILTER_SIZE) + row) * OUT_SIZE + pixel] = value;
}

// One work-item for each element of x: dimension 0 the input pixel, 1 the channel of the group, 2 the image and its
// group. It gathers what the taps contributed, so no two work-items write the same place and the sum has one order.
__kernel __attribute__((reqd_work_group_size(COPY_WG, 1, 1))) void col2im(
    __global const REAL* col, long col_offset, __global REAL* x, long x_offset,
    CONV_SIZE_ARGUMENTS) {
  const int pixel = get_global_id(0);
  const int channel = get_group_id(1);
  const int z = get_group_id(2);
  if (pixel >= IN_SIZE) return;
  const int plane = pixel / IN_W;
  const int d = plane / IN_H;
  const int h = plane % IN_H;
  const int w = pixel % IN_W;
  col += col_offset +
         ((long)z * (IN_PER_GROUP * FILTER_SIZE) + (long)channel * FILTER_SIZE) * OUT_SIZE;
  REAL sum = 0;
  for (int fd = 0; fd < FILTER_D; ++fd) {
    const int from_d = d + PAD_D - fd * DILATION_D;
    if (from_d < 0 || from_d % STRIDE_D != 0 || from_d / STRIDE_D >= OUT_D) continue;
    for (int fh = 0; fh < FILTER_H; ++fh) {
      const int from_h = h + PAD_H - fh * DILATION_H;
      if (from_h < 0 || from_h % STRIDE_H != 0 || from_h / STRIDE_H >= OUT_H) continue;
      for (int fw = 0; fw < FILTER_W; ++fw) {
        const int from_w = w + PAD_W - fw * DILATION_W;
        if (from_w < 0 || from_w % STRIDE_W != 0 || from_w / STRIDE_W >= OUT_W) continue;
        const int tap = (fd * FILTER_H + fh) * FILTER_W + fw;
        const int from = ((from_d / STRIDE_D) * OUT_H + from_h / STRIDE_H) * OUT_W + from_w / STRIDE_W;
        sum += col[(long)tap * OUT_SIZE + from];
      }
    }
  }
  x[x_offset + (z / GROUPS) * X_STRIDE_N + ((z % GROUPS) * IN_PER_GROUP + channel) * X_STRIDE_C +
    d * X_STRIDE_D + h * X_STRIDE_H + w * X_STRIDE_W] = sum;
}
