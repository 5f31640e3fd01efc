#include "bench/models/choices.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "attune/index/fitting.h"
#include "attune/model/boosted_regressor.h"
#include "attune/model/kernel_regressor.h"
#include "attune/model/time_model.h"
#include "bench/models/cost.h"

namespace attune::bench {
namespace {

// The weight of an unsupported pick in the mean of regrets.
constexpr double kUnsupportedRegret = 10;
// Costs are medians over these.
constexpr int kFitRepeats = 5;
constexpr int kWholeFitRepeats = 3;
constexpr int kPredictRepeats = 45;

struct FittedModels {
  TimeModel model;
  std::unique_ptr<Regressor> roofline;
  std::unique_ptr<Regressor> sums;
  std::string most_frequent;
};

TimeModel MakeModel(const Recording& recording, const ChoiceSettings& settings) {
  auto model = TimeModel::Standard(recording.features, settings.peaks);
  Require(model.status());
  return *std::move(model);
}

std::string MostFrequentBest(const Recording& recording, std::span<const size_t> learnt) {
  std::map<std::string, size_t> wins;
  for (const size_t i : learnt) {
    const RecordedProblem& problem = recording.problems[i];
    const auto best =
        std::min_element(problem.samples.begin(), problem.samples.end(),
                         [](const Sample& a, const Sample& b) { return a.time_ms < b.time_ms; });
    ++wins[best->row.algorithm];
  }
  return std::max_element(wins.begin(), wins.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

FittedModels FitAll(const Recording& recording, const ChoiceSettings& settings,
                    std::span<const size_t> learnt) {
  const std::vector<Sample> samples = SamplesOf(recording, learnt);
  auto roofline = RooflineRegressor::Make(recording.features, settings.peaks);
  Require(roofline.status());
  FittedModels models{MakeModel(recording, settings), *std::move(roofline),
                      std::make_unique<KernelRegressor>(recording.features),
                      MostFrequentBest(recording, learnt)};
  Require(models.model.Fit(samples));
  Require(models.roofline->Fit(samples));
  Require(models.sums->Fit(samples));
  return models;
}

// Takes several predictions of one sample, of which an unknown one holds. Returns the one with the
// minimum mean relative error: their median weighted by their inverses.
double LeastOff(Times predicted) {
  std::sort(predicted.begin(), predicted.end());
  double rest = 0;
  for (const double time_ms : predicted) rest += 0.5 / time_ms;
  size_t i = 0;
  while (i + 1 < predicted.size() && (rest -= 1 / predicted[i]) > 0) ++i;
  return predicted[i];
}

// One for each sample of `problem`, of as many for each row that is asked about.
Times OfSamples(const RecordedProblem& problem, const Times& of_rows) {
  const size_t rows = of_rows.size() / problem.samples.size();
  Times times;
  for (auto next = of_rows.begin(); next != of_rows.end();) {
    const auto end = next + static_cast<std::ptrdiff_t>(rows);
    times.push_back(LeastOff({next, end}));
    next = end;
  }
  return times;
}

Times Medians(const TimeModel& model, const RecordedProblem& problem) {
  std::vector<Prediction> predictions(problem.asked.size());
  model.Predict(problem.asked, predictions);
  Times medians;
  for (const Prediction& prediction : predictions) medians.push_back(prediction.median_ms);
  return OfSamples(problem, medians);
}

Times Medians(const Regressor& model, const RecordedProblem& problem) {
  Times medians(problem.asked.size());
  model.Predict(problem.asked, medians);
  return OfSamples(problem, medians);
}

// The time of the candidate that runs `algorithm`, or of a penalty.
double TimeOf(const RecordedProblem& problem, const std::string& algorithm, double best_ms) {
  for (const Sample& sample : problem.samples) {
    if (sample.row.algorithm == algorithm) return sample.time_ms;
  }
  return kUnsupportedRegret * best_ms;
}

// The candidates with known kernels, as a problem of their own.
RecordedProblem WithKernels(const RecordedProblem& problem) {
  RecordedProblem part;
  part.vendor_ms = problem.vendor_ms;
  for (size_t i = 0; i < problem.samples.size(); ++i) {
    if (problem.samples[i].row.kernels.empty()) continue;
    part.samples.push_back(problem.samples[i]);
    part.asked.push_back(problem.asked[i]);
  }
  return part;
}

// How many times lie in the intervals that were said of them, and how wide these are.
struct IntervalScore {
  size_t inside = 0;
  std::vector<double> ratios;  // Upper end over lower end.

  void Add(const Prediction& prediction, double time_ms) {
    inside += prediction.low_ms <= time_ms && time_ms <= prediction.high_ms ? 1 : 0;
    ratios.push_back(prediction.high_ms / prediction.low_ms);
  }
};

struct Scores {
  std::map<std::string, PickScore> picks;          // By method.
  std::map<std::string, ErrorScore> errors;        // By algorithm, and "all".
  std::map<std::string, IntervalScore> intervals;  // By method; "" is the model.
};

void AddPicks(const RecordedProblem& problem, const FittedModels& models, const std::string& suffix,
              Scores& scores) {
  const Times measured = MeasuredTimes(problem);
  const double best = *std::min_element(measured.begin(), measured.end());
  const Times predicted = Medians(models.model, problem);
  const auto add = [&](const std::string& name, double chosen_ms) {
    scores.picks[name + suffix].Add(chosen_ms, best);
  };
  add("", BestOfTop(predicted, measured, 1));
  add("top2_", BestOfTop(predicted, measured, 2));
  add("nnls_", BestOfTop(Medians(*models.sums, problem), measured, 1));
  add("roofline_", BestOfTop(Medians(*models.roofline, problem), measured, 1));
  add("most_frequent_", TimeOf(problem, models.most_frequent, best));
  for (const auto& [heuristic, time_ms] : problem.vendor_ms) {
    add(heuristic + "_", time_ms > 0 ? time_ms : kUnsupportedRegret * best);
  }
  add("oracle_", best);
}

// The error of `who` (empty: the model), over all and by algorithm.
void AddError(const Sample& sample, double predicted_ms, const std::string& who, Scores& scores) {
  const double error = std::abs(predicted_ms / sample.time_ms - 1);
  scores.errors[who.empty() ? "all" : who].relative.push_back(error);
  const std::string of = who.empty() ? "" : who + "_";
  scores.errors[of + "algo" + sample.row.algorithm].relative.push_back(error);
}

void AddErrors(const RecordedProblem& problem, const FittedModels& models, Scores& scores) {
  std::vector<Prediction> predictions(problem.asked.size());
  models.model.Predict(problem.asked, predictions);
  const size_t rows = predictions.size() / problem.samples.size();
  const Times medians = Medians(models.model, problem);
  const Times roofline = Medians(*models.roofline, problem);
  const Times sums = Medians(*models.sums, problem);
  for (size_t i = 0; i < problem.samples.size(); ++i) {
    const double time_ms = problem.samples[i].time_ms;
    const auto add = [&](const std::string& who, double predicted) {
      AddError(problem.samples[i], predicted, who, scores);
    };
    add("", medians[i]);
    add("roofline", roofline[i]);
    add("nnls", sums[i]);
    if (rows > 1) {
      // The error from not knowing which row holds, relative to the prediction for the right row.
      Prediction told;
      models.model.Predict({&problem.samples[i].row, 1}, {&told, 1});
      scores.errors["untold"].relative.push_back(std::abs(medians[i] / told.median_ms - 1));
      continue;
    }
    scores.intervals[""].Add(predictions[i], time_ms);
  }
}

// The control: a model of shuffled times.
TimeModel FitShuffled(const Recording& recording, const ChoiceSettings& settings,
                      const Split& split) {
  std::vector<Sample> samples = SamplesOf(recording, split.learnt);
  ShuffleTimes(samples, settings.seed);
  TimeModel model = MakeModel(recording, settings);
  Require(model.Fit(samples));
  return model;
}

void AddShuffledErrors(const RecordedProblem& problem, const TimeModel& shuffled, Scores& scores) {
  std::vector<Prediction> predictions(problem.asked.size());
  shuffled.Predict(problem.asked, predictions);
  const Times medians = Medians(shuffled, problem);
  for (size_t i = 0; i < problem.samples.size(); ++i) {
    AddError(problem.samples[i], medians[i], "shuffled", scores);
    if (predictions.size() > problem.samples.size()) continue;
    scores.intervals["shuffled_"].Add(predictions[i], problem.samples[i].time_ms);
  }
}

void AddShuffledPicks(const RecordedProblem& problem, const TimeModel& shuffled,
                      const std::string& suffix, Scores& scores) {
  const Times measured = MeasuredTimes(problem);
  const Times predicted = Medians(shuffled, problem);
  const double best = *std::min_element(measured.begin(), measured.end());
  scores.picks["shuffled_" + suffix].Add(BestOfTop(predicted, measured, 1), best);
  scores.picks["shuffled_top2_" + suffix].Add(BestOfTop(predicted, measured, 2), best);
}

// Problems of one configuration are on one side of a split.
Split SplitByConfiguration(const Recording& recording, double share, uint64_t seed) {
  std::map<uint64_t, std::vector<size_t>> by_configuration;
  for (size_t i = 0; i < recording.problems.size(); ++i) {
    by_configuration[recording.problems[i].samples[0].configuration].push_back(i);
  }
  std::vector<std::vector<size_t>> groups;
  for (auto& [configuration, problems] : by_configuration) groups.push_back(std::move(problems));
  const Split of_groups = SplitProblems(groups.size(), share, seed);
  Split split;
  for (const size_t group : of_groups.learnt) {
    split.learnt.insert(split.learnt.end(), groups[group].begin(), groups[group].end());
  }
  for (const size_t group : of_groups.held_out) {
    split.held_out.insert(split.held_out.end(), groups[group].begin(), groups[group].end());
  }
  return split;
}

Scores ScoreSplits(const Recording& recording, const ChoiceSettings& settings) {
  Scores scores;
  for (int i = 0; i < settings.splits; ++i) {
    Split split = SplitByConfiguration(recording, settings.held_out_share,
                                       settings.seed + static_cast<uint64_t>(i));
    if (split.learnt.size() > settings.most_learnt) split.learnt.resize(settings.most_learnt);
    const FittedModels models = FitAll(recording, settings, split.learnt);
    for (const size_t p : split.held_out) {
      const RecordedProblem known = WithKernels(recording.problems[p]);
      if (known.samples.empty()) continue;
      AddErrors(known, models, scores);
      AddPicks(known, models, "", scores);
      AddPicks(recording.problems[p], models, "all_", scores);
    }
    if (i > 0) continue;
    const TimeModel shuffled = FitShuffled(recording, settings, split);
    for (const size_t p : split.held_out) {
      const RecordedProblem known = WithKernels(recording.problems[p]);
      if (known.samples.empty()) continue;
      AddShuffledErrors(known, shuffled, scores);
      AddShuffledPicks(known, shuffled, "", scores);
      AddShuffledPicks(recording.problems[p], shuffled, "all_", scores);
    }
  }
  return scores;
}

void Add(const ChoiceSettings& settings, const std::string& name, double value,
         std::vector<Figure>& figures) {
  const auto beside = settings.beside.find(name);
  figures.push_back(
      {settings.prefix + name, value, beside == settings.beside.end() ? "" : beside->second});
}

void AddErrorsOf(const Scores& scores, const ChoiceSettings& settings,
                 std::vector<Figure>& figures) {
  for (const auto& [name, errors] : scores.errors) {
    Add(settings, "mape_" + name, errors.Mape(), figures);
  }
  const ErrorScore& all = scores.errors.at("all");
  Add(settings, "rmspe_all", all.Rmspe(), figures);
  Add(settings, "median_error_all", all.Median(), figures);
  Add(settings, "within_10_pct_all", all.ShareWithin(0.1), figures);
  for (const auto& [who, score] : scores.intervals) {
    Add(settings, who + "inside_90_pct_interval",
        100 * static_cast<double>(score.inside) / static_cast<double>(score.ratios.size()),
        figures);
    Add(settings, who + "90_pct_interval_ratio", MedianOf(score.ratios), figures);
  }
}

void AddCost(const ChoiceSettings& settings, const std::string& name, const Cost& cost,
             std::vector<Figure>& figures) {
  Add(settings, name, cost.wall_s, figures);
  Add(settings, name + "_of_core", cost.core_s, figures);
}

}  // namespace

void AddChoiceFigures(const Recording& recording, const ChoiceSettings& settings,
                      std::vector<Figure>& figures) {
  const Scores scores = ScoreSplits(recording, settings);
  AddErrorsOf(scores, settings, figures);
  for (const auto& [name, picks] : scores.picks) {
    Add(settings, name + "wrong_pick_pct", picks.WrongPercent(), figures);
    Add(settings, name + "geomean_regret", picks.GeometricRegret(), figures);
  }
}

void AddErrorFigures(const Recording& recording, const ChoiceSettings& settings,
                     std::vector<Figure>& figures) {
  Scores scores;
  for (int i = 0; i < settings.splits; ++i) {
    const Split split = SplitByConfiguration(recording, settings.held_out_share,
                                             settings.seed + static_cast<uint64_t>(i));
    const FittedModels models = FitAll(recording, settings, split.learnt);
    for (const size_t p : split.held_out) AddErrors(recording.problems[p], models, scores);
    if (i > 0) continue;
    const TimeModel shuffled = FitShuffled(recording, settings, split);
    for (const size_t p : split.held_out) {
      AddShuffledErrors(recording.problems[p], shuffled, scores);
    }
  }
  AddErrorsOf(scores, settings, figures);
}

void AddCostFigures(const Recording& recording, const ChoiceSettings& settings,
                    std::vector<Figure>& figures) {
  std::vector<size_t> every(recording.problems.size());
  std::iota(every.begin(), every.end(), size_t{0});
  std::vector<Sample> samples = SamplesOf(recording, every);
  std::vector<FeatureRow> rows;
  for (const Sample& sample : samples) rows.push_back(sample.row);
  std::vector<double> medians(rows.size());
  const size_t known = samples.size();
  for (size_t i = 0; samples.size() < kFitSamples; ++i) samples.push_back(samples[i % known]);
  samples.resize(kFitSamples);
  std::vector<std::unique_ptr<Regressor>> models;
  models.push_back(std::make_unique<KernelRegressor>(recording.features));
  models.push_back(std::make_unique<BoostedRegressor>(recording.features, BoostingTarget::kResidual,
                                                      BoostingSettings{}, 1));
  for (const auto& model : models) {
    const std::string name(model->name());
    AddCost(settings, name + "_fit_10000_s",
            CostOf(kFitRepeats, [&] { Require(model->Fit(samples)); }), figures);
    Cost of_row = CostOf(kPredictRepeats, [&] { model->Predict(rows, medians); });
    of_row.wall_s *= 1e6 / static_cast<double>(rows.size());
    of_row.core_s *= 1e6 / static_cast<double>(rows.size());
    AddCost(settings, name + "_predict_us", of_row, figures);
  }
  TimeModel standard = MakeModel(recording, settings);
  AddCost(settings, "standard_fit_10000_s",
          CostOf(kWholeFitRepeats, [&] { Require(standard.Fit(samples)); }), figures);
  for (const size_t count : {kMostForAll, kFitSamples}) {
    const std::vector<Sample> some(samples.begin(),
                                   samples.begin() + static_cast<std::ptrdiff_t>(count));
    const auto fit = [&] { Require(FitUsual(recording.features, some).status()); };
    AddCost(settings, fmt::format("usual_fit_{}_s", count), CostOf(kWholeFitRepeats, fit), figures);
  }
}

}  // namespace attune::bench
