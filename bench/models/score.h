// How good predictions and choices are, on problems that the model was not fitted to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bench/models/recordings.h"

namespace attune::bench {

// A pick is wrong if it takes more than a tenth longer than the best, as SEER's authors count.
inline constexpr double kWrongAbove = 1.10;

// Times of one problem by position in its samples.
using Times = std::vector<double>;

struct ErrorScore {
  std::vector<double> relative;  // |predicted / measured - 1|.
  double Mape() const;
  double Rmspe() const;
  double Median() const;
  double ShareWithin(double error) const;
};

struct PickScore {
  size_t picks = 0;
  size_t wrong = 0;
  double log_regret = 0;

  // `chosen_ms` is the time of the choice; `best_ms` that of the best.
  void Add(double chosen_ms, double best_ms);
  double WrongPercent() const {
    return 100 * static_cast<double>(wrong) / static_cast<double>(picks);
  }
  double GeometricRegret() const;
};

// The best of the `k` that are predicted to be quickest.
double BestOfTop(const Times& predicted, const Times& measured, size_t k);

// Positions of problems: those to learn from and those held out.
struct Split {
  std::vector<size_t> learnt;
  std::vector<size_t> held_out;
};
Split SplitProblems(size_t problems, double held_out_share, uint64_t seed);

std::vector<Sample> SamplesOf(const Recording& recording, std::span<const size_t> problems);
Times MeasuredTimes(const RecordedProblem& problem);

// The control: every sample gets the time of another one of its algorithm. A model that is as good
// on those has learnt nothing of the shapes.
void ShuffleTimes(std::vector<Sample>& samples, uint64_t seed);

}  // namespace attune::bench
