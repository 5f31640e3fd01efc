// The devices that profilers run on, each with the lock that it has for whoever measures there.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "attune/base/status.h"
#include "attune/library/profiler_runner.h"
#include "attune/solver/backend.h"
#include "runtime/machine_lock.h"

namespace attune {

// The lock of a GPU for programs that see it alone: that of `attune tune` if `backends` know it.
// As VisibleDevice and MachineLock::Named.
Result<std::unique_ptr<MachineLock>> LockOfGpu(const std::string& name,
                                               const BackendList& backends);

// Thread-safe.
class ProfiledDevices {
 public:
  // By what users call them, each once: kInvalidArgument otherwise, kNotFound as VisibleDevice. One
  // that `backends` know has the lock of `attune tune`.
  static Result<ProfiledDevices> Open(const std::vector<std::string>& names,
                                      const BackendList& backends);

  const std::vector<ProfilerDevice>& list() const { return list_; }
  // ProfilerHooks::take; waits as long as `go_on` says so.
  Result<std::shared_ptr<void>> Take(const std::string& device,
                                     const std::function<bool()>& go_on) const;

 private:
  std::vector<ProfilerDevice> list_;
  std::map<std::string, std::unique_ptr<MachineLock>> locks_;
};

}  // namespace attune
