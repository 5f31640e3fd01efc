// A simulation on the first OpenCL device, for commands of the documentation that run one. It
// launches the kernel `advance` 500 times.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr const char* kSource = R"(
__kernel void advance(__global const float* from, __global float* to, float rate, int n) {
  const int i = get_global_id(0);
  if (i < n) to[i] += rate * (from[(i + 1) % n] - from[i]);
}
)";
constexpr size_t kCells = 4096;
constexpr size_t kGroup = 64;
constexpr int kSteps = 500;

void Require(cl_int code, const char* what) {
  if (code == CL_SUCCESS) return;
  std::fprintf(stderr, "simulate: %s: %d\n", what, code);
  std::exit(1);
}

}  // namespace

int main() {
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  cl_int code = CL_SUCCESS;
  Require(clGetPlatformIDs(1, &platform, nullptr), "no platform");
  Require(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr), "no device");
  cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &code);
  Require(code, "no context");
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
  Require(code, "no queue");
  const char* source = kSource;
  cl_program program = clCreateProgramWithSource(context, 1, &source, nullptr, &code);
  Require(clBuildProgram(program, 1, &device, "", nullptr, nullptr), "the kernel does not compile");
  cl_kernel kernel = clCreateKernel(program, "advance", &code);
  Require(code, "no kernel");
  std::vector<float> cells(kCells);
  for (size_t i = 0; i < kCells; ++i) cells[i] = static_cast<float>(i % 7);
  cl_mem buffers[2];
  for (cl_mem& buffer : buffers) {
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                            kCells * sizeof(float), cells.data(), &code);
    Require(code, "no buffer");
  }
  const float rate = 0.25f;
  const cl_int count = static_cast<cl_int>(kCells);
  for (int step = 0; step < kSteps; ++step) {
    Require(clSetKernelArg(kernel, 0, sizeof(cl_mem), &buffers[step % 2]), "argument 0");
    Require(clSetKernelArg(kernel, 1, sizeof(cl_mem), &buffers[1 - step % 2]), "argument 1");
    Require(clSetKernelArg(kernel, 2, sizeof rate, &rate), "argument 2");
    Require(clSetKernelArg(kernel, 3, sizeof count, &count), "argument 3");
    Require(
        clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &kCells, &kGroup, 0, nullptr, nullptr),
        "launch");
  }
  Require(clFinish(queue), "finish");
  return 0;
}
