// Joules of one launch, by a counter that moves seldom.
#pragma once

#include <cstdint>
#include <functional>

#include "attune/base/status.h"
#include "attune/device/energy_counter.h"
#include "attune/measure/clock.h"
#include "attune/trial/figure.h"

namespace attune {

// How long launches are repeated: until the counter has moved so often, and no less than `min_ns`.
struct EnergyTerms {
  int min_updates = 10;
  int64_t min_ns = 200'000'000;
  int64_t batch_ns = 2'000'000;         // Launches between two looks at the counter.
  int64_t longest_ns = 15'000'000'000;  // After this it is given up.
};

// Launches so often and waits for the end of it.
using LaunchMany = std::function<Status(int64_t launches)>;

// Launches without a break and looks at the counter after each batch, from one of its moves to
// another: so its coarseness costs a batch at either end, and no more, which is how far apart the
// bounds of the reading are. What the device draws for others, and idle, is in it. `launch_ns` is
// what a launch takes, as far as that is known. kUnavailable if the counter does not move, with how
// long it was watched; what `launch` or the counter fails with.
Result<EnergyReading> MeasureEnergy(EnergyCounter& counter, const LaunchMany& launch,
                                    double launch_ns, Clock& clock, const EnergyTerms& terms = {});

}  // namespace attune
