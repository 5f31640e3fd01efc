// A BLAS for tests: the products by their definition under every name that the preload library
// exports, with 32-bit and 64-bit integers. It counts its calls and the messages for xerbla().

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "extensions/interposers/blas/names.h"

namespace {

std::atomic<int> calls = 0;
std::atomic<int> complaints = 0;

bool IsTransposed(char flag) { return flag != 'N' && flag != 'n'; }
bool IsFlag(char flag) {
  for (const char known : {'N', 'n', 'T', 't', 'C', 'c'}) {
    if (flag == known) return true;
  }
  return false;
}
char FlagOf(int cblas) {
  return cblas == 111 ? 'N' : cblas == 112 ? 'T' : cblas == 113 ? 'C' : '?';
}

template <class T>
void Multiply(char ta, char tb, int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t lda,
              const T* b, int64_t ldb, T beta, T* c, int64_t ldc) {
  ++calls;
  const int64_t rows_a = IsTransposed(ta) ? k : m;
  const int64_t rows_b = IsTransposed(tb) ? n : k;
  const auto at_least_1 = [](int64_t rows) { return rows > 1 ? rows : 1; };
  if (!IsFlag(ta) || !IsFlag(tb) || m < 0 || n < 0 || k < 0 || lda < at_least_1(rows_a) ||
      ldb < at_least_1(rows_b) || ldc < at_least_1(m)) {
    ++complaints;
    return;
  }
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = 0; i < m; ++i) {
      double sum = 0;
      for (int64_t l = 0; l < k && alpha != 0; ++l) {
        sum += double{a[IsTransposed(ta) ? l + i * lda : i + l * lda]} *
               b[IsTransposed(tb) ? j + l * ldb : l + j * ldb];
      }
      T& out = c[i + j * ldc];
      out = static_cast<T>(alpha * sum + (beta == 0 ? 0 : beta * out));
    }
  }
}

template <class T>
void MultiplyVector(char trans, int64_t m, int64_t n, T alpha, const T* a, int64_t lda, const T* x,
                    int64_t incx, T beta, T* y, int64_t incy) {
  ++calls;
  if (!IsFlag(trans) || m < 0 || n < 0 || lda < (m > 1 ? m : 1) || incx == 0 || incy == 0) {
    ++complaints;
    return;
  }
  const int64_t rows = IsTransposed(trans) ? n : m;
  const int64_t depth = IsTransposed(trans) ? m : n;
  // A vector with a negative increment is stored backwards.
  const T* first_x = incx < 0 ? x - (depth - 1) * incx : x;
  T* first_y = incy < 0 ? y - (rows - 1) * incy : y;
  for (int64_t i = 0; i < rows; ++i) {
    double sum = 0;
    for (int64_t l = 0; l < depth && alpha != 0; ++l) {
      sum += double{a[IsTransposed(trans) ? l + i * lda : i + l * lda]} * first_x[l * incx];
    }
    T& out = first_y[i * incy];
    out = static_cast<T>(alpha * sum + (beta == 0 ? 0 : beta * out));
  }
}

}  // namespace

#define VISIBLE extern "C" __attribute__((visibility("default")))

VISIBLE int plain_blas_calls() { return calls; }
VISIBLE int plain_blas_complaints() { return complaints; }

#define FORTRAN_GEMM(NAME, T, INT)                                                            \
  VISIBLE void NAME(const char* ta, const char* tb, const INT* m, const INT* n, const INT* k, \
                    const T* alpha, const T* a, const INT* lda, const T* b, const INT* ldb,   \
                    const T* beta, T* c, const INT* ldc, size_t, size_t) {                    \
    Multiply<T>(*ta, *tb, *m, *n, *k, *alpha, a, *lda, b, *ldb, *beta, c, *ldc);              \
  }
#define CBLAS_GEMM(NAME, T, INT)                                                                  \
  VISIBLE void NAME(int order, int ta, int tb, INT m, INT n, INT k, T alpha, const T* a, INT lda, \
                    const T* b, INT ldb, T beta, T* c, INT ldc) {                                 \
    if (order == 102) {                                                                           \
      Multiply<T>(FlagOf(ta), FlagOf(tb), m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);          \
    } else {                                                                                      \
      Multiply<T>(order == 101 ? FlagOf(tb) : '?', FlagOf(ta), n, m, k, alpha, b, ldb, a, lda,    \
                  beta, c, ldc);                                                                  \
    }                                                                                             \
  }
#define FORTRAN_GEMV(NAME, T, INT)                                                             \
  VISIBLE void NAME(const char* trans, const INT* m, const INT* n, const T* alpha, const T* a, \
                    const INT* lda, const T* x, const INT* incx, const T* beta, T* y,          \
                    const INT* incy, size_t) {                                                 \
    MultiplyVector<T>(*trans, *m, *n, *alpha, a, *lda, x, *incx, *beta, y, *incy);             \
  }
#define CBLAS_GEMV(NAME, T, INT)                                                                  \
  VISIBLE void NAME(int order, int trans, INT m, INT n, T alpha, const T* a, INT lda, const T* x, \
                    INT incx, T beta, T* y, INT incy) {                                           \
    const char flag = FlagOf(trans);                                                              \
    if (order == 102) {                                                                           \
      MultiplyVector<T>(flag, m, n, alpha, a, lda, x, incx, beta, y, incy);                       \
    } else {                                                                                      \
      const char turned = !IsFlag(flag) || order != 101 ? '?' : IsTransposed(flag) ? 'N' : 'T';   \
      MultiplyVector<T>(turned, n, m, alpha, a, lda, x, incx, beta, y, incy);                     \
    }                                                                                             \
  }

ATTUNE_BLAS_NAMES(FORTRAN_GEMM, CBLAS_GEMM, FORTRAN_GEMV, CBLAS_GEMV)
