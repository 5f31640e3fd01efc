#include "apps/attune/session/solver_survey.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "attune/verify/problem_data.h"
#include "runtime/compile_place.h"

namespace attune {
namespace {

// Kernel files report themselves so: their code is a solver's, not a library's.
constexpr std::string_view kKernelReport = "kernel ";

bool Fits(const SessionTerms& terms, const Target& target) {
  return terms.target.has_value() ? *terms.target == target
                                  : terms.backend == target.backend && terms.arch == target.arch;
}

// True if there is more than one config of `solver` for `problem`.
bool HasChoice(const Solver& solver, const Problem& problem, const Target& target) {
  if (solver.traits().listed_on_device || solver.traits().searches) return true;
  const auto space = solver.Space(problem, target);
  return space.ok() && space->size() > 1;
}

struct Findings {
  std::vector<ProblemSolvers> problems;
  std::map<const Solver*, bool> tunable;  // Solvers that apply to some problem.
};

using Known = std::map<Fingerprint, const ProblemSolvers*>;

// Skips the solvers of `known` problems: unchanged solvers give the same answer again, and some
// take tens of microseconds for it.
Findings AskSolvers(const SessionPlace& place, const std::vector<TaggedProblem>& problems,
                    const Known& known) {
  Findings findings;
  for (const TaggedProblem& tagged : problems) {
    ProblemSolvers& found = findings.problems.emplace_back();
    found.problem = tagged.problem;
    if (const auto before = known.find(KeyOf(tagged.problem)); before != known.end()) {
      found.solvers = before->second->solvers;
      continue;
    }
    if (!ProblemData::CheckMemory(tagged.problem).ok()) continue;
    const std::string_view name = OperatorName(tagged.problem);
    for (const auto& solver : place.backend->solvers()) {
      const SolverTraits& traits = solver->traits();
      if (traits.operator_name != name || traits.last_resort) continue;
      if (!solver->IsApplicable(tagged.problem, place.target).ok()) continue;
      found.solvers.push_back(solver->id().name);
      bool& tunable = findings.tunable[solver.get()];
      tunable = tunable || HasChoice(*solver, tagged.problem, place.target);
    }
  }
  return findings;
}

std::vector<SolverEntry> EntriesOf(const SessionPlace& place, const SolverTable& before,
                                   const Findings& findings) {
  std::vector<SolverEntry> entries;
  for (const auto& solver : place.backend->solvers()) {
    const SolverTraits& traits = solver->traits();
    if (traits.last_resort) continue;
    SolverEntry& entry = entries.emplace_back();
    entry.solver = solver->id();
    entry.operator_name = traits.operator_name;
    entry.dynamic = traits.dynamic;
    entry.compiles = traits.compiles;
    const SolverEntry* const known = FindEntry(before, entry.solver.name);
    if (place.has_device()) {
      entry.code = CodeOf(entry.solver.name, place.environment);
    } else if (known != nullptr && known->solver == entry.solver) {
      entry.code = known->code;
    } else {
      entry.code = UnknownCode();
    }
    const auto found = findings.tunable.find(solver.get());
    entry.tunable = (known != nullptr && known->tunable && ReasonStale(*known, &entry).empty()) ||
                    (found != findings.tunable.end() && found->second);
  }
  return entries;
}

// In both directions: a library that is new is another environment, too.
Status CheckSame(const Session& session, const SessionPlace& place) {
  const auto differences =
      DifferencesOf(session.terms, place.target, FixedHere(*place.backend, place.environment));
  if (differences.empty()) return Status::Ok();
  return FailedPrecondition(fmt::format(
      "Session '{}' is for another environment: {}. Restore what it was made for, or make a new "
      "session.",
      session.name, fmt::join(differences, "; ")));
}

// True if `entries` equal those of the table, except for `tunable`, which was found by asking
// solvers.
bool AreThoseOf(const SolverTable& table, std::vector<SolverEntry> entries) {
  return std::equal(entries.begin(), entries.end(), table.entries.begin(), table.entries.end(),
                    [](SolverEntry& now, const SolverEntry& then) {
                      now.tunable = then.tunable;
                      return now.SameAs(then);
                    });
}

}  // namespace

SessionPlace SessionPlaceAt(const Place& place) {
  return {place.backend, nullptr, place.device_spec, place.target, place.environment, {}};
}

Result<std::optional<Place>> FindDeviceFor(Application& application, const SessionTerms& terms) {
  // No plug-in is loaded, which may bring a compiler with it, but the one that is meant.
  const BackendList& backends = application.lazy_backends();
  for (const auto& backend : backends) {
    if (backend->name() != terms.backend) continue;
    for (const DeviceReport& report : backend->Devices()) {
      if (!report.reason.empty() || !Fits(terms, report.target)) continue;
      ATTUNE_ASSIGN_OR_RETURN(Place found, FindPlace(backends, report.spec));
      return std::optional<Place>(std::move(found));
    }
  }
  return std::optional<Place>();
}

std::string SubjectOf(const SessionTerms& terms) {
  return terms.target.has_value() ? Text(*terms.target)
                                  : fmt::format("{}:{}", terms.backend, terms.arch);
}

std::string OtherDevicesHere(Application& application, const SessionTerms& terms) {
  std::string sentence;
  for (const auto& backend : application.lazy_backends()) {
    if (backend->name() != terms.backend) continue;
    for (const DeviceReport& report : backend->Devices()) {
      if (!report.reason.empty() || Fits(terms, report.target)) continue;
      fmt::format_to(std::back_inserter(sentence), "{}{}, which is {}",
                     sentence.empty() ? " Here is " : "; ", report.spec, Text(report.target));
    }
  }
  return sentence.empty() ? sentence : sentence + ".";
}

namespace {

Result<SessionPlace> FindPlaceFor(Application& application, const std::string& asks_for,
                                  const SessionTerms& terms) {
  ATTUNE_ASSIGN_OR_RETURN(const std::optional<Place> device, FindDeviceFor(application, terms));
  if (device.has_value()) return SessionPlaceAt(*device);
  auto compile_place = FindCompilePlace(terms.arch);
  if (!compile_place.ok()) {
    return NotFound(fmt::format(
        "The solvers for {}, which {} is for, cannot be asked: neither that device nor a plug-in "
        "that compiles for it is here.{} 'attune devices' says what is missing; run this where one "
        "of them is. {}",
        SubjectOf(terms), asks_for, OtherDevicesHere(application, terms),
        compile_place.error().message()));
  }
  SessionPlace place;
  place.owned = std::move(compile_place->backend);
  place.backend = place.owned.get();
  place.target = terms.target.value_or(compile_place->target);
  place.environment = place.backend->DescribeEnvironment();
  place.toolchain = std::move(compile_place->toolchain);
  return place;
}

}  // namespace

Result<SessionPlace> FindSessionPlace(Application& application, const Session& session) {
  return FindPlaceFor(application, fmt::format("session '{}'", session.name), session.terms);
}

Result<SessionPlace> FindTargetPlace(Application& application, const std::string& asks_for,
                                     const Target& target) {
  return FindPlaceFor(application, asks_for, {target.backend, target.arch, target, {}});
}

Environment FixedHere(const Backend& backend, const Environment& environment) {
  std::set<std::string, std::less<>> libraries;
  for (const LibraryReport& report : backend.Libraries()) {
    if (!report.name.starts_with(kKernelReport)) libraries.insert(report.name);
  }
  return FixedPart(environment,
                   [&](std::string_view library) { return !libraries.contains(library); });
}

Status CheckToolchain(const Session& session, const LibraryReport& toolchain) {
  if (!session.terms.target.has_value()) return Status::Ok();
  const std::string field = "library." + toolchain.name;
  SessionTerms terms = session.terms;
  std::erase_if(terms.fixed, [&](const auto& fixed) {
    return fixed.first != field && !fixed.first.starts_with(field + ".");
  });
  const auto differences =
      DifferencesOf(terms, *terms.target,
                    {{field, toolchain.version}, {field + ".build_id", toolchain.build_id}});
  if (differences.empty()) return Status::Ok();
  return FailedPrecondition(fmt::format(
      "What is compiled here would not be used in session '{}', whose device compiles with "
      "another {}: {}. Restore what the session was made for, or compile where that is.",
      session.name, toolchain.name, fmt::join(differences, "; ")));
}

Status CheckSessionPlace(const Session& session, const SessionPlace& place) {
  ATTUNE_RETURN_IF_ERROR(CheckBelongs(session, place.target, place.environment));
  return CheckSame(session, place);
}

Status EnterSession(Application& application, const Session& session, const SessionPlace& place) {
  ATTUNE_RETURN_IF_ERROR(CheckSessionPlace(session, place));
  if (session.terms.target.has_value()) return Status::Ok();
  ATTUNE_RETURN_IF_ERROR(
      application.sessions()
          ->Bind(session.id, place.target, FixedHere(*place.backend, place.environment))
          .status());
  application.err().Print(
      fmt::format("Session '{}' is for {} from now on.\n", session.name, Text(place.target)));
  return Status::Ok();
}

Result<SolverSurvey> SurveySolvers(Application& application, const Session& session,
                                   const SessionPlace& place,
                                   const std::vector<TaggedProblem>& problems) {
  SessionStore& sessions = *application.sessions();
  if (place.has_device()) ATTUNE_RETURN_IF_ERROR(CheckSame(session, place));
  ATTUNE_ASSIGN_OR_RETURN(const SolverTable before, sessions.Solvers(session.id));
  std::vector<ProblemSolvers> answers;
  if (AreThoseOf(before, EntriesOf(place, before, {}))) {
    ATTUNE_ASSIGN_OR_RETURN(answers, sessions.Applicability(session.id, before.generation));
  }
  Known answered;
  for (const ProblemSolvers& problem : answers) answered.emplace(KeyOf(problem.problem), &problem);
  Findings findings = AskSolvers(place, problems, answered);
  SolverSurvey survey;
  ATTUNE_ASSIGN_OR_RETURN(survey.table,
                          sessions.UpdateSolvers(session.id, EntriesOf(place, before, findings)));
  // A table that has changed knows nothing of any problem.
  const bool is_same = survey.table.generation == before.generation;
  std::vector<ProblemSolvers> changed;
  for (const ProblemSolvers& problem : findings.problems) {
    if (!is_same || !answered.contains(KeyOf(problem.problem))) changed.push_back(problem);
  }
  survey.changed = changed.size();
  if (!changed.empty()) {
    ATTUNE_RETURN_IF_ERROR(sessions.SetApplicability(session.id, survey.table.generation, changed));
  }
  survey.problems = std::move(findings.problems);
  return survey;
}

}  // namespace attune
