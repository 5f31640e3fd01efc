// Energy that a device has drawn: the seam between measuring energy and the machine.
#pragma once

#include <memory>
#include <string>

#include "attune/base/status.h"

namespace attune {

// Counts all energy drawn, by any process that computes there and while idle. Coarse: it advances
// every millisecond (RAPL) or every twenty to a hundred (NVML). Not thread-safe.
class EnergyCounter {
 public:
  virtual ~EnergyCounter() = default;

  // Joules since a moment that stays the same while this object lives; never less than before. To
  // be asked more often than the counter below wraps, which takes minutes.
  virtual Result<double> ReadJoules() = 0;

  // Names of these counters, for people: "intel-rapl:0 (package-0)".
  virtual std::string name() const = 0;
};

// Devices that can report their energy. A measurement queries a device for this interface.
class MeteredDevice {
 public:
  virtual ~MeteredDevice() = default;

  // kUnsupported or kUnavailable name the missing part.
  virtual Result<std::unique_ptr<EnergyCounter>> OpenEnergyCounter() = 0;
};

}  // namespace attune
