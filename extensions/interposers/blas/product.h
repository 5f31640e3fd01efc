// A BLAS product in attune's form, from the arguments of one BLAS call: every convention (Fortran
// or C, rows or columns first, gemm or gemv) becomes one column-major gemm. Also decides whether
// attune computes the call, and nothing else.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "extensions/interposers/preload/product.h"

// Always inlined: copies of a dozen arguments from call to call cost as much as the lookup of a
// plan.
#define ATTUNE_BLAS_INLINE [[gnu::always_inline]] inline

namespace attune::blas {

// The fate of a call. All but kServe go to the real BLAS untouched.
enum class Verdict {
  kServe,
  kEmpty,      // A size is 0 or alpha is 0: no product is left.
  kStrided,    // gemv with an increment other than 1.
  kNotFinite,  // See HasFiniteScalars().
  kInvalid,    // The real BLAS must call xerbla().
};

using interposer::Product;

// Values of the enumerations of cblas.h.
enum Cblas : int {
  kRowMajor = 101,
  kColumnMajor = 102,
  kNoTranspose = 111,
  kTranspose = 112,
  kConjugateTranspose = 113
};

enum class Transpose { kNo, kYes, kInvalid };

inline Transpose ParseTranspose(const char* flag) {
  switch (*flag) {
    case 'N':
    case 'n':
      return Transpose::kNo;
    case 'T':
    case 't':
    case 'C':
    case 'c':
      return Transpose::kYes;
    default:
      return Transpose::kInvalid;
  }
}

inline Transpose ParseTranspose(int flag) {
  if (flag == kNoTranspose) return Transpose::kNo;
  if (flag == kTranspose || flag == kConjugateTranspose) return Transpose::kYes;
  return Transpose::kInvalid;
}

// The arguments of a column-major gemm.
template <class T>
struct GemmCall {
  Transpose trans_a, trans_b;
  int64_t m, n, k;
  T alpha;
  const T* a;
  int64_t lda;
  const T* b;
  int64_t ldb;
  T beta;
  T* c;
  int64_t ldc;
};

// The arguments of a column-major gemv: A is stored m x n.
template <class T>
struct GemvCall {
  Transpose trans;
  int64_t m, n;
  T alpha;
  const T* a;
  int64_t lda;
  const T* x;
  int64_t incx;
  T beta;
  T* y;
  int64_t incy;
};

template <class T>
inline constexpr int32_t kTypeOf = sizeof(T) == sizeof(float) ? ATTUNE_F32 : ATTUNE_F64;

// Names every field, because clearing the structs first would cost more than all the rest.
template <class T>
ATTUNE_BLAS_INLINE void Fill(const GemmCall<T>& call, Product& product) {
  product.gemm = {.m = call.m,
                  .n = call.n,
                  .k = call.k,
                  .lda = call.lda,
                  .ldb = call.ldb,
                  .ldc = call.ldc,
                  .batch_count = 1,
                  .stride_a = 0,
                  .stride_b = 0,
                  .stride_c = 0,
                  .trans_a = call.trans_a == Transpose::kYes,
                  .trans_b = call.trans_b == Transpose::kYes,
                  .type = kTypeOf<T>,
                  .bias = ATTUNE_BIAS_NONE,
                  .activation = ATTUNE_ACTIVATION_NONE,
                  .deterministic = 0,
                  .alignment_bytes = 0,
                  .math = ATTUNE_STRICT};
  product.arguments = {.struct_size = sizeof product.arguments,
                       .a = call.a,
                       .b = call.b,
                       .bias = nullptr,
                       .c = call.c,
                       .alpha = call.alpha,
                       .beta = call.beta,
                       .workspace = nullptr,
                       .workspace_bytes = 0,
                       .queue = nullptr};
}

template <class T>
ATTUNE_BLAS_INLINE Verdict Describe(const GemmCall<T>& call, Product& product) {
  const bool flags = call.trans_a != Transpose::kInvalid && call.trans_b != Transpose::kInvalid;
  if (!flags || call.m < 0 || call.n < 0 || call.k < 0) return Verdict::kInvalid;
  const int64_t rows_a = call.trans_a == Transpose::kNo ? call.m : call.k;
  const int64_t rows_b = call.trans_b == Transpose::kNo ? call.k : call.n;
  if (call.lda < std::max<int64_t>(rows_a, 1) || call.ldb < std::max<int64_t>(rows_b, 1) ||
      call.ldc < std::max<int64_t>(call.m, 1)) {
    return Verdict::kInvalid;
  }
  if (call.m == 0 || call.n == 0 || call.k == 0 || call.alpha == 0) return Verdict::kEmpty;
  Fill(call, product);
  return interposer::HasFiniteScalars(product.arguments) ? Verdict::kServe : Verdict::kNotFinite;
}

// y becomes the only column of C.
template <class T>
ATTUNE_BLAS_INLINE Verdict Describe(const GemvCall<T>& call, Product& product) {
  if (call.trans == Transpose::kInvalid || call.m < 0 || call.n < 0 ||
      call.lda < std::max<int64_t>(call.m, 1) || call.incx == 0 || call.incy == 0) {
    return Verdict::kInvalid;
  }
  if (call.m == 0 || call.n == 0 || call.alpha == 0) return Verdict::kEmpty;
  if (call.incx != 1 || call.incy != 1) return Verdict::kStrided;
  const int64_t rows = call.trans == Transpose::kNo ? call.m : call.n;
  const int64_t depth = call.trans == Transpose::kNo ? call.n : call.m;
  Fill(GemmCall<T>{call.trans, Transpose::kNo, rows, 1, depth, call.alpha, call.a, call.lda, call.x,
                   depth, call.beta, call.y, rows},
       product);
  return interposer::HasFiniteScalars(product.arguments) ? Verdict::kServe : Verdict::kNotFinite;
}

// A row-major matrix is the column-major storage of its transpose: C^T = op(B)^T op(A)^T.
template <class T>
ATTUNE_BLAS_INLINE Verdict Describe(int order, const GemmCall<T>& call, Product& product) {
  if (order == kColumnMajor) return Describe(call, product);
  if (order != kRowMajor) return Verdict::kInvalid;
  return Describe(GemmCall<T>{call.trans_b, call.trans_a, call.n, call.m, call.k, call.alpha,
                              call.b, call.ldb, call.a, call.lda, call.beta, call.c, call.ldc},
                  product);
}

template <class T>
ATTUNE_BLAS_INLINE Verdict Describe(int order, const GemvCall<T>& call, Product& product) {
  if (order == kColumnMajor) return Describe(call, product);
  if (order != kRowMajor) return Verdict::kInvalid;
  GemvCall<T> turned = call;
  std::swap(turned.m, turned.n);
  if (call.trans != Transpose::kInvalid) {
    turned.trans = call.trans == Transpose::kNo ? Transpose::kYes : Transpose::kNo;
  }
  return Describe(turned, product);
}

}  // namespace attune::blas
