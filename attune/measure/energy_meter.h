// Joules of one launch, by a counter that moves seldom.
#pragma once

#include <cstdint>
#include <functional>

#include "attune/base/status.h"
#include "attune/device/energy_counter.h"
#include "attune/measure/clock.h"
#include "attune/trial/figure.h"

namespace attune {

// How long launches are repeated: until the counter has moved that often, and at least `min_ns`.
struct EnergyTerms {
  int min_updates = 10;
  int64_t min_ns = 200'000'000;
  int64_t batch_ns = 2'000'000;  // Length of the launches between two readings of the counter.
  int64_t longest_ns = 15'000'000'000;  // Gives up after this time.
};

// Launches that many times and waits for the end.
using LaunchMany = std::function<Status(int64_t launches)>;

// Launches without a break and reads the counter after each batch, from one of its moves to
// another. Its coarseness therefore costs one batch at either end, which is the distance between
// the bounds of the reading. Includes the energy that the device draws for other work, and idle.
// `launch_ns` is the expected time of a launch. kUnavailable if the counter does not move, with the
// time that it was watched; otherwise errors of `launch` or the counter.
Result<EnergyReading> MeasureEnergy(EnergyCounter& counter, const LaunchMany& launch,
                                    double launch_ns, Clock& clock, const EnergyTerms& terms = {});

}  // namespace attune
