// A BLAS product as attune knows it, out of the arguments of one BLAS call: every convention
// (Fortran or C, rows or columns first, gemm or gemv) becomes one column-major gemm. Nothing is
// decided here but whether the call is one that attune computes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "attune/attune.h"

namespace attune::blas {

// What becomes of a call. All but kServe go to the real BLAS untouched.
enum class Verdict {
  kServe,
  kEmpty,    // A size is 0 or alpha is 0: no product is left.
  kStrided,  // gemv with an increment other than 1.
  kInvalid,  // xerbla() of the real BLAS has to speak.
};

struct Product {
  attune_gemm gemm;
  attune_arguments arguments;
};

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

template <class T>
void Fill(const GemmCall<T>& call, Product& product) {
  product.gemm = {};
  product.gemm.m = call.m;
  product.gemm.n = call.n;
  product.gemm.k = call.k;
  product.gemm.lda = call.lda;
  product.gemm.ldb = call.ldb;
  product.gemm.ldc = call.ldc;
  product.gemm.trans_a = call.trans_a == Transpose::kYes;
  product.gemm.trans_b = call.trans_b == Transpose::kYes;
  product.gemm.type = kTypeOf<T>;
  product.arguments = {};
  product.arguments.struct_size = sizeof product.arguments;
  product.arguments.a = call.a;
  product.arguments.b = call.b;
  product.arguments.c = call.c;
  product.arguments.alpha = call.alpha;
  product.arguments.beta = call.beta;
}

template <class T>
Verdict Describe(const GemmCall<T>& call, Product& product) {
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
  return Verdict::kServe;
}

// y becomes the only column of C.
template <class T>
Verdict Describe(const GemvCall<T>& call, Product& product) {
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
  return Verdict::kServe;
}

// A row-major matrix is the column-major storage of its transpose: C^T = op(B)^T op(A)^T.
template <class T>
Verdict Describe(int order, const GemmCall<T>& call, Product& product) {
  if (order == kColumnMajor) return Describe(call, product);
  if (order != kRowMajor) return Verdict::kInvalid;
  return Describe(GemmCall<T>{call.trans_b, call.trans_a, call.n, call.m, call.k, call.alpha,
                              call.b, call.ldb, call.a, call.lda, call.beta, call.c, call.ldc},
                  product);
}

template <class T>
Verdict Describe(int order, const GemvCall<T>& call, Product& product) {
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
