// 2 x, by TERMS steps of a series that converges to it; with WASTE five times as many for nothing.
// What it tells beside the result: how far off it may be, and how many terms it took.
__kernel void series(__global const float* x, __global float* y, __global float* told, int n) {
  const int i = get_global_id(0);
  if (i >= n) return;
  float sum = 0;
  const int steps = WASTE ? 5 * TERMS : TERMS;
  for (int step = 0; step < steps; ++step) sum = sum * 0.5f + x[i];
  y[i] = sum;
  if (i != 0) return;
  told[0] = 1.0f / TERMS;
  told[1] = TERMS;
}
