// What a device has drawn: the seam between measuring energy and the machine.
#pragma once

#include <memory>
#include <string>

#include "attune/base/status.h"

namespace attune {

// Counts what is drawn, by everybody who computes there and by what idles. Coarse: it moves every
// millisecond (RAPL) or every twenty to a hundred (NVML). Not thread-safe.
class EnergyCounter {
 public:
  virtual ~EnergyCounter() = default;

  // Joules since a moment that stays the same while this object lives; never less than before. To
  // be asked more often than the counter below wraps, which takes minutes.
  virtual Result<double> ReadJoules() = 0;

  // Which counters these are, for people: "intel-rapl:0 (package-0)".
  virtual std::string name() const = 0;
};

// Devices that can tell what they draw. Whoever measures energy asks a device whether it is one.
class MeteredDevice {
 public:
  virtual ~MeteredDevice() = default;

  // kUnsupported or kUnavailable say what is missing.
  virtual Result<std::unique_ptr<EnergyCounter>> OpenEnergyCounter() = 0;
};

}  // namespace attune
