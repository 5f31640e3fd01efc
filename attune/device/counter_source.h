// Hardware counters for the launches of a call. Their absence is normal: drivers and kernels deny
// them to users, and virtual machines have none.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "attune/base/status.h"

namespace attune {

// Used by the thread that owns the device.
class CounterSource {
 public:
  virtual ~CounterSource() = default;

  // For each kernel that `run` launches, at most `most_kernels`, the values of `counters`, under
  // the vendor's names, in their order; on the processor a whole call is one kernel. `run` enqueues
  // the same work each time, waits for it, and is called as often as the device needs to count all
  // of them. Fails if the device counts nothing for this process.
  virtual Result<std::vector<std::vector<double>>> Count(const std::vector<std::string>& counters,
                                                         size_t most_kernels,
                                                         const std::function<Status()>& run) = 0;

  // A warning about the library that counts (CallCounter::counter_warning).
  virtual const std::string& warning() const = 0;
};

}  // namespace attune
