// Searchers on recorded spaces: scores of the published methodology beside those of others, what
// three trials reach on a device never seen that follow from others, and what asking costs.
//
//   search [--data DIR] [--search NAME] [--repeats N] [--permuted] [--told] [--chosen] [--early]
//          [--json]
//
// DIR has `spaces/*.csv.gz` (default: $ATTUNE_DATA_DIR). Without it only the cost of asking is
// measured.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "attune/base/gzip.h"
#include "attune/base/random.h"
#include "attune/search/config_digits.h"
#include "attune/search/prior.h"
#include "attune/search/searcher.h"
#include "bench/figures.h"
#include "extensions/models/replay/replay.h"

namespace attune {
namespace {

struct Options {
  std::string data;
  std::string searcher = "adaptive";
  int repeats = 100;
  int asks = 300;
  bool permuted = false;
  bool told = false;
  bool chosen = false;
  bool early = false;
  bool json = false;
};

// The best that others reach on a space: 10 to 25 repeats of a strategy of Kernel Tuner 1.4.0.
struct KnownSpace {
  const char* file;
  const char* kernel;  // For spaces that differ by the device alone.
  bool is_hub;
  double reference;  // hybrid_vndx.
};
constexpr KnownSpace kSpaces[] = {{"convolution_milo-A100", "conv", true, 0.88},
                                  {"convolution_milo-A4000", "conv", true, 0.23},
                                  {"convolution_milo-MI250X", "conv", true, 0.33},
                                  {"dedispersion_milo-A100", "dedisp", true, 0.79},
                                  {"dedispersion_milo-A4000", "dedisp", true, 0.75},
                                  {"dedispersion_milo-MI250X", "dedisp", true, 0.85},
                                  {"old_gemm-RTX_3090", "gemm", false, 0.94},
                                  {"old_gemm-RTX_Titan", "gemm", false, 0.90},
                                  {"old_pnpoly-RTX_3090", "pnpoly", false, -0.63}};

// The threshold of a good result on a device.
constexpr double kGoodShare = 0.95;

struct Loaded {
  KnownSpace known;
  RecordedSpace recorded;
};

std::vector<Loaded> Load(const std::string& data) {
  std::vector<Loaded> spaces;
  for (const KnownSpace& known : kSpaces) {
    const auto path =
        std::filesystem::path(data) / "spaces" / (std::string(known.file) + ".csv.gz");
    if (data.empty() || !std::filesystem::exists(path)) continue;
    const auto content = ReadFileUnpacked(path);
    Require(content.status());
    auto recorded = ReadRecordedSpace(*content);
    Require(recorded.status());
    spaces.push_back({known, *std::move(recorded)});
  }
  return spaces;
}

ReplayResult Replayed(const RecordedSpace& recorded, const Options& options,
                      const std::vector<TimesElsewhere>& elsewhere = {}) {
  auto result = ReplayRepeatedly(
      recorded,
      [&](SearcherOptions of_run) {
        of_run.elsewhere = elsewhere;
        return MakeSearcher(options.searcher, recorded.space, of_run);
      },
      options.repeats);
  Require(result.status());
  return *std::move(result);
}

void AddScores(const std::vector<Loaded>& spaces, const Options& options,
               std::vector<Figure>& figures) {
  std::vector<double> hub;
  std::vector<double> extra;
  std::vector<double> reaching;
  for (const Loaded& space : spaces) {
    const ReplayResult result = Replayed(space.recorded, options);
    figures.push_back({fmt::format("score.{}", space.known.file), result.score, ""});
    figures.push_back(
        {fmt::format("reference.hybrid_vndx.{}", space.known.file), space.known.reference, ""});
    figures.push_back(
        {fmt::format("reaching.{}", space.known.file), result.share_reaching_target, ""});
    (space.known.is_hub ? hub : extra).push_back(result.score);
    if (space.known.is_hub) reaching.push_back(result.share_reaching_target);
  }
  if (hub.empty() || extra.empty()) return;
  figures.push_back({"score_hub_mean", MeanValue(hub), ">= 0.75"});
  figures.push_back({"score_extra_mean", MeanValue(extra), ">= 0.70"});
  figures.push_back({"share_reaching_target", MeanValue(reaching), ">= 0.92"});
}

// The same trials with renamed parameters, and thereby another order.
RecordedSpace Permuted(const RecordedSpace& recorded) {
  const size_t count = recorded.space.At(0).size();
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  Random(1).Shuffle(std::span<size_t>(order));
  std::vector<Config> configs;
  for (uint64_t index = 0; index < recorded.space.size(); ++index) {
    Config& config = configs.emplace_back();
    auto place = order.begin();
    for (const auto& [name, value] : recorded.space.At(index)) {
      config.emplace(fmt::format("p{:03}", *place++), value);
    }
  }
  auto space = ConfigSpace::FromConfigs(configs);
  Require(space.status());
  return {*space, recorded.trials};
}

// The mean over runs and its standard error.
struct MeanOfRuns {
  double mean = 0;
  double error = 0;
};
MeanOfRuns MeanOf(const std::vector<double>& run_scores) {
  MeanOfRuns of_runs{MeanValue(run_scores), 0};
  double squares = 0;
  for (const double score : run_scores) squares += (score - of_runs.mean) * (score - of_runs.mean);
  const auto count = static_cast<double>(run_scores.size());
  of_runs.error = std::sqrt(squares / count / std::max(1.0, count - 1));
  return of_runs;
}

// By how many standard errors the mean scores of runs change with other names and another order of
// the parameters: over all spaces, and where they change most.
void AddPermuted(const std::vector<Loaded>& spaces, const Options& options,
                 std::vector<Figure>& figures) {
  double difference = 0;
  double variance = 0;
  double most = 0;
  for (const Loaded& space : spaces) {
    const MeanOfRuns given = MeanOf(Replayed(space.recorded, options).run_scores);
    const MeanOfRuns permuted = MeanOf(Replayed(Permuted(space.recorded), options).run_scores);
    const double change = permuted.mean - given.mean;
    const double error = std::hypot(given.error, permuted.error);
    figures.push_back({fmt::format("permuted_change.{}", space.known.file), change, ""});
    figures.push_back({fmt::format("permuted_noise.{}", space.known.file), error, ""});
    difference += change;
    variance += error * error;
    if (error > 0) most = std::max(most, std::abs(change) / error);
  }
  if (variance == 0) return;
  figures.push_back({"permuted_errors", std::abs(difference) / std::sqrt(variance), "<= 2"});
  figures.push_back({"permuted_errors_most", most, "<= 3"});
}

// Share of the optimum.
double ShareOf(const RecordedSpace& recorded, double optimum_ms, uint64_t index) {
  const auto time_ms = recorded.trials[index].time_ms;
  return time_ms.has_value() ? optimum_ms / *time_ms : 0;
}

// The same kernel on other devices.
std::vector<const RecordedSpace*> OthersOf(const Loaded& target,
                                           const std::vector<Loaded>& spaces) {
  std::vector<const RecordedSpace*> others;
  for (const Loaded& other : spaces) {
    const bool is_alike = std::string(other.known.kernel) == target.known.kernel;
    if (is_alike && &other != &target) others.push_back(&other.recorded);
  }
  return others;
}

// The share that the first trials reach if the others suggest them. They follow the space's default
// if `has_default`, which counts, too: the tuner tries them in this order.
double ShareOfGuesses(const RecordedSpace& target, const std::vector<const RecordedSpace*>& others,
                      bool has_default) {
  std::vector<TimesElsewhere> elsewhere;
  for (const RecordedSpace* other : others) elsewhere.push_back(TimesOf(*other, target.space));
  const ConfigDigits digits(target.space);
  const double optimum_ms = BasisOf(target).optimum_ms();
  Prior prior(digits, elsewhere);
  double share = 0;
  const auto try_one = [&](uint64_t index) {
    share = std::max(share, ShareOf(target, optimum_ms, index));
    const auto time_ms = target.trials[index].time_ms;
    prior.Tell(index, time_ms ? std::optional<double>(*time_ms * 1e6) : std::nullopt);
  };
  if (has_default) {
    prior.WillTry(0);
    try_one(0);
  }
  while (!prior.Done()) try_one(prior.Next());
  return share;
}

// The best here of all configs that are within 5 % of the best at another place: the upper bound of
// a search that only tries configs that are fast elsewhere.
double ShareOfTheirBest(const RecordedSpace& target,
                        const std::vector<const RecordedSpace*>& others) {
  const double optimum_ms = BasisOf(target).optimum_ms();
  double share = 0;
  for (const RecordedSpace* other : others) {
    const double their_optimum_ms = BasisOf(*other).optimum_ms();
    for (uint64_t index = 0; index < other->trials.size(); ++index) {
      if (ShareOf(*other, their_optimum_ms, index) < kGoodShare) continue;
      share = std::max(share, ShareOf(target, optimum_ms, index));
    }
  }
  return share;
}

// How many configs are faster than `index` at each of `others`, counted up to `most`.
size_t CountBetter(const std::vector<const RecordedSpace*>& others, uint64_t index, size_t most) {
  const auto is_better = [index](const RecordedSpace& other, uint64_t candidate) {
    const auto time_ms = other.trials[candidate].time_ms;
    const auto than_ms = other.trials[index].time_ms;
    return time_ms.has_value() && (!than_ms.has_value() || *time_ms < *than_ms);
  };
  size_t count = 0;
  for (uint64_t candidate = 0; candidate < others.front()->trials.size() && count < most;
       ++candidate) {
    const bool is_better_everywhere =
        candidate != index && std::ranges::all_of(others, [&](const RecordedSpace* other) {
          return is_better(*other, candidate);
        });
    if (is_better_everywhere) ++count;
  }
  return count;
}

// The upper bound, with as many trials, of a search that prefers configs that are faster at every
// other place, for any weights of the places and any results of the trials: the best here of the
// configs that fewer others than that are better than at all places.
double ShareOfPreferred(const RecordedSpace& target,
                        const std::vector<const RecordedSpace*>& others) {
  const double optimum_ms = BasisOf(target).optimum_ms();
  double share = 0;
  for (uint64_t index = 0; index < target.trials.size(); ++index) {
    const double here = ShareOf(target, optimum_ms, index);
    if (here > share && CountBetter(others, index, Prior::kGuesses) < Prior::kGuesses) share = here;
  }
  return share;
}

// The share of the optimum that the first trials reach on each device, told of the others alone.
void AddUnseenDevices(const std::vector<Loaded>& spaces, std::vector<Figure>& figures) {
  std::vector<double> shares;
  std::vector<double> bounds;
  std::vector<double> behind;
  for (const Loaded& target : spaces) {
    const std::vector<const RecordedSpace*> others = OthersOf(target, spaces);
    if (others.empty()) continue;
    shares.push_back(ShareOfGuesses(target.recorded, others, false));
    bounds.push_back(ShareOfTheirBest(target.recorded, others));
    behind.push_back(ShareOfGuesses(target.recorded, others, true));
    figures.push_back({fmt::format("unseen.{}", target.known.file), shares.back(), ""});
    figures.push_back({fmt::format("unseen_bound.{}", target.known.file), bounds.back(), ""});
    figures.push_back(
        {fmt::format("unseen_behind_default.{}", target.known.file), behind.back(), ""});
    figures.push_back({fmt::format("unseen_preferred.{}", target.known.file),
                       ShareOfPreferred(target.recorded, others), ""});
  }
  if (shares.empty()) return;
  figures.push_back({"unseen_worst_share", std::ranges::min(shares), ">= 0.95"});
  figures.push_back({"unseen_worst_bound", std::ranges::min(bounds), ""});
  figures.push_back({"unseen_worst_behind_default", std::ranges::min(behind), ""});
}

// Scores of a searcher with transfer priors from the others.
void AddTold(const std::vector<Loaded>& spaces, const Options& options,
             std::vector<Figure>& figures) {
  std::vector<double> scores;
  for (const Loaded& target : spaces) {
    std::vector<TimesElsewhere> elsewhere;
    for (const RecordedSpace* other : OthersOf(target, spaces)) {
      elsewhere.push_back(TimesOf(*other, target.recorded.space));
    }
    if (elsewhere.empty()) continue;
    scores.push_back(Replayed(target.recorded, options, elsewhere).score);
    figures.push_back({fmt::format("told_score.{}", target.known.file), scores.back(), ""});
  }
  if (!scores.empty()) figures.push_back({"told_score_mean", MeanValue(scores), ""});
}

// The same trials with the config at `index` first.
RecordedSpace BeginningWith(const RecordedSpace& recorded, uint64_t index) {
  std::vector<Config> configs = {recorded.space.At(index)};
  std::vector<RecordedTrial> trials = {recorded.trials[index]};
  for (uint64_t other = 0; other < recorded.trials.size(); ++other) {
    if (other == index) continue;
    configs.push_back(recorded.space.At(other));
    trials.push_back(recorded.trials[other]);
  }
  auto space = ConfigSpace::FromConfigs(configs);
  Require(space.status());
  return {*space, std::move(trials)};
}

// Recordings lack a default chosen by a person; it is taken to be ...
enum class ChosenBy {
  kTuningElsewhere,  // ... the best config of another device.
  kExperience,       // ... one that reaches about nine tenths of the optimum.
};

std::vector<RecordedSpace> WithChosenDefaults(const Loaded& target,
                                              const std::vector<Loaded>& spaces, ChosenBy chosen) {
  std::vector<RecordedSpace> with;
  if (chosen == ChosenBy::kTuningElsewhere) {
    for (const RecordedSpace* other : OthersOf(target, spaces)) {
      TimesElsewhere times = TimesOf(*other, target.recorded.space);
      std::erase_if(times, [](const TrialElsewhere& trial) { return !trial.time_ns.has_value(); });
      const auto best = std::ranges::min_element(
          times, {}, [](const TrialElsewhere& trial) { return *trial.time_ns; });
      with.push_back(BeginningWith(target.recorded, best->index));
    }
    return with;
  }
  const double optimum_ms = BasisOf(target.recorded).optimum_ms();
  std::vector<uint64_t> good;
  for (uint64_t index = 0; index < target.recorded.trials.size(); ++index) {
    const double share = ShareOf(target.recorded, optimum_ms, index);
    if (share > 0.85 && share < 0.95) good.push_back(index);
  }
  Random random(1);
  for (int i = 0; i < 4 && !good.empty(); ++i) {
    with.push_back(BeginningWith(target.recorded, good[random.Below(good.size())]));
  }
  return with;
}

constexpr size_t kCounts[] = {8, 16, 32, 64, 128};

// The logarithms of the shares of the optimum that a run reaches by each of kCounts evaluations.
// As the tuner does, it asks for the default alone first, then for what `workers` can do at once.
std::vector<double> SharesOfRun(const RecordedSpace& recorded, const std::string& searcher,
                                const SearcherOptions& of_run) {
  auto made = MakeSearcher(searcher, recorded.space, of_run);
  Require(made.status());
  const double optimum_ms = BasisOf(recorded).optimum_ms();
  std::vector<double> shares;
  double best_ms = std::numeric_limits<double>::infinity();
  size_t told = 0;
  while (shares.size() < std::size(kCounts)) {
    const size_t room = kCounts[std::size(kCounts) - 1] - told;
    const auto batch = (*made)->Ask(told == 0 ? 1 : std::min(of_run.workers, room));
    if (batch.empty()) Require(Internal("A searcher asks for nothing."));
    for (const uint64_t index : batch) {
      const RecordedTrial& trial = recorded.trials[index];
      Answer answer;
      if (trial.time_ms) answer.time_ns = *trial.time_ms * 1e6;
      best_ms = std::min(best_ms, trial.time_ms.value_or(best_ms));
      (*made)->Tell(index, answer);
      if (++told == kCounts[shares.size()]) shares.push_back(std::log(optimum_ms / best_ms));
    }
  }
  return shares;
}

// The mean of SharesOfRun over defaults and seeds.
std::vector<double> MeanShares(const std::vector<RecordedSpace>& with, const std::string& searcher,
                               SearcherOptions of_run, int repeats) {
  std::vector<double> means(std::size(kCounts), 0);
  for (const RecordedSpace& recorded : with) {
    for (of_run.seed = 1; of_run.seed <= static_cast<uint64_t>(repeats); ++of_run.seed) {
      const std::vector<double> shares = SharesOfRun(recorded, searcher, of_run);
      for (size_t i = 0; i < shares.size(); ++i) means[i] += shares[i];
    }
  }
  for (double& mean : means) mean /= static_cast<double>(with.size()) * repeats;
  return means;
}

// The results of searchers that begin at a chosen default: geometric means of the shares of the
// optimum, over spaces, defaults and seeds.
void AddChosenDefaults(const std::vector<Loaded>& spaces, ChosenBy chosen, const Options& options,
                       std::vector<Figure>& figures) {
  std::vector<std::vector<RecordedSpace>> defaults;
  for (const Loaded& target : spaces) {
    defaults.push_back(WithChosenDefaults(target, spaces, chosen));
    if (defaults.back().empty()) defaults.pop_back();
  }
  const char* const by = chosen == ChosenBy::kExperience ? "experience" : "tuning_elsewhere";
  for (const size_t workers : {size_t{1}, size_t{16}}) {
    for (const std::string searcher : {"local", "surrogate", "adaptive"}) {
      const SearcherOptions of_run = {.workers = workers,
                                      .default_is_chosen = searcher == "adaptive"};
      std::vector<double> sums(std::size(kCounts), 0);
      for (const std::vector<RecordedSpace>& with : defaults) {
        const std::vector<double> means = MeanShares(with, searcher, of_run, options.repeats);
        for (size_t i = 0; i < sums.size(); ++i) sums[i] += means[i];
      }
      for (size_t i = 0; i < sums.size(); ++i) {
        figures.push_back(
            {fmt::format("chosen_by_{}.{}_workers.{}.{}", by, workers, searcher, kCounts[i]),
             std::exp(sums[i] / static_cast<double>(defaults.size())), ""});
      }
    }
  }
}

// Geometric means of the share of the optimum after few evaluations, beside random search. No
// default was chosen.
void AddEarly(const std::vector<Loaded>& spaces, const Options& options,
              std::vector<Figure>& figures) {
  for (const std::string& searcher : {options.searcher, std::string("random")}) {
    std::vector<double> sums(std::size(kCounts), 0);
    const auto add = [&](const std::string& space, const std::vector<double>& means, double count) {
      for (size_t i = 0; i < means.size(); ++i) {
        figures.push_back({fmt::format("early.{}.{}.{}", space, searcher, kCounts[i]),
                           std::exp(means[i] / count), ""});
      }
    };
    for (const Loaded& space : spaces) {
      const std::vector<double> means =
          MeanShares({space.recorded}, searcher, {.workers = 1}, options.repeats);
      add(space.known.file, means, 1);
      for (size_t i = 0; i < means.size(); ++i) sums[i] += means[i];
    }
    if (!spaces.empty()) add("mean", sums, static_cast<double>(spaces.size()));
  }
}

ConfigSpace AMillion() {
  std::vector<Parameter> parameters;
  for (int i = 0; i < 6; ++i) {
    Parameter parameter{fmt::format("p{}", i), {}};
    for (int64_t value = 1; value <= 10; ++value) parameter.values.emplace_back(value * 8);
    parameters.push_back(std::move(parameter));
  }
  auto space = ConfigSpace::Create(std::move(parameters), {});
  Require(space.status());
  return *space;
}

// Two parameters of many values of which each allows one of the other.
ConfigSpace Tied() {
  std::vector<Parameter> parameters;
  for (const char* name : {"a", "b"}) {
    Parameter parameter{name, {}};
    for (int64_t value = 1; value <= 4096; ++value) parameter.values.emplace_back(value);
    parameters.push_back(std::move(parameter));
  }
  parameters.push_back({"variant", {int64_t{0}, int64_t{1}, int64_t{2}}});
  auto tie = Expression::Parse("a == b", ExpressionDialect::kPython);
  Require(tie.status());
  auto space = ConfigSpace::Create(std::move(parameters), {ConstraintFrom(*std::move(tie))});
  Require(space.status());
  return *space;
}

// Microseconds of the processor for asking and telling one config.
double AskingCost(const std::string& name, const ConfigSpace& space, int asks) {
  auto searcher = MakeSearcher(name, space, {.seed = 1});
  Require(searcher.status());
  const double start_ms = ProcessorMs();
  for (int i = 0; i < asks; ++i) {
    for (const uint64_t index : (*searcher)->Ask(1)) {
      (*searcher)->Tell(index, {1e6 + static_cast<double>(index * 2654435761u % 1'000'000)});
    }
  }
  return (ProcessorMs() - start_ms) / asks * 1e3;
}

void RunBench(const Options& options) {
  std::vector<Figure> figures;
  const std::vector<Loaded> spaces = Load(options.data);
  AddScores(spaces, options, figures);
  AddUnseenDevices(spaces, figures);
  if (options.told) AddTold(spaces, options, figures);
  if (options.chosen) {
    for (const ChosenBy chosen : {ChosenBy::kTuningElsewhere, ChosenBy::kExperience}) {
      AddChosenDefaults(spaces, chosen, options, figures);
    }
  }
  if (options.early) AddEarly(spaces, options, figures);
  if (options.permuted) AddPermuted(spaces, options, figures);
  const std::pair<const char*, ConfigSpace> spaces_to_ask[] = {{"ask_us", AMillion()},
                                                               {"ask_tied_us", Tied()}};
  for (const auto& [figure, space] : spaces_to_ask) {
    for (const std::string_view name : SearcherNames()) {
      const bool has_model = name == "surrogate" || name == "adaptive";
      figures.push_back({fmt::format("{}.{}", figure, name),
                         AskingCost(std::string(name), space, options.asks),
                         has_model ? "<= 2000" : "<= 10"});
    }
  }
  PrintFigures(
      figures,
      {{"searcher", options.searcher}, {"repeats", options.repeats}, {"spaces", spaces.size()}},
      options.json);
}

}  // namespace
}  // namespace attune

int main(int argc, char** argv) {
  attune::Options options;
  if (const char* const data = std::getenv("ATTUNE_DATA_DIR"); data != nullptr) options.data = data;
  CLI::App app("Scores searchers on recorded spaces.");
  app.add_option("--data", options.data, "Folder with the recordings (default: $ATTUNE_DATA_DIR)");
  app.add_option("--search", options.searcher, "The searcher that is scored");
  app.add_option("--repeats", options.repeats, "Runs of each space")->check(CLI::Range(1, 10'000));
  app.add_option("--asks", options.asks, "Asks whose cost is measured")
      ->check(CLI::Range(1, 1'000'000));
  app.add_flag("--permuted", options.permuted,
               "Also how much scores change with other names and another order of the parameters");
  app.add_flag("--told", options.told, "Also scores with what other devices recorded");
  app.add_flag("--chosen", options.chosen,
               "Also what searchers reach that begin at a default that somebody chose");
  app.add_flag("--early", options.early,
               "Also shares of the optimum after few evaluations, beside random search");
  app.add_flag("--json", options.json, "Print one JSON object");
  CLI11_PARSE(app, argc, argv);
  attune::RunBench(options);
  return 0;
}
