#include "tests/blas/all_names.h"

namespace attune::blas {
namespace {

int CblasFlag(char flag) {
  if (flag == 'N') return 111;
  if (flag == 'T') return 112;
  return flag == 'C' ? 113 : 0;
}

void Add(AllNames& all, NamedEntry<GemmArguments<float>> x) { all.sgemm.push_back(std::move(x)); }
void Add(AllNames& all, NamedEntry<GemmArguments<double>> x) { all.dgemm.push_back(std::move(x)); }
void Add(AllNames& all, NamedEntry<GemvArguments<float>> x) { all.sgemv.push_back(std::move(x)); }
void Add(AllNames& all, NamedEntry<GemvArguments<double>> x) { all.dgemv.push_back(std::move(x)); }

}  // namespace
}  // namespace attune::blas

#define DECLARE_FORTRAN_GEMM(NAME, T, INT)                                                     \
  extern "C" void NAME(const char*, const char*, const INT*, const INT*, const INT*, const T*, \
                       const T*, const INT*, const T*, const INT*, const T*, T*, const INT*);
#define DECLARE_CBLAS_GEMM(NAME, T, INT) \
  extern "C" void NAME(int, int, int, INT, INT, INT, T, const T*, INT, const T*, INT, T, T*, INT);
#define DECLARE_FORTRAN_GEMV(NAME, T, INT)                                                  \
  extern "C" void NAME(const char*, const INT*, const INT*, const T*, const T*, const INT*, \
                       const T*, const INT*, const T*, T*, const INT*);
#define DECLARE_CBLAS_GEMV(NAME, T, INT) \
  extern "C" void NAME(int, int, INT, INT, T, const T*, INT, const T*, INT, T, T*, INT);

ATTUNE_BLAS_NAMES(DECLARE_FORTRAN_GEMM, DECLARE_CBLAS_GEMM, DECLARE_FORTRAN_GEMV,
                  DECLARE_CBLAS_GEMV)

namespace attune::blas {

#define ADD_FORTRAN_GEMM(NAME, T, INT)                                                          \
  Add(all, {#NAME, false, [](const GemmArguments<T>& x) {                                       \
              const INT m = static_cast<INT>(x.m), n = static_cast<INT>(x.n);                   \
              const INT k = static_cast<INT>(x.k), lda = static_cast<INT>(x.lda);               \
              const INT ldb = static_cast<INT>(x.ldb), ldc = static_cast<INT>(x.ldc);           \
              NAME(&x.trans_a, &x.trans_b, &m, &n, &k, &x.alpha, x.a, &lda, x.b, &ldb, &x.beta, \
                   x.c, &ldc);                                                                  \
            }});
#define ADD_CBLAS_GEMM(NAME, T, INT)                                                             \
  Add(all, {#NAME, true, [](const GemmArguments<T>& x) {                                         \
              NAME(x.row_major ? 101 : 102, CblasFlag(x.trans_a), CblasFlag(x.trans_b),          \
                   static_cast<INT>(x.m), static_cast<INT>(x.n), static_cast<INT>(x.k), x.alpha, \
                   x.a, static_cast<INT>(x.lda), x.b, static_cast<INT>(x.ldb), x.beta, x.c,      \
                   static_cast<INT>(x.ldc));                                                     \
            }});
#define ADD_FORTRAN_GEMV(NAME, T, INT)                                                      \
  Add(all, {#NAME, false, [](const GemvArguments<T>& x) {                                   \
              const INT m = static_cast<INT>(x.m), n = static_cast<INT>(x.n);               \
              const INT lda = static_cast<INT>(x.lda);                                      \
              const INT incx = static_cast<INT>(x.incx), incy = static_cast<INT>(x.incy);   \
              NAME(&x.trans, &m, &n, &x.alpha, x.a, &lda, x.x, &incx, &x.beta, x.y, &incy); \
            }});
#define ADD_CBLAS_GEMV(NAME, T, INT)                                                   \
  Add(all, {#NAME, true, [](const GemvArguments<T>& x) {                               \
              NAME(x.row_major ? 101 : 102, CblasFlag(x.trans), static_cast<INT>(x.m), \
                   static_cast<INT>(x.n), x.alpha, x.a, static_cast<INT>(x.lda), x.x,  \
                   static_cast<INT>(x.incx), x.beta, x.y, static_cast<INT>(x.incy));   \
            }});

AllNames TakeAllNames() {
  AllNames all;
  ATTUNE_BLAS_NAMES(ADD_FORTRAN_GEMM, ADD_CBLAS_GEMM, ADD_FORTRAN_GEMV, ADD_CBLAS_GEMV)
  return all;
}

}  // namespace attune::blas
