// The reference's engine: matrix products in f64 or double-double, whose factors are gathered on
// the fly.
//
// Convolutions are such products too (implicit im2col), so one small kernel does all the
// arithmetic.
#pragma once

#include <cstdint>

#include "attune/base/data_type.h"
#include "attune/base/work_watch.h"

namespace attune {

// `count` independent products out(m, n) = sum over k of a(k, m) * b(k, n).
class ProductSource {
 public:
  struct Shape {
    int64_t count = 1;
    int64_t m = 0;
    int64_t n = 0;
    int64_t k = 0;
  };
  // A range of one index.
  struct Range {
    int64_t begin = 0;
    int64_t end = 0;
    int64_t size() const { return end - begin; }
  };

  virtual ~ProductSource() = default;
  virtual Shape shape() const = 0;

  // Writes a(k, m) of product `which` to panel[(k - ks.begin) * row_stride + (m - ms.begin)], and b
  // likewise. Called by several threads.
  virtual void GatherA(int64_t which, Range ks, Range ms, double* panel,
                       int64_t row_stride) const = 0;
  virtual void GatherB(int64_t which, Range ks, Range ns, double* panel,
                       int64_t row_stride) const = 0;

  // Takes finished sums: out(m, n) is at sums[(m - ms.begin) * row_stride + (n - ns.begin)].
  // Called by several threads, for disjoint parts.
  virtual void Store(int64_t which, Range ms, Range ns, const double* sums,
                     int64_t row_stride) const = 0;
};

enum class Precision {
  kDouble,        // f64 products and sums.
  kDoubleDouble,  // Twice that: the compensated dot product of Ogita, Rump and Oishi (2005).
};

// The precision of references for candidates that compute in the type of their `inputs`.
inline Precision PrecisionFor(DataType inputs) {
  return inputs == DataType::kF64 ? Precision::kDoubleDouble : Precision::kDouble;
}

// Computes everything and stores it, on every core. `watch` counts multiply-adds; once it says
// stop, nothing more is stored.
void ComputeProducts(const ProductSource& source, Precision precision, WorkWatch& watch);

// One element of one product.
struct ElementPlace {
  int64_t which = 0;
  int64_t m = 0;
  int64_t n = 0;
};
struct ElementSum {
  double sum = 0;
  double magnitude = 0;  // The sum of |a * b|.
};

// The sum of that element alone, in double-double for any problem, on the calling thread.
ElementSum SumOfElement(const ProductSource& source, const ElementPlace& place);

}  // namespace attune
