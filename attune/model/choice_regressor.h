// Boosted trees for choosing. Each algorithm has trees on a sum: the logarithm of its time plus
// that of its time over the best one of the same problem. The sum need not be split: half of it and
// half of the best time give the time, unless that is too long to matter for a choice. The best
// time is one more model, common to all algorithms of a problem.
//
// It takes features of the operation alone and hundreds of thousands of samples, and stays small:
// an algorithm has more trees the more samples it has, and leaves are rounded.
#pragma once

#include <map>
#include <memory>

#include "attune/model/boosted_trees.h"
#include "attune/model/regressor.h"

namespace attune {

class ChoiceRegressor final : public Regressor {
 public:
  static constexpr std::string_view kName = "choice_2";  // "choice" had two sets for each.
  // An algorithm with fewer samples is predicted by those of all.
  static constexpr size_t kLeastOfAlgorithm = 30;

  explicit ChoiceRegressor(FeatureSet features) : features_(std::move(features)) {}

  std::string_view name() const override { return kName; }
  Status Fit(std::span<const Sample> samples) override;
  void Predict(std::span<const FeatureRow> rows, std::span<double> median_ms) const override;
  void PredictEach(const FeatureRow& row, std::span<const std::string_view> algorithms,
                   std::span<double> median_ms) const override;
  void AppendText(std::string& text) const override;
  std::unique_ptr<Regressor> Fresh() const override {
    return std::make_unique<ChoiceRegressor>(features_);
  }
  static Result<std::unique_ptr<Regressor>> ReadFrom(ModelLines& lines, const FeatureSet& features);

 private:
  // `best_log` is that of the best time of the problem with the columns `problem`.
  double MedianMs(std::span<const float> problem, double best_log,
                  std::string_view algorithm) const;

  FeatureSet features_;
  BoostedTrees best_;
  double usual_over_best_ = 0;  // The median logarithm, for algorithms with too few samples.
  std::map<std::string, BoostedTrees, std::less<>> algorithms_;
};

}  // namespace attune
