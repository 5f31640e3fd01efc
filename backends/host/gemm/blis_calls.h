// Calls BLIS by its own names. Its BLAS names call each other, and in a program with another BLAS
// those calls reach that library.
#pragma once

#include <cstdint>
#include <optional>

#include "attune/base/data_type.h"
#include "attune/ops/gemm/gemm.h"
#include "backends/host/gemm/matrix_product.h"
#include "backends/host/shared_library.h"

namespace attune::host {

// The functions of BLIS. A value.
class BlisCalls {
 public:
  // Returns nothing if `object` is not a BLIS with these names.
  static std::optional<BlisCalls> Bind(const SharedLibrary& object);

  // REQUIRES: type is kF32 or kF64.
  void Gemm(DataType type, const MatrixProduct& product) const;
  // Runs on one thread, as BLIS always does. REQUIRES: product.m == 1 or product.n == 1.
  void Gemv(DataType type, const MatrixProduct& product) const;

  // Makes the library allocate the memory that one call on the current number of threads packs its
  // matrices in. The library keeps it.
  void MakeMemory() const;

  // The number of threads, a setting of the process; -1 if unset.
  int threads() const { return static_cast<int>(functions_.get_threads()); }
  void SetThreads(int threads) const { functions_.set_threads(threads); }

 private:
  // dim_t and inc_t of a BLIS with 64-bit integers, trans_t and conj_t.
  using Extent = int64_t;
  using Flag = uint32_t;
  template <class T>
  using GemmFunction = void(Flag trans_a, Flag trans_b, Extent m, Extent n, Extent k,
                            const T* alpha, const T* a, Extent rows_a, Extent columns_a, const T* b,
                            Extent rows_b, Extent columns_b, const T* beta, T* c, Extent rows_c,
                            Extent columns_c);
  template <class T>
  using GemvFunction = void(Flag trans_a, Flag conjugate_x, Extent m, Extent n, const T* alpha,
                            const T* a, Extent rows_a, Extent columns_a, const T* x, Extent step_x,
                            const T* beta, T* y, Extent step_y);

  // side_t and uplo_t are flags, too.
  using SymmetricFunction = void(Flag side, Flag triangle, Flag conjugate_a, Flag trans_b, Extent m,
                                 Extent n, const double* alpha, const double* a, Extent rows_a,
                                 Extent columns_a, const double* b, Extent rows_b, Extent columns_b,
                                 const double* beta, double* c, Extent rows_c, Extent columns_c);

  struct Functions {
    GemmFunction<float>* sgemm;
    GemmFunction<double>* dgemm;
    GemvFunction<float>* sgemv;
    GemvFunction<double>* dgemv;
    SymmetricFunction* dsymm;
    Extent (*int_bits)();
    Extent (*get_threads)();
    void (*set_threads)(Extent threads);
  };
  explicit BlisCalls(const Functions& functions) : functions_(functions) {}
  template <class T>
  static void CallGemm(GemmFunction<T>* gemm, const MatrixProduct& p);
  template <class T>
  static void CallGemv(GemvFunction<T>* gemv, const MatrixProduct& p);

  Functions functions_;
};

}  // namespace attune::host
