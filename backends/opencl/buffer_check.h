// Checks that operands of a caller are buffers that an OpenCL device can use.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

#include "attune/base/status.h"
#include "attune/device/caller_handles.h"
#include "backends/opencl/cl_handles.h"
#include "backends/opencl/inventory.h"

namespace attune::opencl {

// OpenCL has no safe query for an address that is not a handle: PoCL and others dereference it. But
// cl_khr_icd demands that every object of a platform begins with a pointer to the dispatch table of
// the platform. So this class compares the first word of an operand with that of the context of the
// device before it asks the driver. PoCL 3.1 and driver 580 of NVIDIA meet this demand.
//
// Reads memory of the caller, as the driver would. A released handle is an error of the caller, as
// in OpenCL, and may crash. Thread-safe.
class BufferCheck {
 public:
  // Borrows `entry`. `context` and `queue` are of that device.
  BufferCheck(const DeviceEntry& entry, cl_context context, cl_command_queue queue);

  Status Check(const void* handle, const BufferUse& use) const;

 private:
  static constexpr size_t kRemembered = 64;

  bool IsObject(const void* handle) const;
  Status NoBuffer(const void* handle, const BufferUse& use) const;
  // Checks a handle that is a memory object of this platform.
  Status CheckBuffer(cl_mem memory, const BufferUse& use) const;
  Status CheckContext(cl_mem memory, const BufferUse& use) const;

  const DeviceEntry* entry_;
  // The first word of all objects of the platform. Null if objects share none, as in a library that
  // is linked without the ICD loader; then nothing is checked.
  const void* dispatch_ = nullptr;
  // Addresses that were objects. They are readable, so the kernel need not be asked.
  mutable std::array<std::atomic<const void*>, kRemembered> objects_{};
};

}  // namespace attune::opencl
