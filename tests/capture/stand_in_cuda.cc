// A libcuda.so.1 and a libnvrtc.so.13 for tests: memory is the host's, "compiling" keeps the text,
// and every kernel is y = a x + y.

#include <cuda.h>
#include <nvrtc.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

namespace {

std::mutex the_mutex;
std::map<CUdeviceptr, size_t>& Allocations() {
  static auto* const allocations = new std::map<CUdeviceptr, size_t>();
  return *allocations;
}

constexpr const char* kCode = "// code of a stand-in\n";
constexpr size_t kParameterBytes[] = {8, 8, 4, 4};

}  // namespace

extern "C" {

CUresult cuInit(unsigned) { return CUDA_SUCCESS; }
CUresult cuDeviceGet(CUdevice* device, int) { return *device = 0, CUDA_SUCCESS; }
CUresult cuCtxGetDevice(CUdevice* device) { return *device = 0, CUDA_SUCCESS; }
CUresult cuDevicePrimaryCtxRetain(CUcontext*, CUdevice) { return CUDA_SUCCESS; }
CUresult cuCtxSetCurrent(CUcontext) { return CUDA_SUCCESS; }
CUresult cuDeviceGetName(char* name, int bytes, CUdevice) {
  std::strncpy(name, "Stand-in", static_cast<size_t>(bytes));
  return CUDA_SUCCESS;
}
CUresult cuMemAlloc(CUdeviceptr* address, size_t bytes) {
  const std::lock_guard lock(the_mutex);
  *address = reinterpret_cast<CUdeviceptr>(std::calloc(1, bytes));
  Allocations()[*address] = bytes;
  return CUDA_SUCCESS;
}
CUresult cuMemGetAddressRange(CUdeviceptr* base, size_t* size, CUdeviceptr address) {
  const std::lock_guard lock(the_mutex);
  for (const auto& [begin, bytes] : Allocations()) {
    if (address < begin || address >= begin + bytes) continue;
    *base = begin;
    *size = bytes;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_NOT_FOUND;
}
CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
  return CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream) { return CUDA_SUCCESS; }
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode*) { return CUDA_SUCCESS; }
// Stream 9 is one that is captured.
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  *status = reinterpret_cast<uintptr_t>(stream) == 9 ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                                                     : CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}
CUresult cuModuleLoadData(CUmodule* module, const void*) {
  *module = reinterpret_cast<CUmodule>(std::malloc(1));
  return CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule, const char*) {
  *function = reinterpret_cast<CUfunction>(std::malloc(1));
  return CUDA_SUCCESS;
}
CUresult cuFuncGetParamInfo(CUfunction, size_t index, size_t* offset, size_t* size) {
  if (index >= std::size(kParameterBytes)) return CUDA_ERROR_INVALID_VALUE;
  *offset = 0;
  *size = kParameterBytes[index];
  return CUDA_SUCCESS;
}
CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                        unsigned, CUstream, void** parameters, void**) {
  const float* const x = *static_cast<float**>(parameters[0]);
  float* const y = *static_cast<float**>(parameters[1]);
  const float a = *static_cast<float*>(parameters[2]);
  const int n = *static_cast<int*>(parameters[3]);
  for (int i = 0; i < n; ++i) y[i] += a * x[i];
  return CUDA_SUCCESS;
}
CUresult cuGetProcAddress(const char* symbol, void** function, int, cuuint64_t,
                          CUdriverProcAddressQueryResult*) {
  if (std::strcmp(symbol, "cuLaunchKernel") != 0) return CUDA_ERROR_NOT_FOUND;
  *function = reinterpret_cast<void*>(&cuLaunchKernel);
  return CUDA_SUCCESS;
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char* source, const char*, int,
                               const char* const*, const char* const*) {
  *program = reinterpret_cast<nvrtcProgram>(new std::string(std::string(kCode) + source));
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcCompileProgram(nvrtcProgram, int, const char* const*) { return NVRTC_SUCCESS; }
nvrtcResult nvrtcAddNameExpression(nvrtcProgram, const char*) { return NVRTC_SUCCESS; }
nvrtcResult nvrtcGetLoweredName(nvrtcProgram, const char*, const char** symbol) {
  *symbol = "_ZN4blas5saxpyIfLi1EEEvPKT_PS1_S1_i";
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t* size) {
  *size = reinterpret_cast<std::string*>(program)->size() + 1;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetPTX(nvrtcProgram program, char* bytes) {
  const std::string& code = *reinterpret_cast<std::string*>(program);
  std::memcpy(bytes, code.c_str(), code.size() + 1);
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
  delete reinterpret_cast<std::string*>(*program);
  return NVRTC_SUCCESS;
}

}  // extern "C"
