#include "attune/model/evaluation.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

namespace attune {
namespace {

// One way to compute a configuration.
struct Option {
  double predicted_ms = 0;
  double measured_ms = 0;
};

void AddChoice(std::vector<Option> options, ModelScore& score, double& logs, double& top2_logs) {
  std::ranges::sort(options, {}, &Option::predicted_ms);
  const double best = std::ranges::min(options, {}, &Option::measured_ms).measured_ms;
  const double chosen = options[0].measured_ms;
  ++score.choices;
  score.wrong += chosen > ModelScore::kWrongAbove * best ? 1 : 0;
  score.best += chosen <= best ? 1 : 0;
  logs += std::log(chosen / best);
  top2_logs += std::log(std::min(chosen, options[1].measured_ms) / best);
}

}  // namespace

ModelScore ScoreOf(const TimeModel& model, std::span<const Sample> samples) {
  ModelScore score;
  if (samples.empty()) return score;
  std::vector<FeatureRow> rows;
  for (const Sample& sample : samples) rows.push_back(sample.row);
  std::vector<Prediction> predictions(rows.size());
  model.Predict(rows, predictions);
  std::map<uint64_t, std::vector<Option>> configurations;
  std::vector<double> errors;
  for (size_t i = 0; i < samples.size(); ++i) {
    const double measured = samples[i].time_ms;
    const Prediction& predicted = predictions[i];
    configurations[samples[i].configuration].push_back({predicted.median_ms, measured});
    errors.push_back(std::abs(predicted.median_ms / measured - 1));
    score.mean_error += errors.back() / static_cast<double>(samples.size());
    score.within_interval += predicted.low_ms <= measured && measured <= predicted.high_ms ? 1 : 0;
  }
  score.samples = samples.size();
  std::ranges::nth_element(errors, errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2));
  score.median_error = errors[errors.size() / 2];
  double logs = 0;
  double top2_logs = 0;
  for (const auto& [configuration, options] : configurations) {
    if (options.size() >= 2) AddChoice(options, score, logs, top2_logs);
  }
  if (score.choices > 0) {
    score.geometric_regret = std::exp(logs / static_cast<double>(score.choices));
    score.top2_regret = std::exp(top2_logs / static_cast<double>(score.choices));
  }
  return score;
}

}  // namespace attune
