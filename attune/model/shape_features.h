// Features of problems of which no launch is known: extents, types and counts.
#pragma once

#include <string>
#include <string_view>

#include "attune/base/status.h"
#include "attune/model/feature_row.h"
#include "attune/problem/problem.h"

namespace attune {

// Of a known operator: 1, flops and compulsory bytes, then base-2 logarithms of extents and counts,
// and what they are divisible by. kUnsupported for other operators, naming them.
Result<FeatureSet> ShapeFeatures(std::string_view operator_name);

// The operator of whose shapes the features called `name` are. kUnsupported for others.
Result<std::string_view> OperatorOfFeatures(std::string_view name);

// A row of these features. REQUIRES: a valid problem of a known operator.
FeatureRow ShapeRow(const Problem& problem, const std::string& algorithm);

}  // namespace attune
