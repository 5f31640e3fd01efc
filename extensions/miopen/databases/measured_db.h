// Databases for MIOpen, made from measurements of its solvers by attune. docs/formats/miopen.md,
// *What was measured*.
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

// The number of results that cannot be written, by a sentence with the reason.
using LeftOut = std::map<std::string, int64_t>;

// The quickest result of each solver of each problem, in generation 2. Omits results of other
// solvers than MIOpen's, of solvers that it lacks or has dropped, and of problems that its keys do
// not name. Adds to `left_out`.
FindDb FindDbOf(std::span<const MeasuredResult> results, LeftOut& left_out);

// The parameters of the same results; those with a solver's default ones have none to write. Of
// problems that share a perf-db key, the first in order of find-db keys counts; differing
// parameters of the others are left out.
PerfDb PerfDbOf(std::span<const MeasuredResult> results, LeftOut& left_out);

}  // namespace attune::miopen
