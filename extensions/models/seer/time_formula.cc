#include "extensions/models/seer/time_formula.h"

#include <cassert>
#include <utility>

namespace attune::seer {

LaunchCounts CountsOf(const KernelRecord& x) {
  return {x.waves,
          x.blocks,
          x.resident_blocks,
          x.instructions / x.blocks,
          x.read_sectors / x.blocks,
          x.write_sectors / x.blocks};
}

std::vector<double> TimeTerms(KernelClass kernel_class, const LaunchCounts& x) {
  const double last_share = (x.blocks - (x.waves - 1) * x.resident) / x.resident;
  const double real_waves = x.waves - 1 + last_share;
  switch (kernel_class) {
    case KernelClass::kCompute:
      return {x.waves * x.resident * x.instructions, x.waves};
    case KernelClass::kDram:
      return {real_waves * x.resident * (x.read_sectors + x.write_sectors), 1};
    case KernelClass::kUnderUtilised:
      break;
  }
  return {real_waves * x.resident * x.read_sectors, x.waves * x.resident * x.instructions, 1,
          real_waves * x.resident * x.write_sectors};
}

std::vector<double> FitTerms(const std::vector<std::vector<double>>& rows,
                             std::span<const double> times, Rules rules) {
  assert(!rows.empty() && rows.size() == times.size());
  Matrix x(rows.size(), rows[0].size());
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t j = 0; j < x.columns; ++j) x.at(i, j) = rows[i][j];
  }
  RelativeRows relative = MakeRelative(x, times, {});
  return rules == Rules::kAsPublished
             ? LeastSquares(std::move(relative.a), std::move(relative.b))
             : NonNegativeLeastSquares(std::move(relative.a), std::move(relative.b));
}

}  // namespace attune::seer
