// The functions of CUDA's driver and of NVRTC that reveal the origin of a kernel, and the launches.
// Each calls the real function with the same arguments and returns its result.

#include "extensions/interposers/capture/cuda_api.h"

#include <cstring>
#include <utility>

#include "extensions/interposers/capture/cuda_launch.h"
#include "extensions/interposers/capture/cuda_objects.h"
#include "extensions/interposers/capture/settings.h"
#include "extensions/interposers/capture/stored_launch.h"

#define ATTUNE_CAPTURE_ENTRY extern "C" __attribute__((visibility("default")))
#define ATTUNE_CALLER __builtin_return_address(0)

namespace attune::capture {
namespace {

template <class Launch>
CUresult StoreCuda(const CudaLaunchCall& call, const Launch& launch) {
  CudaFunction function = TheCudaObjects().Of(call.function);
  const std::string name = function.name.empty() ? "(a kernel of unknown name)" : function.name;
  return Store(
      name, function.code, [&] { return CudaLaunch(call, function); }, launch, CUDA_SUCCESS);
}

CudaObjects::TellSymbol SymbolsOf(nvrtcProgram program, const void* caller) {
  return [program, caller](const std::string& name_expression) {
    const char* symbol = nullptr;
    const nvrtcResult code =
        ATTUNE_REAL_CUDA(nvrtcGetLoweredName, caller)(program, name_expression.c_str(), &symbol);
    return std::string(code == NVRTC_SUCCESS && symbol != nullptr ? symbol : "");
  };
}

// Returns this library's functions to programs that query the driver for functions.
void ReplaceByOurs(const char* symbol, int version, cuuint64_t flags, void** function) {
  // With a default stream per thread: another function under the same name.
  if ((flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0) return;
  static const std::pair<const char*, void*> kOurs[] = {
      {"cuLaunchKernel", reinterpret_cast<void*>(&::cuLaunchKernel)},
      {"cuLaunchKernelEx", reinterpret_cast<void*>(&::cuLaunchKernelEx)},
      {"cuModuleLoadData", reinterpret_cast<void*>(&::cuModuleLoadData)},
      {"cuModuleLoadDataEx", reinterpret_cast<void*>(&::cuModuleLoadDataEx)},
      {"cuLibraryLoadData", reinterpret_cast<void*>(&::cuLibraryLoadData)},
      {"cuModuleGetFunction", reinterpret_cast<void*>(&::cuModuleGetFunction)},
      {"cuLibraryGetKernel", reinterpret_cast<void*>(&::cuLibraryGetKernel)},
      {"cuKernelGetFunction", reinterpret_cast<void*>(&::cuKernelGetFunction)}};
  for (const auto& [name, ours] : kOurs) {
    if (std::strcmp(name, symbol) == 0) *function = ours;
  }
  // Before version 12 it has one argument less.
  constexpr int kFirstVersion = 12000;
  if (version >= kFirstVersion && std::strcmp(symbol, "cuGetProcAddress") == 0) {
    *function = reinterpret_cast<void*>(&::cuGetProcAddress);
  }
}

}  // namespace
}  // namespace attune::capture

using attune::capture::CudaSource;
using attune::capture::IsOn;
using attune::capture::ReplaceByOurs;
using attune::capture::StoreCuda;
using attune::capture::SymbolsOf;
using attune::capture::TheCudaObjects;

ATTUNE_CAPTURE_ENTRY nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char* source,
                                                    const char* name, int header_count,
                                                    const char* const* headers,
                                                    const char* const* names) {
  const nvrtcResult code = ATTUNE_REAL_CUDA(nvrtcCreateProgram, ATTUNE_CALLER)(
      program, source, name, header_count, headers, names);
  if (code != NVRTC_SUCCESS || source == nullptr || !IsOn()) return code;
  CudaSource known{source, "", {}, {}};
  for (int i = 0; i < header_count; ++i) known.headers.emplace_back(names[i], headers[i]);
  TheCudaObjects().AddProgram(*program, std::move(known));
  return code;
}

ATTUNE_CAPTURE_ENTRY nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
  if (program != nullptr && IsOn()) TheCudaObjects().RemoveProgram(*program);
  return ATTUNE_REAL_CUDA(nvrtcDestroyProgram, ATTUNE_CALLER)(program);
}

ATTUNE_CAPTURE_ENTRY nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count,
                                                     const char* const* options) {
  if (IsOn()) {
    std::string words;
    for (int i = 0; i < count; ++i) {
      // In quotes: an option may contain blanks.
      words += std::string(i == 0 ? "'" : " '") + options[i] + "'";
    }
    TheCudaObjects().SetOptions(program, std::move(words));
  }
  return ATTUNE_REAL_CUDA(nvrtcCompileProgram, ATTUNE_CALLER)(program, count, options);
}

ATTUNE_CAPTURE_ENTRY nvrtcResult nvrtcAddNameExpression(nvrtcProgram program,
                                                        const char* name_expression) {
  const nvrtcResult code =
      ATTUNE_REAL_CUDA(nvrtcAddNameExpression, ATTUNE_CALLER)(program, name_expression);
  if (code == NVRTC_SUCCESS && IsOn()) {
    TheCudaObjects().AddNameExpression(program, name_expression);
  }
  return code;
}

ATTUNE_CAPTURE_ENTRY nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char* bytes) {
  const void* const caller = ATTUNE_CALLER;
  const nvrtcResult code = ATTUNE_REAL_CUDA(nvrtcGetCUBIN, caller)(program, bytes);
  size_t size = 0;
  if (code == NVRTC_SUCCESS && IsOn() &&
      ATTUNE_REAL_CUDA(nvrtcGetCUBINSize, caller)(program, &size) == NVRTC_SUCCESS) {
    TheCudaObjects().AddCode(program, {bytes, size}, SymbolsOf(program, caller));
  }
  return code;
}

ATTUNE_CAPTURE_ENTRY nvrtcResult nvrtcGetPTX(nvrtcProgram program, char* bytes) {
  const void* const caller = ATTUNE_CALLER;
  const nvrtcResult code = ATTUNE_REAL_CUDA(nvrtcGetPTX, caller)(program, bytes);
  size_t size = 0;
  if (code == NVRTC_SUCCESS && IsOn() &&
      ATTUNE_REAL_CUDA(nvrtcGetPTXSize, caller)(program, &size) == NVRTC_SUCCESS) {
    TheCudaObjects().AddCode(program, {bytes, size}, SymbolsOf(program, caller));
  }
  return code;
}

ATTUNE_CAPTURE_ENTRY CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  const CUresult code = ATTUNE_REAL_CUDA(cuModuleLoadData, ATTUNE_CALLER)(module, image);
  if (code == CUDA_SUCCESS && IsOn()) TheCudaObjects().AddModule(*module, image);
  return code;
}

ATTUNE_CAPTURE_ENTRY CUresult cuModuleLoadDataEx(CUmodule* module, const void* image,
                                                 unsigned count, CUjit_option* options,
                                                 void** values) {
  const CUresult code =
      ATTUNE_REAL_CUDA(cuModuleLoadDataEx, ATTUNE_CALLER)(module, image, count, options, values);
  if (code == CUDA_SUCCESS && IsOn()) TheCudaObjects().AddModule(*module, image);
  return code;
}

ATTUNE_CAPTURE_ENTRY CUresult cuLibraryLoadData(CUlibrary* library, const void* image,
                                                CUjit_option* options, void** values,
                                                unsigned count, CUlibraryOption* library_options,
                                                void** library_values, unsigned library_count) {
  const CUresult code = ATTUNE_REAL_CUDA(cuLibraryLoadData, ATTUNE_CALLER)(
      library, image, options, values, count, library_options, library_values, library_count);
  if (code == CUDA_SUCCESS && IsOn()) TheCudaObjects().AddModule(*library, image);
  return code;
}

ATTUNE_CAPTURE_ENTRY CUresult cuModuleGetFunction(CUfunction* function, CUmodule module,
                                                  const char* name) {
  const CUresult code =
      ATTUNE_REAL_CUDA(cuModuleGetFunction, ATTUNE_CALLER)(function, module, name);
  if (code == CUDA_SUCCESS && IsOn()) TheCudaObjects().AddFunction(*function, module, name);
  return code;
}

ATTUNE_CAPTURE_ENTRY CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library,
                                                 const char* name) {
  const CUresult code = ATTUNE_REAL_CUDA(cuLibraryGetKernel, ATTUNE_CALLER)(kernel, library, name);
  if (code == CUDA_SUCCESS && IsOn()) TheCudaObjects().AddFunction(*kernel, library, name);
  return code;
}

ATTUNE_CAPTURE_ENTRY CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  const CUresult code = ATTUNE_REAL_CUDA(cuKernelGetFunction, ATTUNE_CALLER)(function, kernel);
  if (code == CUDA_SUCCESS && IsOn()) TheCudaObjects().AddAlias(*function, kernel);
  return code;
}

ATTUNE_CAPTURE_ENTRY CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                                             unsigned grid_z, unsigned block_x, unsigned block_y,
                                             unsigned block_z, unsigned shared_bytes,
                                             CUstream stream, void** parameters, void** extra) {
  const void* const caller = ATTUNE_CALLER;
  const auto launch = [&] {
    return ATTUNE_REAL_CUDA(cuLaunchKernel, caller)(function, grid_x, grid_y, grid_z, block_x,
                                                    block_y, block_z, shared_bytes, stream,
                                                    parameters, extra);
  };
  if (!IsOn()) return launch();
  return StoreCuda({caller,
                    function,
                    {grid_x, grid_y, grid_z},
                    {block_x, block_y, block_z},
                    shared_bytes,
                    0,
                    stream,
                    parameters,
                    extra},
                   launch);
}

ATTUNE_CAPTURE_ENTRY CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function,
                                               void** parameters, void** extra) {
  const void* const caller = ATTUNE_CALLER;
  const auto launch = [&] {
    return ATTUNE_REAL_CUDA(cuLaunchKernelEx, caller)(config, function, parameters, extra);
  };
  if (!IsOn() || config == nullptr) return launch();
  return StoreCuda({caller,
                    function,
                    {config->gridDimX, config->gridDimY, config->gridDimZ},
                    {config->blockDimX, config->blockDimY, config->blockDimZ},
                    config->sharedMemBytes,
                    config->numAttrs,
                    config->hStream,
                    parameters,
                    extra},
                   launch);
}

// cuGetProcAddress_v2, as cuda.h renames it.
ATTUNE_CAPTURE_ENTRY CUresult cuGetProcAddress(const char* symbol, void** function, int version,
                                               cuuint64_t flags,
                                               CUdriverProcAddressQueryResult* status) {
  const CUresult code =
      ATTUNE_REAL_CUDA(cuGetProcAddress, ATTUNE_CALLER)(symbol, function, version, flags, status);
  if (code == CUDA_SUCCESS && function != nullptr && *function != nullptr && IsOn()) {
    ReplaceByOurs(symbol, version, flags, function);
  }
  return code;
}
