// Samples as the text `f64r:<count>:<hash>:<base64>` (docs/formats/schema.md). Exact.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/fingerprint.h"
#include "attune/base/status.h"

namespace attune::sql {

// The text fits the row with this checksum and no other.
std::string SampleText(std::span<const double> samples_ns, const Fingerprint& row_checksum);

// The inverse. kDataLoss names the defect, also if the samples belong to another row.
Result<std::vector<double>> ParseSampleText(std::string_view text, const Fingerprint& row_checksum);

// The form before version 4 of the schema, `f64:<count>:<hash>:<base64>`, which fits every row.
Result<std::vector<double>> ParseUnboundSampleText(std::string_view text);

}  // namespace attune::sql
