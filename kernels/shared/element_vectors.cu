// Vectors of VEC_BYTES of elements, for elements.cu.

#define VEC (VEC_BYTES / ELEMENT_BYTES)

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
