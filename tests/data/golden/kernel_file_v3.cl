__kernel void scale(__global const float* x, __global const int* order, __global float* y, int n,
                    float factor) {
  const int i = get_global_id(0);
  if (i < n * WIDTH) y[i] = factor * x[i] + order[i / 2 % (n / 2)] * UNROLL;
}
