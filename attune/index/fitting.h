// Models fitted to samples by the usual rules, and their error on samples that were held out.
#pragma once

#include <optional>
#include <vector>

#include "attune/base/status.h"
#include "attune/index/record_samples.h"
#include "attune/model/evaluation.h"
#include "attune/model/time_model.h"

namespace attune {

// With more samples, only some members are fitted, because each then takes longer.
inline constexpr size_t kMostForAll = 5000;

// For up to kMostForAll samples, the member that cross-validation chooses. For more, trees for
// choosing and, for up to 250 problems, neighbours; for more problems the trees alone. Fails as
// TimeModel::Fit() does.
Result<TimeModel> FitUsual(const FeatureSet& features, const std::vector<Sample>& samples);

// The score on `share` of the configurations, drawn with a fixed seed, of a model of the others;
// nothing if too few are left.
Result<std::optional<ModelScore>> HeldOutScore(const TimeSamples& data, double share);

}  // namespace attune
