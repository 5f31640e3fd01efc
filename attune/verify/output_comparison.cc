#include "attune/verify/output_comparison.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <vector>

#include "attune/base/element.h"
#include "attune/verify/poison.h"
#include "attune/verify/tolerance.h"

namespace attune {
namespace {

class OutputComparer {
 public:
  OutputComparer(std::span<const std::byte> output, std::span<const double> reference,
                 const ComparisonTerms& terms)
      : output_(output),
        reference_(reference),
        type_(terms.type),
        element_bytes_(SizeBytes(terms.type)),
        tolerance_(terms.tolerance) {
    assert(output.size() == reference_.size() * element_bytes_);
    assert(terms.untouched == kPoisonWord);
  }

  OutputComparison Compare() {
    constexpr size_t kBlock = 4096;
    std::vector<double> values(kBlock);
    for (size_t begin = 0; begin < reference_.size(); begin += kBlock) {
      const size_t count = std::min(kBlock, reference_.size() - begin);
      Decode(type_, output_.subspan(begin * element_bytes_, count * element_bytes_),
             std::span(values).first(count));
      for (size_t i = 0; i < count; ++i) CompareOne(begin + i, values[i]);
    }
    return comparison_;
  }

 private:
  void CompareOne(size_t offset, double value) {
    const double right = reference_[offset];
    if (std::isnan(right)) return CheckGap(offset);
    ++comparison_.elements;
    const double error = std::abs(value - right);
    // Integers have no tolerance.
    double ratio = error == 0 ? 0 : error / tolerance_.At(static_cast<int64_t>(offset)).Of(right);
    if (!std::isfinite(value)) ratio = std::numeric_limits<double>::infinity();
    if (ratio > 1) ++comparison_.wrong;
    if (ratio <= comparison_.worst_ratio) return;
    comparison_.worst_ratio = ratio;
    comparison_.worst_offset = static_cast<int64_t>(offset);
    comparison_.worst_value = value;
  }

  void CheckGap(size_t offset) {
    const auto gap = output_.subspan(offset * element_bytes_, element_bytes_);
    if (!comparison_.spoiled_gap.has_value() && FindSpoiled(gap) != gap.size()) {
      comparison_.spoiled_gap = static_cast<int64_t>(offset);
    }
  }

  std::span<const std::byte> output_;
  std::span<const double> reference_;
  const DataType type_;
  const size_t element_bytes_;
  const GroupTolerance tolerance_;
  OutputComparison comparison_;
};

}  // namespace

OutputComparison CompareOnHost(std::span<const std::byte> output, std::span<const double> reference,
                               const ComparisonTerms& terms) {
  return OutputComparer(output, reference, terms).Compare();
}

}  // namespace attune
