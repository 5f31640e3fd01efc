// The model that others ask: several regressors, of which cross-validation chooses for each
// algorithm, and intervals from the errors that it saw there.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/model/chooser_trial.h"
#include "attune/model/model_text.h"
#include "attune/model/neighbour_chooser.h"
#include "attune/model/regressor.h"
#include "attune/model/roofline_regressor.h"

namespace attune {

class TimeModel {
 public:
  // Error range of a row with unseen kernels, relative to the one measured on known kernels. Such a
  // row is measured rather than believed.
  static constexpr double kWiderWhenUnseen = 3;

  // REQUIRES: members, all made for `features`.
  TimeModel(FeatureSet features, std::vector<std::unique_ptr<Regressor>> members);

  // Roofline, neighbours, kernels and boosted trees with default settings. kInvalidArgument if
  // `features` lack "flops" or "bytes".
  static Result<TimeModel> Standard(const FeatureSet& features, DevicePeaks peaks);

  // Boosted trees for choosing alone (choice_regressor.h): for more samples than all members are
  // fitted to in time, of more problems than neighbours can be looked for among.
  static TimeModel ForChoosing(const FeatureSet& features);

  // The same and neighbours, for many candidates of few problems: trees need more times of each
  // than one in a hundred configs of a library gets.
  static Result<TimeModel> ForChoosingAmongMany(const FeatureSet& features);

  // Lets Fit() keep a chooser() for samples of a suitable number of configurations: few enough to
  // search them all for neighbours while a caller waits, and more than the neighbours of a choice.
  void MayChooseByNeighbours() { may_choose_by_neighbours_ = true; }

  // Holds every fifth of the configurations out in turn, chooses for each algorithm the member, or
  // the geometric mean of two, with the least mean error there, and fits the chosen ones to all
  // samples. Fails as their Fit() does, and with kFailedPrecondition for fewer than two
  // configurations.
  Status Fit(std::span<const Sample> samples);

  // REQUIRES: as of Regressor::Predict().
  void Predict(std::span<const FeatureRow> rows, std::span<Prediction> predictions) const;

  // Predicts `row` by each of `algorithms` instead of its own.
  void PredictEach(const FeatureRow& row, std::span<const std::string_view> algorithms,
                   std::span<Prediction> predictions) const;

  // Names the choice for an algorithm: "nnls", "nnls+boosted_time". An algorithm that was seldom or
  // never seen has the choice over all.
  std::string ChosenFor(const std::string& algorithm) const;

  // Algorithms that were fitted in five configurations or more, in order. Those of twenty or more
  // have a choice of their own.
  std::vector<std::string> algorithms() const;

  // Not null if choices by neighbours take less time on the held-out configurations than those by
  // minimum predicted time (chooser_trial.h). Null: choose by minimum predicted time.
  const NeighbourChooser* chooser() const { return chooser_.has_value() ? &*chooser_ : nullptr; }

  const FeatureSet& features() const { return features_; }
  size_t samples() const { return samples_; }
  void AppendText(std::string& text) const;
  // Without `tells_chooser` nothing is there of a chooser, as in version 3 of the file.
  static Result<TimeModel> ReadFrom(ModelLines& lines, const FeatureSet& features,
                                    bool tells_chooser = true);

 private:
  // Positions of the members, the same twice for one alone, and where nine of ten logarithms of
  // measured over predicted lie.
  struct Choice {
    size_t first = 0;
    size_t second = 0;
    double low = 0;
    double high = 0;
  };
  using LogErrors = std::vector<std::vector<double>>;  // By member, then by sample.

  static Choice Choose(const LogErrors& errors, const std::vector<size_t>& samples);
  // `trial` is asked beside, if it is given.
  Result<LogErrors> HeldOutErrors(std::span<const Sample> samples, ChooserTrial* trial) const;
  Status FitChooser(std::span<const Sample> samples, const ChooserTrial& trial);
  const Choice& ChoiceFor(std::string_view algorithm) const;
  // Widens the range for rows whose kernels were never seen.
  static Prediction Answer(const Choice& choice, double median_ms, bool is_unseen);
  bool IsUnseen(const FeatureRow& row) const;

  FeatureSet features_;
  std::vector<std::unique_ptr<Regressor>> members_;
  std::map<std::string, Choice, std::less<>> choices_;  // "" is of all algorithms.
  std::map<std::string, size_t, std::less<>> seen_;     // Samples of each signature.
  size_t samples_ = 0;
  bool may_choose_by_neighbours_ = false;
  std::optional<NeighbourChooser> chooser_;
};

}  // namespace attune
