// Energy of the processor's packages by Linux's powercap interface (RAPL): files that count
// microjoules.
#pragma once

#include <filesystem>
#include <memory>

#include "attune/base/status.h"
#include "attune/device/energy_counter.h"

namespace attune {

// Linux's folder of the counters, and the variable that names another one.
inline constexpr const char* kPowercapRoot = "/sys/class/powercap";
inline constexpr const char* kPowercapVariable = "ATTUNE_POWERCAP";

// The sum over all packages below `root`: folders PREFIX:N with `energy_uj`, `max_energy_range_uj`
// and a `name` that begins with "package". Parts of a package (PREFIX:N:M) are in it already, and
// of two folders of one name the first in order counts. The sum continues when a counter wraps at
// its range. kUnsupported if there is no package, kUnavailable if one cannot be read, with the
// file.
Result<std::unique_ptr<EnergyCounter>> OpenPowercapCounter(const std::filesystem::path& root);

// The counter of this machine: below $ATTUNE_POWERCAP, else below kPowercapRoot.
Result<std::unique_ptr<EnergyCounter>> OpenProcessorCounter();

}  // namespace attune
