#include "attune/model/least_squares.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <numeric>

namespace attune {
namespace {

// Share of a column's length, below which it counts as a combination of the columns before it.
constexpr double kDependent = 1e-11;

// Sums that are added up side by side. Each is added up in the order of its rows, as it would be
// alone, so that no bit of a model depends on this number. An addition need not wait for the one
// before it; a sum alone spends its time on that wait.
constexpr size_t kSideBySide = 8;
using Sums = std::array<double, kSideBySide>;
using Columns = std::array<const double*, kSideBySide>;

// The first ones of `columns`, at least one; where they end, the first of them again, whose sums
// are not read.
template <class Column>  // A pointer to numbers.
Columns TakeColumns(std::span<Column> columns) {
  Columns taken;
  for (size_t t = 0; t < kSideBySide; ++t) taken[t] = columns[t < columns.size() ? t : 0];
  return taken;
}

Sums DotsOf(std::span<const double> v, const Columns& columns) {
  Sums sums = {};
  for (size_t i = 0; i < v.size(); ++i) {
    for (size_t t = 0; t < kSideBySide; ++t) sums[t] += v[i] * columns[t][i];
  }
  return sums;
}

Sums SquaresOf(size_t rows, const Columns& columns) {
  Sums sums = {};
  for (size_t i = 0; i < rows; ++i) {
    for (size_t t = 0; t < kSideBySide; ++t) sums[t] += columns[t][i] * columns[t][i];
  }
  return sums;
}

double LargestOf(std::span<const double> values) {
  Sums largest = {};  // Over every kSideBySide-th: the largest does not depend on the order.
  size_t i = 0;
  for (; i + kSideBySide <= values.size(); i += kSideBySide) {
    for (size_t t = 0; t < kSideBySide; ++t) {
      const double size = std::abs(values[i + t]);
      largest[t] = largest[t] < size ? size : largest[t];
    }
  }
  for (; i < values.size(); ++i) largest[0] = std::max(largest[0], std::abs(values[i]));
  return *std::max_element(largest.begin(), largest.end());
}

// The lengths of the columns of `a`. Not the root of the squares' sum: squares of bytes of large
// tensors would overflow nothing, but those of their reciprocals vanish.
std::vector<double> LengthsOf(const Matrix& a) {
  std::vector<double> lengths(a.columns);
  Matrix parts(a.rows, kSideBySide);
  for (size_t first = 0; first < a.columns; first += kSideBySide) {
    const size_t count = std::min(kSideBySide, a.columns - first);
    std::array<const double*, kSideBySide> columns;
    for (size_t t = 0; t < count; ++t) {
      const auto column = a.column(first + t);
      const auto part = parts.column(t);
      lengths[first + t] = LargestOf(column);
      const double divisor = lengths[first + t] > 0 ? lengths[first + t] : 1;
      for (size_t i = 0; i < a.rows; ++i) part[i] = column[i] / divisor;
      columns[t] = part.data();
    }
    const Sums squares = SquaresOf(a.rows, TakeColumns(std::span(columns).first(count)));
    for (size_t t = 0; t < count; ++t) lengths[first + t] *= std::sqrt(squares[t]);
  }
  return lengths;
}

// Divides every column by its length and returns the lengths; a column of zeros stays.
std::vector<double> ScaleColumns(Matrix& a) {
  std::vector<double> lengths = LengthsOf(a);
  for (size_t j = 0; j < a.columns; ++j) {
    const double length = lengths[j];
    const auto column = a.column(j);
    if (length > 0) {
      for (double& value : column) value /= length;
    } else {
      std::fill(column.begin(), column.end(), 0.0);
    }
  }
  return lengths;
}

// The reflection that makes the first of `columns` of `a` zero below row `k`, applied to all of
// them and to `b`. Columns that are done below `k` need none.
void Reflect(Matrix& a, std::vector<double>& b, size_t k, std::span<const size_t> columns) {
  const size_t j = columns.front();
  std::vector<double> v(a.column(j).begin() + static_cast<std::ptrdiff_t>(k), a.column(j).end());
  const double length = std::sqrt(Dot(v, v));
  if (length == 0) return;
  const double alpha = v[0] > 0 ? -length : length;
  v[0] -= alpha;
  std::vector<double*> targets = {v.data()};  // First itself, for its square.
  for (const size_t column : columns) targets.push_back(a.column(column).data() + k);
  targets.push_back(b.data() + k);
  double square = 0;
  for (size_t first = 0; first < targets.size(); first += kSideBySide) {
    const auto block = std::span(targets).subspan(first);
    const Sums dots = DotsOf(v, TakeColumns(block));
    if (first == 0) square = dots[0];
    if (square == 0) return;
    for (size_t t = first == 0 ? 1 : 0; t < std::min(kSideBySide, block.size()); ++t) {
      const double factor = 2 * dots[t] / square;
      double* const target = block[t];
      for (size_t i = 0; i < v.size(); ++i) target[i] -= factor * v[i];
    }
  }
}

// The column of `left` that is longest below row `k`, as a position in `left`, and its square.
std::pair<size_t, double> LongestBelow(const Matrix& a, std::span<const size_t> left, size_t k) {
  std::pair<size_t, double> longest = {0, -1};
  for (size_t i = 0; i < left.size(); ++i) {
    const auto below = a.column(left[i]).subspan(k);
    const double square = Dot(below, below);
    if (square > longest.second) longest = {i, square};
  }
  return longest;
}

// Least squares of columns of unit length.
std::vector<double> SolveScaled(Matrix a, std::vector<double> b) {
  std::vector<size_t> order(a.columns);
  std::iota(order.begin(), order.end(), size_t{0});
  size_t rank = 0;
  for (; rank < std::min(a.rows, a.columns); ++rank) {
    const auto [position, square] = LongestBelow(a, std::span(order).subspan(rank), rank);
    if (std::sqrt(std::max(square, 0.0)) < kDependent) break;
    std::swap(order[rank], order[rank + position]);
    Reflect(a, b, rank, std::span(order).subspan(rank));
  }
  std::vector<double> x(a.columns, 0);
  for (size_t i = rank; i-- > 0;) {
    double value = b[i];
    for (size_t j = i + 1; j < rank; ++j) value -= a.at(i, order[j]) * x[order[j]];
    x[order[i]] = value / a.at(i, order[i]);
  }
  return x;
}

std::vector<double> SolveColumns(const Matrix& a, const std::vector<double>& b,
                                 const std::vector<size_t>& columns) {
  Matrix part(a.rows, columns.size());
  for (size_t j = 0; j < columns.size(); ++j) {
    std::copy(a.column(columns[j]).begin(), a.column(columns[j]).end(), part.column(j).begin());
  }
  return SolveScaled(std::move(part), b);
}

// Q' A without its rows of zeros, and Q' b: the same problem with at most as many rows as columns.
void ReduceRows(Matrix& a, std::vector<double>& b) {
  if (a.rows <= a.columns) return;
  std::vector<size_t> columns(a.columns);
  std::iota(columns.begin(), columns.end(), size_t{0});
  for (size_t j = 0; j < a.columns; ++j) Reflect(a, b, j, std::span(columns).subspan(j));
  Matrix upper(a.columns, a.columns);
  for (size_t j = 0; j < a.columns; ++j) {
    for (size_t i = 0; i <= j; ++i) upper.at(i, j) = a.at(i, j);
  }
  a = std::move(upper);
  b.resize(a.rows);
}

// Takes the step from `x` towards `target` on `passive` that keeps all above 0. Removes those from
// `passive` that reach 0.
void StepBack(std::vector<double>& x, const std::vector<double>& target,
              std::vector<size_t>& passive) {
  double step = 1;
  for (size_t i = 0; i < passive.size(); ++i) {
    const double now = x[passive[i]];
    if (target[i] <= 0 && now - target[i] > 0) step = std::min(step, now / (now - target[i]));
  }
  std::vector<size_t> stay;
  for (size_t i = 0; i < passive.size(); ++i) {
    double& value = x[passive[i]];
    value += step * (target[i] - value);
    // Values that the step brings to 0 are there but for rounding.
    if (target[i] <= 0 && value <= 1e-14 * std::abs(target[i]) + 1e-300) {
      value = 0;
    } else {
      stay.push_back(passive[i]);
    }
  }
  if (stay.size() == passive.size()) {
    // Rounding hid which one reached 0: remove the one with the lowest target.
    size_t worst = 0;
    for (size_t i = 1; i < passive.size(); ++i) {
      if (target[i] < target[worst]) worst = i;
    }
    x[passive[worst]] = 0;
    stay.erase(stay.begin() + static_cast<std::ptrdiff_t>(worst));
  }
  passive = std::move(stay);
}

}  // namespace

double Dot(std::span<const double> a, std::span<const double> b) {
  assert(a.size() == b.size());
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

std::vector<double> LeastSquares(Matrix a, std::vector<double> b) {
  assert(a.rows == b.size());
  const std::vector<double> lengths = ScaleColumns(a);
  std::vector<double> x = SolveScaled(std::move(a), std::move(b));
  for (size_t j = 0; j < x.size(); ++j) x[j] = lengths[j] > 0 ? x[j] / lengths[j] : 0;
  return x;
}

std::vector<double> NonNegativeLeastSquares(Matrix a, std::vector<double> b) {
  assert(a.rows == b.size());
  const std::vector<double> lengths = ScaleColumns(a);
  ReduceRows(a, b);
  std::vector<double> x(a.columns, 0);
  std::vector<size_t> passive;
  // Each round adds a column; a bound, because rounding can make two of them take turns.
  for (size_t round = 0; round < 3 * a.columns + 10; ++round) {
    std::vector<double> residual = b;
    for (const size_t j : passive) {
      for (size_t i = 0; i < a.rows; ++i) residual[i] -= a.at(i, j) * x[j];
    }
    size_t best = a.columns;
    double steepest = 1e-12;
    for (size_t j = 0; j < a.columns; ++j) {
      const double slope = Dot(a.column(j), residual);
      if (slope > steepest && std::find(passive.begin(), passive.end(), j) == passive.end()) {
        steepest = slope;
        best = j;
      }
    }
    if (best == a.columns) break;
    passive.push_back(best);
    std::vector<double> target = SolveColumns(a, b, passive);
    while (!passive.empty() && *std::min_element(target.begin(), target.end()) <= 0) {
      StepBack(x, target, passive);
      if (passive.empty()) break;
      target = SolveColumns(a, b, passive);
    }
    for (size_t i = 0; i < passive.size(); ++i) x[passive[i]] = target[i];
  }
  for (size_t j = 0; j < x.size(); ++j) x[j] = lengths[j] > 0 ? x[j] / lengths[j] : 0;
  return x;
}

RelativeRows MakeRelative(const Matrix& x, std::span<const double> times,
                          std::span<const double> weights) {
  assert(times.size() == x.rows && (weights.empty() || weights.size() == x.rows));
  RelativeRows rows{x, std::vector<double>(x.rows, 1)};
  std::vector<double> factors(x.rows);
  for (size_t i = 0; i < x.rows; ++i) {
    rows.b[i] = weights.empty() ? 1 : std::sqrt(weights[i]);
    factors[i] = rows.b[i] / times[i];
  }
  for (size_t j = 0; j < x.columns; ++j) {
    const auto column = rows.a.column(j);
    for (size_t i = 0; i < x.rows; ++i) column[i] *= factors[i];
  }
  return rows;
}

}  // namespace attune
