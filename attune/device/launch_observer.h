// Kernels that a call launches, as some devices report them before they run.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/device/device.h"

namespace attune {

// One kernel that a call launches.
struct ObservedLaunch {
  std::string name;                       // As its library calls it.
  int64_t blocks = 0;                     // In the whole grid.
  int64_t threads = 0;                    // Per block.
  int64_t registers = 0;                  // Per thread; 0 if it is not known, as the next two.
  int64_t shared_bytes = 0;               // Per block.
  int64_t blocks_per_multiprocessor = 0;  // Blocks that fit at a time.

  friend bool operator==(const ObservedLaunch&, const ObservedLaunch&) = default;
};

// A second interface of devices that report launches. Used by the thread that owns the device.
class LaunchObserver {
 public:
  virtual ~LaunchObserver() = default;

  virtual int64_t multiprocessors() const = 0;

  // The kernels that `executable` would launch on `arguments`, in the order of launches. Nothing is
  // executed, so the content of memory does not matter. Fails if the call cannot be captured, and
  // with kUnsupported if the driver does not report kernels.
  virtual Result<std::vector<ObservedLaunch>> DryRun(Executable& executable,
                                                     const Arguments& arguments) = 0;
};

}  // namespace attune
