// What a program has told OpenCL that OpenCL tells nobody: the arguments of its kernels, and which
// numbers are memory objects.
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
  bool is_pointer = false;  // To shared virtual memory.
  size_t size_bytes = 0;
  bool has_value = false;
  std::vector<unsigned char> value;
};

// What a kernel is: its function, and a hash of what that was compiled from.
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
  // A new object, which may have the handle of one that is gone.
  void Forget(cl_kernel kernel);
  void Copy(cl_kernel from, cl_kernel to);
  ClKernel Of(cl_kernel kernel);
  // What `ask` says, the first time. OpenCL copies the whole source for it.
  ClIdentity IdentityOf(cl_kernel kernel, const std::function<ClIdentity()>& ask);

  void AddMemory(cl_mem memory);
  void RemoveMemory(cl_mem memory);
  bool IsMemory(cl_mem memory);

  // Events that the program itself will complete, at which a command may wait.
  void AddUserEvent(cl_event event);
  void CompleteUserEvent(cl_event event);
  bool HasUserEvents();

 private:
  std::mutex mutex_;
  std::unordered_map<cl_kernel, ClKernel> kernels_;
  std::unordered_map<cl_mem, bool> memories_;
  std::unordered_map<cl_event, bool> user_events_;
};

// Of this process; never destroyed.
ClObjects& TheClObjects();

}  // namespace attune::capture
