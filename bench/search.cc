// Searchers on recorded spaces: scores of the published methodology beside those of others, what
// three trials reach on a device never seen that follow from others, and what asking costs.
//
//   search [--data DIR] [--search NAME] [--repeats N] [--json]
//
// DIR has `spaces/*.csv.gz` (default: $ATTUNE_DATA_DIR). Without it only the cost of asking is
// measured.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "attune/base/file.h"
#include "attune/replay/gunzip.h"
#include "attune/replay/replay.h"
#include "attune/search/config_digits.h"
#include "attune/search/prior.h"
#include "attune/search/searcher.h"
#include "bench/figures.h"

namespace attune {
namespace {

struct Options {
  std::string data;
  std::string searcher = "adaptive";
  int repeats = 100;
  int asks = 300;
  bool json = false;
};

// The best that others reach on a space: 10 to 25 repeats of a strategy of Kernel Tuner 1.4.0.
struct KnownSpace {
  const char* file;
  const char* kernel;  // Of the spaces that differ by the device alone.
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

// What counts as good on a device.
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
    const auto packed = ReadFile(path);
    Require(packed.status());
    const auto content = Gunzip(*packed);
    Require(content.status());
    auto recorded = ReadRecordedSpace(*content);
    Require(recorded.status());
    spaces.push_back({known, *std::move(recorded)});
  }
  return spaces;
}

void AddScores(const std::vector<Loaded>& spaces, const Options& options,
               std::vector<Figure>& figures) {
  std::vector<double> hub;
  std::vector<double> extra;
  std::vector<double> reaching;
  for (const Loaded& space : spaces) {
    const auto result = ReplayRepeatedly(
        space.recorded,
        [&](uint64_t seed) {
          return MakeSearcher(options.searcher, space.recorded.space, {.seed = seed});
        },
        options.repeats);
    Require(result.status());
    figures.push_back({fmt::format("score.{}", space.known.file), result->score, ""});
    figures.push_back(
        {fmt::format("reference.hybrid_vndx.{}", space.known.file), space.known.reference, ""});
    figures.push_back(
        {fmt::format("reaching.{}", space.known.file), result->share_reaching_target, ""});
    (space.known.is_hub ? hub : extra).push_back(result->score);
    if (space.known.is_hub) reaching.push_back(result->share_reaching_target);
  }
  if (hub.empty() || extra.empty()) return;
  figures.push_back({"score_hub_mean", MeanValue(hub), ">= 0.75"});
  figures.push_back({"score_extra_mean", MeanValue(extra), ">= 0.70"});
  figures.push_back({"share_reaching_target", MeanValue(reaching), ">= 0.92"});
}

TimesElsewhere TimesOf(const RecordedSpace& recorded) {
  TimesElsewhere times;
  for (uint64_t index = 0; index < recorded.trials.size(); ++index) {
    times.push_back({index, recorded.trials[index].time_ms});
  }
  return times;
}

// Of the optimum.
double ShareOf(const RecordedSpace& recorded, double optimum_ms, uint64_t index) {
  const auto time_ms = recorded.trials[index].time_ms;
  return time_ms.has_value() ? optimum_ms / *time_ms : 0;
}

// What the first trials reach that the others suggest.
double ShareOfGuesses(const RecordedSpace& target,
                      const std::vector<const RecordedSpace*>& others) {
  std::vector<TimesElsewhere> elsewhere;
  for (const RecordedSpace* other : others) elsewhere.push_back(TimesOf(*other));
  const ConfigDigits digits(target.space);
  const double optimum_ms = BasisOf(target).optimum_ms();
  Prior prior(digits, elsewhere);
  double share = 0;
  while (!prior.Done()) {
    const uint64_t index = prior.Next();
    share = std::max(share, ShareOf(target, optimum_ms, index));
    prior.Tell(index, target.trials[index].time_ms);
  }
  return share;
}

// The best here of all that is within 5 % of the best at another place: what nobody exceeds who
// tries what others are fast with, however often.
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

// The share of the optimum that the first trials reach on each device, told of the others alone.
void AddUnseenDevices(const std::vector<Loaded>& spaces, std::vector<Figure>& figures) {
  double worst = 1;
  double worst_bound = 1;
  for (const Loaded& target : spaces) {
    std::vector<const RecordedSpace*> others;
    for (const Loaded& other : spaces) {
      const bool is_alike = std::string(other.known.kernel) == target.known.kernel;
      if (is_alike && &other != &target) others.push_back(&other.recorded);
    }
    if (others.empty()) continue;
    const double share = ShareOfGuesses(target.recorded, others);
    const double bound = ShareOfTheirBest(target.recorded, others);
    figures.push_back({fmt::format("unseen.{}", target.known.file), share, ""});
    figures.push_back({fmt::format("unseen_bound.{}", target.known.file), bound, ""});
    worst = std::min(worst, share);
    worst_bound = std::min(worst_bound, bound);
  }
  if (worst_bound == 1) return;
  figures.push_back({"unseen_worst_share", worst, ">= 0.95"});
  figures.push_back({"unseen_worst_bound", worst_bound, ""});
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

// Microseconds for asking and telling one config.
double AskingCost(const std::string& name, const ConfigSpace& space, int asks) {
  auto searcher = MakeSearcher(name, space, {.seed = 1});
  Require(searcher.status());
  const auto start = WallClock::now();
  for (int i = 0; i < asks; ++i) {
    for (const uint64_t index : (*searcher)->Ask(1)) {
      (*searcher)->Tell(index, {1e6 + static_cast<double>(index * 2654435761u % 1'000'000)});
    }
  }
  return SecondsSince(start) / asks * 1e6;
}

void RunBench(const Options& options) {
  std::vector<Figure> figures;
  const std::vector<Loaded> spaces = Load(options.data);
  AddScores(spaces, options, figures);
  AddUnseenDevices(spaces, figures);
  const ConfigSpace million = AMillion();
  for (const std::string_view name : SearcherNames()) {
    if (name == "local") continue;  // It waits for answers in rounds, which is not an ask.
    const bool has_model = name == "surrogate" || name == "adaptive";
    figures.push_back({fmt::format("ask_us.{}", name),
                       AskingCost(std::string(name), million, options.asks),
                       has_model ? "<= 2000" : "<= 10"});
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
  app.add_flag("--json", options.json, "Print one JSON object");
  CLI11_PARSE(app, argc, argv);
  attune::RunBench(options);
  return 0;
}
