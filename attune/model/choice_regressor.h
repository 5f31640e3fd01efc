// Boosted trees for choosing: for each algorithm trees on the sum of the logarithm of its time and
// of that of its time over the best one of the same problem. A sum needs not be told apart again:
// half of it and half of the best time, which is one more model, common to all algorithms of a
// problem, are the time, unless that is so long that no choice asks how long.
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
  // `best_log`: of the best time of the problem whose columns are `problem`.
  double MedianMs(std::span<const float> problem, double best_log,
                  std::string_view algorithm) const;

  FeatureSet features_;
  BoostedTrees best_;
  double usual_over_best_ = 0;  // The median logarithm, for algorithms with too few samples.
  std::map<std::string, BoostedTrees, std::less<>> algorithms_;
};

}  // namespace attune
