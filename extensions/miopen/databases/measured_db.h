// Databases for MIOpen of what was measured here with its solvers. docs/formats/miopen.md, *What
// was measured*.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "attune/formats/miopen/find_db.h"
#include "attune/formats/miopen/perf_db.h"
#include "attune/problem/problem.h"
#include "attune/trial/candidate.h"

namespace attune::miopen {

struct MeasuredResult {
  Problem problem;
  Candidate candidate;
  double median_ns = 0;
  int64_t workspace_bytes = 0;
};

// How many results cannot be written, by the sentence that says why.
using LeftOut = std::map<std::string, int64_t>;

// Of each solver of each problem the quickest result, in generation 2. Results of other solvers
// than MIOpen's, of solvers that it does not have or has no more, and of problems that its keys do
// not name are left out. Adds to `left_out`.
FindDb FindDbOf(std::span<const MeasuredResult> results, LeftOut& left_out);

// The parameters of the same results; those with a solver's default ones have none to be written.
// Of problems that share a key of a perf-db the first one in order of the keys of a find-db counts,
// and parameters of the others that differ from it are left out.
PerfDb PerfDbOf(std::span<const MeasuredResult> results, LeftOut& left_out);

}  // namespace attune::miopen
