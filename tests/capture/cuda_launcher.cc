// A program that compiles a kernel with NVRTC and launches it through the driver, both of which it
// opens itself: cuda_launcher WHAT [STATUS]. It knows nothing of attune and checks its results.

#include <cuda.h>
#include <dlfcn.h>
#include <nvrtc.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <vector>

namespace {

constexpr const char* kSource = R"(
#include "scale.h"
extern "C" __global__ void saxpy(const float* __restrict__ x, float* y, float a, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n / STEP) y[i] = SCALE * a * x[i] + y[i];
}
)";
// The same as a template in a namespace.
constexpr const char* kTemplate = R"(
#include "scale.h"
namespace blas {
template <typename T, int kStep>
__global__ void saxpy(const T* __restrict__ x, T* y, T a, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n / kStep) y[i] = SCALE * a * x[i] + y[i];
}
}
)";
constexpr const char* kInstance = "blas::saxpy<float, STEP>";
constexpr const char* kHeader = "#define SCALE 1.0f\n";
constexpr int kCount = 1000;

void* OpenFirst(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (void* library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  std::fprintf(stderr, "cuda_launcher: there is no %s here\n", *names.begin());
  std::exit(77);
}

void Require(int code, const char* what) {
  if (code == 0) return;
  std::fprintf(stderr, "cuda_launcher: %s: %d\n", what, code);
  // No device is no failure of a test.
  std::exit(code == CUDA_ERROR_NO_DEVICE ? 77 : 90);
}

#define NAME_TEXT(NAME) #NAME
#define CALL(LIBRARY, NAME, ...)                                                      \
  Require(static_cast<int>(reinterpret_cast<std::remove_pointer_t<decltype(&NAME)>*>( \
              ::dlsym(LIBRARY, NAME_TEXT(NAME)))(__VA_ARGS__)),                       \
          #NAME)

struct Compiled {
  std::string code;
  std::string function = "saxpy";
};

Compiled Compile(void* nvrtc, bool is_template) {
  nvrtcProgram program = nullptr;
  const char* const name = "scale.h";
  const char* const source = is_template ? kTemplate : kSource;
  CALL(nvrtc, nvrtcCreateProgram, &program, source, "saxpy.cu", 1, &kHeader, &name);
  if (is_template) CALL(nvrtc, nvrtcAddNameExpression, program, kInstance);
  const char* const options[] = {"-DSTEP=1", "-DWG=100", "--std=c++14", "-arch=compute_80"};
  CALL(nvrtc, nvrtcCompileProgram, program, 4, options);
  size_t size = 0;
  CALL(nvrtc, nvrtcGetPTXSize, program, &size);
  Compiled compiled{std::string(size, '\0')};
  CALL(nvrtc, nvrtcGetPTX, program, compiled.code.data());
  if (is_template) {
    const char* symbol = nullptr;
    CALL(nvrtc, nvrtcGetLoweredName, program, kInstance, &symbol);
    compiled.function = symbol;
  }
  CALL(nvrtc, nvrtcDestroyProgram, &program);
  return compiled;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  void* const cuda = OpenFirst({"libcuda.so.1"});
  void* const nvrtc = OpenFirst({"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"});
  CALL(cuda, cuInit, 0);
  CUdevice device = 0;
  CUcontext context = nullptr;
  CALL(cuda, cuDeviceGet, &device, 0);
  CALL(cuda, cuDevicePrimaryCtxRetain, &context, device);
  CALL(cuda, cuCtxSetCurrent, context);
  Compiled compiled = Compile(nvrtc, what == "template");
  // To the interposer this is code that was compiled elsewhere.
  if (what == "binary") compiled.code = "// from elsewhere\n" + compiled.code;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  CALL(cuda, cuModuleLoadData, &module, compiled.code.c_str());
  CALL(cuda, cuModuleGetFunction, &function, module, compiled.function.c_str());

  // Both in one allocation, as allocators of frameworks have it.
  CUdeviceptr x = 0;
  CALL(cuda, cuMemAlloc, &x, 8192);
  CUdeviceptr y = x + 4096;
  std::vector<float> values(kCount);
  for (int i = 0; i < kCount; ++i) values[static_cast<size_t>(i)] = static_cast<float>(i);
  const auto host = reinterpret_cast<CUdeviceptr>(values.data());
  CALL(cuda, cuMemcpy, x, host, kCount * sizeof(float));
  CALL(cuda, cuMemcpy, y, host, kCount * sizeof(float));
  float a = 2;
  int n = kCount;
  void* parameters[] = {&x, &y, &a, &n};
  // Stream 9 is one that the stand-in takes for captured.
  const auto stream = reinterpret_cast<CUstream>(uintptr_t{what == "graph" ? 9u : 0u});
  if (what == "asked") {
    void* found = nullptr;
    CUdriverProcAddressQueryResult status = {};
    CALL(cuda, cuGetProcAddress, "cuLaunchKernel", &found, 12000, 0, &status);
    Require(static_cast<int>(reinterpret_cast<decltype(&cuLaunchKernel)>(found)(
                function, 10, 1, 1, 100, 1, 1, 0, stream, parameters, nullptr)),
            "launch");
  } else {
    CALL(cuda, cuLaunchKernel, function, 10, 1, 1, 100, 1, 1, 0, stream, parameters, nullptr);
  }
  CALL(cuda, cuStreamSynchronize, nullptr);
  CALL(cuda, cuMemcpy, host, y, kCount * sizeof(float));
  if (values[999] != 3 * 999) return 91;
  std::printf("saxpy %.1f\n", static_cast<double>(values[999]));
  return argc > 2 ? std::atoi(argv[2]) : 0;
}
