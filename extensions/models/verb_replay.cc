// attune replay: scores a searcher on recorded search spaces.

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "apps/attune/json_text.h"
#include "apps/attune/replaced_file.h"
#include "apps/attune/table.h"
#include "attune/base/file.h"
#include "attune/base/gzip.h"
#include "attune/library/json_line.h"
#include "attune/search/searcher.h"
#include "attune/space/config.h"
#include "extensions/models/model_verbs.h"
#include "extensions/models/replay/replay.h"
#include "extensions/models/replay_page.h"

namespace attune {
namespace {

struct ReplayOptions {
  std::vector<std::string> spaces;
  std::vector<std::string> elsewhere;
  std::string searcher = "adaptive";
  bool default_is_chosen = false;
  int repeats = 100;
  std::string report;  // Empty: none.
  std::string log;     // Empty: none.
  bool json = false;
};

Result<RecordedSpace> ReadSpace(const std::string& file) {
  ATTUNE_ASSIGN_OR_RETURN(const std::string content, ReadFileUnpacked(file));
  auto recorded = ReadRecordedSpace(content);
  if (!recorded.ok()) return recorded.status().WithContext(file);
  return recorded;
}

// Times from --elsewhere for the configs of `recorded`.
Result<std::vector<TimesElsewhere>> ReadElsewhere(const RecordedSpace& recorded,
                                                  const ReplayOptions& options) {
  std::vector<TimesElsewhere> elsewhere;
  for (const std::string& file : options.elsewhere) {
    ATTUNE_ASSIGN_OR_RETURN(const RecordedSpace other, ReadSpace(file));
    elsewhere.push_back(TimesOf(other, recorded.space));
    if (!elsewhere.back().empty()) continue;
    return InvalidArgument(fmt::format(
        "{} has no config of the space that is replayed: --elsewhere is for recordings of the same "
        "kernel on other devices, or for other sizes.",
        Printable(file)));
  }
  return elsewhere;
}

// A line of JSON for each evaluation of each run.
std::string LogOf(const ReplayedSpace& replayed, const RecordedSpace& recorded) {
  std::string lines;
  for (size_t run = 0; run < replayed.result.logs.size(); ++run) {
    for (const ReplayedTrial& evaluation : replayed.result.logs[run]) {
      const RecordedTrial& trial = recorded.trials[evaluation.index];
      Json line = {{"space", replayed.name},
                   {"seed", run + 1},
                   {"config", Text(recorded.space.At(evaluation.index))},
                   {"time_ms", nullptr},
                   {"charged_ms", trial.charged_ms()},
                   {"after_ms", evaluation.after_ms},
                   {"best_ms", nullptr}};
      if (trial.time_ms.has_value()) line["time_ms"] = *trial.time_ms;
      if (evaluation.best_ms.has_value()) line["best_ms"] = *evaluation.best_ms;
      lines += DumpLine(line);
    }
  }
  return lines;
}

// Appends the lines for the file of --log to `log`.
Result<ReplayedSpace> ReplaySpace(const std::string& file, const ReplayOptions& options,
                                  std::string& log) {
  ATTUNE_ASSIGN_OR_RETURN(const RecordedSpace recorded, ReadSpace(file));
  ATTUNE_ASSIGN_OR_RETURN(const auto elsewhere, ReadElsewhere(recorded, options));
  ReplayedSpace replayed;
  replayed.name = std::filesystem::path(file).filename().string();
  replayed.configs = recorded.space.size();
  const auto make = [&](SearcherOptions of_run) {
    of_run.elsewhere = elsewhere;
    of_run.default_is_chosen = options.default_is_chosen;
    return MakeSearcher(options.searcher, recorded.space, of_run);
  };
  auto result = ReplayRepeatedly(recorded, make, options.repeats);
  if (!result.ok()) return result.status().WithContext(file);
  replayed.result = *std::move(result);
  if (!options.log.empty()) log += LogOf(replayed, recorded);
  return replayed;
}

Json SpaceJson(const ReplayedSpace& space) {
  const ReplayResult& result = space.result;
  return {{"space", space.name},
          {"configs", space.configs},
          {"worked", result.basis.times_ms.size()},
          {"optimum_ms", result.basis.optimum_ms()},
          {"target_ms", result.basis.target_ms},
          {"budget_s", result.basis.budget_ms / 1e3},
          {"random_evaluations", result.basis.evaluations},
          {"score", result.score},
          {"run_score_mean", MeanValue(result.run_scores)},
          {"run_score_median", MedianValue(result.run_scores)},
          {"share_reaching_target", result.share_reaching_target}};
}

struct ReplaySummary {
  double score = 0;
  double median = 0;
  double share_reaching_target = 0;
};

ReplaySummary Summarise(const std::vector<ReplayedSpace>& spaces) {
  std::vector<double> scores;
  std::vector<double> shares;
  for (const ReplayedSpace& space : spaces) {
    scores.push_back(space.result.score);
    shares.push_back(space.result.share_reaching_target);
  }
  return {MeanValue(scores), MedianValue(scores), MeanValue(shares)};
}

void PrintReplay(const std::vector<ReplayedSpace>& spaces, const ReplayOptions& options,
                 Output& out) {
  constexpr auto kRight = Column::Align::kRight;
  Table table({{"space"},
               {"configs", kRight},
               {"budget", kRight},
               {"score", kRight},
               {"median run", kRight},
               {"reach target", kRight}});
  for (const ReplayedSpace& space : spaces) {
    table.AddRow({Printable(space.name), std::to_string(space.configs),
                  fmt::format("{:.0f} s", space.result.basis.budget_ms / 1e3),
                  fmt::format("{:.3f}", space.result.score),
                  fmt::format("{:.3f}", MedianValue(space.result.run_scores)),
                  fmt::format("{:.0f} %", space.result.share_reaching_target * 100)});
  }
  out.Print(table.Render(out.screen(), out.width()));
  const ReplaySummary summary = Summarise(spaces);
  out.Print(fmt::format(
      "{} over {} and {} each: mean score {:.3f}, median {:.3f}, {:.0f} % of the runs reach the "
      "target.\n",
      options.searcher, spaces.size() == 1 ? "1 space" : fmt::format("{} spaces", spaces.size()),
      options.repeats == 1 ? "1 run" : fmt::format("{} runs", options.repeats), summary.score,
      summary.median, summary.share_reaching_target * 100));
}

Result<int> RunReplay(Application& application, const ReplayOptions& options) {
  ATTUNE_RETURN_IF_ERROR(CheckJsonHasRoom(options.json, options.report));
  ATTUNE_RETURN_IF_ERROR(CheckJsonHasRoom(options.json, options.log, "--log"));
  ATTUNE_RETURN_IF_ERROR(CheckNoInput(options.report, options.spaces));
  ATTUNE_RETURN_IF_ERROR(CheckNoInput(options.report, options.elsewhere));
  ATTUNE_RETURN_IF_ERROR(CheckNoInput(options.log, options.spaces));
  ATTUNE_RETURN_IF_ERROR(CheckNoInput(options.log, options.elsewhere));
  ATTUNE_RETURN_IF_ERROR(CheckTwoFiles(options.report, options.log, "--log"));
  std::string log;
  std::vector<ReplayedSpace> spaces;
  for (const std::string& file : options.spaces) {
    ATTUNE_ASSIGN_OR_RETURN(ReplayedSpace replayed, ReplaySpace(file, options, log));
    spaces.push_back(std::move(replayed));
  }
  if (!options.log.empty()) {
    ATTUNE_RETURN_IF_ERROR(WriteResult(application, options.log, log, "--log"));
  }
  if (!options.report.empty()) {
    ATTUNE_RETURN_IF_ERROR(WriteResult(application, options.report,
                                       ReplayPage(options.searcher, options.repeats, spaces)));
  }
  if (options.json) {
    const ReplaySummary summary = Summarise(spaces);
    Json json = {{"search", options.searcher},
                 {"default_chosen", options.default_is_chosen},
                 {"repeats", options.repeats},
                 {"elsewhere", options.elsewhere}};
    for (const ReplayedSpace& space : spaces) json["spaces"].push_back(SpaceJson(space));
    json["score_mean"] = summary.score;
    json["score_median"] = summary.median;
    json["share_reaching_target"] = summary.share_reaching_target;
    application.out().Print(Dump(json));
  } else if (options.report != "-" && options.log != "-") {
    PrintReplay(spaces, options, application.out());
  }
  return kExitDone;
}

}  // namespace

void AddReplayVerb(CLI::App& program, Invocation& invocation) {
  auto options = std::make_shared<ReplayOptions>();
  CLI::App* verb = AddVerb(
      program, "replay", "Run a searcher on recorded search spaces, and score it",
      "  attune replay --space tests/data/spaces/convolution_sample.csv.gz --repeats 10\n"
      "  attune replay --space a.csv.gz --space b.csv.gz --search genetic -o replay.html\n"
      "  attune replay --space a.csv.gz --search random --json\n"
      "  attune replay --space new.csv.gz --elsewhere old.csv.gz --elsewhere other.csv.gz\n\n"
      "A score of 0 is that of random search, 1 the optimum at once. Everything that a searcher "
      "asks for is\ncharged with the time that was recorded for it, failures too. The target is 95 "
      "% of the way from the\nmedian to the optimum, the budget what random search needs to reach "
      "it (docs/formats/recorded_space.md).");
  verb->add_option("--space", options->spaces,
                   "A recorded space, packed by gzip or not; repeatable")
      ->required()
      ->type_name("FILE");
  verb->add_option("--elsewhere", options->elsewhere,
                   "The same kernel recorded on another device, or for another size: what the "
                   "searcher begins with; repeatable")
      ->allow_extra_args(false)
      ->type_name("FILE");
  std::vector<std::string> names;
  for (const std::string_view name : SearcherNames()) names.emplace_back(name);
  verb->add_option("--search", options->searcher, "What searches")
      ->check(CLI::IsMember(names))
      ->capture_default_str();
  verb->add_flag("--default-chosen", options->default_is_chosen,
                 "The first config of each space is a default that somebody chose, as of what "
                 "'attune tune' tunes: adaptive and surrogate begin near it");
  verb->add_option("--repeats", options->repeats, "Runs, with the seeds from 1")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str()
      ->type_name("N");
  verb->add_option("-o", options->report, "Also write a page with a plot for each space")
      ->type_name("FILE");
  verb->add_option("--log", options->log,
                   "Also write what each run asked for, in order, and what it was charged: a line "
                   "of JSON for each evaluation")
      ->type_name("FILE");
  AddJsonFlag(*verb, options->json);
  verb->callback([options, &invocation] {
    invocation.run = [options](Application& application) {
      return RunReplay(application, *options);
    };
  });
}

}  // namespace attune
