// Transfer priors from the records of another run: where a search begins, beside the run's own
// records (OtherPlaces).
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/problem/problem.h"
#include "attune/problem/target.h"
#include "attune/record/record_store.h"
#include "attune/solver/solver.h"
#include "attune/tuner/candidate_times.h"

namespace attune {

// Similar problems differ in sizes alone: those of a family (FamilyOf), and those of users' kernels
// of one name, even if the kernel's source has changed since. Read once and held in memory; the
// records may be of any device of the backend, including this one.
class PriorRecords {
 public:
  // Maximum number of device contexts (device and size) for one problem: those of the nearest
  // sizes.
  static constexpr size_t kPlaces = 6;

  // Reads trials on devices of `backend` from `store`: all of each problem in `problems`, and the
  // finals of others that are similar to one of them. Fails as the store does.
  static Result<PriorRecords> Read(RecordStore& store, const std::string& backend,
                                   std::span<const TaggedProblem> problems);
  // Trials in one device context, of `problem` or of a similar one.
  static PriorRecords Of(const Problem& problem, CandidateTimes times);

  // Times in the device contexts whose problems are similar to `problem`, nearest first. Empty if
  // there are none.
  TimesOfPlaces Find(const Problem& problem) const;

 private:
  struct Place {
    Problem problem;
    CandidateTimes times;
  };

  std::map<std::string, std::vector<Place>> places_;  // By the key that similar problems share.
};

// True if `prior` has a config that one of `solvers` can try for `problem` on `target`.
bool HasConfigOf(const PriorRecords& prior, const Problem& problem, const SolverList& solvers,
                 const Target& target);

}  // namespace attune
