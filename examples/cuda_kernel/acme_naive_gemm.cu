// C = A * B, column-major: one thread for each element of C. It is what acme_naive_gemm.json describes.
extern "C" __global__ void naive_gemm(const float* a, const float* b, float* c, int m, int k, int lda,
                                      int ldb, int ldc) {
  const int row = blockIdx.x * WG + threadIdx.x;
  const long long column = blockIdx.y;
  if (row >= m) return;
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += a[row + (long long)i * lda] * b[i + column * ldb];
  c[row + column * ldc] = sum;
}
