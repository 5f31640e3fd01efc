#include "apps/attune/report/model_view.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

namespace attune {
namespace {

// The mean logarithm of the best of `count` times drawn without putting back. REQUIRES: ascending
// times, 0 < count.
double MeanLogOfBest(const std::vector<double>& times, size_t count) {
  count = std::min(count, times.size());
  // The chance that none of those before is drawn, and this one is.
  double none_before = 1;
  double sum = 0;
  for (size_t i = 0; i < times.size(); ++i) {
    const auto left = static_cast<double>(times.size() - i);
    const double drawn = std::min(1.0, static_cast<double>(count) / left);
    sum += none_before * drawn * std::log(times[i]);
    none_before *= 1 - drawn;
  }
  return sum;
}

void AddProblem(std::vector<const PredictedTime*> times, RegretCurves& logs) {
  std::vector<double> ascending;
  double default_ms = 0;
  for (const PredictedTime* time : times) {
    ascending.push_back(time->measured_ms);
    if (time->is_default) default_ms = time->measured_ms;
  }
  std::ranges::sort(ascending);
  std::ranges::stable_sort(times, {},
                           [](const PredictedTime* time) { return time->predicted.median_ms; });
  const double best = ascending.front();
  double found = std::numeric_limits<double>::infinity();
  for (size_t count = 1; count <= RegretCurves::kMostMeasured; ++count) {
    if (count <= times.size()) found = std::min(found, times[count - 1]->measured_ms);
    logs.by_model[count - 1] += std::log(found / best);
    logs.at_random[count - 1] += MeanLogOfBest(ascending, count) - std::log(best);
  }
  logs.of_default += std::log((default_ms > 0 ? default_ms : best) / best);
  ++logs.problems;
}

}  // namespace

std::vector<PredictedTime> PredictedTimes(const ReportData& data, const CandidateModels& models) {
  std::vector<PredictedTime> times;
  for (const ReportProblem& problem : data.problems) {
    const Problem& asked = problem.chosen.tagged.problem;
    const CandidateModel* const model = models.For(asked);
    if (model == nullptr) continue;
    std::vector<Candidate> candidates;
    const size_t first = times.size();
    for (const Story& story : problem.stories) {
      if (story.failure || story.only_qualified()) continue;
      const Measurement& measured = story.final ? *story.final : *story.screen;
      if (measured.median_ns <= 0) continue;
      candidates.push_back(story.candidate);
      times.push_back({asked, story.candidate, story.is_default, measured.median_ns / 1e6, {}});
    }
    const std::vector<Prediction> predictions = model->Of(asked, candidates);
    for (size_t i = 0; i < predictions.size(); ++i) times[first + i].predicted = predictions[i];
  }
  return times;
}

RegretCurves RegretOf(const std::vector<PredictedTime>& times) {
  std::map<std::string, std::vector<const PredictedTime*>> problems;
  for (const PredictedTime& time : times) problems[Text(time.problem)].push_back(&time);
  RegretCurves curves;
  curves.by_model.assign(RegretCurves::kMostMeasured, 0);
  curves.at_random = curves.by_model;
  curves.of_default = 0;
  for (auto& [text, of_problem] : problems) {
    if (of_problem.size() >= 2) AddProblem(std::move(of_problem), curves);
  }
  const auto count = static_cast<double>(std::max<size_t>(curves.problems, 1));
  for (double& x : curves.by_model) x = std::exp(x / count);
  for (double& x : curves.at_random) x = std::exp(x / count);
  curves.of_default = std::exp(curves.of_default / count);
  return curves;
}

}  // namespace attune
