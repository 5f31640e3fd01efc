// Of the measurement sets of a session what each solver's newest valid time for each problem is,
// and why there is none.
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

// A set that covers some of the solvers says nothing against what others measured before it, and
// one whose finals decided nothing, because what was chosen before stays, puts nobody first.
// docs/formats/miopen.md, *What was measured*.
class NewestResults {
 public:
  // Why what a solver made in an environment is stale, a sentence; empty if it is not.
  using ReasonStale = std::function<std::string(const SolverId&, const Environment&)>;

  explicit NewestResults(ReasonStale reason_stale) : reason_stale_(std::move(reason_stale)) {}

  // Sets of one problem in order of their start, with samples and trials of every role, whether
  // finished or not; all with caches in one state.
  void Add(const RecordedSet& recorded);

  // One for each problem and solver that has a valid time. Solvers without one are counted in
  // `left_out`, those alone that were timed at all.
  std::vector<MeasuredResult> Take(LeftOut& left_out) const;

 private:
  // What was timed of one candidate in one set.
  struct Timing {
    MeasuredResult result;
    TrialRole role = TrialRole::kScreen;
    bool decided = false;   // By finals: the set was finished with them.
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
  // By the trial and its set alone, and by what came after it as well.
  std::string ObjectionTo(const RecordedSet& recorded, const Trial& trial) const;
  static std::string FinalObjection(const OfProblem& problem, const Timing& timing);
  static void TakeProblem(const OfProblem& problem, std::vector<MeasuredResult>& results,
                          LeftOut& left_out);

  const ReasonStale reason_stale_;
  std::map<std::string, OfProblem> problems_;  // By text.
};

}  // namespace attune::miopen
