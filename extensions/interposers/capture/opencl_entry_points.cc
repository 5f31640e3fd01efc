// The functions of OpenCL that reveal the arguments of a launch, and the launch. Each calls the
// real function with the same arguments and returns its result.

#include "extensions/interposers/capture/opencl_launch.h"
#include "extensions/interposers/capture/opencl_objects.h"
#include "extensions/interposers/capture/settings.h"
#include "extensions/interposers/capture/stored_launch.h"

namespace attune::capture {
namespace {

// Launches by `launch`, and stores it if it was requested.
template <class Launch>
cl_int StoreCl(const ClLaunchCall& call, const Launch& launch) {
  const ClIdentity kernel = TheClObjects().IdentityOf(call.kernel, [&] {
    return ClIdentity{FunctionOf(call), CodeOf(call)};
  });
  return Store(
      kernel.function, kernel.code, [&] { return ClLaunch(call); }, launch, cl_int{CL_SUCCESS});
}

}  // namespace
}  // namespace attune::capture

#define ATTUNE_CAPTURE_ENTRY extern "C" __attribute__((visibility("default")))
#define ATTUNE_CALLER __builtin_return_address(0)

using attune::capture::IsOn;
using attune::capture::StoreCl;
using attune::capture::TheClObjects;

ATTUNE_CAPTURE_ENTRY cl_int clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size,
                                           const void* value) {
  const cl_int code = ATTUNE_REAL_CL(clSetKernelArg, ATTUNE_CALLER)(kernel, index, size, value);
  if (code == CL_SUCCESS && IsOn()) TheClObjects().SetArgument(kernel, index, size, value);
  return code;
}

ATTUNE_CAPTURE_ENTRY cl_int clSetKernelArgSVMPointer(cl_kernel kernel, cl_uint index,
                                                     const void* value) {
  const cl_int code = ATTUNE_REAL_CL(clSetKernelArgSVMPointer, ATTUNE_CALLER)(kernel, index, value);
  if (code == CL_SUCCESS && IsOn()) TheClObjects().SetPointer(kernel, index);
  return code;
}

ATTUNE_CAPTURE_ENTRY cl_kernel clCreateKernel(cl_program program, const char* name, cl_int* code) {
  const cl_kernel kernel = ATTUNE_REAL_CL(clCreateKernel, ATTUNE_CALLER)(program, name, code);
  if (kernel != nullptr && IsOn()) TheClObjects().Forget(kernel);
  return kernel;
}

ATTUNE_CAPTURE_ENTRY cl_int clCreateKernelsInProgram(cl_program program, cl_uint count,
                                                     cl_kernel* kernels, cl_uint* made) {
  cl_uint made_here = 0;
  const cl_int code =
      ATTUNE_REAL_CL(clCreateKernelsInProgram, ATTUNE_CALLER)(program, count, kernels, &made_here);
  if (made != nullptr) *made = made_here;
  if (code != CL_SUCCESS || kernels == nullptr || !IsOn()) return code;
  for (cl_uint i = 0; i < made_here && i < count; ++i) TheClObjects().Forget(kernels[i]);
  return code;
}

ATTUNE_CAPTURE_ENTRY cl_kernel clCloneKernel(cl_kernel kernel, cl_int* code) {
  const cl_kernel clone = ATTUNE_REAL_CL(clCloneKernel, ATTUNE_CALLER)(kernel, code);
  if (clone != nullptr && IsOn()) TheClObjects().Copy(kernel, clone);
  return clone;
}

ATTUNE_CAPTURE_ENTRY cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size,
                                           void* host, cl_int* code) {
  const cl_mem memory =
      ATTUNE_REAL_CL(clCreateBuffer, ATTUNE_CALLER)(context, flags, size, host, code);
  if (IsOn()) TheClObjects().AddMemory(memory);
  return memory;
}

ATTUNE_CAPTURE_ENTRY cl_mem clCreateBufferWithProperties(cl_context context,
                                                         const cl_mem_properties* properties,
                                                         cl_mem_flags flags, size_t size,
                                                         void* host, cl_int* code) {
  const cl_mem memory = ATTUNE_REAL_CL(clCreateBufferWithProperties, ATTUNE_CALLER)(
      context, properties, flags, size, host, code);
  if (IsOn()) TheClObjects().AddMemory(memory);
  return memory;
}

ATTUNE_CAPTURE_ENTRY cl_mem clCreateSubBuffer(cl_mem buffer, cl_mem_flags flags,
                                              cl_buffer_create_type type, const void* information,
                                              cl_int* code) {
  const cl_mem memory =
      ATTUNE_REAL_CL(clCreateSubBuffer, ATTUNE_CALLER)(buffer, flags, type, information, code);
  if (IsOn()) TheClObjects().AddMemory(memory);
  return memory;
}

ATTUNE_CAPTURE_ENTRY cl_mem clCreateImage(cl_context context, cl_mem_flags flags,
                                          const cl_image_format* format,
                                          const cl_image_desc* description, void* host,
                                          cl_int* code) {
  const cl_mem memory =
      ATTUNE_REAL_CL(clCreateImage, ATTUNE_CALLER)(context, flags, format, description, host, code);
  if (IsOn()) TheClObjects().AddMemory(memory);
  return memory;
}

ATTUNE_CAPTURE_ENTRY cl_int clReleaseMemObject(cl_mem memory) {
  if (IsOn()) {
    cl_uint holders = 0;
    ATTUNE_REAL_CL(clGetMemObjectInfo, ATTUNE_CALLER)
    (memory, CL_MEM_REFERENCE_COUNT, sizeof holders, &holders, nullptr);
    if (holders == 1) TheClObjects().RemoveMemory(memory);
  }
  return ATTUNE_REAL_CL(clReleaseMemObject, ATTUNE_CALLER)(memory);
}

ATTUNE_CAPTURE_ENTRY cl_event clCreateUserEvent(cl_context context, cl_int* code) {
  const cl_event event = ATTUNE_REAL_CL(clCreateUserEvent, ATTUNE_CALLER)(context, code);
  if (IsOn()) TheClObjects().AddUserEvent(event);
  return event;
}

ATTUNE_CAPTURE_ENTRY cl_int clSetUserEventStatus(cl_event event, cl_int status) {
  // Before the call: a command that waits for the event may run as soon as it is set, and destroy
  // it.
  if (IsOn()) TheClObjects().CompleteUserEvent(event);
  return ATTUNE_REAL_CL(clSetUserEventStatus, ATTUNE_CALLER)(event, status);
}

ATTUNE_CAPTURE_ENTRY cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel,
                                                   cl_uint dimensions, const size_t* offset,
                                                   const size_t* global, const size_t* local,
                                                   cl_uint event_count, const cl_event* events,
                                                   cl_event* event) {
  const void* const caller = ATTUNE_CALLER;
  const auto launch = [&] {
    return ATTUNE_REAL_CL(clEnqueueNDRangeKernel, caller)(queue, kernel, dimensions, offset, global,
                                                          local, event_count, events, event);
  };
  if (!IsOn()) return launch();
  return StoreCl({caller, queue, kernel, dimensions, offset, global, local, event_count, events},
                 launch);
}

ATTUNE_CAPTURE_ENTRY cl_int clEnqueueTask(cl_command_queue queue, cl_kernel kernel,
                                          cl_uint event_count, const cl_event* events,
                                          cl_event* event) {
  const void* const caller = ATTUNE_CALLER;
  const auto launch = [&] {
    return ATTUNE_REAL_CL(clEnqueueTask, caller)(queue, kernel, event_count, events, event);
  };
  if (!IsOn()) return launch();
  static constexpr size_t kOne = 1;
  return StoreCl({caller, queue, kernel, 1, nullptr, &kOne, &kOne, event_count, events}, launch);
}
