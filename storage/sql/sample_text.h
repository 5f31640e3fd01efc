// Samples as the text `f64:<count>:<hash>:<base64>` (docs/formats/schema.md). Exact.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"

namespace attune::sql {

std::string SampleText(std::span<const double> samples_ns);

// The inverse. kDataLoss that says what is wrong.
Result<std::vector<double>> ParseSampleText(std::string_view text);

}  // namespace attune::sql
