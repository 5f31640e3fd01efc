// Choosing among the ways to compute a problem by predicted times, and its cost.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "attune/model/roofline_regressor.h"
#include "bench/figures.h"
#include "bench/models/score.h"

namespace attune::bench {

struct ChoiceSettings {
  std::string prefix;  // Starts the figures' names.
  DevicePeaks peaks;
  double held_out_share = 0.3;
  int splits = 5;
  uint64_t seed = 1;              // For the first split; the others count on.
  size_t most_learnt = SIZE_MAX;  // Problems to learn from.
  // Published or earlier errors and picks, and the required ones: shown beside ours.
  std::map<std::string, std::string> beside;
};

// Appends, for problems that were held out by configuration, errors by algorithm, wrong picks of
// the model, of each baseline (roofline, non-negative least squares alone, the algorithm that was
// best most often, the vendor's heuristic), of the two best predicted measured, and of a model
// fitted to shuffled times. Candidates are those of which the recording has every kernel, as in the
// reference figures; figures with "all_" are of all.
void AddChoiceFigures(const Recording& recording, const ChoiceSettings& settings,
                      std::vector<Figure>& figures);

// Appends errors alone, for recordings with one way to compute each problem.
void AddErrorFigures(const Recording& recording, const ChoiceSettings& settings,
                     std::vector<Figure>& figures);

// Appends what predictions and fits of members take, and fits of whole models as users get them:
// whole ones choose among members by cross-validation. By the clock, and in core time ("of_core").
void AddCostFigures(const Recording& recording, const ChoiceSettings& settings,
                    std::vector<Figure>& figures);

}  // namespace attune::bench
