#include "bench/models/miopen_choices.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <span>

#include <fmt/format.h>

#include "attune/base/random.h"
#include "attune/formats/miopen/bzip2.h"
#include "attune/index/fitting.h"
#include "attune/model/choice_regressor.h"
#include "attune/model/shape_features.h"
#include "bench/models/cost.h"
#include "bench/models/score.h"

namespace attune::bench {
namespace {

constexpr double kHeldOut = 0.1;
// Which tenth of the layers is held out moves the regret by a hundredth: more of them are tried.
constexpr uint64_t kTenths = 5;
constexpr int kTimings = 15;
constexpr int kFitTimings = 3;
constexpr size_t kMostUnpackedBytes = size_t{1} << 30;

// One record that was held out: times and predictions of its candidates.
struct Held {
  std::vector<double> measured;
  std::vector<double> predicted;

  double best() const { return *std::ranges::min_element(measured); }
};

// The candidates of a record to measure: at most `most` of those that are predicted to take at most
// `bound` times as long as the best. If the best is predicted to take `believed_ms` or more, it
// alone.
struct MeasuringRule {
  const char* name;
  double bound;
  size_t most;
  double believed_ms;
};
constexpr double kUnbounded = std::numeric_limits<double>::infinity();
constexpr size_t kAll = SIZE_MAX;
constexpr std::array kRules = {
    MeasuringRule{"within_1.1_", 1.1, kAll, kUnbounded},
    MeasuringRule{"within_", 1.5, kAll, kUnbounded},
    MeasuringRule{"within_2_", 2, kAll, kUnbounded},
    MeasuringRule{"within_2.25_below_10ms_", 2.25, kAll, 10},
    MeasuringRule{"best_2_", kUnbounded, 2, kUnbounded},
    MeasuringRule{"best_3_", kUnbounded, 3, kUnbounded},
};

// The result of a rule.
struct RuleScore {
  PickScore found;
  double run_ms = 0;  // Time of all candidates that the rule takes.
  // The same without records of which it takes one, where nothing is left to choose.
  double measured_ms = 0;
};

struct ChoiceScore {
  PickScore chosen;
  std::array<RuleScore, kRules.size()> rules;
  double top1 = 0;
  double best_ms = 0;
  double all_ms = 0;
};

// `order`: positions, those that are predicted to be the quickest first.
void Score(const Held& held, const std::vector<size_t>& order, const MeasuringRule& rule,
           RuleScore& score) {
  const double quickest = held.predicted[order[0]];
  const double longest = quickest < rule.believed_ms ? rule.bound * quickest : quickest;
  double found_ms = std::numeric_limits<double>::infinity();
  double run_ms = 0;
  size_t taken = 0;
  for (const size_t i : order) {
    if (held.predicted[i] > longest || taken == rule.most) break;
    found_ms = std::min(found_ms, held.measured[i]);
    run_ms += held.measured[i];
    ++taken;
  }
  score.found.Add(found_ms, held.best());
  score.run_ms += run_ms;
  score.measured_ms += taken > 1 ? run_ms : 0;
}

void Score(const Held& held, ChoiceScore& score) {
  std::vector<size_t> order(held.measured.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) { return held.predicted[i]; });
  for (size_t i = 0; i < kRules.size(); ++i) Score(held, order, kRules[i], score.rules[i]);
  const double chosen_ms = held.measured[order[0]];
  score.chosen.Add(chosen_ms, held.best());
  score.best_ms += held.best();
  score.all_ms += std::accumulate(held.measured.begin(), held.measured.end(), 0.0);
  score.top1 += chosen_ms <= held.best() ? 1 : 0;
}

// The samples to learn from, and positions of the others by configuration.
struct Parts {
  std::vector<Sample> learnt;
  std::map<uint64_t, std::vector<size_t>> held_out;
};

Parts Divide(const miopen::FindSamples& found, bool by_layer, uint64_t seed) {
  std::map<std::string, bool> layers;
  std::vector<bool> is_held(found.layers.size());
  Random random(seed);
  for (size_t i = 0; i < found.layers.size(); ++i) {
    if (!by_layer) {
      is_held[i] = random.Uniform() < kHeldOut;
      continue;
    }
    const auto [layer, is_new] = layers.try_emplace(found.layers[i], false);
    if (is_new) layer->second = random.Uniform() < kHeldOut;
    is_held[i] = layer->second;
  }
  Parts parts;
  for (size_t i = 0; i < found.samples.size(); ++i) {
    const uint64_t configuration = found.samples[i].configuration;
    if (is_held[configuration]) {
      parts.held_out[configuration].push_back(i);
    } else {
      parts.learnt.push_back(found.samples[i]);
    }
  }
  return parts;
}

std::vector<FeatureRow> HeldOutRows(const miopen::FindSamples& found, const Parts& parts) {
  std::vector<FeatureRow> rows;
  for (const auto& [configuration, positions] : parts.held_out) {
    for (const size_t i : positions) rows.push_back(found.samples[i].row);
  }
  return rows;
}

// Adds to `score` the choices of `model` for all held-out records.
void Score(const Regressor& model, const miopen::FindSamples& found, const Parts& parts,
           ChoiceScore& score) {
  const std::vector<FeatureRow> rows = HeldOutRows(found, parts);
  std::vector<double> predicted(rows.size());
  model.Predict(rows, predicted);
  size_t next = 0;
  for (const auto& [configuration, positions] : parts.held_out) {
    Held held;
    for (const size_t i : positions) {
      held.measured.push_back(found.samples[i].time_ms);
      held.predicted.push_back(predicted[next++]);
    }
    Score(held, score);
  }
}

std::vector<size_t> RecordSizes(const Parts& parts) {
  std::vector<size_t> sizes;
  for (const auto& [configuration, positions] : parts.held_out) sizes.push_back(positions.size());
  return sizes;
}

// The core time of predicting one solver where all of `rows` are, so many of them at once. Not the
// wall's: others use the machine, and it is one thread.
double PredictMicroseconds(const Regressor& model, std::span<const FeatureRow> rows,
                           std::span<const size_t> at_once) {
  std::vector<double> predicted(rows.size());
  const Cost cost = CostOf(kTimings, [&] {
    size_t next = 0;
    for (const size_t count : at_once) {
      model.Predict(rows.subspan(next, count), std::span(predicted).subspan(next, count));
      next += count;
    }
  });
  return 1e6 * cost.core_s / static_cast<double>(rows.size());
}

// The cost for all records at once, and for each alone.
void AddCost(const Regressor& model, const miopen::FindSamples& found, const Parts& parts,
             const std::string& name, std::vector<Figure>& figures) {
  const std::vector<FeatureRow> rows = HeldOutRows(found, parts);
  const size_t all = rows.size();
  figures.push_back({name + "predict_us", PredictMicroseconds(model, rows, {&all, 1}), "<= 1"});
  figures.push_back(
      {name + "predict_record_us", PredictMicroseconds(model, rows, RecordSizes(parts)), "<= 1"});
}

// The solver that was best most often among those that a record lists.
void ScoreMostFrequent(const miopen::FindSamples& found, const Parts& parts, ChoiceScore& score) {
  std::map<uint64_t, std::pair<double, std::string>> best;
  for (const Sample& sample : parts.learnt) {
    auto& [time_ms, solver] =
        best.try_emplace(sample.configuration, std::numeric_limits<double>::infinity(), "")
            .first->second;
    if (sample.time_ms < time_ms) {
      time_ms = sample.time_ms;
      solver = sample.row.algorithm;
    }
  }
  std::map<std::string, double> wins;
  for (const auto& [configuration, winner] : best) ++wins[winner.second];
  for (const auto& [configuration, positions] : parts.held_out) {
    Held held;
    for (const size_t i : positions) {
      held.measured.push_back(found.samples[i].time_ms);
      held.predicted.push_back(1 / (1 + wins[found.samples[i].row.algorithm]));
    }
    Score(held, score);
  }
}

// Adds published and required values beside the figures of the model alone.
void Add(const std::string& name, const ChoiceScore& score, bool is_model,
         std::vector<Figure>& figures) {
  figures.push_back({name + "top1", score.top1 / static_cast<double>(score.chosen.picks),
                     is_model ? ">= 0.84 (reference 0.825)" : ""});
  figures.push_back({name + "geomean_regret", score.chosen.GeometricRegret(),
                     is_model ? "<= 1.08 (reference 1.094)" : ""});
}

// The result of each rule, and its share of the time of running all.
void AddRules(const std::string& name, const ChoiceScore& score, bool is_model,
              std::vector<Figure>& figures) {
  for (size_t i = 0; i < kRules.size(); ++i) {
    const RuleScore& rule = score.rules[i];
    const std::string of = name + kRules[i].name;
    figures.push_back({of + "geomean_regret", rule.found.GeometricRegret(),
                       is_model ? "<= 1.02 (reference 1.035)" : ""});
    figures.push_back({of + "gpu_pct", 100 * rule.run_ms / score.all_ms, ""});
    figures.push_back(
        {of + "measured_gpu_pct", 100 * rule.measured_ms / score.all_ms, is_model ? "<= 5" : ""});
  }
}

// A fit of the first samples, as `attune model fit` makes one of so many.
void AddFitCost(const miopen::FindSamples& found, const std::string& prefix,
                std::vector<Figure>& figures) {
  const auto features = ShapeFeatures("conv");
  Require(features.status());
  const auto count = std::min(kFitSamples, found.samples.size());
  const std::vector<Sample> some(found.samples.begin(),
                                 found.samples.begin() + static_cast<std::ptrdiff_t>(count));
  const Cost cost = CostOf(kFitTimings, [&] { Require(FitUsual(*features, some).status()); });
  const std::string name = fmt::format("{}usual_fit_{}_s", prefix, count);
  figures.push_back({name, cost.wall_s, "<= 1"});
  figures.push_back({name + "_of_core", cost.core_s, ""});
}

// Scores of one held-out part: the model, and its controls.
struct HeldOutScores {
  ChoiceScore model;
  ChoiceScore most_frequent;
  ChoiceScore shuffled;
};

ChoiceRegressor FitChoice(std::span<const Sample> samples) {
  const auto features = ShapeFeatures("conv");
  Require(features.status());
  ChoiceRegressor model(*features);
  Require(model.Fit(samples));
  return model;
}

// Adds the controls of a model of `parts` to `scores`; shuffles the times of `parts`.
void ScoreControls(const miopen::FindSamples& found, uint64_t seed, Parts& parts,
                   HeldOutScores& scores) {
  ScoreMostFrequent(found, parts, scores.most_frequent);
  ShuffleTimes(parts.learnt, seed);
  Score(FitChoice(parts.learnt), found, parts, scores.shuffled);
}

void Add(const std::string& name, const HeldOutScores& scores, std::vector<Figure>& figures) {
  Add(name, scores.model, true, figures);
  AddRules(name, scores.model, true, figures);
  Add(name + "most_frequent_", scores.most_frequent, false, figures);
  Add(name + "shuffled_", scores.shuffled, false, figures);
  AddRules(name + "shuffled_", scores.shuffled, false, figures);
}

// Over several tenths of the layers, of which `all` has the first.
void AddOtherTenths(const miopen::FindSamples& found, const std::string& name, uint64_t first_seed,
                    HeldOutScores all, std::vector<Figure>& figures) {
  for (uint64_t seed = first_seed + 1; seed < first_seed + kTenths; ++seed) {
    Parts parts = Divide(found, true, seed);
    const ChoiceRegressor model = FitChoice(parts.learnt);
    ChoiceScore score;
    Score(model, found, parts, score);
    Score(model, found, parts, all.model);
    Add(fmt::format("{}seed{}_", name, seed), score, false, figures);
    ScoreControls(found, seed, parts, all);
  }
  Add(name + "seeds_", all, figures);
}

}  // namespace

Result<miopen::FindSamples> ReadFindSamples(const std::filesystem::path& data,
                                            const std::string& name) {
  ATTUNE_ASSIGN_OR_RETURN(
      const std::string text,
      miopen::ReadUnpacked(data / "miopen" / fmt::format("{}.HIP.fdb.txt.bz2", name),
                           kMostUnpackedBytes));
  miopen::Findings findings;
  return miopen::SamplesOf(miopen::ReadFindDb(text, findings));
}

void AddMiopenFigures(const miopen::FindSamples& found, const std::string& prefix, uint64_t seed,
                      std::vector<Figure>& figures) {
  AddFitCost(found, prefix, figures);
  for (const bool by_layer : {false, true}) {
    const std::string name = prefix + (by_layer ? "unseen_" : "");
    Parts parts = Divide(found, by_layer, seed);
    const ChoiceRegressor model = FitChoice(parts.learnt);
    HeldOutScores scores;
    Score(model, found, parts, scores.model);
    AddCost(model, found, parts, name, figures);
    figures.push_back(
        {name + "oracle_gpu_pct", 100 * scores.model.best_ms / scores.model.all_ms, ""});
    std::string text;
    model.AppendText(text);
    figures.push_back({name + "model_mb", static_cast<double>(text.size()) / 1e6, "<= 2"});
    ScoreControls(found, seed, parts, scores);
    Add(name, scores, figures);
    if (by_layer) AddOtherTenths(found, name, seed, scores, figures);
  }
}

}  // namespace attune::bench
