#include "attune/model/neighbour_chooser.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "attune/model/quantile.h"
#include "attune/model/roofline_regressor.h"

namespace attune {
namespace {

constexpr size_t kMostAlgorithms = 1 << 20;
constexpr size_t kMostTrials = 1 << 24;
constexpr double kHighestShare = 0.95;
// Limit of a logarithm of a ratio of times: covers all doubles, and a sum of a few is finite.
constexpr double kMostLog = 1500;
// For a problem that equals a known one: that one outweighs all others, and nothing is divided by
// 0.
constexpr double kLeastSquaredDistance = 1e-6;

}  // namespace

Result<NeighbourChooser> NeighbourChooser::Make(const FeatureSet& features) {
  NeighbourChooser chooser;
  ATTUNE_ASSIGN_OR_RETURN(chooser.roofline_, RooflineRegressor::Make(features, {}));
  return chooser;
}

void NeighbourChooser::TakeTrials(std::span<const Sample> samples,
                                  std::span<const uint32_t> places) {
  std::map<std::string, uint32_t> numbers;
  for (const Sample& sample : samples) numbers.emplace(sample.row.algorithm, 0);
  algorithms_.clear();
  for (auto& [name, number] : numbers) {
    number = static_cast<uint32_t>(algorithms_.size());
    algorithms_.push_back(name);
  }
  std::vector<std::map<uint32_t, double>> times(places_.size());
  for (size_t i = 0; i < samples.size(); ++i) {
    // The same time may be there twice, with launches and without.
    times[places[i]].try_emplace(numbers[samples[i].row.algorithm], samples[i].time_ms);
  }
  trials_.assign(places_.size(), {});
  log_best_over_roofline_.assign(places_.size(), 0);
  for (size_t i = 0; i < samples.size(); ++i) {
    const uint32_t place = places[i];
    if (!trials_[place].empty()) continue;
    const auto best = std::ranges::min_element(times[place], {}, [](auto& t) { return t.second; });
    for (const auto& [algorithm, ms] : times[place]) {
      trials_[place].push_back({algorithm, std::log(ms / best->second)});
    }
    log_best_over_roofline_[place] =
        std::log(best->second / PredictOne(*roofline_, samples[i].row));
  }
}

Status NeighbourChooser::Fit(std::span<const Sample> samples) {
  if (samples.empty()) return FailedPrecondition("Neighbours cannot be found among no samples.");
  ATTUNE_RETURN_IF_ERROR(roofline_->Fit(samples));
  TakeTrials(samples, places_.Take(samples));
  LearnRanges();
  return Status::Ok();
}

void NeighbourChooser::LearnRanges() {
  std::vector<double> errors;
  std::vector<std::vector<double>> own(algorithms_.size());
  for (uint32_t place = 0; place < places_.size(); ++place) {
    const std::vector<double> distances = places_.SquaredDistancesFrom(places_.ValuesAt(place));
    const auto expected = LogsOverBest(NeighboursAt(distances, place));
    for (const Trial& trial : trials_[place]) {
      if (!expected[trial.algorithm].has_value()) continue;
      errors.push_back(trial.log_over_best - *expected[trial.algorithm]);
      own[trial.algorithm].push_back(errors.back());
    }
  }
  const auto high_of = [](const std::vector<double>& values) {
    return values.empty() ? 0 : std::max(0.0, QuantileOf(values, kHighestShare));
  };
  high_logs_.assign(algorithms_.size(), high_of(errors));
  for (size_t i = 0; i < own.size(); ++i) {
    if (own[i].size() >= kLeastForOwnRange) high_logs_[i] = high_of(own[i]);
  }
}

std::vector<NeighbourChooser::Neighbour> NeighbourChooser::NeighboursAt(
    std::span<const double> squared_distances, std::optional<uint32_t> left_out) {
  std::vector<std::pair<double, uint32_t>> near;
  for (uint32_t place = 0; place < squared_distances.size(); ++place) {
    if (place != left_out) near.emplace_back(squared_distances[place], place);
  }
  const size_t count = std::min(near.size(), kNeighbours);
  std::ranges::partial_sort(near, near.begin() + static_cast<ptrdiff_t>(count));
  near.resize(count);
  std::vector<Neighbour> neighbours;
  double sum = 0;
  for (const auto& [squared_distance, place] : near) {
    neighbours.push_back({place, 1 / std::max(squared_distance, kLeastSquaredDistance)});
    sum += neighbours.back().weight;
  }
  for (Neighbour& neighbour : neighbours) neighbour.weight /= sum;
  return neighbours;
}

std::vector<std::optional<double>> NeighbourChooser::LogsOverBest(
    std::span<const Neighbour> neighbours) const {
  const double untried = std::log(kUntried);
  std::vector<std::optional<double>> logs(algorithms_.size());
  for (const Neighbour& neighbour : neighbours) {
    for (const Trial& trial : trials_[neighbour.place]) {
      logs[trial.algorithm] = logs[trial.algorithm].value_or(untried) +
                              neighbour.weight * (trial.log_over_best - untried);
    }
  }
  return logs;
}

std::vector<NeighbourChooser::Proposal> NeighbourChooser::Propose(const FeatureRow& row) const {
  const std::vector<Neighbour> neighbours =
      NeighboursAt(places_.SquaredDistancesFrom(row.values), std::nullopt);
  double best_log = std::log(PredictOne(*roofline_, row));
  for (const auto& [place, weight] : neighbours) {
    best_log += weight * log_best_over_roofline_[place];
  }
  const std::vector<std::optional<double>> logs = LogsOverBest(neighbours);
  std::vector<Proposal> proposals;
  for (uint32_t i = 0; i < logs.size(); ++i) {
    if (!logs[i].has_value()) continue;
    const double time_ms = std::exp(best_log + *logs[i]);
    proposals.push_back({i, time_ms, time_ms * std::exp(high_logs_[i])});
  }
  std::ranges::stable_sort(proposals, {}, &Proposal::time_ms);
  return proposals;
}

void NeighbourChooser::AppendText(std::string& text) const {
  roofline_->AppendText(text);
  places_.AppendText(text);
  AppendCount(text, "algorithms", algorithms_.size());
  for (const std::string& name : algorithms_) AppendWord(text, "of", name);
  for (size_t place = 0; place < places_.size(); ++place) {
    AppendNumbers(text, "best", std::array{log_best_over_roofline_[place]});
    AppendCount(text, "tried", trials_[place].size());
    for (const Trial& trial : trials_[place]) {
      text += fmt::format("t {} {}\n", trial.algorithm, HexFloat(trial.log_over_best));
    }
  }
  AppendNumbers(text, "high", high_logs_);
}

Result<NeighbourChooser::Trial> NeighbourChooser::ReadTrial(ModelLines& lines, size_t algorithms) {
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<std::string_view> words, lines.Words("t"));
  const auto algorithm = ParseIndex(words.front());
  const auto log = words.size() == 2 ? ParseHexFloat(words.back()) : std::nullopt;
  if (!algorithm.has_value() || *algorithm >= algorithms || !log.has_value() || *log < 0 ||
      *log > kMostLog) {
    return lines.Wrong(
        fmt::format("what was tried is one of {} algorithms and a logarithm from 0 to {}.",
                    algorithms, kMostLog));
  }
  return Trial{static_cast<uint32_t>(*algorithm), *log};
}

Result<NeighbourChooser> NeighbourChooser::ReadFrom(ModelLines& lines, const FeatureSet& features) {
  NeighbourChooser chooser;
  ATTUNE_ASSIGN_OR_RETURN(chooser.roofline_, RooflineRegressor::ReadFrom(lines, features));
  ATTUNE_ASSIGN_OR_RETURN(chooser.places_, Places::ReadFrom(lines, features.operation.size()));
  ATTUNE_ASSIGN_OR_RETURN(const size_t algorithms, lines.Count("algorithms", kMostAlgorithms));
  for (size_t i = 0; i < algorithms; ++i) {
    ATTUNE_ASSIGN_OR_RETURN(std::string name, lines.Word("of"));
    if (i > 0 && name <= chooser.algorithms_.back()) {
      return lines.Wrong("the algorithms are not in order.");
    }
    chooser.algorithms_.push_back(std::move(name));
  }
  for (size_t place = 0; place < chooser.places_.size(); ++place) {
    ATTUNE_ASSIGN_OR_RETURN(const std::vector<double> best, lines.Numbers("best", 1));
    if (std::abs(best.front()) > kMostLog) return lines.Wrong("a best time is out of range.");
    chooser.log_best_over_roofline_.push_back(best.front());
    ATTUNE_ASSIGN_OR_RETURN(const size_t tried, lines.Count("tried", kMostTrials));
    std::vector<Trial>& trials = chooser.trials_.emplace_back();
    for (size_t i = 0; i < tried; ++i) {
      ATTUNE_ASSIGN_OR_RETURN(const Trial trial, ReadTrial(lines, algorithms));
      if (i > 0 && trial.algorithm <= trials.back().algorithm) {
        return lines.Wrong("what was tried is not in order.");
      }
      trials.push_back(trial);
    }
  }
  ATTUNE_ASSIGN_OR_RETURN(chooser.high_logs_, lines.Numbers("high", algorithms));
  const auto is_range = [](double high) { return high >= 0 && high <= kMostLog; };
  if (!std::ranges::all_of(chooser.high_logs_, is_range)) {
    return lines.Wrong(fmt::format("a range ends between 0 and {}.", kMostLog));
  }
  return chooser;
}

}  // namespace attune
