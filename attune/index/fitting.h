// Models fitted to samples by the usual rules, and how good another one is where it was not fitted.
#pragma once

#include <optional>
#include <vector>

#include "attune/base/status.h"
#include "attune/index/record_samples.h"
#include "attune/model/evaluation.h"
#include "attune/model/time_model.h"

namespace attune {

// Of more samples than these not all members are fitted, each of which takes longer then.
inline constexpr size_t kMostForAll = 5000;

// Of up to kMostForAll samples what cross-validation chooses of all members. Of more, trees for
// choosing and, of up to 250 problems, neighbours; of more problems the trees alone. Fails as
// TimeModel::Fit() does.
Result<TimeModel> FitUsual(const FeatureSet& features, const std::vector<Sample>& samples);

// What a model of the others reaches on `share` of the configurations, drawn with a fixed seed;
// nothing if too few are left.
Result<std::optional<ModelScore>> HeldOutScore(const TimeSamples& data, double share);

}  // namespace attune
