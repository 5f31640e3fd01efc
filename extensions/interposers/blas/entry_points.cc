// The BLAS products under all their names. Each entry point has three steps: does attune want the
// call, can attune compute it, and otherwise the real function with the same arguments.

#include <cstddef>
#include <cstdint>

#include "extensions/interposers/blas/interposer.h"
#include "extensions/interposers/blas/names.h"
#include "extensions/interposers/blas/product.h"
#include "extensions/interposers/preload/real_symbol.h"

namespace attune::blas {
namespace {

// Compilers of Fortran pass the lengths of character arguments behind the others, and callees may
// use their places on the stack, so the real function always gets them, also from callers in C.
constexpr size_t kFlagLength = 1;

template <class T, class Int>
using FortranGemm = void(const char* trans_a, const char* trans_b, const Int* m, const Int* n,
                         const Int* k, const T* alpha, const T* a, const Int* lda, const T* b,
                         const Int* ldb, const T* beta, T* c, const Int* ldc, size_t, size_t);
template <class T, class Int>
using FortranGemv = void(const char* trans, const Int* m, const Int* n, const T* alpha, const T* a,
                         const Int* lda, const T* x, const Int* incx, const T* beta, T* y,
                         const Int* incy, size_t);
template <class T, class Int>
using CblasGemm = void(int order, int trans_a, int trans_b, Int m, Int n, Int k, T alpha,
                       const T* a, Int lda, const T* b, Int ldb, T beta, T* c, Int ldc);
template <class T, class Int>
using CblasGemv = void(int order, int trans, Int m, Int n, T alpha, const T* a, Int lda, const T* x,
                       Int incx, T beta, T* y, Int incy);

// True if attune has computed the call. `describe` makes a Product of its arguments and runs only
// if attune wants the call.
template <class Describer>
ATTUNE_BLAS_INLINE bool TryToServe(interposer::RealSymbol& real, const void* caller,
                                   const Describer& describe) {
  if (!Wants(real, caller)) return false;
  Product product;
  const Verdict verdict = describe(product);
  return Serve(real, verdict, product);
}

// The function that computes a call that attune does not serve.
template <class Function>
Function* RealFor(interposer::RealSymbol& real, const void* caller) {
  return interposer::Service::is_computing() ? real.GetWithinRuntime<Function>(caller)
                                             : real.Get<Function>(caller);
}

}  // namespace
}  // namespace attune::blas

#define ATTUNE_BLAS_ENTRY extern "C" __attribute__((visibility("default"))) void

// The beginning of every entry point. NAME is followed by the arguments of Describe() before the
// product: a GemmCall or GemvCall, in C with the order in front.
#define ATTUNE_BLAS_TRY(NAME, ...)                                              \
  using namespace attune::blas;                                                 \
  static constinit attune::interposer::RealSymbol real(#NAME);                  \
  const void* caller = __builtin_return_address(0);                             \
  const auto describe = [&](Product & product) __attribute__((always_inline)) { \
    return Describe(__VA_ARGS__, product);                                      \
  };                                                                            \
  if (TryToServe(real, caller, describe)) return

#define ATTUNE_FORTRAN_GEMM(NAME, T, INT)                                                        \
  ATTUNE_BLAS_ENTRY NAME(const char* trans_a, const char* trans_b, const INT* m, const INT* n,   \
                         const INT* k, const T* alpha, const T* a, const INT* lda, const T* b,   \
                         const INT* ldb, const T* beta, T* c, const INT* ldc) {                  \
    ATTUNE_BLAS_TRY(NAME, GemmCall<T>{ParseTranspose(trans_a), ParseTranspose(trans_b), *m, *n,  \
                                      *k, *alpha, a, *lda, b, *ldb, *beta, c, *ldc});            \
    RealFor<FortranGemm<T, INT>>(real, caller)(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, \
                                               beta, c, ldc, kFlagLength, kFlagLength);          \
  }

#define ATTUNE_FORTRAN_GEMV(NAME, T, INT)                                                          \
  ATTUNE_BLAS_ENTRY NAME(const char* trans, const INT* m, const INT* n, const T* alpha,            \
                         const T* a, const INT* lda, const T* x, const INT* incx, const T* beta,   \
                         T* y, const INT* incy) {                                                  \
    ATTUNE_BLAS_TRY(NAME, GemvCall<T>{ParseTranspose(trans), *m, *n, *alpha, a, *lda, x, *incx,    \
                                      *beta, y, *incy});                                           \
    RealFor<FortranGemv<T, INT>>(real, caller)(trans, m, n, alpha, a, lda, x, incx, beta, y, incy, \
                                               kFlagLength);                                       \
  }

#define ATTUNE_CBLAS_GEMM(NAME, T, INT)                                                           \
  ATTUNE_BLAS_ENTRY NAME(int order, int trans_a, int trans_b, INT m, INT n, INT k, T alpha,       \
                         const T* a, INT lda, const T* b, INT ldb, T beta, T* c, INT ldc) {       \
    ATTUNE_BLAS_TRY(NAME, order,                                                                  \
                    GemmCall<T>{ParseTranspose(trans_a), ParseTranspose(trans_b), m, n, k, alpha, \
                                a, lda, b, ldb, beta, c, ldc});                                   \
    RealFor<CblasGemm<T, INT>>(real, caller)(order, trans_a, trans_b, m, n, k, alpha, a, lda, b,  \
                                             ldb, beta, c, ldc);                                  \
  }

#define ATTUNE_CBLAS_GEMV(NAME, T, INT)                                                           \
  ATTUNE_BLAS_ENTRY NAME(int order, int trans, INT m, INT n, T alpha, const T* a, INT lda,        \
                         const T* x, INT incx, T beta, T* y, INT incy) {                          \
    ATTUNE_BLAS_TRY(                                                                              \
        NAME, order,                                                                              \
        GemvCall<T>{ParseTranspose(trans), m, n, alpha, a, lda, x, incx, beta, y, incy});         \
    RealFor<CblasGemv<T, INT>>(real, caller)(order, trans, m, n, alpha, a, lda, x, incx, beta, y, \
                                             incy);                                               \
  }

ATTUNE_BLAS_NAMES(ATTUNE_FORTRAN_GEMM, ATTUNE_CBLAS_GEMM, ATTUNE_FORTRAN_GEMV, ATTUNE_CBLAS_GEMV)
