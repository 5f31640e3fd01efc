// What the records of another run know of the problems that are tuned here: where a search begins,
// beside what the run's own records know (OtherPlaces).
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

// Problems are like each other that differ in sizes alone: those of a family (FamilyOf), and those
// of users' kernels of one name, whatever has become of the kernel's source since. Read once and
// held in memory; the records may be of any device of the backend, this one too.
class PriorRecords {
 public:
  // So many places, devices and sizes, tell of a problem at most: those of the nearest sizes.
  static constexpr size_t kPlaces = 6;

  // Of `store` what was tried on devices of `backend`: all of each problem in `problems`, and the
  // finals of others that are like one of them. Fails as the store does.
  static Result<PriorRecords> Read(RecordStore& store, const std::string& backend,
                                   std::span<const TaggedProblem> problems);
  // What was tried at one place, of `problem` or of one like it.
  static PriorRecords Of(const Problem& problem, CandidateTimes times);

  // Of the places whose problems are like `problem`, nearest first. Empty if there are none.
  TimesOfPlaces Find(const Problem& problem) const;

 private:
  struct Place {
    Problem problem;
    CandidateTimes times;
  };

  std::map<std::string, std::vector<Place>> places_;  // By what problems that are like it share.
};

// Whether `prior` has a config that one of `solvers` can try for `problem` on `target`.
bool HasConfigOf(const PriorRecords& prior, const Problem& problem, const SolverList& solvers,
                 const Target& target);

}  // namespace attune
