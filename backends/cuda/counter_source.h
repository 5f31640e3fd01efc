// What hardware counts of the kernels of a call. Its absence is normal: drivers keep counters from
// users, and virtual machines have none.
#pragma once

#include <cuda.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "attune/base/status.h"

namespace attune::cuda {

// Used by the thread that owns the device, whose context is current there.
class CounterSource {
 public:
  virtual ~CounterSource() = default;

  // For each kernel that `run` launches, at most `most_kernels`, the values of `counters`
  // ("dram__sectors_read.sum") in their order. `run` enqueues the same work each time, waits for
  // it, and is called as often as the device needs to count all of them. Fails where the device
  // counts nothing for this process.
  virtual Result<std::vector<std::vector<double>>> Count(const std::vector<std::string>& counters,
                                                         size_t most_kernels,
                                                         const std::function<Status()>& run) = 0;

  // What there is to say of the library that counts (LaunchObserver::counter_warning).
  virtual const std::string& warning() const = 0;
};

// Of CUPTI, for the device whose number the driver gives as `ordinal`. kUnsupported where CUPTI's
// headers were missing when this was built, kUnavailable where it is missing now. A failure
// of a CUPTI of another version than this was built for says so.
Result<std::unique_ptr<CounterSource>> MakeCounterSource(CUcontext context, int ordinal);

}  // namespace attune::cuda
