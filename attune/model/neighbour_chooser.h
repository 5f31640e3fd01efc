// Chooses for a problem by the results on the problems nearest to it. A model of time predicts a
// candidate's time even if it was never tried for such a problem. Among hundreds of candidates,
// each tried for a few problems, the quickest by prediction is mostly an untried one, and wrong
// (docs/design/0043-choosing-among-many.md). Here an untried candidate loses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attune/model/places.h"
#include "attune/model/regressor.h"

namespace attune {

class NeighbourChooser {
 public:
  static constexpr size_t kNeighbours = 8;
  // Stands for the time at a neighbour that an algorithm was not tried for, as a multiple of the
  // best time there.
  static constexpr double kUntried = 2;
  // An algorithm needs this many places with a trial for a range by its own errors.
  static constexpr size_t kLeastForOwnRange = 5;

  struct Proposal {
    uint32_t algorithm = 0;  // In algorithms().
    double time_ms = 0;      // Expected; at most kUntried times the best one's expected time.
    double high_ms = 0;      // Above nine of ten, if the best one takes its expected time.
  };

  // kInvalidArgument if `features` lack "flops" or "bytes".
  static Result<NeighbourChooser> Make(const FeatureSet& features);

  // Forgets earlier samples. Fails as Regressor::Fit() does.
  Status Fit(std::span<const Sample> samples);

  // Algorithms of the samples, in order.
  const std::vector<std::string>& algorithms() const { return algorithms_; }

  // Algorithms that were tried for a neighbour of `row`, without regard to the row's own, quickest
  // first. An algorithm's time over the best one's is the geometric mean over the neighbours, each
  // with the inverse of its squared distance for a weight. REQUIRES: Fit() succeeded or a file was
  // read.
  std::vector<Proposal> Propose(const FeatureRow& row) const;

  void AppendText(std::string& text) const;
  static Result<NeighbourChooser> ReadFrom(ModelLines& lines, const FeatureSet& features);

 private:
  struct Trial {
    uint32_t algorithm = 0;
    double log_over_best = 0;  // Over the best of those that were tried there.
  };
  struct Neighbour {
    uint32_t place = 0;
    double weight = 0;  // Their sum is 1.
  };

  NeighbourChooser() = default;
  // The nearest to a row by its squared distances, without `left_out`.
  static std::vector<Neighbour> NeighboursAt(std::span<const double> squared_distances,
                                             std::optional<uint32_t> left_out);
  // By algorithm; nothing for one that none of `neighbours` was tried with.
  std::vector<std::optional<double>> LogsOverBest(std::span<const Neighbour> neighbours) const;
  // Fills high_logs_: each place is predicted without its own trials.
  void LearnRanges();
  void TakeTrials(std::span<const Sample> samples, std::span<const uint32_t> places);
  static Result<Trial> ReadTrial(ModelLines& lines, size_t algorithms);

  std::unique_ptr<Regressor> roofline_;
  Places places_;
  std::vector<std::string> algorithms_;
  std::vector<std::vector<Trial>> trials_;      // By place, in the order of algorithms.
  std::vector<double> log_best_over_roofline_;  // By place.
  // By algorithm: the 95th percentile of log(time over best) minus its expected value, 0 at least.
  std::vector<double> high_logs_;
};

}  // namespace attune
