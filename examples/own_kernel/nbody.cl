// Accelerations of bodies that attract each other (G = 1, softened): each work-item computes
// BODIES_EACH of them, and a work-group stages TILE of those that attract at a time in local memory
// if USE_LOCAL says so. UNROLL is how often the loop over those that attract is unrolled.
#define SOFTENING 0.01f
#define PRAGMA(text) _Pragma(#text)
#define UNROLLED(count) PRAGMA(unroll count)

__kernel void nbody(__global const float* x, __global const float* y, __global const float* z,
                    __global const float* mass, __global float* ax, __global float* ay,
                    __global float* az, int bodies) {
  const int first = get_group_id(0) * BLOCK_X * BODIES_EACH + get_local_id(0);
  float own_x[BODIES_EACH];
  float own_y[BODIES_EACH];
  float own_z[BODIES_EACH];
  float sum_x[BODIES_EACH];
  float sum_y[BODIES_EACH];
  float sum_z[BODIES_EACH];
  for (int b = 0; b < BODIES_EACH; ++b) {
    const int body = first + b * BLOCK_X < bodies ? first + b * BLOCK_X : 0;
    own_x[b] = x[body];
    own_y[b] = y[body];
    own_z[b] = z[body];
    sum_x[b] = sum_y[b] = sum_z[b] = 0;
  }
#if USE_LOCAL
  __local float tile_x[TILE];
  __local float tile_y[TILE];
  __local float tile_z[TILE];
  __local float tile_mass[TILE];
#endif
  for (int start = 0; start < bodies; start += TILE) {
    const int count = bodies - start < TILE ? bodies - start : TILE;
#if USE_LOCAL
    for (int i = get_local_id(0); i < count; i += BLOCK_X) {
      tile_x[i] = x[start + i];
      tile_y[i] = y[start + i];
      tile_z[i] = z[start + i];
      tile_mass[i] = mass[start + i];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
    UNROLLED(UNROLL)
    for (int i = 0; i < count; ++i) {
#if USE_LOCAL
      const float other_x = tile_x[i];
      const float other_y = tile_y[i];
      const float other_z = tile_z[i];
      const float other_mass = tile_mass[i];
#else
      const float other_x = x[start + i];
      const float other_y = y[start + i];
      const float other_z = z[start + i];
      const float other_mass = mass[start + i];
#endif
      for (int b = 0; b < BODIES_EACH; ++b) {
        const float dx = other_x - own_x[b];
        const float dy = other_y - own_y[b];
        const float dz = other_z - own_z[b];
        const float square = dx * dx + dy * dy + dz * dz + SOFTENING;
#if RECIPROCAL_ROOT
        const float inverse = rsqrt(square);
#else
        const float inverse = 1.0f / sqrt(square);
#endif
        const float pull = other_mass * inverse * inverse * inverse;
        sum_x[b] += pull * dx;
        sum_y[b] += pull * dy;
        sum_z[b] += pull * dz;
      }
    }
#if USE_LOCAL
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
  }
  for (int b = 0; b < BODIES_EACH; ++b) {
    const int body = first + b * BLOCK_X;
    if (body < bodies) {
      ax[body] = sum_x[b];
      ay[body] = sum_y[b];
      az[body] = sum_z[b];
    }
  }
}

// One work-item for each body: what the tuned kernel is compared with.
__kernel void plain_nbody(__global const float* x, __global const float* y, __global const float* z,
                          __global const float* mass, __global float* ax, __global float* ay,
                          __global float* az, int bodies) {
  const int body = get_global_id(0);
  if (body >= bodies) return;
  float sum_x = 0;
  float sum_y = 0;
  float sum_z = 0;
  for (int i = 0; i < bodies; ++i) {
    const float dx = x[i] - x[body];
    const float dy = y[i] - y[body];
    const float dz = z[i] - z[body];
    const float inverse = 1.0f / sqrt(dx * dx + dy * dy + dz * dz + SOFTENING);
    const float pull = mass[i] * inverse * inverse * inverse;
    sum_x += pull * dx;
    sum_y += pull * dy;
    sum_z += pull * dz;
  }
  ax[body] = sum_x;
  ay[body] = sum_y;
  az[body] = sum_z;
}
