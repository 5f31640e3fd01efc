#include "apps/attune/session/job_outcomes.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "attune/tuner/new_set.h"

namespace attune {
namespace {

// Outcomes of the candidates of one solver in a set.
struct SolverOutcome {
  std::set<Candidate> passed;
  std::map<Candidate, Failure> failed;
  std::optional<Candidate> last_failed;
};

void Note(const Trial& trial, SolverOutcome& outcome) {
  if (const Failure* failure = trial.failure()) {
    outcome.failed.insert_or_assign(trial.candidate, *failure);
    outcome.last_failed = trial.candidate;
  } else {
    outcome.passed.insert(trial.candidate);
  }
}

JobError ErrorOf(const SolverOutcome& outcome) {
  for (const Candidate& candidate : outcome.passed) {
    if (!outcome.failed.contains(candidate)) return {};
  }
  if (!outcome.last_failed.has_value()) {
    return {std::string(kNeverTried),
            "The time of its problem was over before it was tried. 'attune jobs retry' queues it "
            "again, for a run with a longer --per-problem."};
  }
  const Failure& failure = outcome.failed.at(*outcome.last_failed);
  return {std::string(Name(failure.kind)), fmt::format("{} in {}: {}", Text(*outcome.last_failed),
                                                       Name(failure.phase), failure.message)};
}

bool HasFinal(const RecordedSet& recorded) {
  return std::any_of(recorded.records.begin(), recorded.records.end(),
                     [](const Record& record) { return record.trial.role == TrialRole::kFinal; });
}

std::set<Candidate> FailedIn(const RecordedSet& recorded) {
  std::set<Candidate> failed;
  for (const Record& record : recorded.records) {
    if (record.trial.failure() != nullptr) failed.insert(record.trial.candidate);
  }
  return failed;
}

// The best of one solver in one set: finals count before screens.
struct Best {
  bool is_final = false;
  double median_ns = 0;
  Config config;
};

void NoteBest(const Trial& trial, std::map<SolverId, Best>& best) {
  const Measurement* measurement = trial.measurement();
  if (measurement == nullptr) return;
  const bool is_final = trial.role == TrialRole::kFinal;
  const auto [entry, is_new] = best.try_emplace(
      trial.candidate.solver, Best{is_final, measurement->median_ns, trial.candidate.config});
  Best& known = entry->second;
  if (is_new || known.is_final > is_final) return;
  if (is_final > known.is_final || measurement->median_ns < known.median_ns) {
    known = {is_final, measurement->median_ns, trial.candidate.config};
  }
}

}  // namespace

Result<std::vector<JobError>> OutcomesIn(RecordStore& records, const std::string& set_id,
                                         const std::vector<Job>& jobs) {
  std::map<std::string, SolverOutcome> outcomes;
  RecordQuery query;
  query.problem = jobs.front().problem;
  query.with_samples = false;
  ATTUNE_RETURN_IF_ERROR(records.Visit(query, [&](const RecordedSet& recorded) {
    if (recorded.set.id != set_id) return Status::Ok();
    for (const Record& record : recorded.records) {
      Note(record.trial, outcomes[record.trial.candidate.solver.name]);
    }
    return Status::Ok();
  }));
  std::vector<JobError> errors;
  for (const Job& job : jobs) errors.push_back(ErrorOf(outcomes[job.solver]));
  return errors;
}

Result<std::map<std::string, Config>> RecordedConfigs(RecordStore& records,
                                                      const SearchPlace& place,
                                                      const std::vector<SolverId>& solvers) {
  std::map<std::string, Config> configs;
  RecordQuery query;
  query.problem = place.problem;
  query.with_samples = false;
  ATTUNE_RETURN_IF_ERROR(records.Visit(query, [&](const RecordedSet& recorded) {
    const bool was_searched = !recorded.set.environment.contains(std::string(kSearchTerm));
    if (!was_searched || recorded.set.cache != place.cache || !HasFinal(recorded)) {
      return Status::Ok();
    }
    const std::set<Candidate> failed = FailedIn(recorded);
    std::map<SolverId, Best> best;
    for (const Record& record : recorded.records) {
      if (!failed.contains(record.trial.candidate)) NoteBest(record.trial, best);
    }
    for (const SolverId& solver : solvers) {
      const auto found = best.find(solver);
      if (found != best.end()) configs.insert_or_assign(solver.name, found->second.config);
    }
    return Status::Ok();
  }));
  return configs;
}

}  // namespace attune
