// OpenCL objects that are released when they go out of scope, and OpenCL errors as Status.
#pragma once

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>

#include <string>
#include <string_view>
#include <utility>

#include "attune/base/status.h"

namespace attune::opencl {

template <class T, cl_int (*kRelease)(T)>
class ClHandle {
 public:
  ClHandle() = default;
  explicit ClHandle(T handle) : handle_(handle) {}
  ClHandle(ClHandle&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  ClHandle& operator=(ClHandle&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ClHandle(const ClHandle&) = delete;
  ClHandle& operator=(const ClHandle&) = delete;
  ~ClHandle() {
    if (handle_ != nullptr) kRelease(handle_);
  }

  T get() const { return handle_; }

 private:
  T handle_ = nullptr;
};

using ContextHandle = ClHandle<cl_context, clReleaseContext>;
using QueueHandle = ClHandle<cl_command_queue, clReleaseCommandQueue>;
using MemoryHandle = ClHandle<cl_mem, clReleaseMemObject>;
using ProgramHandle = ClHandle<cl_program, clReleaseProgram>;
using KernelHandle = ClHandle<cl_kernel, clReleaseKernel>;

// "CL_OUT_OF_RESOURCES", or "error -9999" for a code that is not in the standard.
std::string ClErrorName(cl_int code);

// Ok for CL_SUCCESS, else "<what>: <name of the error>.": kResourceExhausted if memory or resources
// ran out, kInternal otherwise.
Status ClStatus(cl_int code, std::string_view what);

}  // namespace attune::opencl
