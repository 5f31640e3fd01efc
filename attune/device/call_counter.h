// What the hardware of some devices counts while a call runs.
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

  // For each kernel that a launch has, in their order, the values of hardware counters, called as
  // the vendor does, in theirs; of the processor a launch is one. The launch is executed as often
  // as that takes. Fails where the device counts nothing for this process, which is normal.
  virtual Result<std::vector<std::vector<double>>> Count(
      Executable& executable, const Arguments& arguments,
      const std::vector<std::string>& counters) = 0;

  // What whoever reads the values of Count() has to know of the library that counts: that it is not
  // the one that this was built for. Empty if there is nothing, and before the first Count().
  virtual std::string counter_warning() const = 0;
};

}  // namespace attune
