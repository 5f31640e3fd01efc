#include "bench/models/miopen_choices.h"

#include <algorithm>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "attune/base/random.h"
#include "attune/miopen/bzip2.h"
#include "attune/model/choice_regressor.h"
#include "attune/model/shape_features.h"
#include "bench/models/score.h"

namespace attune::bench {
namespace {

constexpr double kHeldOut = 0.1;
constexpr double kMeasuredWithin = 1.5;
constexpr uint64_t kSeed = 1;
constexpr size_t kMostUnpackedBytes = size_t{1} << 30;

// One record that was held out: times and predictions of what it lists.
struct Held {
  std::vector<double> measured;
  std::vector<double> predicted;

  double best() const { return *std::ranges::min_element(measured); }
};

struct ChoiceScore {
  PickScore chosen;
  PickScore within;
  double top1 = 0;
  double within_ms = 0;
  double best_ms = 0;
  double all_ms = 0;
};

void Score(const Held& held, ChoiceScore& score) {
  const auto chosen =
      static_cast<size_t>(std::ranges::min_element(held.predicted) - held.predicted.begin());
  double within = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < held.measured.size(); ++i) {
    score.all_ms += held.measured[i];
    if (held.predicted[i] > kMeasuredWithin * held.predicted[chosen]) continue;
    score.within_ms += held.measured[i];
    within = std::min(within, held.measured[i]);
  }
  score.chosen.Add(held.measured[chosen], held.best());
  score.within.Add(within, held.best());
  score.best_ms += held.best();
  score.top1 += held.measured[chosen] <= held.best() ? 1 : 0;
}

// The samples to learn from, and positions of the others by configuration.
struct Parts {
  std::vector<Sample> learnt;
  std::map<uint64_t, std::vector<size_t>> held_out;
};

Parts Divide(const miopen::FindSamples& found, bool by_layer) {
  std::map<std::string, bool> layers;
  std::vector<bool> is_held(found.layers.size());
  Random random(kSeed);
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

ChoiceScore ScoreOf(const Regressor& model, const miopen::FindSamples& found, const Parts& parts) {
  std::vector<FeatureRow> rows;
  for (const auto& [configuration, positions] : parts.held_out) {
    for (const size_t i : positions) rows.push_back(found.samples[i].row);
  }
  std::vector<double> predicted(rows.size());
  model.Predict(rows, predicted);
  ChoiceScore score;
  size_t next = 0;
  for (const auto& [configuration, positions] : parts.held_out) {
    Held held;
    for (const size_t i : positions) {
      held.measured.push_back(found.samples[i].time_ms);
      held.predicted.push_back(predicted[next++]);
    }
    Score(held, score);
  }
  return score;
}

// The solver that was best most often among those that a record lists.
ChoiceScore ScoreOfMostFrequent(const miopen::FindSamples& found, const Parts& parts) {
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
  ChoiceScore score;
  for (const auto& [configuration, positions] : parts.held_out) {
    Held held;
    for (const size_t i : positions) {
      held.measured.push_back(found.samples[i].time_ms);
      held.predicted.push_back(1 / (1 + wins[found.samples[i].row.algorithm]));
    }
    Score(held, score);
  }
  return score;
}

// What others reached, and what is required, stands beside the figures of the model alone.
void Add(const std::string& name, const ChoiceScore& score, bool is_model,
         std::vector<Figure>& figures) {
  figures.push_back({name + "top1", score.top1 / static_cast<double>(score.chosen.picks),
                     is_model ? ">= 0.84 (reference 0.825)" : ""});
  figures.push_back({name + "geomean_regret", score.chosen.GeometricRegret(),
                     is_model ? "<= 1.08 (reference 1.094)" : ""});
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

void AddMiopenFigures(const miopen::FindSamples& found, const std::string& prefix,
                      std::vector<Figure>& figures) {
  const auto features = ShapeFeatures("conv");
  Require(features.status());
  for (const bool by_layer : {false, true}) {
    const std::string name = prefix + (by_layer ? "unseen_" : "");
    Parts parts = Divide(found, by_layer);
    ChoiceRegressor model(*features);
    Require(model.Fit(parts.learnt));
    const ChoiceScore score = ScoreOf(model, found, parts);
    Add(name, score, true, figures);
    figures.push_back({name + "within_geomean_regret", score.within.GeometricRegret(),
                       "<= 1.02 (reference 1.035)"});
    figures.push_back({name + "within_gpu_pct", 100 * score.within_ms / score.all_ms, "<= 5"});
    figures.push_back({name + "oracle_gpu_pct", 100 * score.best_ms / score.all_ms, ""});
    Add(name + "most_frequent_", ScoreOfMostFrequent(found, parts), false, figures);
    std::string text;
    model.AppendText(text);
    figures.push_back({name + "model_mb", static_cast<double>(text.size()) / 1e6, "<= 2"});
    ShuffleTimes(parts.learnt, kSeed);
    ChoiceRegressor shuffled(*features);
    Require(shuffled.Fit(parts.learnt));
    Add(name + "shuffled_", ScoreOf(shuffled, found, parts), false, figures);
  }
}

}  // namespace attune::bench
