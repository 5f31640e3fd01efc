// The body of a unit: defines ATTUNE_EIGEN(), the table of one level.
#pragma once

#include <new>

#include "attune/ops/gemm/gemm.h"
#include "backends/host/kernels/eigen_table.h"

// In a unit of its own name for Eigen, templates that two units instantiate are different ones, and
// the linker cannot take one for the other.
#define Eigen ATTUNE_EIGEN_NAMESPACE
// Threads are ours, and an assertion of Eigen would print and abort.
#define EIGEN_DONT_PARALLELIZE
#define EIGEN_NO_DEBUG
#define EIGEN_NO_IO
#include <Eigen/Core>

#define ATTUNE_STRINGIZE_INNER(text) #text
#define ATTUNE_STRINGIZE(text) ATTUNE_STRINGIZE_INNER(text)

namespace attune::host {
namespace {

template <class T, int kStorage>
using Operand = Eigen::Map<const Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, kStorage>, 0,
                           Eigen::OuterStride<>>;
template <class T>
using Output =
    Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>, 0, Eigen::OuterStride<>>;

// A transposed operand is the same memory read in row-major order.
template <class T, int kStorageA, int kStorageB>
void Multiply(const GemmCall<T>& call) {
  const Operand<T, kStorageA> a(call.a, call.m, call.k, Eigen::OuterStride<>(call.lda));
  const Operand<T, kStorageB> b(call.b, call.k, call.n, Eigen::OuterStride<>(call.ldb));
  Output<T> c(call.c, call.m, call.n, Eigen::OuterStride<>(call.ldc));
  if (call.beta == T{0}) {
    c.setZero();
  } else if (call.beta != T{1}) {
    c *= call.beta;
  }
  try {
    c.noalias() += call.alpha * (a * b);
  } catch (const std::bad_alloc&) {
    // Eigen allocates its blocks before it adds anything. C is scaled by now, so no other solver
    // can compute it.
    for (int64_t j = 0; j < call.n; ++j) {
      for (int64_t p = 0; p < call.k; ++p) {
        const T factor = call.alpha * b(p, j);
        for (int64_t i = 0; i < call.m; ++i) c(i, j) += a(i, p) * factor;
      }
    }
  }
}

template <class T>
void Gemm(const GemmCall<T>& call) {
  constexpr int kColumns = Eigen::ColMajor, kRows = Eigen::RowMajor;
  if (call.transpose_a) {
    call.transpose_b ? Multiply<T, kRows, kRows>(call) : Multiply<T, kRows, kColumns>(call);
  } else {
    call.transpose_b ? Multiply<T, kColumns, kRows>(call) : Multiply<T, kColumns, kColumns>(call);
  }
}

}  // namespace

const EigenTable& ATTUNE_EIGEN() {
  static constexpr EigenTable kTable = {
      .compiled_for = ATTUNE_COMPILED_FOR,
      .version = ATTUNE_STRINGIZE(EIGEN_WORLD_VERSION) "." ATTUNE_STRINGIZE(
          EIGEN_MAJOR_VERSION) "." ATTUNE_STRINGIZE(EIGEN_MINOR_VERSION),
      .gemm_f32 = &Gemm<float>,
      .gemm_f64 = &Gemm<double>,
  };
  return kTable;
}

}  // namespace attune::host
