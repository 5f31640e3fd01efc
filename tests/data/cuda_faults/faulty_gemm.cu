// C = A * B as examples/cuda_kernel has it, and what a kernel can do wrong, one way for each value of
// KIND. For tests of what attune makes of it; nothing here is an example.
#define right 0
#define reads_far_away 1
#define reads_behind_the_end 2
#define writes_far_away 3
#define writes_behind_the_end 4
#define traps 5
#define leaves_a_nan 6
#define leaves_what_was_there 7
#define leaves_one_element 8
#define wants_too_much_memory 9
#define faults_later 10
#define never_returns 11

// When this module was first launched, by the clock of the device in nanoseconds.
__device__ unsigned long long first_launch_ns;

__device__ unsigned long long now_ns() {
  unsigned long long ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

// Later than any candidate needs to qualify, and earlier than a race ends.
#define LATER_NS 3000000000ll

// A terabyte behind whatever was allocated.
#define FAR_AWAY (1ll << 38)

extern "C" __global__ void faulty_gemm(const float* a, const float* b, float* c, int m, int n, int k, int lda,
                                       int ldb, int ldc) {
  const int row = blockIdx.x * 64 + threadIdx.x;
  const long long column = blockIdx.y;
  if (row >= m) return;
#if KIND == never_returns
  for (;;) *(volatile float*)c = 0;
#elif KIND == traps
  __trap();
#elif KIND == faults_later
  const unsigned long long first_ns = atomicCAS(&first_launch_ns, 0ull, now_ns());
  if (first_ns != 0 && (long long)(now_ns() - first_ns) > LATER_NS) a += FAR_AWAY;
#elif KIND == reads_far_away
  a += FAR_AWAY;
#endif
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += a[row + (long long)i * lda] * b[i + column * ldb];
#if KIND == reads_behind_the_end
  // Where the next operand or a red zone begins: something that is no part of this product.
  sum += a[m + (long long)(k - 1) * lda] * b[k + (n - 1ll) * ldb];
#endif
#if KIND == leaves_a_nan
  if (row == 1 && column == 1) sum = __int_as_float(0x7fc00000);
#elif KIND == leaves_what_was_there
  if (sum != 12345.678f) return;
#elif KIND == leaves_one_element
  if (row == m - 1 && column == n - 1) return;
#elif KIND == writes_far_away
  c[FAR_AWAY] = sum;
#elif KIND == writes_behind_the_end
  if (row == m - 1 && column == n - 1) c[m + (n - 1ll) * ldc] = sum;
#endif
  c[row + column * ldc] = sum;
}
