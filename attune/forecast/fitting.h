// Models fitted to samples by the usual rules, and how good another one is where it was not fitted.
#pragma once

#include <optional>
#include <vector>

#include "attune/base/status.h"
#include "attune/forecast/record_samples.h"
#include "attune/model/evaluation.h"
#include "attune/model/time_model.h"

namespace attune {

// Of up to 5,000 samples what cross-validation chooses of all members. Of more, which takes longer
// for each of them, trees for choosing and, of up to 250 problems, neighbours; of more problems the
// trees alone. Fails as TimeModel::Fit() does.
Result<TimeModel> FitUsual(const FeatureSet& features, const std::vector<Sample>& samples);

// What a model of the others reaches on `share` of the configurations, drawn with a fixed seed;
// nothing if too few are left.
Result<std::optional<ModelScore>> HeldOutScore(const TimeSamples& data, double share);

}  // namespace attune
