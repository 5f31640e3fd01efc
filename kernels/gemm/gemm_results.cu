// What becomes of the sums of a product: C = activation(alpha * sum + beta * C + bias), rounded once; or partial sums in
// the scratch memory (PARTIAL_SUMS), which are added in one order, so that every run gives the same bits.

__device__ __forceinline__ REAL activated(REAL x) {
#if ACTIVATION == 1
  return x < (REAL)0 ? (REAL)0 : x;  // A NaN stays one.
#elif ACTIVATION == 2
  return tanh(x);
#elif ACTIVATION == 3
  return (REAL)1 / ((REAL)1 + exp(-x));
#elif ACTIVATION == 4
  return (REAL)0.5 * x * ((REAL)1 + erf(x * (REAL)0.70710678118654752440));
#else
  return x;
#endif
}

// Where the results of one matrix go.
struct Results {
  OUTPUT* c;
  const OUTPUT* bias;
  REAL* partial;  // This split's sums, m x n without gaps; without PARTIAL_SUMS not read.
  int m;
  int ldc;
  REAL alpha;
  REAL beta;
};

__device__ __forceinline__ REAL finished(const Results& results, int row, int column, REAL sum) {
  REAL value = results.alpha * sum;
#if !BETA_ZERO
  value += results.beta * real_of_output(results.c[row + (long long)column * results.ldc]);
#endif
#if BIAS == 1
  value += real_of_output(results.bias[row]);
#elif BIAS == 2
  value += real_of_output(results.bias[column]);
#endif
  return activated(value);
}

__device__ __forceinline__ void finish(const Results& results, int row, int column, REAL sum) {
  results.c[row + (long long)column * results.ldc] = rounded(finished(results, row, column, sum));
}

__device__ __forceinline__ void put(const Results& results, int row, int column, REAL sum) {
#if PARTIAL_SUMS
  results.partial[row + (long long)column * results.m] = sum;
#else
  finish(results, row, column, sum);
#endif
}

// REQUIRES: the third dimension of the grid is batch * SPLIT_K, the splits of a matrix one after the other.
__device__ __forceinline__ Results results_of(OUTPUT* c, const OUTPUT* bias, REAL* workspace, int m, int n, int ldc,
                                              long long stride_c, REAL alpha, REAL beta) {
  const int matrix = blockIdx.z / SPLIT_K;
  return {c + matrix * stride_c, bias, workspace + (long long)blockIdx.z * m * n, m, ldc, alpha, beta};
}

#if PARTIAL_SUMS
// One thread for each element of C.
extern "C" __global__ void __launch_bounds__(256) gemm_sum(OUTPUT* c, const OUTPUT* bias, const REAL* workspace, int m,
                                                          int n, int ldc, long long stride_c, REAL alpha, REAL beta) {
  const long long size = (long long)m * n;
  const long long index = blockIdx.x * 256ll + threadIdx.x;
  if (index >= size) return;
  const REAL* partial = workspace + (long long)blockIdx.z * SPLIT_K * size + index;
  REAL sum = 0;
#pragma unroll
  for (int split = 0; split < SPLIT_K; ++split) sum += partial[split * size];
  const Results results = {c + blockIdx.z * stride_c, bias, nullptr, m, ldc, alpha, beta};
  finish(results, (int)(index % m), (int)(index / m), sum);
}
#endif
