#include "attune/measure/energy_meter.h"

#include <algorithm>

#include <fmt/format.h>

namespace attune {
namespace {

constexpr double kMostLaunches = 1e6;

// The counter at one of its moves, and the launches up to then.
struct Move {
  double joules = 0;
  int64_t launches = 0;
  int64_t at_ns = 0;
};

}  // namespace

Result<EnergyReading> MeasureEnergy(EnergyCounter& counter, const LaunchMany& launch,
                                    double launch_ns, Clock& clock, const EnergyTerms& terms) {
  const double batch_ns = static_cast<double>(terms.batch_ns);
  const auto batch =
      static_cast<int64_t>(std::clamp(batch_ns / std::max(launch_ns, 1.0), 1.0, kMostLaunches));
  const int64_t begin_ns = clock.NowNs();
  ATTUNE_ASSIGN_OR_RETURN(double last_joules, counter.ReadJoules());
  Move first;
  Move last;
  int moves = -1;  // The first one starts the measurement.
  for (int64_t launches = 0;;) {
    ATTUNE_RETURN_IF_ERROR(launch(batch));
    launches += batch;
    ATTUNE_ASSIGN_OR_RETURN(const double joules, counter.ReadJoules());
    const int64_t now_ns = clock.NowNs();
    if (joules > last_joules) {
      last = {joules, launches, now_ns};
      if (++moves == 0) first = last;
      last_joules = joules;
      if (moves >= terms.min_updates && last.at_ns - first.at_ns >= terms.min_ns) break;
    }
    if (now_ns - begin_ns < terms.longest_ns) continue;
    if (moves >= 1) break;
    return Unavailable(fmt::format("The energy counter {} moved {} times in {:.3g} s.",
                                   counter.name(), moves + 1,
                                   static_cast<double>(now_ns - begin_ns) / 1e9));
  }
  const double joules = last.joules - first.joules;
  const int64_t launches = last.launches - first.launches;
  EnergyReading reading;
  reading.joules = joules / static_cast<double>(launches);
  reading.low_joules = joules / static_cast<double>(launches + batch);
  // Between two moves, the measured share of one batch is unknown.
  reading.high_joules = joules / static_cast<double>(std::max(launches - batch, int64_t{1}));
  return reading;
}

}  // namespace attune
