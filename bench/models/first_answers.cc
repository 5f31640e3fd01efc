#include "bench/models/first_answers.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "attune/base/gzip.h"
#include "attune/index/fitting.h"
#include "attune/index/record_samples.h"
#include "attune/model/folds.h"
#include "bench/models/score.h"
#include "extensions/models/seer/csv.h"

namespace attune::bench {
namespace {

constexpr size_t kFolds = 5;

struct Tuned {
  TimeSamples times;
  std::vector<bool> is_default;  // By sample.
};

Result<Tuned> ReadTuned(const std::filesystem::path& file) {
  ATTUNE_ASSIGN_OR_RETURN(const std::string text, ReadFileUnpacked(file));
  ATTUNE_ASSIGN_OR_RETURN(const CsvTable table, ReadCsv(text));
  ATTUNE_ASSIGN_OR_RETURN(const std::vector<size_t> columns,
                          ColumnsOf(table, {"problem", "candidate", "time_ms", "is_default"}));
  Tuned tuned;
  std::vector<TimedCandidate> timed;
  for (const CsvRow& row : table.rows) {
    ATTUNE_ASSIGN_OR_RETURN(const Problem problem, ParseProblem(row.fields[columns[0]]));
    ATTUNE_ASSIGN_OR_RETURN(const double time_ms, NumberIn(row, columns[2], 0));
    ATTUNE_ASSIGN_OR_RETURN(const int64_t is_default, WholeIn(row, columns[3], 0, 1));
    timed.push_back({problem, row.fields[columns[1]], time_ms});
    tuned.is_default.push_back(is_default == 1);
  }
  ATTUNE_ASSIGN_OR_RETURN(tuned.times, SamplesOf(timed, "conv"));
  if (tuned.times.left_out == 0) return tuned;
  return InvalidArgument(
      fmt::format("{} rows of it are no convolutions that models know.", tuned.times.left_out));
}

// Those of `rows` with a candidate that the model knows.
std::vector<size_t> Known(const TimeModel& model, const Tuned& tuned,
                          const std::vector<size_t>& rows) {
  const std::vector<std::string> algorithms = model.algorithms();
  std::vector<size_t> known;
  std::ranges::copy_if(rows, std::back_inserter(known), [&](size_t i) {
    return std::ranges::binary_search(algorithms, tuned.times.samples[i].row.algorithm);
  });
  return known;
}

// A model's answer for one problem.
struct Answer {
  std::optional<size_t> sample;  // The choice; nothing to keep the default.
  bool was_untried = false;      // The choice was not timed for this problem.
};

std::optional<size_t> SampleOf(const Tuned& tuned, const std::vector<size_t>& rows,
                               std::string_view algorithm) {
  const auto found = std::ranges::find_if(
      rows, [&](size_t i) { return tuned.times.samples[i].row.algorithm == algorithm; });
  return found == rows.end() ? std::nullopt : std::optional(*found);
}

// The choice of a runtime among all candidates of the model, as on a device; `rows` are of one
// problem.
Answer Chosen(const TimeModel& model, const Tuned& tuned, const std::vector<size_t>& rows,
              std::string_view standing) {
  const FeatureRow& row = tuned.times.samples[rows.front()].row;
  std::vector<std::pair<double, std::string>> expected;
  if (const NeighbourChooser* chooser = model.chooser()) {
    for (const auto& proposal : chooser->Propose(row)) {
      expected.emplace_back(proposal.time_ms, chooser->algorithms()[proposal.algorithm]);
    }
  } else {
    const std::vector<std::string> known = model.algorithms();
    std::vector<Prediction> predictions(known.size());
    model.PredictEach(row, std::vector<std::string_view>(known.begin(), known.end()), predictions);
    for (size_t i = 0; i < known.size(); ++i) {
      expected.emplace_back(predictions[i].median_ms, known[i]);
    }
  }
  const auto is_standing = [&](const auto& each) { return each.second == standing; };
  if (std::ranges::none_of(expected, is_standing)) return {};
  const std::optional<size_t> sample =
      SampleOf(tuned, rows, std::ranges::min_element(expected)->second);
  return {sample, !sample.has_value()};
}

// The least predicted time of those of `rows` that were timed for the problem; nothing where the
// model does not know the default.
std::optional<size_t> ChosenOfTimed(const TimeModel& model, const Tuned& tuned,
                                    const std::vector<size_t>& rows) {
  const std::vector<size_t> known = Known(model, tuned, rows);
  if (std::ranges::none_of(known, [&](size_t i) { return tuned.is_default[i]; })) {
    return std::nullopt;
  }
  std::vector<FeatureRow> asked;
  for (const size_t i : known) asked.push_back(tuned.times.samples[i].row);
  std::vector<Prediction> predictions(asked.size());
  model.Predict(asked, predictions);
  const auto least = std::ranges::min_element(predictions, {}, &Prediction::median_ms);
  return known[static_cast<size_t>(least - predictions.begin())];
}

struct AnswerScore {
  PickScore all;    // Untimed choices count as NeighbourChooser::kUntried.
  PickScore tried;  // Timed choices only.
};
using AnswerScores = std::map<std::string, AnswerScore>;

void AddPicks(const TimeModel& model, const TimeModel& shuffled, const Tuned& tuned,
              const std::vector<size_t>& rows, AnswerScores& scores) {
  const auto time_ms = [&](size_t i) { return tuned.times.samples[i].time_ms; };
  const auto standing = std::ranges::find_if(rows, [&](size_t i) { return tuned.is_default[i]; });
  if (standing == rows.end()) return;  // It failed, and so it cannot serve.
  const double best_ms = time_ms(*std::ranges::min_element(rows, {}, time_ms));
  const auto add = [&](const char* name, std::optional<size_t> chosen) {
    scores[name].all.Add(time_ms(chosen.value_or(*standing)), best_ms);
    scores[name].tried.Add(time_ms(chosen.value_or(*standing)), best_ms);
  };
  const auto add_answer = [&](const char* name, const TimeModel& asked) {
    const Answer answer = Chosen(asked, tuned, rows, tuned.times.samples[*standing].row.algorithm);
    if (answer.was_untried) {
      scores[name].all.Add(NeighbourChooser::kUntried * best_ms, best_ms);
    } else {
      add(name, answer.sample);
    }
  };
  add_answer("", model);
  add_answer("shuffled_", shuffled);
  add("of_timed_", ChosenOfTimed(model, tuned, rows));
  add("of_timed_shuffled_", ChosenOfTimed(shuffled, tuned, rows));
  add("default_", *standing);
  const std::vector<size_t> known = Known(model, tuned, rows);
  const auto best_known = std::ranges::min_element(known, {}, time_ms);
  add("best_known_", best_known == known.end() ? *standing : *best_known);
}

Result<TimeModel> FitWithout(const Tuned& tuned, const std::vector<size_t>& folds, size_t fold,
                             std::optional<uint64_t> shuffled_by) {
  std::vector<Sample> learnt;
  for (size_t i = 0; i < folds.size(); ++i) {
    if (folds[i] != fold) learnt.push_back(tuned.times.samples[i]);
  }
  if (shuffled_by.has_value()) ShuffleTimes(learnt, *shuffled_by);
  return FitUsual(tuned.times.features, learnt);
}

Status AddSplit(const Tuned& tuned, uint64_t seed, AnswerScores& scores) {
  const std::vector<size_t> folds = FoldsByConfiguration(tuned.times.samples, kFolds, seed);
  for (size_t fold = 0; fold < kFolds; ++fold) {
    ATTUNE_ASSIGN_OR_RETURN(const TimeModel model, FitWithout(tuned, folds, fold, std::nullopt));
    ATTUNE_ASSIGN_OR_RETURN(const TimeModel shuffled, FitWithout(tuned, folds, fold, seed));
    std::map<uint64_t, std::vector<size_t>> held_out;
    for (size_t i = 0; i < folds.size(); ++i) {
      if (folds[i] == fold) held_out[tuned.times.samples[i].configuration].push_back(i);
    }
    for (const auto& [configuration, rows] : held_out) {
      AddPicks(model, shuffled, tuned, rows, scores);
    }
  }
  return Status::Ok();
}

}  // namespace

void AddFirstAnswerFigures(const std::filesystem::path& file, int splits, uint64_t seed,
                           std::vector<Figure>& figures) {
  const auto tuned = ReadTuned(file);
  Require(tuned.status());
  AnswerScores scores;
  for (int i = 0; i < splits; ++i) {
    Require(AddSplit(*tuned, seed + static_cast<uint64_t>(i), scores));
  }
  for (const auto& [name, score] : scores) {
    const auto figure = [&, &name = name](const char* what, double value,
                                          const char* required = "") {
      figures.push_back({fmt::format("first_answer_{}{}", name, what), value, required});
    };
    figure("geomean_regret", score.all.GeometricRegret(), name.empty() ? "<= 1.15" : "");
    figure("wrong_pick_pct", score.all.WrongPercent());
    const size_t untried = score.all.picks - score.tried.picks;
    if (untried == 0) continue;
    figure("untried_pct",
           100 * static_cast<double>(untried) / static_cast<double>(score.all.picks));
    figure("tried_geomean_regret", score.tried.GeometricRegret());
  }
  figures.push_back({"first_answer_picks", static_cast<double>(scores[""].all.picks), ""});
}

}  // namespace attune::bench
