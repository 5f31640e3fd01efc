// State that a program has set and OpenCL does not return: the arguments of its kernels, and which
// values are memory objects.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "extensions/interposers/capture/opencl_api.h"

namespace attune::capture {

struct ClArgument {
  bool is_set = false;
  bool is_pointer = false;  // Points to shared virtual memory.
  size_t size_bytes = 0;
  bool has_value = false;
  std::vector<unsigned char> value;
};

// The identity of a kernel: its function, and a hash of its source or binary.
struct ClIdentity {
  std::string function;
  uint64_t code = 0;
};

struct ClKernel {
  std::vector<ClArgument> arguments;
  std::optional<ClIdentity> identity;
};

// Thread-safe.
class ClObjects {
 public:
  void SetArgument(cl_kernel kernel, cl_uint index, size_t size_bytes, const void* value);
  void SetPointer(cl_kernel kernel, cl_uint index);
  // A new object can have the handle of a destroyed one.
  void Forget(cl_kernel kernel);
  void Copy(cl_kernel from, cl_kernel to);
  ClKernel Of(cl_kernel kernel);
  // The result of `ask`, cached: OpenCL copies the whole source for it.
  ClIdentity IdentityOf(cl_kernel kernel, const std::function<ClIdentity()>& ask);

  void AddMemory(cl_mem memory);
  void RemoveMemory(cl_mem memory);
  bool IsMemory(cl_mem memory);

  // Events that the program itself completes; a command may wait for them.
  void AddUserEvent(cl_event event);
  void CompleteUserEvent(cl_event event);
  bool HasUserEvents();

 private:
  std::mutex mutex_;
  std::unordered_map<cl_kernel, ClKernel> kernels_;
  std::unordered_map<cl_mem, bool> memories_;
  std::unordered_map<cl_event, bool> user_events_;
};

// One per process; never destroyed.
ClObjects& TheClObjects();

}  // namespace attune::capture
