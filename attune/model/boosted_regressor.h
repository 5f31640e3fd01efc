// Boosted trees on the logarithm of the time, or on that of its ratio to what KernelRegressor says.
//
// A row of the trees has the operation's features, how many kernels there are, the features of the
// kernel that KernelRegressor expects to take longest, its share, what KernelRegressor says, and
// two codes: of the algorithm and of that kernel's signature, both in the order of the mean target,
// so that one split divides them as well as any could.
//
// There are trees of all samples, and for each algorithm with kLeastOfAlgorithm samples trees of
// its own; where there are both, the answer is the mean of the two logarithms.
#pragma once

#include <map>
#include <memory>

#include "attune/model/boosted_trees.h"
#include "attune/model/kernel_regressor.h"

namespace attune {

enum class BoostingTarget { kTime, kResidual };

class BoostedRegressor final : public Regressor {
 public:
  static constexpr size_t kLeastOfAlgorithm = 60;

  BoostedRegressor(FeatureSet features, BoostingTarget target, BoostingSettings settings, int bags);

  // "boosted_time", "boosted_residual".
  std::string_view name() const override;
  Status Fit(std::span<const Sample> samples) override;
  void Predict(std::span<const FeatureRow> rows, std::span<double> median_ms) const override;
  void PredictEach(const FeatureRow& row, std::span<const std::string_view> algorithms,
                   std::span<double> median_ms) const override;
  void AppendText(std::string& text) const override;
  std::unique_ptr<Regressor> Fresh() const override;
  static Result<std::unique_ptr<Regressor>> ReadFrom(BoostingTarget target, ModelLines& lines,
                                                     const FeatureSet& features);

 private:
  using Codes = std::map<std::string, float, std::less<>>;

  size_t ColumnCount() const;
  // The kernel whose features are columns; null where none is known.
  const KernelRow* MainKernel(const FeatureRow& row, const KernelSum& sum) const;
  // `sum` is what the base says of the row; `base_ms` the time to be a column.
  void AppendColumns(const FeatureRow& row, std::string_view algorithm, const KernelSum& sum,
                     double base_ms, std::vector<float>& columns) const;
  void MakeCodes(std::span<const Sample> samples, std::span<const KernelSum> sums,
                 std::span<const double> targets);
  std::vector<double> OutOfFoldBase(std::span<const Sample> samples) const;

  FeatureSet features_;
  BoostingTarget target_;
  BoostingSettings settings_;
  int bags_;  // Models of different seeds, of which the mean is taken.
  std::unique_ptr<KernelRegressor> base_;
  Codes algorithms_;
  Codes signatures_;
  using Bags = std::vector<BoostedTrees>;
  Bags TrainBags(const TreeTable& table, std::span<const double> targets) const;
  // Adds the mean over bags.
  static void AddMean(const Bags& bags, const TreeTable& table, std::span<double> logs);
  static double MeanOf(const Bags& bags, std::span<const float> row);
  // Of an answer with this logarithm where the base says `base_ms`.
  double MedianOf(double log, double base_ms) const;
  static Result<Bags> ReadBags(ModelLines& lines, size_t columns);

  Bags all_;
  std::map<std::string, Bags, std::less<>> own_;  // By algorithm.
};

}  // namespace attune
