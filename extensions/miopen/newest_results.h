// From the measurement sets of a session: each solver's newest valid time for each problem, or why
// there is none.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "attune/record/record_store.h"
#include "extensions/miopen/databases/measured_db.h"

namespace attune::miopen {

// A set that covers some of the solvers does not invalidate earlier timings of others. Finals that
// decided nothing, because the incumbent stayed, rank no solver first. docs/formats/miopen.md,
// *What was measured*.
class NewestResults {
 public:
  // Why the result of a solver in an environment is stale, a sentence; empty if it is not.
  using ReasonStale = std::function<std::string(const SolverId&, const Environment&)>;

  explicit NewestResults(ReasonStale reason_stale) : reason_stale_(std::move(reason_stale)) {}

  // Adds the sets of one problem in order of their start, with samples and trials of every role,
  // finished or not; all with the same cache state.
  void Add(const RecordedSet& recorded);

  // One for each problem and solver with a valid time. Counts solvers without one in `left_out`, if
  // they were timed at all.
  std::vector<MeasuredResult> Take(LeftOut& left_out) const;

 private:
  // A timing of one candidate in one set.
  struct Timing {
    MeasuredResult result;
    TrialRole role = TrialRole::kScreen;
    bool decided = false;   // The set was finished with finals.
    size_t set = 0;         // Position among the sets of the problem.
    std::string objection;  // Why it does not count, a sentence; empty if it does.
  };
  struct OfProblem {
    size_t sets = 0;
    std::map<std::string, std::vector<Timing>> solvers;  // By name, oldest first.
    std::map<Candidate, size_t> failures;                // The last set in which each failed.
  };

  static std::optional<Timing> Newest(const OfProblem& problem, const std::vector<Timing>& timings,
                                      bool decided);
  // The first judges by the trial and its set alone, the second also by later records.
  std::string ObjectionTo(const RecordedSet& recorded, const Trial& trial) const;
  static std::string FinalObjection(const OfProblem& problem, const Timing& timing);
  static void TakeProblem(const OfProblem& problem, std::vector<MeasuredResult>& results,
                          LeftOut& left_out);

  const ReasonStale reason_stale_;
  std::map<std::string, OfProblem> problems_;  // By text.
};

}  // namespace attune::miopen
