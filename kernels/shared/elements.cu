// What tensors hold and what is computed in. KIND says what an element of the inputs is, OUT_KIND one of the output:
// 0 f32, 1 bf16, 2 f16, 3 f64. CUDA C++ has no type for f16 without a header; HIP C++ has one.

#if KIND == 3
typedef double ELEMENT;
typedef double REAL;
#elif KIND == 0
typedef float ELEMENT;
typedef float REAL;
#else
typedef unsigned short ELEMENT;
typedef float REAL;
#endif

// Of an element of `kind`, as KIND counts.
template <int kind, class Stored>
__device__ __forceinline__ REAL real_of_kind(Stored element) {
  if constexpr (kind == 1) {
    return __uint_as_float((unsigned)element << 16);
  } else if constexpr (kind == 2) {
#ifdef __HIP__
    return __builtin_bit_cast(_Float16, element);
#else
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(element));
    return value;
#endif
  } else {
    return element;
  }
}

__device__ __forceinline__ REAL real_of(ELEMENT element) { return real_of_kind<KIND>(element); }

#if OUT_KIND == 3
typedef double OUTPUT;
#elif OUT_KIND == 0
typedef float OUTPUT;
#else
typedef unsigned short OUTPUT;
#endif

__device__ __forceinline__ REAL real_of_output(OUTPUT element) { return real_of_kind<OUT_KIND>(element); }

__device__ __forceinline__ OUTPUT rounded(REAL value) {
#if OUT_KIND == 1 && __CUDA_ARCH__ >= 800
  unsigned pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(0.0f), "f"(value));
  return (OUTPUT)pair;
#elif OUT_KIND == 1
  const unsigned bits = __float_as_uint(value);
  // A NaN stays one; the sum below could make it an infinity.
  if (value != value) return (OUTPUT)(bits >> 16 | 0x40);
  return (OUTPUT)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
#elif OUT_KIND == 2
#ifdef __HIP__
  return __builtin_bit_cast(OUTPUT, (_Float16)value);
#else
  OUTPUT element;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(element) : "f"(value));
  return element;
#endif
#else
  return value;
#endif
}
