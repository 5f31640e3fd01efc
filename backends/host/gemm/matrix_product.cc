#include "backends/host/gemm/matrix_product.h"

#include <algorithm>
#include <utility>

namespace attune::host {
namespace {

int64_t Bytes(int64_t elements, size_t element_bytes) {
  return elements * static_cast<int64_t>(element_bytes);
}

}  // namespace

MatrixProduct RowsOf(const MatrixProduct& product, IndexRange rows, size_t element_bytes,
                     size_t c_element_bytes) {
  MatrixProduct part = product;
  part.m = rows.size();
  part.a += Bytes(rows.begin * (product.transpose_a ? product.lda : 1), element_bytes);
  part.c += Bytes(rows.begin, c_element_bytes);
  return part;
}

MatrixProduct ColumnsOf(const MatrixProduct& product, IndexRange columns, size_t element_bytes,
                        size_t c_element_bytes) {
  MatrixProduct part = product;
  part.n = columns.size();
  part.b += Bytes(columns.begin * (product.transpose_b ? 1 : product.ldb), element_bytes);
  part.c += Bytes(columns.begin * product.ldc, c_element_bytes);
  return part;
}

MatrixProduct DepthOf(const MatrixProduct& product, IndexRange depth, size_t element_bytes) {
  MatrixProduct part = product;
  part.k = depth.size();
  part.a += Bytes(depth.begin * (product.transpose_a ? 1 : product.lda), element_bytes);
  part.b += Bytes(depth.begin * (product.transpose_b ? product.ldb : 1), element_bytes);
  return part;
}

MatrixProduct Transposed(const MatrixProduct& product) {
  MatrixProduct swapped = product;
  std::swap(swapped.m, swapped.n);
  std::swap(swapped.a, swapped.b);
  std::swap(swapped.lda, swapped.ldb);
  swapped.transpose_a = !product.transpose_b;
  swapped.transpose_b = !product.transpose_a;
  return swapped;
}

IndexRange PartOf(int64_t total, int64_t granule, int parts, int index) {
  const int64_t granules = (total + granule - 1) / granule;
  const auto border = [&](int64_t at) { return std::min(total, granules * at / parts * granule); };
  return {border(index), border(index + 1)};
}

}  // namespace attune::host
