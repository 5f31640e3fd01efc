// Every OpenCL device of this machine, over all platforms.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attune/base/status.h"
#include "attune/problem/target.h"
#include "attune/space/config.h"
#include "backends/opencl/cl_handles.h"

namespace attune::opencl {

struct DeviceEntry {
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  std::string spec;  // "opencl:0", numbered over all platforms in the order of the ICD loader.
  Target target;
  std::string reason;  // Why it cannot be used; empty if it can.
  std::string platform_name;
  std::string platform_version;
  std::string device_version;
  std::string driver_version;
  bool is_pocl = false;
  bool is_cpu = false;
  size_t cache_bytes = 0;  // Last level.

  // The compiler for this device, all versions included: half of the kernel cache's key.
  std::string CompilerIdentity() const;
  // The target of the code: the other half.
  std::string CodeIdentity() const;
};

// Asks the platforms once, at the first question, because loading a platform costs up to a tenth of
// a second. Thread-safe.
class Inventory {
 public:
  const std::vector<DeviceEntry>& Devices() const;
  // Why there is none, if so.
  const std::string& missing() const;
  // kNotFound lists the specs that exist.
  Result<const DeviceEntry*> Find(std::string_view spec) const;
  // A usable device of the kind `target`; kUnavailable if there is none here.
  Result<const DeviceEntry*> FindLike(const Target& target) const;

 private:
  void Read() const;

  mutable std::once_flag read_;
  mutable std::vector<DeviceEntry> devices_;
  mutable std::string missing_;
};

}  // namespace attune::opencl
