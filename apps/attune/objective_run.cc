#include "apps/attune/objective_run.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/attune/front_table.h"
#include "apps/attune/interrupt.h"
#include "apps/attune/labels.h"
#include "apps/attune/outcome_counts.h"
#include "apps/attune/progress.h"
#include "attune/kernel/own_figures.h"
#include "attune/kernel/own_kernel.h"
#include "attune/problem/own_kernel.h"
#include "attune/tuner/new_set.h"
#include "attune/tuner/past_tuning.h"
#include "storage/sql/figure_database.h"
#include "storage/sql/servers/database_servers.h"

namespace attune {
namespace {

// The outcome of one problem.
struct FrontOutcome {
  Problem problem;
  ProblemOutcome::Kind kind = ProblemOutcome::Kind::kNotReached;
  std::string message;
  ObjectiveReport report;  // kTuned only.
  std::optional<ObjectiveFront> front;
};

int64_t TimeOf(const MeasurementSet& set) {
  const auto noted = set.environment.find(std::string(kPerProblemTerm));
  int64_t time_ns = 0;
  if (noted == set.environment.end()) return time_ns;
  const std::string& text = noted->second;
  (void)std::from_chars(text.data(), text.data() + text.size(), time_ns);
  return time_ns;
}

// True if `front` is as good as one that would be measured at `place` now.
bool Suffices(const ObjectiveFront& front, const Place& place, const TuneOptions& tune) {
  if (TimeOf(front.set) < tune.per_problem_ns) return false;
  if (MayTryMore(front.set, tune.max_candidates)) return false;
  const MatchPolicy policy = MatchPolicy::Default();
  return std::all_of(front.points.begin(), front.points.end(), [&](const FrontPoint& point) {
    const Judgement judged = policy.Judge(point.candidate, front.set.target, front.set.environment,
                                          place.target, place.environment);
    return judged.validity == Validity::kHolds;
  });
}

Json OutcomeJson(const FrontOutcome& outcome) {
  Json json = {{"problem", Text(outcome.problem)},
               {"state", Name(outcome.kind)},
               {"message", outcome.message},
               {"considered", outcome.report.considered},
               {"taken_over", outcome.report.taken_over},
               {"qualified", outcome.report.qualified},
               {"measured", outcome.report.measured},
               {"whole_space", outcome.report.is_whole},
               {"rounds", outcome.report.rounds},
               {"wall_ns", outcome.report.wall_ns},
               {"notes", outcome.report.notes}};
  Json failures = Json::object();
  for (const auto& [kind, count] : outcome.report.failures) {
    failures[std::string(Name(kind))] = count;
  }
  json["failures"] = std::move(failures);
  json["front"] = outcome.front.has_value() ? ToJson(*outcome.front) : Json();
  return json;
}

void PrintOutcome(const FrontOutcome& outcome, Application& application) {
  Output& out = application.out();
  const std::string label = Label(outcome.problem);
  if (outcome.front.has_value()) {
    out.Print(fmt::format("{}\n", label));
    out.Print(FrontTable(*outcome.front).Render(out.screen(), out.width()));
    out.Flush();
  }
  if (!outcome.message.empty()) {
    application.err().Print(fmt::format("{}: {}\n", label, Printable(outcome.message)));
  }
  for (const std::string& note : outcome.report.notes) {
    application.err().Print(fmt::format("{}: {}\n", label, Printable(note)));
  }
}

// All problems of a run, one after the other.
class Runner {
 public:
  Runner(Application& application, Workshop& workshop, const Place& place, const ObjectiveRun& run,
         FigureStore& figures)
      : application_(application),
        place_(place),
        run_(run),
        figures_(figures),
        parts_(workshop.PartsFor(application.all_records())),
        tuner_(parts_, run.tune),
        progress_(application.err(), clock_) {
    bounds_.stop_requested = [this] { return interruption_.requested(); };
    if (run.run.budget_ns > 0) bounds_.end_ns = application.begin_ns() + run.run.budget_ns;
  }

  Result<FrontOutcome> Tune(const Problem& problem, const Sought& sought, size_t problem_count) {
    FrontOutcome outcome;
    state_.problem_count = problem_count;
    outcome.problem = problem;
    state_.problem = &problem;
    const FrontQuery query{problem, place_.target, run_.objective};
    ATTUNE_ASSIGN_OR_RETURN(outcome.front, FindFront(*parts_.store, figures_, query));
    const bool is_tuned = outcome.front.has_value() && !run_.run.retune &&
                          Suffices(*outcome.front, place_, run_.tune);
    const bool is_over =
        interruption_.requested() || (bounds_.end_ns > 0 && clock_.NowNs() >= bounds_.end_ns);
    if (is_tuned) {
      outcome.kind = ProblemOutcome::Kind::kAlreadyTuned;
    } else if (!is_over) {
      const Status tuned = TuneOne(query, sought, outcome);
      if (EndsTheRun(tuned)) return tuned;
      if (!tuned.ok()) NoteError(tuned, outcome);
    }
    ++state_.problem_index;
    return outcome;
  }

 private:
  // The problem could not be tuned; the next one may.
  static void NoteError(const Status& error, FrontOutcome& outcome) {
    outcome.message = error.message();
    if (error.code() == StatusCode::kDeadlineExceeded) return;
    outcome.kind = error.code() == StatusCode::kUnsupported ? ProblemOutcome::Kind::kUnsupported
                                                            : ProblemOutcome::Kind::kFailed;
  }

  Status TuneOne(const FrontQuery& query, const Sought& sought, FrontOutcome& outcome) {
    ATTUNE_ASSIGN_OR_RETURN(const auto solvers, tuner_.FindParticipants(query.problem));
    const Tuner::Listener listener = [this](const TuneProgress& tune) {
      state_.tune = tune;
      state_.elapsed_ns = application_.ElapsedNs();
      progress_.Show(state_);
    };
    TuneOptions tune = run_.tune;
    tune.goes_on = true;
    ObjectiveSession session({parts_, tune, figures_, query.problem, sought}, listener);
    ATTUNE_ASSIGN_OR_RETURN(auto standing, tuner_.FindStanding(query.problem));
    if (standing.has_value()) session.Challenge(*std::move(standing));
    auto report = session.Run(solvers, bounds_);
    progress_.Clear();
    if (!report.ok()) return report.error();
    outcome.report = *std::move(report);
    ATTUNE_ASSIGN_OR_RETURN(outcome.front, FindFront(*parts_.store, figures_, query));
    const bool is_new = outcome.front.has_value() && outcome.front->set.id == outcome.report.set_id;
    outcome.kind = is_new ? ProblemOutcome::Kind::kTuned : ProblemOutcome::Kind::kFailed;
    outcome.message = is_new ? LeftToTry(outcome.report) : WhyNone(outcome.report);
    return Status::Ok();
  }

  static std::string WhyNone(const ObjectiveReport& report) {
    if (report.last_failure.empty()) return "No candidate could be measured in the time it had.";
    return fmt::format("No candidate could be measured. The last of those that failed: {}",
                       report.last_failure);
  }

  // Empty if nothing is.
  std::string LeftToTry(const ObjectiveReport& report) const {
    if (report.is_whole) return "";
    if (run_.tune.max_candidates > 0 && report.considered >= run_.tune.max_candidates) {
      return fmt::format("{} candidates were measured, and more are not tried: --candidates is {}.",
                         report.measured, run_.tune.max_candidates);
    }
    return fmt::format(
        "{} candidates were measured before the time was over; --per-problem gives more.",
        report.measured);
  }

  Application& application_;
  const Place& place_;
  const ObjectiveRun& run_;
  FigureStore& figures_;
  const OrderlyInterruption interruption_;
  SteadyClock clock_;
  TunerParts parts_;
  Tuner tuner_;
  TuneBounds bounds_;
  RunProgress state_;
  ProgressReporter progress_;
};

Result<std::unique_ptr<FigureStore>> OpenFigures(const Application& application, StoreUse use) {
  ATTUNE_ASSIGN_OR_RETURN(const std::string path, application.DatabasePath());
  SqlStoreOptions options;
  options.use = use;
  options.server_at = DatabaseServerAt;
  ATTUNE_ASSIGN_OR_RETURN(auto database, OpenSqlDatabase(path, options));
  return FiguresIn(std::move(database));
}

std::string FigureNames(const kernel::KernelFile& file) {
  std::vector<std::string> names = {std::string(kTimeObjective), std::string(kEnergyObjective)};
  for (const kernel::OwnFigure& figure : file.own->figures) names.push_back(figure.objective.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

Result<std::unique_ptr<FigureStore>> FiguresToRead(const Application& application) {
  auto figures = OpenFigures(application, StoreUse::kRead);
  if (figures.ok() || figures.error().code() != StatusCode::kNotFound) return figures;
  return std::unique_ptr<FigureStore>();
}

Result<std::vector<std::string>> ParseObjectives(const std::string& text) {
  std::vector<std::string> names;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    names.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  for (const std::string& name : names) {
    const bool is_name = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    });
    if (is_name && std::count(names.begin(), names.end(), name) == 1) continue;
    return InvalidArgument(fmt::format(
        "--objective '{}': '{}' {}.", Printable(text), Printable(name),
        is_name ? "stands twice"
                : "is no name: one has a-z 0-9 _, and two are apart by a comma without a blank"));
  }
  if (names.size() <= kMaxObjectives) return names;
  return InvalidArgument(fmt::format("--objective {} has {} names; one or two are possible.",
                                     Printable(text), names.size()));
}

Result<Sought> SoughtBy(const std::vector<std::string>& names, const std::string& kernel_file,
                        const Place& place, const Problem& problem) {
  ATTUNE_ASSIGN_OR_RETURN(const kernel::KernelFile file,
                          kernel::LoadOwnKernel(kernel_file, place.target.backend));
  ATTUNE_ASSIGN_OR_RETURN(const OwnKernelProblem own, OwnKernelOf(problem));
  Sought sought;
  for (const std::string& name : names) {
    if (name == kTimeObjective) {
      sought.objectives.push_back(TimeObjective());
      continue;
    }
    if (name == kEnergyObjective) {
      sought.objectives.push_back(EnergyObjective());
      sought.meter.energy = true;
      continue;
    }
    const kernel::OwnFigure* const figure = kernel::FindFigure(file, name);
    sought.objectives.push_back(figure->objective);
    ATTUNE_ASSIGN_OR_RETURN(sought.meter.outputs.emplace_back(),
                            kernel::SourceOf(*figure, file, own.sizes));
  }
  return sought;
}

Status CheckObjective(const Application& application, const ObjectiveRun& run,
                      const std::string& device) {
  ATTUNE_ASSIGN_OR_RETURN(const auto names, ParseObjectives(run.objective));
  if (run.kernel_file.empty()) {
    return InvalidArgument("--objective is for a kernel of your own: give --kernel FILE.");
  }
  if (application.names_session()) {
    return InvalidArgument("--objective and --session do not go together: leave one of them out.");
  }
  if (device.ends_with(":all")) {
    return InvalidArgument("--objective works at one device at a time: name one, as cuda:0.");
  }
  if (!run.tune.prune.none()) {
    return InvalidArgument(
        "--prune and --top go by what a model says of times: leave them out, or --objective.");
  }
  if (run.tune.limits.max_launches > 0) {
    return InvalidArgument(
        "--max-iterations is of races for time, and --objective has none: leave one of them out.");
  }
  ATTUNE_ASSIGN_OR_RETURN(const kernel::KernelFile file, kernel::LoadOwnKernel(run.kernel_file));
  for (const std::string& name : names) {
    const bool is_known = name == kTimeObjective || name == kEnergyObjective ||
                          kernel::FindFigure(file, name) != nullptr;
    if (is_known) continue;
    return InvalidArgument(fmt::format("Kernel {} has no figure '{}'; --objective may name {}.",
                                       file.name, name, FigureNames(file)));
  }
  return Status::Ok();
}

Result<int> TuneForObjective(Application& application, Workshop& workshop, const Place& place,
                             const ObjectiveRun& run, const std::vector<TaggedProblem>& problems) {
  ATTUNE_ASSIGN_OR_RETURN(const auto names, ParseObjectives(run.objective));
  // Reports impossible objectives before anything is tried.
  std::vector<Sought> sought;
  for (const TaggedProblem& tagged : problems) {
    auto meant = SoughtBy(names, run.kernel_file, place, tagged.problem);
    if (!meant.ok()) return meant.error().WithContext(Label(tagged.problem));
    sought.push_back(*std::move(meant));
  }
  ATTUNE_ASSIGN_OR_RETURN(const auto figures, OpenFigures(application, StoreUse::kRecord));
  Runner runner(application, workshop, place, run, *figures);
  Json list = Json::array();
  OutcomeCounts counts;
  for (size_t i = 0; i < problems.size(); ++i) {
    ATTUNE_ASSIGN_OR_RETURN(const FrontOutcome outcome,
                            runner.Tune(problems[i].problem, sought[i], problems.size()));
    counts.Add(outcome.kind);
    if (run.json) {
      list.push_back(OutcomeJson(outcome));
    } else {
      PrintOutcome(outcome, application);
    }
  }
  if (run.json) {
    application.out().Print(Dump({{"objective", run.objective},
                                  {"problems", std::move(list)},
                                  {"wall_ns", application.ElapsedNs()}}));
  }
  ATTUNE_RETURN_IF_ERROR(application.CheckDatabaseIsKept());
  return ExitStatusOf(counts);
}

Result<int> PrintFronts(Application& application, const ObjectiveRun& run, const Target& target,
                        const std::vector<TaggedProblem>& problems) {
  ATTUNE_ASSIGN_OR_RETURN(RecordStore * store, application.StoreToRead());
  ATTUNE_ASSIGN_OR_RETURN(const auto figures, FiguresToRead(application));
  Json list = Json::array();
  for (const TaggedProblem& tagged : problems) {
    FrontOutcome outcome;
    outcome.problem = tagged.problem;
    if (figures != nullptr) {
      ATTUNE_ASSIGN_OR_RETURN(outcome.front,
                              FindFront(*store, *figures, {tagged.problem, target, run.objective}));
    }
    if (run.json) {
      list.push_back({{"problem", Text(tagged.problem)},
                      {"front", outcome.front.has_value() ? ToJson(*outcome.front) : Json()}});
      continue;
    }
    if (!outcome.front.has_value()) {
      outcome.message = fmt::format(
          "Not tuned here for '{}'. 'attune tune --kernel {} --objective {}' does that.",
          run.objective, ShellWord(run.kernel_file), run.objective);
    }
    PrintOutcome(outcome, application);
  }
  if (run.json) application.out().Print(Dump(list));
  return kExitDone;
}

}  // namespace attune
