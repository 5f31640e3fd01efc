// Whether what a caller passes is a buffer that an OpenCL device can use.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

#include "attune/base/status.h"
#include "attune/device/caller_handles.h"
#include "backends/opencl/cl_handles.h"
#include "backends/opencl/inventory.h"

namespace attune::opencl {

// OpenCL has no question that is safe to ask about an address that is no handle: PoCL and others
// dereference what they get. But cl_khr_icd demands that every object of a platform begins with a
// pointer to the platform's dispatch table. So the first word of an operand is compared with that
// of the device's own context before the driver is asked about it. So it is with PoCL 3.1 and with
// NVIDIA's driver 580.
//
// Reads memory of the caller, as the driver would. A handle that was released is the caller's
// fault, as it is in OpenCL, and may crash. Thread-safe.
class BufferCheck {
 public:
  // Borrows `entry`. `context` and `queue` are of that device.
  BufferCheck(const DeviceEntry& entry, cl_context context, cl_command_queue queue);

  Status Check(const void* handle, const BufferUse& use) const;

 private:
  static constexpr size_t kRemembered = 64;

  bool IsObject(const void* handle) const;
  Status NoBuffer(const void* handle, const BufferUse& use) const;
  // Of a handle that is a memory object of this platform.
  Status CheckBuffer(cl_mem memory, const BufferUse& use) const;
  Status CheckContext(cl_mem memory, const BufferUse& use) const;

  const DeviceEntry* entry_;
  // What objects of the platform begin with; null if they have nothing in common, as with a library
  // that is linked without the ICD loader. Then nothing is checked.
  const void* dispatch_ = nullptr;
  // Addresses that were objects: these can be read, so that the kernel need not be asked.
  mutable std::array<std::atomic<const void*>, kRemembered> objects_{};
};

}  // namespace attune::opencl
