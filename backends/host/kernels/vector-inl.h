// Vectors of the width of the unit that includes this. Included once for each level; see
// kernel_table.h for why everything here has internal linkage.
#pragma once

#include <stdint.h>

#ifndef ATTUNE_VECTOR_BYTES
#error "Define ATTUNE_VECTOR_BYTES before including this file."
#endif

// Arrays of vectors stay in registers only if the loops over them are unrolled to the end.
#if defined(__clang__)
#define ATTUNE_UNROLL _Pragma("clang loop unroll(full)")
#else
#define ATTUNE_UNROLL _Pragma("GCC unroll 32")
#endif
#define ATTUNE_INLINE inline __attribute__((always_inline))

namespace attune::host {
namespace {

template <class T>
struct Simd {
  // Loads and stores through it need only the alignment of an element, and it may alias elements.
  typedef T Vector __attribute__((vector_size(ATTUNE_VECTOR_BYTES), aligned(sizeof(T)), may_alias));
  static constexpr int kLanes = ATTUNE_VECTOR_BYTES / static_cast<int>(sizeof(T));

  static ATTUNE_INLINE Vector Load(const T* from) { return *reinterpret_cast<const Vector*>(from); }
  static ATTUNE_INLINE void Store(T* to, Vector value) { *reinterpret_cast<Vector*>(to) = value; }
  static ATTUNE_INLINE Vector Broadcast(T value) { return Vector{} + value; }
  static ATTUNE_INLINE T Sum(Vector value) {
    T sum = 0;
    for (int lane = 0; lane < kLanes; ++lane) sum += value[lane];
    return sum;
  }
};

template <class T>
ATTUNE_INLINE T Least(T a, T b) {
  return a < b ? a : b;
}

}  // namespace
}  // namespace attune::host
