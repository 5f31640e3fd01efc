// Vectors of elements and the exponential function, for the softmax kernels.

#define VEC (VEC_BYTES / ELEMENT_BYTES)
#define MINUS_INFINITY (-__int_as_float(0x7f800000))

#if VEC_BYTES == 16
typedef uint4 WORD;
#elif VEC_BYTES == 8
typedef uint2 WORD;
#elif VEC_BYTES == 4
typedef unsigned WORD;
#else
typedef unsigned short WORD;
#endif

union Pack {
  WORD word;
  ELEMENT elements[VEC];
  unsigned pairs[VEC_BYTES < 4 ? 1 : VEC_BYTES / 4];
};

__device__ __forceinline__ Pack packed(const float (&values)[VEC]) {
  Pack pack;
#if VEC > 1 && KIND != 0
#pragma unroll
  for (int i = 0; i < VEC / 2; ++i) {
#if KIND == 1
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;"
        : "=r"(pack.pairs[i])
        : "f"(values[2 * i + 1]), "f"(values[2 * i]));
#else
    asm("cvt.rn.f16x2.f32 %0, %1, %2;"
        : "=r"(pack.pairs[i])
        : "f"(values[2 * i + 1]), "f"(values[2 * i]));
#endif
  }
#else
#pragma unroll
  for (int i = 0; i < VEC; ++i) pack.elements[i] = rounded(values[i]);
#endif
  return pack;
}

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

// What is subtracted before exp. 0 where all elements are minus infinity, so that their powers are
// 0.
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
