// y += x scaled by an integer table, and the sum of each pair of rows: two outputs, one of them
// read, too. FAULT makes a config that is wrong in one way.
#ifndef FAULT
#define FAULT 0
#endif
#if FAULT == 1
this is no OpenCL C
#endif

__kernel void axpy(__global const float* x, __global const int* table, __global double* y,
                   __global float* pairs, int n, float scale) {
  const int i = get_global_id(0);
  if (i < n) {
#if FAULT == 2
    y[i] += 2 * scale * x[i] * table[i % 4];
#else
    y[i] += scale * x[i] * table[i % 4];
#endif
    if (i % 2 == 0) pairs[i / 2] = x[i] + x[i + 1];
  }
#if FAULT == 3
  if (i < n) pairs[n / 2 + i] = 1;
#endif
#if FAULT == 4
  volatile __global double* nowhere = 0;
  nowhere[i] = 1;
#endif
}
