// C = A B of row-major f32 matrices: each work-item computes ROWS x COLUMNS elements of C, a
// work-group a tile of them, whose parts of A go through local memory if USE_LOCAL says so.
#define TILE_ROWS (BLOCK_Y * ROWS)
#define TILE_COLUMNS (BLOCK_X * COLUMNS)

__kernel void matmul(__global const float* a, __global const float* b, __global float* c, int m,
                     int n, int k) {
  const int first_row = get_group_id(1) * TILE_ROWS + get_local_id(1) * ROWS;
  const int first_column = get_group_id(0) * TILE_COLUMNS + get_local_id(0);
  float sum[ROWS][COLUMNS];
  for (int r = 0; r < ROWS; ++r) {
    for (int q = 0; q < COLUMNS; ++q) sum[r][q] = 0;
  }
#if USE_LOCAL
  __local float part[TILE_ROWS * DEPTH];
#endif
  for (int start = 0; start < k; start += DEPTH) {
#if USE_LOCAL
    for (int i = get_local_id(1) * BLOCK_X + get_local_id(0); i < TILE_ROWS * DEPTH;
         i += BLOCK_X * BLOCK_Y) {
      const int row = get_group_id(1) * TILE_ROWS + i / DEPTH;
      const int inner = start + i % DEPTH;
      part[i] = row < m && inner < k ? a[row * k + inner] : 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
    for (int inner = 0; inner < DEPTH; ++inner) {
      if (start + inner >= k) break;
      for (int r = 0; r < ROWS; ++r) {
#if USE_LOCAL
        const float left = part[(get_local_id(1) * ROWS + r) * DEPTH + inner];
#else
        const float left = first_row + r < m ? a[(first_row + r) * k + start + inner] : 0;
#endif
        for (int q = 0; q < COLUMNS; ++q) {
          const int column = first_column + q * BLOCK_X;
          if (column < n) sum[r][q] += left * b[(start + inner) * n + column];
        }
      }
    }
#if USE_LOCAL
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
  }
  for (int r = 0; r < ROWS; ++r) {
    for (int q = 0; q < COLUMNS; ++q) {
      const int column = first_column + q * BLOCK_X;
      if (first_row + r < m && column < n) c[(first_row + r) * n + column] = sum[r][q];
    }
  }
}

// One work-item for each element: what the tuned kernel is compared with.
__kernel void plain_matmul(__global const float* a, __global const float* b, __global float* c,
                           int m, int n, int k) {
  const int row = get_global_id(1);
  const int column = get_global_id(0);
  if (row >= m || column >= n) return;
  float sum = 0;
  for (int inner = 0; inner < k; ++inner) sum += a[row * k + inner] * b[inner * n + column];
  c[row * n + column] = sum;
}
