// Savings and costs of racing: fields of configs out of recorded spaces are raced under invented
// noise, as the tuner races its contenders.
//
//   race [--data DIR] [--fields N] [--json]
//
// DIR has `spaces/*.csv.gz` (default: $ATTUNE_DATA_DIR). The recordings hold one time for each
// config, so a sample is that time under lognormal noise with a standard deviation of 0.5, 2 and
// 4 %, what GPUs were published to show, and one block in a hundred is a spike.
//   saved   of the time that the race would take with every contender in all of its rounds
//   regret  how much slower the best finalist is than the best of the field
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "attune/base/gzip.h"
#include "attune/base/random.h"
#include "attune/measure/decision.h"
#include "attune/measure/race.h"
#include "attune/measure/synthetic_timer.h"
#include "bench/figures.h"
#include "extensions/models/replay/recorded_space.h"
#include "extensions/models/replay/score.h"

namespace attune {
namespace {

struct Options {
  std::string data;
  int fields = 20;
  bool json = false;
};

// As many as the tuner races at once.
constexpr size_t kField = 48;
constexpr double kSigmas[] = {0.005, 0.02, 0.04};
constexpr double kSpikes = 0.01;

struct Outcome {
  double elapsed_ns = 0;
  double whole_ns = 0;  // With every contender in every round.
  double regret = 0;
};

std::vector<double> FieldOf(const RecordedSpace& recorded, Random& random) {
  std::vector<double> times_ns;
  while (times_ns.size() < kField) {
    const auto time_ms = recorded.trials[random.Below(recorded.trials.size())].time_ms;
    if (time_ms.has_value()) times_ns.push_back(*time_ms * 1e6);
  }
  return times_ns;
}

Outcome RaceField(const std::vector<double>& times_ns, double sigma, uint64_t seed) {
  FakeClock clock;
  SyntheticTimer timer(times_ns, {.sigma = sigma, .spike_probability = kSpikes}, seed, clock);
  RaceOptions options;
  options.seed = seed;
  options.budget_ns = int64_t{1} << 60;
  const Entrants everybody{times_ns.size(), 0};
  const RaceResult race = Race(timer, everybody, options, clock);
  Outcome outcome;
  outcome.elapsed_ns = static_cast<double>(race.elapsed_ns);
  double best_ns = times_ns[0];
  double best_finalist_ns = times_ns[0];
  for (const Finalist& finalist :
       SelectFinalists(race, everybody, options.margin, options.finalists)) {
    best_finalist_ns = std::min(best_finalist_ns, times_ns[finalist.index]);
  }
  for (size_t i = 0; i < times_ns.size(); ++i) {
    best_ns = std::min(best_ns, times_ns[i]);
    outcome.whole_ns += times_ns[i] * race.entries[i].launches * (race.rounds + 1);
  }
  outcome.regret = best_finalist_ns / best_ns - 1;
  return outcome;
}

Result<RecordedSpace> ReadSpace(const std::filesystem::path& file) {
  ATTUNE_ASSIGN_OR_RETURN(const std::string content, ReadFileUnpacked(file));
  return ReadRecordedSpace(content);
}

std::vector<std::filesystem::path> SpacesIn(const std::string& data) {
  std::vector<std::filesystem::path> files;
  const std::filesystem::path folder = std::filesystem::path(data) / "spaces";
  if (data.empty() || !std::filesystem::is_directory(folder)) return files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".gz") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

void RunBench(const Options& options) {
  std::vector<Figure> figures;
  std::vector<double> saved;
  std::vector<double> regrets;
  for (const auto& file : SpacesIn(options.data)) {
    const auto recorded = ReadSpace(file);
    Require(recorded.status());
    const std::string name = file.stem().stem().string();
    for (const double sigma : kSigmas) {
      Random random(1);
      Outcome sum;
      for (int field = 1; field <= options.fields; ++field) {
        const Outcome outcome =
            RaceField(FieldOf(*recorded, random), sigma, static_cast<uint64_t>(field));
        sum.elapsed_ns += outcome.elapsed_ns;
        sum.whole_ns += outcome.whole_ns;
        sum.regret += outcome.regret / options.fields;
      }
      saved.push_back(1 - sum.elapsed_ns / sum.whole_ns);
      regrets.push_back(sum.regret);
      const std::string what = fmt::format("{}.noise_{:g}", name, sigma);
      figures.push_back({"saved." + what, saved.back(), ""});
      figures.push_back({"regret." + what, regrets.back(), ""});
    }
  }
  if (!saved.empty()) {
    figures.push_back(
        {"race_saved_least", *std::min_element(saved.begin(), saved.end()), ">= 0.25"});
    figures.push_back({"race_saved_mean", MeanValue(saved), ""});
    figures.push_back(
        {"race_regret_most", *std::max_element(regrets.begin(), regrets.end()), "<= 0.005"});
    figures.push_back({"race_regret_mean", MeanValue(regrets), ""});
  }
  PrintFigures(figures, {{"fields", options.fields}, {"field", kField}}, options.json);
}

}  // namespace
}  // namespace attune

int main(int argc, char** argv) {
  attune::Options options;
  if (const char* const data = std::getenv("ATTUNE_DATA_DIR"); data != nullptr) options.data = data;
  CLI::App app("Races configs of recorded spaces under invented noise.");
  app.add_option("--data", options.data, "Folder with the recordings (default: $ATTUNE_DATA_DIR)");
  app.add_option("--fields", options.fields, "Races of each space and noise")
      ->check(CLI::Range(1, 100'000));
  app.add_flag("--json", options.json, "Print one JSON object");
  CLI11_PARSE(app, argc, argv);
  attune::RunBench(options);
  return 0;
}
