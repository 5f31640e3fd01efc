// A convolution as products of matrices: which ones, and where their operands lie.
#pragma once

#include <cstdint>
#include <vector>

#include "attune/ops/conv/conv.h"
#include "attune/ops/gemm/gemm.h"
#include "backends/host/conv/columns.h"

namespace attune::host {

// A matrix in memory with one stride of 1.
struct MatrixView {
  int64_t rows = 1, columns = 1;
  int64_t row_stride = 1, column_stride = 1;

  MatrixView Transposed() const { return {columns, rows, column_stride, row_stride}; }
};

// c = a * b (+ c) as a problem. If `swapped`, its operands a and b change places.
struct MatrixCall {
  Gemm gemm;
  bool swapped = false;
};
MatrixCall CallOf(const MatrixView& c, const MatrixView& a, const MatrixView& b, DataType type);

// The rows of outputs that one product covers.
struct GemmUnit {
  int64_t first_image = 0, images = 1;
  int64_t first_row = 0, rows = 0;  // Rows of each image, over depth and height.
};

class GemmConvPlan {
 public:
  // `rows` output rows at a time: up to the rows of an image, or those of the whole batch where
  // CanFold() allows it.
  GemmConvPlan(const Conv& conv, int64_t rows);

  const ColumnsForm& columns() const { return columns_; }
  // The input itself is the matrix: 1 x 1 filters, no stride, no padding.
  bool direct() const { return direct_; }
  const std::vector<GemmUnit>& units() const { return units_; }

  // True if the products of all images can be one: a batch of products, or one over all pixels.
  static bool CanFold(const Conv& conv);
  static int64_t RowsPerImage(const Conv& conv);
  // Filters of 1 x 1 without padding: gathering only leaves inputs out, or does nothing.
  static bool IsPointwise(const Conv& conv);

  // Pixels of one product (of one image, if it is a batch of products).
  int64_t PixelsOf(const GemmUnit& unit) const;
  // The product of a unit; `accumulate` adds to the output.
  MatrixCall ProductOf(const GemmUnit& unit, bool accumulate) const;

  // Elements from the start of the tensor to the part that a unit and group read or write.
  int64_t InputOffset(const GemmUnit& unit, int64_t group) const;
  int64_t OutputOffset(const GemmUnit& unit, int64_t group) const;
  int64_t WeightsOffset(int64_t group) const;
  // Elements of the matrix of columns of the largest unit; 0 if direct().
  int64_t column_elements() const;

 private:
  // Images become pixels of one product rather than a batch of products.
  bool MergesPixels() const;
  MatrixView InputView(const GemmUnit& unit) const;
  MatrixView OutputView(const GemmUnit& unit) const;

  const Conv conv_;
  ColumnsForm columns_;
  bool direct_ = false;
  std::vector<GemmUnit> units_;
};

}  // namespace attune::host
