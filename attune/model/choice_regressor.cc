#include "attune/model/choice_regressor.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "attune/base/text.h"

namespace attune {
namespace {

constexpr size_t kMostAlgorithms = 1 << 20;
// How much slower than this matters to no choice: trees are not spent on it.
const double kMostOverBest = std::log(4.5);
constexpr double kLargestLog = 50;
// An algorithm with so many samples has kTrees trees; with fewer or more, by the square root.
constexpr size_t kUsualSamples = 12000;
constexpr double kTrees = 84;
constexpr double kMostTimes = 3;
// The common part does not affect a choice, so it has fewer trees than its many samples would make.
constexpr size_t kMostSamplesOfBest = 2 * kUsualSamples;

BoostingSettings SettingsFor(size_t samples) {
  const double share = std::sqrt(static_cast<double>(samples) / kUsualSamples);
  constexpr int kLanes = static_cast<int>(ShallowTrees::kLanes);
  BoostingSettings settings;
  // As many as take the time of the last one's lanes.
  settings.trees =
      kLanes * static_cast<int>(std::ceil(kTrees * std::min(kMostTimes, share) / kLanes));
  settings.leaves = static_cast<int>(ShallowTrees::kLeaves);
  settings.max_depth = ShallowTrees::kDepth;
  settings.least_in_leaf = 3;
  settings.shrinkage = 0.2;
  settings.row_share = 0.8;
  settings.column_share = 0.85;
  settings.leaf_step = 0.001;
  return settings;
}

std::vector<float> ColumnsOf(const FeatureRow& row) {
  return {row.values.begin(), row.values.end()};
}

void AppendColumns(const FeatureRow& row, TreeTable& table) {
  for (const double value : row.values) table.values.push_back(static_cast<float>(value));
}

// The least time of each configuration, with one of its samples.
struct Best {
  double time_ms = 0;
  size_t sample = 0;
};
std::map<uint64_t, Best> BestTimes(std::span<const Sample> samples) {
  std::map<uint64_t, Best> best;
  for (size_t i = 0; i < samples.size(); ++i) {
    const auto [found, is_new] =
        best.try_emplace(samples[i].configuration, Best{samples[i].time_ms, i});
    if (!is_new && samples[i].time_ms < found->second.time_ms) {
      found->second = {samples[i].time_ms, i};
    }
  }
  return best;
}

}  // namespace

Status ChoiceRegressor::Fit(std::span<const Sample> samples) {
  ATTUNE_RETURN_IF_ERROR(CheckSamples(samples, features_));
  if (samples.empty()) return FailedPrecondition("A model cannot be fitted to no samples.");
  const std::map<uint64_t, Best> best = BestTimes(samples);
  TreeTable of_best(features_.operation.size());
  std::vector<double> best_logs;
  for (const auto& [configuration, one] : best) {
    AppendColumns(samples[one.sample].row, of_best);
    best_logs.push_back(std::log(one.time_ms));
  }
  best_ = BoostedTrees::Train(of_best, best_logs,
                              SettingsFor(std::min(4 * best.size(), kMostSamplesOfBest)));
  std::map<std::string_view, std::vector<size_t>> of_algorithm;
  std::vector<double> over_best(samples.size());
  for (size_t i = 0; i < samples.size(); ++i) {
    of_algorithm[samples[i].row.algorithm].push_back(i);
    const double ratio = samples[i].time_ms / best.at(samples[i].configuration).time_ms;
    over_best[i] = std::min(std::log(ratio), kMostOverBest);
  }
  std::vector<double> sorted = over_best;
  std::ranges::nth_element(sorted, sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2));
  usual_over_best_ = sorted[sorted.size() / 2];
  algorithms_.clear();
  for (const auto& [name, positions] : of_algorithm) {
    if (positions.size() < kLeastOfAlgorithm) continue;
    TreeTable table(features_.operation.size());
    std::vector<double> sums;
    for (const size_t i : positions) {
      AppendColumns(samples[i].row, table);
      sums.push_back(std::log(samples[i].time_ms) + over_best[i]);
    }
    algorithms_[std::string(name)] =
        BoostedTrees::Train(table, sums, SettingsFor(positions.size()));
  }
  return Status::Ok();
}

double ChoiceRegressor::MedianMs(std::span<const float> problem, double best_log,
                                 std::string_view algorithm) const {
  const auto found = algorithms_.find(algorithm);
  const double log = found == algorithms_.end()
                         ? best_log + usual_over_best_
                         : (best_log + found->second.PredictRow(problem)) / 2;
  return std::exp(std::clamp(log, -kLargestLog, kLargestLog));
}

void ChoiceRegressor::Predict(std::span<const FeatureRow> rows, std::span<double> median_ms) const {
  std::vector<float> problem;
  double best_log = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    // Candidates of one problem, whose values are the same, follow each other.
    if (i == 0 || rows[i].values != rows[i - 1].values) {
      problem = ColumnsOf(rows[i]);
      best_log = best_.PredictRow(problem);
    }
    median_ms[i] = MedianMs(problem, best_log, rows[i].algorithm);
  }
}

void ChoiceRegressor::PredictEach(const FeatureRow& row,
                                  std::span<const std::string_view> algorithms,
                                  std::span<double> median_ms) const {
  const std::vector<float> problem = ColumnsOf(row);
  const double best_log = best_.PredictRow(problem);
  for (size_t i = 0; i < algorithms.size(); ++i) {
    median_ms[i] = MedianMs(problem, best_log, algorithms[i]);
  }
}

void ChoiceRegressor::AppendText(std::string& text) const {
  AppendNumbers(text, "usual", std::span(&usual_over_best_, 1));
  best_.AppendText(text);
  AppendCount(text, "algorithms", algorithms_.size());
  for (const auto& [name, trees] : algorithms_) {
    AppendWord(text, "of", name);
    trees.AppendText(text);
  }
}

Result<std::unique_ptr<Regressor>> ChoiceRegressor::ReadFrom(ModelLines& lines,
                                                             const FeatureSet& features) {
  auto model = std::make_unique<ChoiceRegressor>(features);
  const size_t columns = features.operation.size();
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<double> usual, lines.Numbers("usual", 1));
  model->usual_over_best_ = usual[0];
  ATTUNE_ASSIGN_OR_RETURN(model->best_, BoostedTrees::ReadFrom(lines, columns));
  ATTUNE_ASSIGN_OR_RETURN(const size_t count, lines.Count("algorithms", kMostAlgorithms));
  for (size_t i = 0; i < count; ++i) {
    ATTUNE_ASSIGN_OR_RETURN(const std::string name, lines.Word("of"));
    ATTUNE_ASSIGN_OR_RETURN(BoostedTrees trees, BoostedTrees::ReadFrom(lines, columns));
    if (!model->algorithms_.emplace(name, std::move(trees)).second) {
      return lines.Wrong(fmt::format("'{}' is there twice.", Excerpt(name)));
    }
  }
  return std::unique_ptr<Regressor>(std::move(model));
}

}  // namespace attune
