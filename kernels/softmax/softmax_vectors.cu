// The exponential function and sums of it, for the softmax kernels.

#define MINUS_INFINITY (-__int_as_float(0x7f800000))

// e to the power of x - base. The approximation suffices for 16 bits: its error is below 1e-5,
// relative.
__device__ __forceinline__ float power(float x, float base) {
#if KIND == 0
  return expf(x - base);
#else
  const float log2_e = 1.4426950408889634f;
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(fmaf(x, log2_e, -base * log2_e)));
  return result;
#endif
}

// A NaN is not larger; it reaches the sum by its exponential.
__device__ __forceinline__ float larger(float a, float b) { return fmaxf(a, b); }

// The number to subtract before exp. It is 0 if all elements are minus infinity: their powers are 0
// then.
__device__ __forceinline__ float base_of(float largest) {
  return largest == MINUS_INFINITY ? 0.0f : largest;
}

// The sum of powers of e, relative to the largest number among them.
struct Powers {
  float largest;
  float sum;
};

__device__ __forceinline__ Powers added(const Powers& a, const Powers& b) {
  const float largest = larger(a.largest, b.largest);
  const float base = base_of(largest);
  return {largest, a.sum * power(a.largest, base) + b.sum * power(b.largest, base)};
}
