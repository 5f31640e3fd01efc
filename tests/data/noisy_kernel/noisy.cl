// A correct product of two column-major matrices that compiles with a warning.
#warning this kernel is noisy
__kernel void noisy(__global const float* a, __global const float* b, __global float* c, int m,
                    int n, int k) {
  for (int e = get_global_id(0); e < m * n; e += get_global_size(0)) {
    float sum = 0;
    for (int p = 0; p < k; ++p) sum += a[e % m + p * m] * b[p + e / m * k];
    c[e] = sum;
  }
}
