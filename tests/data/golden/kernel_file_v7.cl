__kernel void bump(__global const float* x, __global float* y, __global float* told, int n) {
  const int i = get_global_id(0);
  if (i < n) y[i] = x[i] + BLOCK;
  if (i < n) told[i] = BLOCK;
}
