#include "backends/opencl/buffer_check.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

namespace attune::opencl {
namespace {

// Returns true if 8 bytes at `address` are readable. The kernel copies a signal set before it
// checks `how`. `how` is invalid here, so nothing changes: EFAULT means unreadable, EINVAL
// readable. Unlike process_vm_readv, this needs no permission that containers remove. About 0.15
// us.
bool IsReadable(const void* address) {
  constexpr int kNoSuchHow = -1;
  constexpr size_t kSignalSetBytes = 8;
  const int kept_errno = errno;
  const auto code = ::syscall(SYS_rt_sigprocmask, kNoSuchHow, address, nullptr, kSignalSetBytes);
  const bool is_readable = code == -1 && errno == EINVAL;
  errno = kept_errno;
  return is_readable;
}

// Reads any kind of memory, on purpose.
__attribute__((no_sanitize("address"), no_sanitize("thread"))) const void* FirstWord(
    const void* object) {
  return *static_cast<const void* const*>(object);
}

template <class T>
cl_int Ask(cl_mem memory, cl_mem_info what, T& value) {
  return clGetMemObjectInfo(memory, what, sizeof value, &value, nullptr);
}

}  // namespace

BufferCheck::BufferCheck(const DeviceEntry& entry, cl_context context, cl_command_queue queue)
    : entry_(&entry) {
  const void* of_context = FirstWord(context);
  if (of_context == FirstWord(queue) && of_context == FirstWord(entry.device)) {
    dispatch_ = of_context;
  }
}

bool BufferCheck::IsObject(const void* handle) const {
  const auto bits = reinterpret_cast<uintptr_t>(handle);
  if (bits % alignof(void*) != 0) return false;
  constexpr uintptr_t kSpread = 0x9e3779b97f4a7c15;
  auto& remembered = objects_[bits * kSpread >> 58];
  static_assert(kRemembered == size_t{1} << (64 - 58));
  if (remembered.load(std::memory_order_relaxed) == handle) return FirstWord(handle) == dispatch_;
  if (!IsReadable(handle) || FirstWord(handle) != dispatch_) return false;
  remembered.store(handle, std::memory_order_relaxed);
  return true;
}

Status BufferCheck::NoBuffer(const void* handle, const BufferUse& use) const {
  return InvalidArgument(fmt::format(
      "'{}' is {}, which is not a buffer of the OpenCL platform '{}'.\n"
      "hint: {} takes a cl_mem of clCreateBuffer, not an address of host memory or of shared "
      "virtual memory",
      use.name, fmt::ptr(handle), entry_->platform_name, entry_->spec));
}

Status BufferCheck::Check(const void* handle, const BufferUse& use) const {
  if (dispatch_ == nullptr) return Status::Ok();
  if (!IsObject(handle)) return NoBuffer(handle, use);
  const auto memory = static_cast<cl_mem>(const_cast<void*>(handle));
  // For a queue or another object, this fails or returns a different value in place of a buffer
  // type.
  cl_mem_object_type type = 0;
  if (Ask(memory, CL_MEM_TYPE, type) != CL_SUCCESS || type != CL_MEM_OBJECT_BUFFER) {
    return NoBuffer(handle, use);
  }
  return CheckBuffer(memory, use);
}

Status BufferCheck::CheckBuffer(cl_mem memory, const BufferUse& use) const {
  size_t size_bytes = 0;
  cl_mem_flags flags = 0;
  if (Ask(memory, CL_MEM_SIZE, size_bytes) != CL_SUCCESS ||
      Ask(memory, CL_MEM_FLAGS, flags) != CL_SUCCESS) {
    return NoBuffer(memory, use);
  }
  if (size_bytes < use.least_bytes) {
    return InvalidArgument(fmt::format("'{}' is a buffer of {} bytes, but the call needs {}.",
                                       use.name, size_bytes, use.least_bytes));
  }
  if (use.is_written && (flags & CL_MEM_READ_ONLY) != 0) {
    return InvalidArgument(
        fmt::format("'{}' is a CL_MEM_READ_ONLY buffer, but the call writes to it.", use.name));
  }
  if (use.is_read && (flags & CL_MEM_WRITE_ONLY) != 0) {
    return InvalidArgument(
        fmt::format("'{}' is a CL_MEM_WRITE_ONLY buffer, but the call reads it.", use.name));
  }
  return CheckContext(memory, use);
}

// A buffer belongs to a context of the program, which must include the device.
Status BufferCheck::CheckContext(cl_mem memory, const BufferUse& use) const {
  cl_context context = nullptr;
  if (Ask(memory, CL_MEM_CONTEXT, context) != CL_SUCCESS) return NoBuffer(memory, use);
  std::array<cl_device_id, 16> few{};
  size_t bytes = 0;
  cl_int code = clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof few, few.data(), &bytes);
  if (code == CL_SUCCESS) {
    const auto end = few.begin() + static_cast<std::ptrdiff_t>(bytes / sizeof few[0]);
    if (std::find(few.begin(), end, entry_->device) != end) return Status::Ok();
  } else {
    code = clGetContextInfo(context, CL_CONTEXT_DEVICES, 0, nullptr, &bytes);
    std::vector<cl_device_id> all(bytes / sizeof(cl_device_id));
    if (code == CL_SUCCESS) {
      code = clGetContextInfo(context, CL_CONTEXT_DEVICES, bytes, all.data(), nullptr);
    }
    if (code == CL_SUCCESS && std::find(all.begin(), all.end(), entry_->device) != all.end()) {
      return Status::Ok();
    }
  }
  return InvalidArgument(
      fmt::format("'{}' belongs to a context that does not include {}.", use.name, entry_->spec));
}

}  // namespace attune::opencl
