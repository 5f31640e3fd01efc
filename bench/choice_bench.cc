#include "bench/choice_bench.h"

#include <fmt/format.h>

#include "apps/attune/thread_policy.h"
#include "apps/attune/verbs.h"
#include "bench/fresh_race.h"

namespace attune {
namespace {

constexpr int64_t kPerProblemNs = 4'000'000'000;

void AddOptions(CLI::App& app, ChoiceOptions& options) {
  options.tune.per_problem_ns = kPerProblemNs;
  app.add_option("--device", options.device, "Where the problems run");
  app.add_option("--rounds", options.rounds, "Rounds of the final race")
      ->check(CLI::Range(3, 1000));
  app.add_option("--only", options.only, "Only problems with this in their text");
  app.add_option("--limit", options.limit, "At most so many problems");
  app.add_option("--search", options.tune.searcher, "Searcher of large spaces");
  app.add_flag("--problems", options.problems_only, "Print the problems, one a line, and end");
  app.add_flag("--json", options.json, "Print one JSON object");
  AddDurationOption(app, "--per-problem", options.tune.per_problem_ns,
                    "Tuning time of each problem, as in 500ms or 4s");
}

Status Run(const ChoiceOptions& options, const ChoiceBench& bench) {
  ATTUNE_ASSIGN_OR_RETURN(std::vector<Problem> problems, bench.problems());
  if (options.limit > 0 && problems.size() > options.limit) problems.resize(options.limit);
  if (problems.empty()) return NotFound(fmt::format("No problem matches '{}'.", options.only));
  if (options.problems_only) {
    for (const Problem& problem : problems) fmt::print("{}\n", Text(problem));
    return Status::Ok();
  }
  const LoadedBackends backends = LoadBackends();
  ATTUNE_ASSIGN_OR_RETURN(const Place place, FindPlaceToMeasure(backends, options.device));
  return bench.run(place, problems);
}

}  // namespace

Result<TuneReport> TuneForChoice(Tuner& tuner, const Problem& problem) {
  ATTUNE_ASSIGN_OR_RETURN(TuneReport report, tuner.Tune(problem));
  if (!report.choice.has_value()) {
    return Internal(fmt::format("Nothing could be timed for {}.", Text(problem)));
  }
  return report;
}

std::optional<Candidate> BestTried(const std::string& solver, RecordStore& store,
                                   const Problem& problem) {
  std::optional<Candidate> best;
  double best_ns = 0;
  RecordQuery query;
  query.problem = problem;
  const Status visited = store.Visit(query, [&](const RecordedSet& recorded) {
    for (const Record& record : recorded.records) {
      const Measurement* measurement = record.trial.measurement();
      if (measurement == nullptr || record.trial.candidate.solver.name != solver) continue;
      if (best.has_value() && measurement->median_ns >= best_ns) continue;
      best = record.trial.candidate;
      best_ns = measurement->median_ns;
    }
    return Status::Ok();
  });
  return visited.ok() ? best : std::nullopt;
}

int ChoiceBenchMain(int argc, char** argv, CLI::App& app, ChoiceOptions& options,
                    const ChoiceBench& bench) {
  SetThreadWaitPolicy(argv);
  if (const auto served = MaybeServeRace(argc, argv)) return *served;
  AddOptions(app, options);
  CLI11_PARSE(app, argc, argv);
  const Status status = Run(options, bench);
  if (status.ok()) return 0;
  fmt::print(stderr, "{}: {}\n", app.get_name(), status.message());
  return 1;
}

}  // namespace attune
