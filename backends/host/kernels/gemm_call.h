// A product of two matrices as the units of one instruction set take it. See kernel_table.h for the
// permitted content of this header.
#pragma once

#include <stdint.h>

namespace attune::host {

// C = alpha op(A) op(B) + beta C, column-major; beta = 0 does not read C.
template <class T>
struct GemmCall {
  int64_t m, n, k;
  bool transpose_a, transpose_b;
  const T* a;
  int64_t lda;
  const T* b;
  int64_t ldb;
  T* c;
  int64_t ldc;
  T alpha, beta;
};

}  // namespace attune::host
