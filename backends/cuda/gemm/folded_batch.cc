#include "backends/cuda/gemm/folded_batch.h"

#include <fmt/format.h>

#include "attune/ops/gemm/gemm.h"

namespace attune::cuda {
namespace {

// The order that makes the lines (columns, or rows) of a batch one sequence.
enum class Order {
  kByProduct,  // All lines of the first product, then all of the second.
  kByLine,     // The first lines of all products, then the second ones.
};

// Lines of an operand: from one to the next of a product, and to that of the next product.
struct Lines {
  int64_t count = 1;  // Per product.
  int64_t products = 1;
  int64_t step = 0;
  int64_t stride = 0;
};

// The step of the sequence that the lines are in `order`; 0 if they are none.
int64_t StepOf(const Lines& lines, Order order) {
  if (lines.count == 1) return lines.stride;
  if (order == Order::kByProduct) return lines.stride == lines.count * lines.step ? lines.step : 0;
  return lines.step == lines.products * lines.stride ? lines.stride : 0;
}

// Leading dimension of a matrix that has all the lines as its columns, of `length` elements each; 0
// if there is none.
int64_t LeadingOfColumns(const Lines& lines, Order order, int64_t length) {
  const int64_t step = StepOf(lines, order);
  return step >= length ? step : 0;
}

// Leading dimension of a matrix of `columns` columns that has all the lines as its rows; 0 if there
// is none. Rows are neighbours within a column, `lines.step` is the distance to the next column.
int64_t LeadingOfRows(const Lines& lines, Order order, int64_t columns) {
  const int64_t rows = lines.count * lines.products;
  const bool is_sequence =
      lines.stride == lines.count && (order == Order::kByProduct || lines.count == 1);
  if (!is_sequence) return 0;
  if (columns == 1) return rows;
  return lines.step >= rows ? lines.step : 0;
}

// One product with the columns of all; leading dimensions of 0 where there is none.
Gemm WithAllColumns(const Gemm& gemm, Order order) {
  const Lines b = {gemm.n, gemm.batch_count, gemm.ldb, gemm.stride_b};
  const Lines c = {gemm.n, gemm.batch_count, gemm.ldc, gemm.stride_c};
  Gemm folded = gemm;
  folded.n = gemm.n * gemm.batch_count;
  folded.ldb = gemm.trans_b == Transpose::kNo ? LeadingOfColumns(b, order, gemm.k)
                                              : LeadingOfRows(b, order, gemm.k);
  folded.ldc = LeadingOfColumns(c, order, gemm.m);
  return folded;
}

// One product with the rows of all; leading dimensions of 0 where there is none.
Gemm WithAllRows(const Gemm& gemm, Order order) {
  const Lines a = {gemm.m, gemm.batch_count, gemm.lda, gemm.stride_a};
  const Lines c = {gemm.m, gemm.batch_count, gemm.ldc, gemm.stride_c};
  Gemm folded = gemm;
  folded.m = gemm.m * gemm.batch_count;
  folded.lda = gemm.trans_a == Transpose::kYes ? LeadingOfColumns(a, order, gemm.k)
                                               : LeadingOfRows(a, order, gemm.k);
  folded.ldc = LeadingOfRows(c, order, gemm.n);
  return folded;
}

Result<Gemm> Single(Gemm folded) {
  folded.batch_count = 1;
  folded = Normalized(folded);
  const Status status = Validate(folded);
  if (!status.ok()) return Unsupported(status.message());
  return folded;
}

}  // namespace

Result<Gemm> FoldedBatch(const Gemm& gemm) {
  if (gemm.batch_count == 1) return Unsupported("One product is no batch that could be folded.");
  const bool has_columns = gemm.stride_a == 0;
  if (!has_columns && gemm.stride_b != 0) {
    return Unsupported(fmt::format(
        "The {} products of the batch share neither A nor B: they are no single product.",
        gemm.batch_count));
  }
  if (gemm.bias == (has_columns ? Bias::kPerColumn : Bias::kPerRow)) {
    return Unsupported("The bias would have to be repeated for every product of the batch.");
  }
  for (const Order order : {Order::kByProduct, Order::kByLine}) {
    const Gemm folded = has_columns ? WithAllColumns(gemm, order) : WithAllRows(gemm, order);
    if ((has_columns ? folded.ldb : folded.lda) != 0 && folded.ldc != 0) return Single(folded);
  }
  return Unsupported(fmt::format(
      "The {} of all products of the batch are no single sequence: strides of {} in {} and of {} "
      "in C.",
      has_columns ? "columns" : "rows", has_columns ? gemm.stride_b : gemm.stride_a,
      has_columns ? "B" : "A", gemm.stride_c));
}

}  // namespace attune::cuda
