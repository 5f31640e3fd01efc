// Deadlines for building, loading and verifying candidates.
#pragma once

#include <cstdint>
#include <limits>

#include "attune/base/status.h"

namespace attune {

// Moments of the steady clock. A build or load past its moment is given up, and that candidate is
// left out as if it had not begun: it may be quick enough another time. A launch is not given up: a
// hanging candidate is detected, and never tried again.
struct QualifyTime {
  static constexpr int64_t kForever = std::numeric_limits<int64_t>::max();

  int64_t begin_by_ns = kForever;        // Only the first may begin later.
  int64_t ready_by_ns = kForever;        // For building and loading.
  int64_t first_ready_by_ns = kForever;  // The same, for the first.
};

// The budgets of a problem.
struct ProblemTime {
  int64_t end_ns = 0;          // End of its time.
  int64_t per_problem_ns = 0;  // Time that it had.
  int64_t run_end_ns = 0;      // End of the run's time; 0 if it has no limit.
};

// A candidate that began by `begin_by_ns` may run past the end of the problem's time for as long
// again as a problem has, at least a second. Until one has passed, the first may use the rest of
// the run: without a qualified candidate the problem has no result.
QualifyTime TimeToQualify(const ProblemTime& time, int64_t begin_by_ns, bool somebody_passed);

// kDeadlineExceeded: no candidate was ready to be timed after `elapsed_ns`.
Status NobodyWasReady(int64_t elapsed_ns);

}  // namespace attune
