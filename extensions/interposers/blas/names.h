// Every name under which the BLAS products are exported: the one table of this library.
#pragma once

#include <cstdint>

// Plain names, those of 64-bit integers (OpenBLAS's and MKL's forms), and both with the prefix of
// the libraries inside PyPI's NumPy and SciPy.
#define ATTUNE_BLAS_FORTRAN_NAMES(ENTRY, PRODUCT, T) \
  ENTRY(PRODUCT##_, T, int32_t)                      \
  ENTRY(scipy_##PRODUCT##_, T, int32_t)              \
  ENTRY(PRODUCT##_64_, T, int64_t)                   \
  ENTRY(scipy_##PRODUCT##_64_, T, int64_t)

#define ATTUNE_BLAS_CBLAS_NAMES(ENTRY, PRODUCT, T) \
  ENTRY(cblas_##PRODUCT, T, int32_t)               \
  ENTRY(scipy_cblas_##PRODUCT, T, int32_t)         \
  ENTRY(cblas_##PRODUCT##64_, T, int64_t)          \
  ENTRY(cblas_##PRODUCT##_64, T, int64_t)          \
  ENTRY(scipy_cblas_##PRODUCT##64_, T, int64_t)

// Each argument is a macro of (NAME, T, INT), called once for each exported name of its kind.
#define ATTUNE_BLAS_NAMES(FORTRAN_GEMM, CBLAS_GEMM, FORTRAN_GEMV, CBLAS_GEMV) \
  ATTUNE_BLAS_FORTRAN_NAMES(FORTRAN_GEMM, sgemm, float)                       \
  ATTUNE_BLAS_FORTRAN_NAMES(FORTRAN_GEMM, dgemm, double)                      \
  ATTUNE_BLAS_CBLAS_NAMES(CBLAS_GEMM, sgemm, float)                           \
  ATTUNE_BLAS_CBLAS_NAMES(CBLAS_GEMM, dgemm, double)                          \
  ATTUNE_BLAS_FORTRAN_NAMES(FORTRAN_GEMV, sgemv, float)                       \
  ATTUNE_BLAS_FORTRAN_NAMES(FORTRAN_GEMV, dgemv, double)                      \
  ATTUNE_BLAS_CBLAS_NAMES(CBLAS_GEMV, sgemv, float)                           \
  ATTUNE_BLAS_CBLAS_NAMES(CBLAS_GEMV, dgemv, double)
