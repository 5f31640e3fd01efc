// SEER's three formulas of time, one for each class of kernel. All are linear in their coefficients
// and fitted to the relative error: sum of (T / t - 1)^2.
#pragma once

#include <span>
#include <vector>

#include "attune/model/least_squares.h"
#include "extensions/models/seer/kernel_record.h"

namespace attune::seer {

// The inputs of a formula: n, B, Bmax, and per block i, dr and dw.
struct LaunchCounts {
  double waves = 0;
  double blocks = 0;
  double resident = 0;
  double instructions = 0;
  double read_sectors = 0;
  double write_sectors = 0;
};
// The counters of a record, over blocks.
LaunchCounts CountsOf(const KernelRecord& record);

// The factor of each coefficient:
//   compute         n Bmax i, n
//                   T = n (a Bmax i + b)
//   DRAM            (n - 1 + eps) Bmax (dr + dw), 1
//                   T = (n - 1 + eps) a Bmax (dr + dw) + b
//   under-utilised  (n - 1 + eps) Bmax dr, n Bmax i, 1, (n - 1 + eps) Bmax dw for a, b, c, d
//                   T = (n - 1 + eps) (a Bmax dr + d Bmax dw) + b n Bmax i + c
// with eps the share of the last wave that is full, (B - (n - 1) Bmax) / Bmax.
std::vector<double> TimeTerms(KernelClass kernel_class, const LaunchCounts& counts);

// beta with the minimum sum of (x . beta / t - 1)^2, by rows of equally many terms. Coefficients
// are at least 0, except under the published `rules`, which allow any value and so times below 0.
// REQUIRES: rows, times above 0.
std::vector<double> FitTerms(const std::vector<std::vector<double>>& rows,
                             std::span<const double> times, Rules rules);

}  // namespace attune::seer
