#include "extensions/miopen/newest_results.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "attune/formats/miopen/solver_candidate.h"
#include "attune/record/select.h"

namespace attune::miopen {
namespace {

constexpr std::string_view kFailed = "It failed when it was tried last.";
constexpr std::string_view kScreenedOnly =
    "Screened only: it was in no final, and its time is not behind the times of those that were.";

constexpr std::string_view kNothingDecided =
    "In no final that decided: what was chosen before stayed when it was in one, and its time is "
    "not behind the times of those that were.";

bool IsFinal(const Record& record) {
  return record.trial.role == TrialRole::kFinal && record.trial.measurement() != nullptr;
}

// True if the set is complete. Finals are stored all at once, after everything else. A set with
// finals that is not finished is one in which the incumbent stayed.
bool IsWhole(const RecordedSet& recorded) {
  return recorded.finished ||
         std::any_of(recorded.records.begin(), recorded.records.end(), IsFinal);
}

// MIOpen's name of the solver if it is one of MIOpen's.
std::string SolverName(const Candidate& candidate) {
  const auto choice = SolverChoiceOf(candidate);
  return choice.has_value() ? choice->solver : candidate.solver.name;
}

}  // namespace

std::string NewestResults::ObjectionTo(const RecordedSet& recorded, const Trial& trial) const {
  const MeasurementSet& set = recorded.set;
  const std::string stale = reason_stale_(trial.candidate.solver, set.environment);
  if (!stale.empty()) return "Stale: " + stale;
  if (!IsWhole(recorded)) return "Its measurement was not finished.";
  if (!IsCredible(*trial.measurement(), set.cache)) return "The time is impossible.";
  return "";
}

void NewestResults::Add(const RecordedSet& recorded) {
  OfProblem& problem = problems_[Text(recorded.set.problem)];
  const size_t set = problem.sets++;
  // For a candidate timed again in the same role of a set, the last timing counts.
  std::map<std::pair<Candidate, TrialRole>, const Trial*> timed;
  for (const Record& record : recorded.records) {
    const Trial& trial = record.trial;
    if (trial.measurement() != nullptr) timed[{trial.candidate, trial.role}] = &trial;
    if (trial.failure() == nullptr) continue;
    // A failure of another version does not count against the present one.
    if (reason_stale_(trial.candidate.solver, recorded.set.environment).empty()) {
      problem.failures[trial.candidate] = set;
    }
  }
  for (const auto& [key, trial] : timed) {
    problem.solvers[SolverName(trial->candidate)].push_back(
        {{recorded.set.problem, trial->candidate, trial->measurement()->median_ns,
          trial->workspace_bytes},
         trial->role,
         trial->role == TrialRole::kFinal && recorded.finished,
         set,
         ObjectionTo(recorded, *trial)});
  }
}

std::string NewestResults::FinalObjection(const OfProblem& problem, const Timing& timing) {
  if (!timing.objection.empty()) return timing.objection;
  const auto failed = problem.failures.find(timing.result.candidate);
  const bool has_failed = failed != problem.failures.end() && failed->second >= timing.set;
  return std::string(has_failed ? kFailed : "");
}

// The quickest of the newest set with any timing; of its finals if it has some.
std::optional<NewestResults::Timing> NewestResults::Newest(const OfProblem& problem,
                                                           const std::vector<Timing>& timings,
                                                           bool decided) {
  // The smallest is the best.
  const auto rank = [](const Timing& timing) {
    return std::tuple(-static_cast<int64_t>(timing.set), timing.role != TrialRole::kFinal,
                      timing.result.median_ns);
  };
  const Timing* newest = nullptr;
  for (const Timing& timing : timings) {
    if (timing.decided != decided || timing.role == TrialRole::kQualify) continue;
    if (!FinalObjection(problem, timing).empty()) continue;
    if (newest == nullptr || rank(timing) < rank(*newest)) newest = &timing;
  }
  if (newest == nullptr) return std::nullopt;
  return *newest;
}

void NewestResults::TakeProblem(const OfProblem& problem, std::vector<MeasuredResult>& results,
                                LeftOut& left_out) {
  double quickest_ns = std::numeric_limits<double>::infinity();
  std::vector<const std::vector<Timing>*> without_final;
  for (const auto& [solver, timings] : problem.solvers) {
    const auto final = Newest(problem, timings, true);
    if (!final.has_value()) {
      without_final.push_back(&timings);
      continue;
    }
    quickest_ns = std::min(quickest_ns, final->result.median_ns);
    results.push_back(final->result);
  }
  for (const std::vector<Timing>* timings : without_final) {
    const auto undecided = Newest(problem, *timings, false);
    // A race has few rounds, under other conditions than a final; finals that changed nothing are
    // from another time. Either can rank behind a decided final, never before it.
    if (undecided.has_value() && undecided->result.median_ns > quickest_ns) {
      results.push_back(undecided->result);
    } else if (undecided.has_value()) {
      const bool was_in_final = undecided->role == TrialRole::kFinal;
      ++left_out[std::string(was_in_final ? kNothingDecided : kScreenedOnly)];
    } else {
      ++left_out[FinalObjection(problem, timings->back())];
    }
  }
}

std::vector<MeasuredResult> NewestResults::Take(LeftOut& left_out) const {
  std::vector<MeasuredResult> results;
  for (const auto& [text, problem] : problems_) TakeProblem(problem, results, left_out);
  return results;
}

}  // namespace attune::miopen
