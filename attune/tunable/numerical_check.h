// NUMERICAL_CHECK: the tolerances within which the output of a candidate has to agree with that of
// the default.
#pragma once

#include <string>
#include <string_view>

#include "attune/base/status.h"

namespace attune {

struct NumericalCheck {
  bool enabled = false;
  double atol = 1e-5;
  double rtol = 1e-5;

  friend bool operator==(const NumericalCheck&, const NumericalCheck&) = default;
};

// "0" (off) or "atol_rtol" as in "1e-2_1e-1". "1" was TunableOp's form up to 2.9 and gives no
// tolerance: the error explains that.
Result<NumericalCheck> ParseNumericalCheck(std::string_view text);
// Both tolerances have to be positive and finite.
Status Validate(const NumericalCheck& check);
// The inverse of ParseNumericalCheck.
std::string Text(const NumericalCheck& check);

}  // namespace attune
