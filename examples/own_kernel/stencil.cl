// One step of heat that spreads through a box: out = centre * CENTRE + the six neighbours * SIDE,
// with zeros around the box. Each work-item walks through PLANES_EACH planes and keeps the values
// below and above in registers; a work-group stages its part of a plane, with the rim around it, in
// local memory if USE_LOCAL says so. COLUMNS_EACH is how many columns a work-item has.
#define CENTRE 0.4f
#define SIDE 0.1f
#define TILE_WIDTH (BLOCK_X * COLUMNS_EACH)
#define RIM_WIDTH (TILE_WIDTH + 2)
#define RIM_SIZE (RIM_WIDTH * (BLOCK_Y + 2))
#define IS_INSIDE(p, r, c) \
  ((p) >= 0 && (p) < depth && (r) >= 0 && (r) < height && (c) >= 0 && (c) < width)
#define AT(p, r, c) (IS_INSIDE(p, r, c) ? in[((p) * height + (r)) * width + (c)] : 0.0f)

__kernel void stencil(__global const float* in, __global float* out, int depth, int height,
                      int width) {
  const int left = get_group_id(0) * TILE_WIDTH;
  const int top = get_group_id(1) * BLOCK_Y;
  const int row = top + get_local_id(1);
  const int first_plane = get_group_id(2) * PLANES_EACH;
  float below[COLUMNS_EACH];
  float here[COLUMNS_EACH];
  for (int q = 0; q < COLUMNS_EACH; ++q) {
    const int column = left + q * BLOCK_X + get_local_id(0);
    below[q] = AT(first_plane - 1, row, column);
    here[q] = AT(first_plane, row, column);
  }
#if USE_LOCAL
  __local float part[RIM_SIZE];
#endif
#if UNROLL
#pragma unroll
#endif
  for (int step = 0; step < PLANES_EACH; ++step) {
    const int plane = first_plane + step;
#if USE_LOCAL
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = get_local_id(1) * BLOCK_X + get_local_id(0); i < RIM_SIZE;
         i += BLOCK_X * BLOCK_Y) {
      const int rim_row = top + i / RIM_WIDTH - 1;
      const int rim_column = left + i % RIM_WIDTH - 1;
      part[i] = AT(plane, rim_row, rim_column);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
    for (int q = 0; q < COLUMNS_EACH; ++q) {
      const int column = left + q * BLOCK_X + get_local_id(0);
      const float above = AT(plane + 1, row, column);
#if USE_LOCAL
      const int i =
          (get_local_id(1) + 1) * RIM_WIDTH + q * BLOCK_X + get_local_id(0) + 1;
      const float sides = part[i - 1] + part[i + 1] + part[i - RIM_WIDTH] + part[i + RIM_WIDTH];
#else
      const float sides = AT(plane, row, column - 1) + AT(plane, row, column + 1) +
                          AT(plane, row - 1, column) + AT(plane, row + 1, column);
#endif
      if (IS_INSIDE(plane, row, column)) {
        out[(plane * height + row) * width + column] =
            CENTRE * here[q] + SIDE * (sides + below[q] + above);
      }
      below[q] = here[q];
      here[q] = above;
    }
  }
}

// One work-item for each value: what the tuned kernel is compared with.
__kernel void plain_stencil(__global const float* in, __global float* out, int depth, int height,
                            int width) {
  const int column = get_global_id(0);
  const int row = get_global_id(1);
  const int plane = get_global_id(2);
  if (!IS_INSIDE(plane, row, column)) return;
  const float sides = AT(plane, row, column - 1) + AT(plane, row, column + 1) +
                      AT(plane, row - 1, column) + AT(plane, row + 1, column);
  const float ends = AT(plane - 1, row, column) + AT(plane + 1, row, column);
  out[(plane * height + row) * width + column] =
      CENTRE * AT(plane, row, column) + SIDE * (sides + ends);
}
