__kernel void bump(__global const float* x, __global int* y, int n, float4 by) {
  const int i = get_global_id(0);
  if (i < n) y[i] += (int)(x[i] * by.x) + WG;
}
