// Whether the output of a candidate agrees with that of the default within absolute and relative
// tolerances given by the user.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "attune/base/status.h"
#include "attune/problem/tensor.h"

namespace attune {

struct NumericalCheck {
  bool enabled = false;
  double atol = 1e-5;
  double rtol = 1e-5;

  friend bool operator==(const NumericalCheck&, const NumericalCheck&) = default;
};

// "0" (off) or "atol_rtol" as in "1e-2_1e-1". "1" was TunableOp's form up to 2.9 and says no
// tolerance: an error that says so.
Result<NumericalCheck> ParseNumericalCheck(std::string_view text);
// Both tolerances have to be positive and finite.
Status Validate(const NumericalCheck& check);
// The inverse of ParseNumericalCheck.
std::string Text(const NumericalCheck& check);

struct NumericalVerdict {
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
Result<NumericalVerdict> CompareOutputs(const NumericalCheck& check, const TensorDesc& tensor,
                                        std::span<const std::byte> expected,
                                        std::span<const std::byte> actual);

}  // namespace attune
