// Compares the output of a candidate with that of another one within absolute and relative
// tolerances given by the user.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "attune/base/status.h"
#include "attune/problem/tensor.h"

namespace attune {

struct OutputTolerance {
  double atol = 1e-5;
  double rtol = 1e-5;

  friend bool operator==(const OutputTolerance&, const OutputTolerance&) = default;
};

struct OutputVerdict {
  bool agrees = true;
  int64_t first_bad_element = -1;  // Within the span, gaps counted.
  double expected = 0;             // There; of a gap, both are 0.
  double actual = 0;
  int64_t bad_elements = 0;
};

// |actual - expected| <= atol + rtol * |expected| for every element of `tensor`, computed in
// double. A NaN agrees with a NaN, an infinity with itself and with nothing else. Gaps between
// columns and batches have to be the same bit for bit, since nothing may write them. REQUIRES: both
// spans have SpanBytes(tensor). kUnsupported for a type that is no number format of ours.
Result<OutputVerdict> CompareOutputs(const OutputTolerance& tolerance, const TensorDesc& tensor,
                                     std::span<const std::byte> expected,
                                     std::span<const std::byte> actual);

}  // namespace attune
