// The CUDA driver, loaded at run time: a program that links none of CUDA runs on any machine, and
// reports the missing parts where there is no GPU.
#pragma once

#include <cuda.h>

#include <string>
#include <string_view>

#include "attune/base/status.h"
#include "attune/solver/backend.h"

namespace attune::cuda {

// The driver functions in use. cuda.h renames some of them to the version that it declares
// (cuMemAlloc to cuMemAlloc_v2), and they are looked up by that name.
#define ATTUNE_CUDA_DRIVER_FUNCTIONS(X) \
  X(cuInit)                             \
  X(cuDriverGetVersion)                 \
  X(cuGetErrorName)                     \
  X(cuGetErrorString)                   \
  X(cuDeviceGetCount)                   \
  X(cuDeviceGet)                        \
  X(cuDeviceGetName)                    \
  X(cuDeviceGetAttribute)               \
  X(cuDeviceGetPCIBusId)                \
  X(cuDeviceTotalMem)                   \
  X(cuDevicePrimaryCtxRetain)           \
  X(cuDevicePrimaryCtxRelease)          \
  X(cuCtxGetCurrent)                    \
  X(cuCtxSetCurrent)                    \
  X(cuMemAlloc)                         \
  X(cuMemFree)                          \
  X(cuMemcpyHtoDAsync)                  \
  X(cuMemcpyDtoHAsync)                  \
  X(cuMemcpyDtoDAsync)                  \
  X(cuMemsetD8Async)                    \
  X(cuMemsetD16Async)                   \
  X(cuMemsetD32Async)                   \
  X(cuStreamCreate)                     \
  X(cuStreamDestroy)                    \
  X(cuStreamSynchronize)                \
  X(cuStreamBeginCapture)               \
  X(cuStreamEndCapture)                 \
  X(cuStreamGetCaptureInfo)             \
  X(cuStreamGetId)                      \
  X(cuStreamIsCapturing)                \
  X(cuThreadExchangeStreamCaptureMode)  \
  X(cuEventCreate)                      \
  X(cuEventDestroy)                     \
  X(cuEventRecordWithFlags)             \
  X(cuEventElapsedTime)                 \
  X(cuGraphInstantiate)                 \
  X(cuGraphExecDestroy)                 \
  X(cuGraphDestroy)                     \
  X(cuGraphLaunch)                      \
  X(cuGraphUpload)                      \
  X(cuModuleLoadData)                   \
  X(cuModuleUnload)                     \
  X(cuModuleGetFunction)                \
  X(cuFuncSetAttribute)                 \
  X(cuLaunchKernel)

// Functions that a driver may lack; null then.
#define ATTUNE_CUDA_LATER_DRIVER_FUNCTIONS(X)    \
  X(cuLaunchCooperativeKernel)                   \
  X(cuLaunchKernelEx)                            \
  X(cuFuncGetAttribute)                          \
  X(cuFuncGetName)                               \
  X(cuFuncGetParamInfo)                          \
  X(cuGraphGetNodes)                             \
  X(cuGraphKernelNodeGetParams)                  \
  X(cuGraphNodeGetType)                          \
  X(cuGraphRetainUserObject)                     \
  X(cuKernelGetFunction)                         \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor) \
  X(cuOccupancyMaxActiveClusters)                \
  X(cuUserObjectCreate)                          \
  X(cuUserObjectRelease)

// The creator loads it once; the library stays for the life of the process. Immutable and
// thread-safe afterwards.
struct Driver {
#define ATTUNE_CUDA_DECLARE(NAME) decltype(&::NAME) NAME = nullptr;
  ATTUNE_CUDA_DRIVER_FUNCTIONS(ATTUNE_CUDA_DECLARE)
  ATTUNE_CUDA_LATER_DRIVER_FUNCTIONS(ATTUNE_CUDA_DECLARE)
#undef ATTUNE_CUDA_DECLARE
  int version = 0;  // Highest CUDA version that this driver supports: 13000 for 13.0.
  LibraryReport report;

  bool available() const { return report.available; }
};

// Loads the driver, by file name or path, and initialises it. If that fails, `report.missing` gives
// the reason: no driver, one that is too old, or no device that this process may use.
Driver LoadDriver(const std::string& library = "libcuda.so.1");

// "13.0".
std::string VersionText(int version);

// Ok for CUDA_SUCCESS, else "<what>: CUDA_ERROR_OUT_OF_MEMORY (out of memory).": kResourceExhausted
// if memory ran out, kUnavailable if the device or its context is lost for this process (see
// IsSticky), kInternal otherwise.
Status CudaStatus(const Driver& driver, CUresult code, std::string_view what);

// True if every later call in this process would fail with the same error: an illegal address, a
// trap, a hardware fault. Only a new process helps.
bool IsSticky(CUresult code);

}  // namespace attune::cuda
