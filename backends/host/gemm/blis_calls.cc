#include "backends/host/gemm/blis_calls.h"

#include <array>
#include <cassert>
#include <cstdint>

#include "attune/ops/gemm/gemm.h"

namespace attune::host {
namespace {

// Values of trans_t and conj_t, side_t, uplo_t.
constexpr uint32_t kBlisTranspose = 0x8;
constexpr uint32_t kBlisAsItIs = 0x0;
constexpr uint32_t kBlisLeft = 0;
constexpr uint32_t kBlisLower = 0xC0;

uint32_t BlisFlag(bool transpose) { return transpose ? kBlisTranspose : kBlisAsItIs; }

// y += alpha * x * M, a row times a matrix. A step of x, y or M is the distance between elements,
// or between rows of M.
template <class T>
struct RowProduct {
  int64_t length, width;  // The lengths of x and y.
  T alpha;
  const T* x;
  int64_t step_x;
  const T* matrix;
  int64_t step_rows, step_columns;
  T* y;
  int64_t step_y;
};

// Adds the terms with a zero factor alpha * x[i]. Where the kernels of BLIS handle the last rows
// one by one, they skip row i of M completely, although 0 * NaN is NaN.
template <class T>
void AddZeroTerms(const RowProduct<T>& p) {
  for (int64_t i = 0; i < p.length; ++i) {
    const T factor = p.alpha * p.x[i * p.step_x];
    if (factor != 0) continue;
    const T* row = p.matrix + i * p.step_rows;
    for (int64_t j = 0; j < p.width; ++j) p.y[j * p.step_y] += factor * row[j * p.step_columns];
  }
}

}  // namespace

template <class T>
void BlisCalls::CallGemm(GemmFunction<T>* gemm, const MatrixProduct& p) {
  const T alpha = static_cast<T>(p.alpha);
  const T beta = static_cast<T>(p.beta);
  const auto* a = reinterpret_cast<const T*>(p.a);
  const auto* b = reinterpret_cast<const T*>(p.b);
  auto* c = reinterpret_cast<T*>(p.c);
  gemm(BlisFlag(p.transpose_a), BlisFlag(p.transpose_b), p.m, p.n, p.k, &alpha, a, 1, p.lda, b, 1,
       p.ldb, &beta, c, 1, p.ldc);
  // Its kernels without packing (haswell, zen) take B by rows and leave a single last row of A to
  // its gemv.
  if (p.m % 2 == 0 || (!p.transpose_b && p.k > 1)) return;
  AddZeroTerms<T>({.length = p.k,
                   .width = p.n,
                   .alpha = alpha,
                   .x = a + (p.m - 1) * (p.transpose_a ? p.lda : 1),
                   .step_x = p.transpose_a ? 1 : p.lda,
                   .matrix = b,
                   .step_rows = p.transpose_b ? p.ldb : 1,
                   .step_columns = p.transpose_b ? 1 : p.ldb,
                   .y = c + (p.m - 1),
                   .step_y = p.ldc});
}

// y = alpha op(A) x + beta y, where A is the matrix of `p` and x and y its two vectors.
template <class T>
void BlisCalls::CallGemv(GemvFunction<T>* gemv, const MatrixProduct& p) {
  const bool column = p.n == 1;
  // One row of C is the column C^T = op(B)^T op(A)^T.
  const MatrixProduct q = column ? p : Transposed(p);
  const T alpha = static_cast<T>(q.alpha);
  const T beta = static_cast<T>(q.beta);
  const auto* a = reinterpret_cast<const T*>(q.a);
  const auto* x = reinterpret_cast<const T*>(q.b);
  const int64_t step_x = q.transpose_b ? q.ldb : 1;
  auto* y = reinterpret_cast<T*>(q.c);
  const int64_t step_y = column ? 1 : p.ldc;
  // gemv takes the extents of the stored matrix, not of op(A).
  gemv(BlisFlag(q.transpose_a), kBlisAsItIs, q.transpose_a ? q.k : q.m, q.transpose_a ? q.m : q.k,
       &alpha, a, 1, q.lda, x, step_x, &beta, y, step_y);
  // gemv may treat a single row as a column.
  if (q.transpose_a && q.k > 1) return;
  AddZeroTerms<T>({.length = q.k,
                   .width = q.m,
                   .alpha = alpha,
                   .x = x,
                   .step_x = step_x,
                   .matrix = a,
                   .step_rows = q.lda,
                   .step_columns = q.transpose_a ? q.lda : 1,
                   .y = y,
                   .step_y = step_y});
}

std::optional<BlisCalls> BlisCalls::Bind(const SharedLibrary& object) {
  const void* mark = object.Find("bli_info_get_version_str");
  bool has_all = mark != nullptr;
  const auto find = [&]<class Function>(const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(object.FindBeside(mark, name));
    has_all = has_all && function != nullptr;
  };
  Functions functions{};
  find("bli_sgemm", functions.sgemm);
  find("bli_dgemm", functions.dgemm);
  find("bli_sgemv", functions.sgemv);
  find("bli_dgemv", functions.dgemv);
  find("bli_dsymm", functions.dsymm);
  find("bli_info_get_int_type_size", functions.int_bits);
  find("bli_thread_get_num_threads", functions.get_threads);
  find("bli_thread_set_num_threads", functions.set_threads);
  if (!has_all || functions.int_bits() != 64) return std::nullopt;
  return BlisCalls(functions);
}

void BlisCalls::Gemm(DataType type, const MatrixProduct& product) const {
  assert(type == DataType::kF32 || type == DataType::kF64);
  // Like its BLAS interface: packing a matrix for one vector is slow.
  if (product.m == 1 || product.n == 1) return Gemv(type, product);
  if (type == DataType::kF32) return CallGemm(functions_.sgemm, product);
  CallGemm(functions_.dgemm, product);
}

void BlisCalls::Gemv(DataType type, const MatrixProduct& product) const {
  assert(product.m == 1 || product.n == 1);
  if (type == DataType::kF32) return CallGemv(functions_.sgemv, product);
  CallGemv(functions_.dgemv, product);
}

void BlisCalls::MakeMemory() const {
  // Small products of general matrices are not packed. Products with a symmetric one always are,
  // and each packing takes a block of the same size, which suits every type.
  constexpr int64_t kSize = 16;
  std::array<double, kSize * kSize> ones;
  ones.fill(1);
  std::array<double, kSize* kSize> c = ones;
  const double one = 1;
  functions_.dsymm(kBlisLeft, kBlisLower, kBlisAsItIs, kBlisAsItIs, kSize, kSize, &one, ones.data(),
                   1, kSize, ones.data(), 1, kSize, &one, c.data(), 1, kSize);
}

}  // namespace attune::host
