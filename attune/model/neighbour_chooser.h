// Who is to be chosen for a problem, by how well each did on the problems nearest to it. A model of
// time says how long a candidate would take, also of one that was never tried for such a problem:
// among hundreds of candidates, each tried for a few problems, the quickest by prediction is mostly
// one of those, and wrong (docs/design/0043-choosing-among-many.md). Here that it was not tried
// counts against it.
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
  // What takes part in place of a time for a neighbour that an algorithm was not tried for: so many
  // times the best one's.
  static constexpr double kUntried = 2;
  // In so many places an algorithm has to have been tried for a range by its own errors.
  static constexpr size_t kLeastForOwnRange = 5;

  struct Proposal {
    uint32_t algorithm = 0;  // In algorithms().
    double time_ms = 0;      // Expected; at most kUntried times what the best one is expected to.
    double high_ms = 0;      // Above nine of ten, if the best one takes what it is expected to.
  };

  // kInvalidArgument if `features` lack "flops" or "bytes".
  static Result<NeighbourChooser> Make(const FeatureSet& features);

  // Forgets what it knew. Fails as Regressor::Fit() does.
  Status Fit(std::span<const Sample> samples);

  // Those of the samples, in order.
  const std::vector<std::string>& algorithms() const { return algorithms_; }

  // Those that were tried for a neighbour of `row`, whatever its algorithm, quickest first. An
  // algorithm's time over the best one's is the geometric mean over the neighbours, each with the
  // inverse of its squared distance for a weight. REQUIRES: Fit() succeeded or a file was read.
  std::vector<Proposal> Propose(const FeatureRow& row) const;

  void AppendText(std::string& text) const;
  static Result<NeighbourChooser> ReadFrom(ModelLines& lines, const FeatureSet& features);

 private:
  struct Trial {
    uint32_t algorithm = 0;
    double log_over_best = 0;  // Of those that were tried there.
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
  // Fills high_logs_: each place is asked about without what was tried there.
  void LearnRanges();
  void TakeTrials(std::span<const Sample> samples, std::span<const uint32_t> places);
  static Result<Trial> ReadTrial(ModelLines& lines, size_t algorithms);

  std::unique_ptr<Regressor> roofline_;
  Places places_;
  std::vector<std::string> algorithms_;
  std::vector<std::vector<Trial>> trials_;      // By place, in the order of algorithms.
  std::vector<double> log_best_over_roofline_;  // By place.
  // By algorithm: the 95th hundredth of log(time over best) - what was expected of it, 0 at least.
  std::vector<double> high_logs_;
};

}  // namespace attune
