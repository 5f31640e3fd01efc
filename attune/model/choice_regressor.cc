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
constexpr double kUsualSamples = 12000;
constexpr int kTrees = 60;
constexpr int kLeastTrees = 8;
constexpr int kMostTimes = 3;

// The logarithm of a time from both ways to it.
double Together(double own, double best, double over_best) {
  return (own + best + std::max(0.0, over_best)) / 2;
}

BoostingSettings SettingsFor(size_t samples, double huber_share, uint64_t seed) {
  const double share = std::sqrt(static_cast<double>(samples) / kUsualSamples);
  BoostingSettings settings;
  settings.trees =
      std::max(kLeastTrees, static_cast<int>(kTrees * std::min<double>(kMostTimes, share)));
  settings.leaves = static_cast<int>(ShallowTrees::kLeaves);
  settings.max_depth = ShallowTrees::kDepth;
  settings.least_in_leaf = 3;
  settings.shrinkage = 0.2;
  settings.row_share = 0.8;
  settings.column_share = 0.85;
  settings.huber_share = huber_share;
  settings.leaf_step = 0.001;
  settings.seed = seed;
  return settings;
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
  best_ = BoostedTrees::Train(of_best, best_logs, SettingsFor(4 * best.size(), 0.9, 1));
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
    std::vector<double> times, ratios;
    for (const size_t i : positions) {
      AppendColumns(samples[i].row, table);
      times.push_back(std::log(samples[i].time_ms));
      ratios.push_back(over_best[i]);
    }
    algorithms_[std::string(name)] = {
        BoostedTrees::Train(table, times, SettingsFor(positions.size(), 0.9, 1)),
        BoostedTrees::Train(table, ratios, SettingsFor(positions.size(), 0.98, 2))};
  }
  return Status::Ok();
}

void ChoiceRegressor::Predict(std::span<const FeatureRow> rows, std::span<double> median_ms) const {
  // Candidates of one problem, whose values are the same, follow each other: they are one problem.
  TreeTable problems(features_.operation.size());
  std::vector<size_t> problem_of;
  std::map<std::string_view, std::vector<size_t>> of_algorithm;
  for (size_t i = 0; i < rows.size(); ++i) {
    const bool is_new = i == 0 || rows[i].values != rows[i - 1].values;
    if (is_new) AppendColumns(rows[i], problems);
    problem_of.push_back(i == 0 ? 0 : problem_of.back() + (is_new ? 1 : 0));
    of_algorithm[rows[i].algorithm].push_back(i);
  }
  std::vector<double> best(problems.rows());
  best_.Predict(problems, best);
  std::vector<double> logs;
  for (const size_t problem : problem_of) logs.push_back(best[problem]);
  for (const auto& [name, positions] : of_algorithm) {
    const auto found = algorithms_.find(name);
    if (found == algorithms_.end()) {
      for (const size_t i : positions) logs[i] += usual_over_best_;
      continue;
    }
    TreeTable table(problems.columns);
    for (const size_t i : positions) {
      const auto row = problems.row(problem_of[i]);
      table.values.insert(table.values.end(), row.begin(), row.end());
    }
    std::vector<double> times(positions.size()), ratios(positions.size());
    found->second.time.Predict(table, times);
    found->second.over_best.Predict(table, ratios);
    for (size_t j = 0; j < positions.size(); ++j) {
      logs[positions[j]] = Together(times[j], logs[positions[j]], ratios[j]);
    }
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    median_ms[i] = std::exp(std::clamp(logs[i], -kLargestLog, kLargestLog));
  }
}

void ChoiceRegressor::PredictEach(const FeatureRow& row,
                                  std::span<const std::string_view> algorithms,
                                  std::span<double> median_ms) const {
  TreeTable table(features_.operation.size());
  AppendColumns(row, table);
  const double best = best_.PredictRow(table.row(0));
  for (size_t i = 0; i < algorithms.size(); ++i) {
    double log = best + usual_over_best_;
    if (const auto found = algorithms_.find(algorithms[i]); found != algorithms_.end()) {
      log = Together(found->second.time.PredictRow(table.row(0)), best,
                     found->second.over_best.PredictRow(table.row(0)));
    }
    median_ms[i] = std::exp(std::clamp(log, -kLargestLog, kLargestLog));
  }
}

void ChoiceRegressor::AppendText(std::string& text) const {
  AppendNumbers(text, "usual", std::span(&usual_over_best_, 1));
  best_.AppendText(text);
  AppendCount(text, "algorithms", algorithms_.size());
  for (const auto& [name, trees] : algorithms_) {
    AppendWord(text, "of", name);
    trees.time.AppendText(text);
    trees.over_best.AppendText(text);
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
    OfAlgorithm trees;
    ATTUNE_ASSIGN_OR_RETURN(trees.time, BoostedTrees::ReadFrom(lines, columns));
    ATTUNE_ASSIGN_OR_RETURN(trees.over_best, BoostedTrees::ReadFrom(lines, columns));
    if (!model->algorithms_.emplace(name, std::move(trees)).second) {
      return lines.Wrong(fmt::format("'{}' is there twice.", Excerpt(name)));
    }
  }
  return std::unique_ptr<Regressor>(std::move(model));
}

}  // namespace attune
