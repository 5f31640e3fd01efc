// out[v][u] = sum over k of  left[k][u] * right[k][v], in tiles that a work-group stages in local memory.
//
// The file before this one says what the three matrices are, by macros:
//   PRODUCT_ARGUMENTS       the kernel's parameters
//   PRODUCT_BEGIN           statements that declare what the other macros use; may read `z`, the batch index
//   EXTENT_U/V/K            int extents
//   SETUP_U(t, u)           statements that prepare column `t` of the tile, once, before the first k; u may be
//                           beyond EXTENT_U
//   U_SCRATCH               declarations of __local arrays that SETUP_U fills
//   ROW_U(k), ROW_V(k)      statements before a row of loads; k is below EXTENT_K
//   LOAD_U(k, u, t), LOAD_V(k, v)   values; indices are in range
//   STORE(u, v, value)      a statement; indices are in range
//
// u is the direction that is contiguous in memory, so the vectors lie along it. A work-item owns REG_V x REG_U
// vectors of VEC elements, a work-group WG_V x WG_U work-items.

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

#define TILE_U (WG_U * REG_U * VEC)
#define TILE_V (WG_V * REG_V)

__kernel __attribute__((reqd_work_group_size(WG_U, WG_V, 1))) void tiled_product(PRODUCT_ARGUMENTS) {
  __local REAL tile_u[TILE_K * TILE_U];
  __local REAL tile_v[TILE_K * TILE_V];
  U_SCRATCH
  const int z = get_group_id(2);
  const int u0 = get_group_id(0) * TILE_U;
  const int v0 = get_group_id(1) * TILE_V;
  const int local_u = get_local_id(0);
  const int local_v = get_local_id(1);
  PRODUCT_BEGIN

  for (int t = local_v * WG_U + local_u; t < TILE_U; t += WG_U * WG_V) {
    SETUP_U(t, u0 + t);
  }
  barrier(CLK_LOCAL_MEM_FENCE);

  VECTOR sum[REG_V][REG_U];
#pragma unroll
  for (int v = 0; v < REG_V; ++v) {
#pragma unroll
    for (int u = 0; u < REG_U; ++u) sum[v][u] = (VECTOR)(0);
  }

  const int inside_u = min(TILE_U, EXTENT_U - u0);
  const int inside_v = min(TILE_V, EXTENT_V - v0);
  for (int k0 = 0; k0 < EXTENT_K; k0 += TILE_K) {
    for (int step = local_v; step < TILE_K; step += WG_V) {
      const int row = step * TILE_U;
      if (k0 + step >= EXTENT_K) {
        for (int t = local_u; t < TILE_U; t += WG_U) tile_u[row + t] = 0;
      } else if (inside_u == TILE_U) {
        ROW_U(k0 + step);
        for (int t = local_u; t < TILE_U; t += WG_U) tile_u[row + t] = LOAD_U(k0 + step, u0 + t, t);
      } else {
        ROW_U(k0 + step);
        for (int t = local_u; t < TILE_U; t += WG_U) {
          tile_u[row + t] = 0;
          if (t < inside_u) tile_u[row + t] = LOAD_U(k0 + step, u0 + t, t);
        }
      }
    }
    for (int step = local_u; step < TILE_K; step += WG_U) {
      const int row = step * TILE_V;
      if (k0 + step >= EXTENT_K) {
        for (int t = local_v; t < TILE_V; t += WG_V) tile_v[row + t] = 0;
      } else {
        ROW_V(k0 + step);
        for (int t = local_v; t < TILE_V; t += WG_V) {
          tile_v[row + t] = 0;
          if (t < inside_v) tile_v[row + t] = LOAD_V(k0 + step, v0 + t);
        }
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);

#pragma unroll 1
    for (int step = 0; step < TILE_K; ++step) {
      VECTOR left[REG_U];
#pragma unroll
      for (int u = 0; u < REG_U; ++u) {
        left[u] = LOAD_VECTOR(tile_u + step * TILE_U + (u * WG_U + local_u) * VEC);
      }
#pragma unroll
      for (int v = 0; v < REG_V; ++v) {
        const VECTOR right = (VECTOR)(tile_v[step * TILE_V + v * WG_V + local_v]);
#pragma unroll
        for (int u = 0; u < REG_U; ++u) sum[v][u] = fma(left[u], right, sum[v][u]);
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }

#pragma unroll
  for (int v = 0; v < REG_V; ++v) {
    const int out_v = v0 + v * WG_V + local_v;
    if (out_v < EXTENT_V) {
#pragma unroll
      for (int u = 0; u < REG_U; ++u) {
        REAL lanes[VEC];
        STORE_VECTOR(sum[v][u], lanes);
        const int first_u = u0 + (u * WG_U + local_u) * VEC;
        for (int lane = 0; lane < VEC; ++lane) {
          if (first_u + lane < EXTENT_U) {
            STORE(first_u + lane, out_v, lanes[lane]);
          }
        }
      }
    }
  }
}
