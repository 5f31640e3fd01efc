// Hardware counters of some devices, read while a call runs.
#pragma once

#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/device/device.h"

namespace attune {

// A second interface of devices that count. Used by the thread that owns the device.
class CallCounter {
 public:
  virtual ~CallCounter() = default;

  // For each kernel of a launch, in their order, the values of hardware counters, under the
  // vendor's names, in their order; on the processor a launch is one kernel. The launch is executed
  // as often as that takes. Fails if the device counts nothing for this process, which is normal.
  virtual Result<std::vector<std::vector<double>>> Count(
      Executable& executable, const Arguments& arguments,
      const std::vector<std::string>& counters) = 0;

  // A warning for users of the values of Count(): the library that counts is not the one that this
  // was built for. Empty if there is none, and before the first Count().
  virtual std::string counter_warning() const = 0;
};

}  // namespace attune
