// Until when candidates may be built, loaded and verified.
#pragma once

#include <cstdint>
#include <limits>

#include "attune/base/status.h"

namespace attune {

// Moments of the steady clock. What is built or loaded past its moment is given up, and that
// candidate is left out as if it had not begun: it may be quick enough another time. What runs is
// not given up: who hangs is found out, and never tried again.
struct QualifyTime {
  static constexpr int64_t kForever = std::numeric_limits<int64_t>::max();

  int64_t begin_by_ns = kForever;        // Nobody but the first begins later.
  int64_t ready_by_ns = kForever;        // To build and to load.
  int64_t first_ready_by_ns = kForever;  // The same, for the first.
};

// The budgets of a problem.
struct ProblemTime {
  int64_t end_ns = 0;          // When its time is over.
  int64_t per_problem_ns = 0;  // What it had.
  int64_t run_end_ns = 0;      // When the time of the run is over; 0 if it has no limit.
};

// What was begun by `begin_by_ns` may go on for as long again as a problem has, a second at least.
// Until somebody has passed, the first may take what is left of the run: without anybody to time,
// all that was done for the problem would be in vain.
QualifyTime TimeToQualify(const ProblemTime& time, int64_t begin_by_ns, bool somebody_passed);

// kDeadlineExceeded: nobody was ready to be timed after `elapsed_ns`.
Status NobodyWasReady(int64_t elapsed_ns);

}  // namespace attune
