// The part of a report about models of time.
#pragma once

#include <string>
#include <vector>

#include "apps/attune/report/model_view.h"
#include "apps/attune/report/plots.h"

namespace attune {

// Predicted against measured times, both logarithmic: a circle for each candidate.
std::string PredictedPlot(const std::vector<PredictedTime>& times, const Palette& palette);

// A row for each solver: predicted over measured time of its candidates, and their median.
std::string ErrorPlot(const std::vector<PredictedTime>& times, const Palette& palette);

// The best time found by number of measurements: ordered by prediction, at random and by default.
std::string RegretPlot(const RegretCurves& curves);

// All of it, with the figures in words and a table; empty without times.
std::string ModelSection(const std::vector<PredictedTime>& times, const Palette& palette);

}  // namespace attune
