#include "tests/fleet/session_oracle.h"

#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace attune {
namespace {

using Ids = std::set<std::string>;

// The solvers of which something has passed, and not failed later. The one that has the baseline
// takes part in each set, whether it is expected or not.
std::set<std::string> SolversWithResults(const RecordedSet& recorded,
                                         const ExpectedJobs& expected) {
  const std::string problem = Text(recorded.set.problem);
  std::set<Candidate> passed;
  std::set<Candidate> failed;
  std::set<std::string> baselines;
  for (const Record& record : recorded.records) {
    (record.trial.failure() == nullptr ? passed : failed).insert(record.trial.candidate);
    if (record.trial.is_default) baselines.insert(record.trial.candidate.solver.name);
  }
  std::set<std::string> solvers;
  for (const Candidate& candidate : passed) {
    const std::string& solver = candidate.solver.name;
    const bool counts = expected.contains({problem, solver}) || !baselines.contains(solver);
    if (counts && !failed.contains(candidate)) solvers.insert(solver);
  }
  return solvers;
}

// The fault of one job; `results` are the sets that have a result for it at their end.
std::string ContradictionOf(const Job& job, const Ids& results) {
  const std::string name = fmt::format("Job {} ({} of {}, attempt {})", job.id, job.solver,
                                       Text(job.problem), job.attempts);
  if (job.state == JobState::kDone) {
    if (results == Ids{job.set_id}) return "";
    return fmt::format("{} is done in set '{}' and has results in [{}].", name, job.set_id,
                       fmt::join(results, ", "));
  }
  if (job.state != JobState::kFailed) return fmt::format("{} is {}.", name, Name(job.state));
  if (job.error.kind.empty() || job.error.text.empty()) {
    return fmt::format("{} failed and does not say why.", name);
  }
  if (results.empty()) return "";
  return fmt::format("{} failed ({}) and has results in [{}].", name, job.error.kind,
                     fmt::join(results, ", "));
}

}  // namespace

std::vector<std::string> Contradictions(const SessionState& session, const ExpectedJobs& expected) {
  std::map<std::pair<std::string, std::string>, Ids> results;  // By problem and solver.
  std::set<std::pair<std::string, std::string>> unnamed;       // By problem; sets at their end.
  for (const RecordedSet& recorded : session.sets) {
    if (!recorded.finished) continue;
    const std::string problem = Text(recorded.set.problem);
    unnamed.emplace(problem, recorded.set.id);
    for (const std::string& solver : SolversWithResults(recorded, expected)) {
      results[{problem, solver}].insert(recorded.set.id);
    }
  }
  std::vector<std::string> wrong;
  ExpectedJobs missing = expected;
  for (const Job& job : session.jobs) {
    const std::pair key(Text(job.problem), job.solver);
    if (missing.erase(key) == 0) {
      wrong.push_back(fmt::format("Job {} ({} of {}) is there and nobody's, or twice.", job.id,
                                  job.solver, key.first));
    }
    std::string contradiction = ContradictionOf(job, results[key]);
    if (!contradiction.empty()) wrong.push_back(std::move(contradiction));
    results.erase(key);
    unnamed.erase({key.first, job.set_id});
  }
  for (const auto& [problem, solver] : missing) {
    wrong.push_back(fmt::format("There is no job of {} for {}.", solver, problem));
  }
  for (const auto& [problem, set] : unnamed) {
    wrong.push_back(fmt::format("Set {} of {} is at its end, and no job has it.", set, problem));
  }
  for (const auto& [key, sets] : results) {
    wrong.push_back(fmt::format("There are results of {} for {} in [{}], and no job.", key.second,
                                key.first, fmt::join(sets, ", ")));
  }
  return wrong;
}

}  // namespace attune
