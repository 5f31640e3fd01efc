// One product of two matrices as the implementations see it: addresses instead of a key.
#pragma once

#include <cstddef>
#include <cstdint>

namespace attune::host {

// C = alpha * op(A) * op(B) + beta * C, stored column-major, op(X) being X or its transpose. With
// beta = 0, C is not read. Elements of A and B have `gemm.type`, those of C `gemm.c_type`.
struct MatrixProduct {
  int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  const std::byte* a = nullptr;
  int64_t lda = 0;
  const std::byte* b = nullptr;
  int64_t ldb = 0;
  std::byte* c = nullptr;
  int64_t ldc = 0;
  double alpha = 1, beta = 0;
};

// Half-open.
struct IndexRange {
  int64_t begin = 0, end = 0;

  int64_t size() const { return end - begin; }
};

// The part of `product` that computes some rows or columns of C, or that sums over a part of k.
// `element_bytes` is the size of an element of A and B, `c_element_bytes` of C.
MatrixProduct RowsOf(const MatrixProduct& product, IndexRange rows, size_t element_bytes,
                     size_t c_element_bytes);
MatrixProduct ColumnsOf(const MatrixProduct& product, IndexRange columns, size_t element_bytes,
                        size_t c_element_bytes);
MatrixProduct DepthOf(const MatrixProduct& product, IndexRange depth, size_t element_bytes);

// The same result as C^T = op(B)^T op(A)^T: rows and columns, A and B change places. C of the
// returned value is stored row-major, so only kernels that take it so may use it.
MatrixProduct Transposed(const MatrixProduct& product);

// Part `index` of [0, total), cut into `parts` nearly equal ranges whose borders are multiples of
// `granule`; empty if nothing is left for it.
IndexRange PartOf(int64_t total, int64_t granule, int parts, int index);

// Multiplies on the calling thread, or on the threads of the library behind it. Implementations are
// immutable and may multiply on several threads at the same time.
class ProductKernel {
 public:
  virtual ~ProductKernel() = default;
  // Bytes for one call, aligned to 64 bytes, for the largest product it is used for.
  virtual size_t scratch_bytes() const = 0;
  // Rows and columns that it handles at once: borders between threads fall on multiples.
  virtual int64_t row_granule() const { return 16; }
  virtual int64_t column_granule() const { return 4; }
  // Returns true if Multiply() can compute now. Call it before the first part of a divided product:
  // a product with a written part of C cannot be abandoned.
  virtual bool IsReady() const { return true; }
  // Returns false and writes nothing if it cannot get its resources besides `scratch`.
  [[nodiscard]] virtual bool Multiply(const MatrixProduct& product, std::byte* scratch) const = 0;
};

}  // namespace attune::host
