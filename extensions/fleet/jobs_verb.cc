// attune jobs: the jobs of a session.

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/attune/counted.h"
#include "apps/attune/json_text.h"
#include "apps/attune/labels.h"
#include "apps/attune/session/solver_survey.h"
#include "apps/attune/session/stale_jobs.h"
#include "apps/attune/table.h"
#include "attune/base/text.h"
#include "attune/base/user_at_host.h"
#include "attune/session/job_store.h"
#include "attune/trial/match_policy.h"
#include "extensions/fleet/fleet_queue.h"
#include "extensions/fleet/fleet_verbs.h"

namespace attune {
namespace {

constexpr size_t kShownJobs = 40;
// Above any useful priority, and below the value that a number too long for 64 bits parses to: such
// a number is refused.
constexpr int64_t kMostPriority = 1'000'000'000;
constexpr int64_t kMostJobId = std::numeric_limits<int64_t>::max() - 1;

struct LoadOptions {
  ProblemSelection selection;
  std::vector<std::string> steps;
  std::vector<std::string> solvers;
  std::string algorithm;
  bool dynamic_only = false;
  bool tunable_only = false;
  int64_t priority = 0;
  std::string reason;
  std::string queue;
  bool json = false;
};

// The filters for the jobs of the other verbs.
struct FilterOptions {
  std::string session;
  std::vector<std::string> steps;
  std::vector<std::string> states;
  std::string solver;
  std::vector<int64_t> ids;
  std::string reason;
  bool stale = false;
  bool all = false;
  bool json = false;
};

Result<std::vector<JobStep>> StepsOf(const std::vector<std::string>& names) {
  std::vector<JobStep> steps;
  for (const std::string& name : names) {
    ATTUNE_ASSIGN_OR_RETURN(steps.emplace_back(), ParseJobStep(name));
  }
  return steps;
}

// True if `options` select `entry`. An algorithm is a word of the solver's name.
bool IsMeant(const LoadOptions& options, const SolverEntry& entry) {
  if (options.dynamic_only && !entry.dynamic) return false;
  if (options.tunable_only && !entry.tunable) return false;
  if (!options.algorithm.empty() && !RunsLibrary(entry.solver.name, options.algorithm))
    return false;
  return options.solvers.empty() || std::find(options.solvers.begin(), options.solvers.end(),
                                              entry.solver.name) != options.solvers.end();
}

// kNotFound for a name that no solver has: it would silently load nothing.
Status CheckNames(const LoadOptions& options, const SolverTable& table) {
  for (const std::string& name : options.solvers) {
    if (FindEntry(table, name) != nullptr) continue;
    return NotFound(fmt::format(
        "The session knows no solver '{}'. 'attune applicability --session {}' lists them.",
        Printable(name), ShellWord(options.selection.session)));
  }
  return Status::Ok();
}

// Requested jobs that exist already and do not run again by themselves.
struct EndedJobs {
  int64_t failed = 0;
  int64_t cancelled = 0;
};

Result<EndedJobs> CountEnded(Application& application, const std::vector<JobStep>& steps,
                             const std::vector<ProblemSolvers>& problems) {
  std::set<std::pair<Fingerprint, std::string_view>> asked;
  for (const ProblemSolvers& each : problems) {
    for (const std::string& solver : each.solvers) asked.emplace(KeyOf(each.problem), solver);
  }
  JobFilter filter;
  filter.steps = steps;
  filter.states = {JobState::kFailed, JobState::kCancelled};
  ATTUNE_ASSIGN_OR_RETURN(const auto jobs,
                          application.jobs()->List(application.session()->id, filter));
  EndedJobs ended;
  for (const Job& job : jobs) {
    if (!asked.contains({KeyOf(job.problem), job.solver})) continue;
    ++(job.state == JobState::kFailed ? ended.failed : ended.cancelled);
  }
  return ended;
}

// A sentence about `ended`; empty if there are none.
std::string TextOf(const EndedJobs& ended, const std::string& session) {
  if (ended.failed + ended.cancelled == 0) return "";
  return fmt::format(
      "Of those, {} failed and {} {} cancelled, and stay so: 'attune jobs retry --session {}' "
      "queues them again.\n",
      ended.failed, ended.cancelled, IsOrAre(ended.cancelled), ShellWord(session));
}

Result<int> RunLoad(Application& application, const LoadOptions& options) {
  JobLoad load;
  ATTUNE_ASSIGN_OR_RETURN(load.steps, StepsOf(options.steps));
  load.priority = options.priority;
  load.reason = options.reason;
  load.loaded_by = UserAtHost();
  ATTUNE_RETURN_IF_ERROR(application.store().status());
  ATTUNE_ASSIGN_OR_RETURN(const auto problems, Resolve(application, options.selection));
  const Session& session = *application.session();
  ATTUNE_ASSIGN_OR_RETURN(const SessionPlace place, FindSessionPlace(application, session));
  ATTUNE_ASSIGN_OR_RETURN(SolverSurvey survey,
                          SurveySolvers(application, session, place, problems));
  ATTUNE_RETURN_IF_ERROR(CheckNames(options, survey.table));
  std::set<std::string> meant;
  for (const SolverEntry& entry : survey.table.entries) {
    if (entry.compiles) load.compiling_solvers.push_back(entry.solver.name);
    if (IsMeant(options, entry)) meant.insert(entry.solver.name);
  }
  for (ProblemSolvers& problem : survey.problems) {
    std::erase_if(problem.solvers,
                  [&](const std::string& solver) { return !meant.contains(solver); });
  }
  if (!options.selection.tag.empty()) {
    ATTUNE_RETURN_IF_ERROR(application.sessions()->AddTag(session.id, options.selection.tag));
  }
  ATTUNE_ASSIGN_OR_RETURN(const LoadedJobs loaded,
                          application.jobs()->Load(session.id, load, survey.problems));
  EndedJobs ended;
  if (loaded.already_there > 0) {
    ATTUNE_ASSIGN_OR_RETURN(ended, CountEnded(application, load.steps, survey.problems));
  }
  if (options.json) {
    application.out().Print(Dump({{"added", loaded.added},
                                  {"already_there", loaded.already_there},
                                  {"failed", ended.failed},
                                  {"cancelled", ended.cancelled},
                                  {"raised", loaded.raised},
                                  {"problems", survey.problems.size()}}));
  } else {
    application.out().Print(
        fmt::format("{} added for {}, {} {} there already{}.\n", Counted(loaded.added, "job"),
                    Counted(survey.problems.size(), "problem"), loaded.already_there,
                    loaded.already_there == 1 ? "was" : "were",
                    loaded.raised == 0 ? ""
                                       : fmt::format("; {} {} raised to priority {}", loaded.raised,
                                                     IsOrAre(loaded.raised), load.priority)));
    application.out().Print(TextOf(ended, session.name));
  }
  PublishNow(application, session, options.queue);
  if (loaded.added + loaded.already_there > 0) return kExitDone;
  return FailedPrecondition(
      "No solver that was asked for applies to any of these problems, so there is nothing to do.");
}

Result<JobFilter> FilterOf(const FilterOptions& options) {
  JobFilter filter;
  ATTUNE_ASSIGN_OR_RETURN(filter.steps, StepsOf(options.steps));
  for (const std::string& name : options.states) {
    ATTUNE_ASSIGN_OR_RETURN(filter.states.emplace_back(), ParseJobState(name));
  }
  filter.solver = options.solver;
  filter.ids = options.ids;
  return filter;
}

Json JobJson(const Job& job, const std::string& stale) {
  Json json = {{"id", job.id},
               {"problem", Text(job.problem)},
               {"solver", job.solver},
               {"step", Text(job.step)},
               {"state", Name(job.state)},
               {"ready", job.is_ready},
               {"priority", job.priority},
               {"attempts", job.attempts},
               {"owner", job.owner},
               {"deadline_unix_ns", job.deadline_unix_ns},
               {"changed_unix_ns", job.changed_unix_ns},
               {"reason", job.reason},
               {"loaded_by", job.loaded_by},
               {"set_id", job.set_id},
               {"error_class", job.error.kind},
               {"stale", stale}};
  PutBytes("error", job.error.text, json);
  return json;
}

// The note beside the state of a job.
std::string Remark(const Job& job, const std::string& stale) {
  if (!stale.empty()) return "stale: " + stale;
  if (!job.error.kind.empty()) {
    return fmt::format("{}: {}", Printable(job.error.kind), Printable(job.error.text));
  }
  if (job.state == JobState::kLeased) return Printable(job.owner);
  return job.state == JobState::kQueued && !job.is_ready ? "waits for its compile" : "";
}

Result<int> RunList(Application& application, const FilterOptions& options) {
  ATTUNE_ASSIGN_OR_RETURN(const JobFilter filter, FilterOf(options));
  ATTUNE_RETURN_IF_ERROR(application.StoreToRead().status());
  const Session& session = *application.session();
  ATTUNE_ASSIGN_OR_RETURN(auto jobs, application.jobs()->List(session.id, filter));
  ATTUNE_ASSIGN_OR_RETURN(const StaleJobs stale,
                          StaleJobs::Of(*application.sessions(), session.id));
  if (options.stale) {
    std::erase_if(jobs, [&](const Job& job) { return stale.Reason(job).empty(); });
  }
  Output& out = application.out();
  if (options.json) {
    Json list = Json::array();
    for (const Job& job : jobs) list.push_back(JobJson(job, stale.Reason(job)));
    out.Print(Dump(list));
    return kExitDone;
  }
  if (jobs.empty() && session.job_count > 0) {
    out.Print(options.stale ? "None of them is stale.\n" : "None of the session's jobs is such.\n");
    return kExitDone;
  }
  if (jobs.empty()) {
    out.Print(
        fmt::format("There are no such jobs. 'attune jobs load --session {} --tag TAG --steps "
                    "perf:measure' loads some.\n",
                    ShellWord(session.name)));
    return kExitDone;
  }
  Table table({{"job", Column::Align::kRight},
               {"step"},
               {"state"},
               {"tries", Column::Align::kRight},
               {"solver"},
               {"problem", Column::Align::kLeft, Column::Fit::kCut},
               {"remark", Column::Align::kLeft, Column::Fit::kCut}});
  size_t shown = 0;
  for (const Job& job : jobs) {
    if (!options.all && ++shown > kShownJobs) break;
    table.AddRow({fmt::format("{}", job.id), Text(job.step), std::string(Name(job.state)),
                  fmt::format("{}", job.attempts), job.solver, Label(job.problem),
                  Remark(job, stale.Reason(job))},
                 job.state == JobState::kFailed ? Colour::kYellow : Colour::kPlain);
  }
  out.Print(table.Render(out.screen(), out.width()));
  if (!options.all && jobs.size() > kShownJobs) {
    out.Print(fmt::format("... and {} more: --all shows them.\n", jobs.size() - kShownJobs));
  }
  return kExitDone;
}

// kNotFound: the verb named jobs that do not exist (a misspelt name, for example) and changed
// nothing. `participle` names the refused action.
Result<int> NoSuchJobs(Application& application, std::string_view participle) {
  const Session& session = *application.session();
  ATTUNE_ASSIGN_OR_RETURN(const auto jobs, application.jobs()->List(session.id, {}));
  std::map<std::string_view, int64_t> counts;
  for (const Job& job : jobs) ++counts[Name(job.state)];
  std::string states;
  for (const auto& [state, count] : counts) {
    states += fmt::format("{}{} {}", states.empty() ? "" : ", ", count, state);
  }
  return NotFound(fmt::format(
      "No job that was asked for can be {}; session '{}' has {}. 'attune jobs list --session {}' "
      "shows them.",
      participle, Printable(session.name), states.empty() ? "none" : states,
      ShellWord(session.name)));
}

// kNotFound names the jobs of `ids` that the session does not have.
Status CheckJobs(Application& application, const std::vector<int64_t>& ids) {
  if (ids.empty()) return Status::Ok();
  const Session& session = *application.session();
  JobFilter filter;
  filter.ids = ids;
  ATTUNE_ASSIGN_OR_RETURN(const auto jobs, application.jobs()->List(session.id, filter));
  std::set<int64_t> missing(ids.begin(), ids.end());
  for (const Job& job : jobs) missing.erase(job.id);
  if (missing.empty()) return Status::Ok();
  return NotFound(fmt::format(
      "Session '{}' has no job {}, and nothing was changed. 'attune jobs list --session {}' "
      "shows those that it has, with their numbers.",
      Printable(session.name), fmt::join(missing, ", "), ShellWord(session.name)));
}

Result<int> RunCancel(Application& application, const FilterOptions& options) {
  ATTUNE_ASSIGN_OR_RETURN(const JobFilter filter, FilterOf(options));
  ATTUNE_RETURN_IF_ERROR(application.store().status());
  ATTUNE_RETURN_IF_ERROR(CheckJobs(application, options.ids));
  const std::string why = options.reason.empty()
                              ? fmt::format("by {}", UserAtHost())
                              : fmt::format("{} (by {})", options.reason, UserAtHost());
  ATTUNE_ASSIGN_OR_RETURN(
      const int64_t count,
      application.jobs()->Cancel(application.session()->id, filter, {"by hand", why}));
  if (count == 0) return NoSuchJobs(application, "cancelled");
  application.out().Print(options.json ? Dump({{"cancelled", count}})
                                       : Counted(count, "job") + " cancelled.\n");
  return kExitDone;
}

Result<int> RunRetry(Application& application, const FilterOptions& options) {
  ATTUNE_ASSIGN_OR_RETURN(JobFilter filter, FilterOf(options));
  if (filter.states.empty()) filter.states = {JobState::kFailed, JobState::kCancelled};
  ATTUNE_RETURN_IF_ERROR(application.store().status());
  ATTUNE_RETURN_IF_ERROR(CheckJobs(application, options.ids));
  ATTUNE_ASSIGN_OR_RETURN(const int64_t count,
                          application.jobs()->Requeue(application.session()->id, filter));
  if (count == 0) return NoSuchJobs(application, "queued again");
  application.out().Print(options.json ? Dump({{"queued", count}})
                                       : Counted(count, "job") + " queued again.\n");
  return kExitDone;
}

void AddFilterOptions(CLI::App& verb, FilterOptions& options, Invocation& invocation) {
  AddSessionOption(verb, options.session, invocation, "The session")->required();
  verb.add_option("--step", options.steps, "Only of this step; may be repeated")
      ->allow_extra_args(false)
      ->type_name("STEP");
  verb.add_option("--state", options.states, "Only in this state; may be repeated")
      ->allow_extra_args(false)
      ->type_name("STATE");
  verb.add_option("--solver", options.solver, "Only of the solver of this name")->type_name("NAME");
  verb.add_option("--job", options.ids, "Only the job of this number; may be repeated")
      ->allow_extra_args(false)
      ->check(CLI::Range(int64_t{1}, kMostJobId))
      ->type_name("N");
}

// An option that takes names separated by commas, with optional blanks. An empty name is a usage
// error that quotes it: the parser alone would take the next option for the name.
CLI::Option* AddNamesOption(CLI::App& verb, const std::string& option,
                            std::vector<std::string>& names, const std::string& description) {
  const auto split = [option, &names](const std::string& text) {
    size_t begin = 0;
    while (begin <= text.size()) {
      const size_t end = std::min(text.find(',', begin), text.size());
      const std::string_view name = Trimmed(std::string_view(text).substr(begin, end - begin));
      if (name.empty()) {
        throw CLI::ValidationError(
            option, fmt::format("'{}' has an empty name; it takes names with one comma between "
                                "two of them.",
                                Printable(text)));
      }
      names.emplace_back(name);
      begin = end + 1;
    }
  };
  return verb
      .add_option_function<std::vector<std::string>>(
          option,
          [split](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) split(text);
          },
          description)
      ->allow_extra_args(false);
}

void AddLoadVerb(CLI::App& jobs, Invocation& invocation) {
  auto options = std::make_shared<LoadOptions>();
  CLI::App* verb = AddVerb(
      jobs, "load",
      "Queue what is to be done; what is there already stays, at the higher of both priorities",
      "  attune jobs load --session may --tag resnet50 --steps perf:compile,perf:measure\n"
      "  attune jobs load --session may --tag resnet50 --steps find:measure --tunable-only "
      "--priority 5\n\n"
      "The same command with a higher --priority raises what is still queued.");
  AddSelectionOptions(*verb, options->selection, invocation);
  verb->get_option_no_throw("--session")->required();
  AddNamesOption(*verb, "--steps", options->steps,
                 "perf:compile, perf:measure (search the parameters), find:compile, find:measure "
                 "(with recorded parameters)")
      ->required()
      ->type_name("STEP,..");
  AddNamesOption(*verb, "--solvers", options->solvers, "Only the solvers of these names")
      ->type_name("NAME,..");
  verb->add_option("--algorithm", options->algorithm,
                   "Only solvers with this word in their name: gemm, direct, onednn")
      ->type_name("WORD");
  verb->add_flag("--dynamic-only", options->dynamic_only,
                 "Only solvers of which one build serves every size");
  verb->add_flag("--tunable-only", options->tunable_only, "Only solvers with more than one config");
  verb->add_option("--priority", options->priority, "Higher ones are done first")
      ->check(CLI::Range(-kMostPriority, kMostPriority))
      ->capture_default_str()
      ->type_name("N");
  verb->add_option("--reason", options->reason, "Why, for people")->type_name("TEXT");
  AddQueueOption(*verb, options->queue);
  AddJsonFlag(*verb, options->json);
  verb->callback([options, &invocation] {
    invocation.run = [options](Application& application) { return RunLoad(application, *options); };
  });
}

}  // namespace

void AddJobsVerb(CLI::App& program, Invocation& invocation) {
  CLI::App* jobs = AddVerb(
      program, "jobs", "What a session has to do: one solver on one problem, compiled or measured",
      "  attune jobs load --session may --tag resnet50 --steps perf:compile,perf:measure\n"
      "  attune tune --session may\n"
      "  attune jobs list --session may --state failed");
  jobs->require_subcommand(1);
  AddLoadVerb(*jobs, invocation);

  auto listed = std::make_shared<FilterOptions>();
  CLI::App* list = AddVerb(*jobs, "list", "List jobs in the order in which they were loaded",
                           "  attune jobs list --session may --state failed --json");
  AddFilterOptions(*list, *listed, invocation);
  list->add_flag("--stale", listed->stale, "Only those whose solver has changed since they ended");
  list->add_flag("--all", listed->all, "Every one, not the first 40");
  AddJsonFlag(*list, listed->json);
  list->callback([listed, &invocation] {
    invocation.run = [listed](Application& application) { return RunList(application, *listed); };
  });

  auto cancelled = std::make_shared<FilterOptions>();
  CLI::App* cancel = AddVerb(*jobs, "cancel", "Take back what is queued or being worked on",
                             "  attune jobs cancel --session may --step perf:measure\n\n"
                             "Exit status: 1 if there is no such job.");
  AddFilterOptions(*cancel, *cancelled, invocation);
  cancel->add_option("--reason", cancelled->reason, "Why, for people")->type_name("TEXT");
  AddJsonFlag(*cancel, cancelled->json);
  cancel->callback([cancelled, &invocation] {
    invocation.run = [cancelled](Application& application) {
      return RunCancel(application, *cancelled);
    };
  });

  auto retried = std::make_shared<FilterOptions>();
  CLI::App* retry =
      AddVerb(*jobs, "retry", "Queue again what failed or was cancelled, or is in the states named",
              "  attune jobs retry --session may --state cancelled\n\n"
              "Exit status: 1 if there is no such job, or its compile job has not been done.");
  AddFilterOptions(*retry, *retried, invocation);
  AddJsonFlag(*retry, retried->json);
  retry->callback([retried, &invocation] {
    invocation.run = [retried](Application& application) {
      return RunRetry(application, *retried);
    };
  });
}

}  // namespace attune
