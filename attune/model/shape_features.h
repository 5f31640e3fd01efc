// Features that need no launch of a problem: extents, types and counts.
#pragma once

#include <string>
#include <string_view>

#include "attune/base/status.h"
#include "attune/model/feature_row.h"
#include "attune/problem/problem.h"

namespace attune {

// Starts with 1, flops and compulsory bytes. Logarithms to base 2 of extents and counts follow, and
// how often 2 divides them. kUnsupported, with the name, for an operator that attune does not know.
Result<FeatureSet> ShapeFeatures(std::string_view operator_name);

// Returns the operator of the features called `name`. kUnsupported if there is none.
Result<std::string_view> OperatorOfFeatures(std::string_view name);

// A row of these features. REQUIRES: a valid problem of a known operator.
FeatureRow ShapeRow(const Problem& problem, const std::string& algorithm);

}  // namespace attune
