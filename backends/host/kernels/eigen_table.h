// Eigen's product, once for each level of the instruction set. See kernel_table.h for what a unit
// that is compiled for another level may not do; Eigen's own templates are kept apart by giving its
// namespace another name in every unit.
#pragma once

#include <stdint.h>

namespace attune::host {

// C = alpha op(A) op(B) + beta C, column-major; beta = 0 does not read C.
template <class T>
struct EigenCall {
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

// False if Eigen could not get memory for its packed blocks.
struct EigenTable {
  const char* compiled_for;  // "x86-64-v3"
  const char* version;       // "3.4.0"
  bool (*gemm_f32)(const EigenCall<float>&);
  bool (*gemm_f64)(const EigenCall<double>&);
};

const EigenTable& EigenV2();
const EigenTable& EigenV3();
const EigenTable& EigenV4();

}  // namespace attune::host
