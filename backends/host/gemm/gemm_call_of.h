// A product of our solvers as our kernels and Eigen's take it: addresses of elements for those of
// bytes.
#pragma once

#include <cstddef>

#include "backends/host/gemm/matrix_product.h"
#include "backends/host/kernels/gemm_call.h"

namespace attune::host {

// REQUIRES: elements of A, B and C are T.
template <class T>
GemmCall<T> GemmCallOf(const MatrixProduct& product) {
  return {product.m,
          product.n,
          product.k,
          product.transpose_a,
          product.transpose_b,
          reinterpret_cast<const T*>(product.a),
          product.lda,
          reinterpret_cast<const T*>(product.b),
          product.ldb,
          reinterpret_cast<T*>(product.c),
          product.ldc,
          static_cast<T>(product.alpha),
          static_cast<T>(product.beta)};
}

}  // namespace attune::host
