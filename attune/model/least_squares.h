// Linear least squares over the rows that models of time have: few columns of very different sizes.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace attune {

// Column by column.
struct Matrix {
  size_t rows = 0;
  size_t columns = 0;
  std::vector<double> values;

  Matrix(size_t row_count, size_t column_count)
      : rows(row_count), columns(column_count), values(row_count * column_count) {}
  double& at(size_t row, size_t column) { return values[column * rows + row]; }
  double at(size_t row, size_t column) const { return values[column * rows + row]; }
  std::span<double> column(size_t j) { return {values.data() + j * rows, rows}; }
  std::span<const double> column(size_t j) const { return {values.data() + j * rows, rows}; }
};

// a . b. REQUIRES: equally many.
double Dot(std::span<const double> a, std::span<const double> b);

// x with the least |A x - b|: Householder's factorisation with columns of unit length, the largest
// remaining one first. Columns that depend on others get 0. REQUIRES: as many right sides as rows.
std::vector<double> LeastSquares(Matrix a, std::vector<double> b);

// The same for x >= 0: the active set method of Lawson and Hanson (Solving Least Squares Problems,
// 1974, chapter 23) on columns of unit length.
std::vector<double> NonNegativeLeastSquares(Matrix a, std::vector<double> b);

// Rows x of an equation x . beta = t as those that minimise the relative error: x / t against 1,
// both times the square root of `weights` where there are any.
struct RelativeRows {
  Matrix a;
  std::vector<double> b;
};
RelativeRows MakeRelative(const Matrix& x, std::span<const double> times,
                          std::span<const double> weights);

}  // namespace attune
