// Stores a launch of this program's own OpenCL kernel by one call, to be tuned afterwards:
//   capture_launch FOLDER && attune tune --kernel FOLDER/scale/scale.json

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <attune/capture.hpp>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr const char* kSource =
    "__kernel void scale(__global const float* x, __global float* y, float by, int n) {\n"
    "  const int i = get_global_id(0);\n"
    "  if (i < n) y[i] = by * x[i];\n"
    "}\n";
constexpr size_t kCount = 4096;
constexpr size_t kBytes = kCount * sizeof(float);
constexpr size_t kGroup = 64;

void Check(cl_int code, const char* what) {
  if (code != CL_SUCCESS) throw std::runtime_error(what + (": " + std::to_string(code)));
}

// Reads a buffer, behind everything in `queue`.
attune::Capture::Reader ReaderOf(cl_command_queue queue, cl_mem memory) {
  return [queue, memory](void* to) {
    Check(clEnqueueReadBuffer(queue, memory, CL_TRUE, 0, kBytes, to, 0, nullptr, nullptr),
          "clEnqueueReadBuffer");
  };
}

// The path of the kernel file.
std::string Run(cl_device_id device, const char* folder) {
  const cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
  const cl_command_queue queue = clCreateCommandQueue(context, device, 0, nullptr);
  const char* text = kSource;
  const cl_program program = clCreateProgramWithSource(context, 1, &text, nullptr, nullptr);
  clBuildProgram(program, 1, &device, "", nullptr, nullptr);
  const cl_kernel kernel = clCreateKernel(program, "scale", nullptr);
  std::vector<float> ones(kCount, 1);
  const auto make = [&] {
    return clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, kBytes, ones.data(), nullptr);
  };
  const cl_mem x = make();
  const cl_mem y = make();
  const float by = 3;
  const cl_int n = kCount;
  clSetKernelArg(kernel, 0, sizeof x, &x);
  clSetKernelArg(kernel, 1, sizeof y, &y);
  clSetKernelArg(kernel, 2, sizeof by, &by);
  clSetKernelArg(kernel, 3, sizeof n, &n);

  attune::Capture capture("scale", kSource);
  capture.Dimension(kGroup, kCount / kGroup)
      .Buffer(kBytes, ReaderOf(queue, x))
      .Buffer(kBytes, ReaderOf(queue, y))
      .Scalar(by)
      .Scalar(n);
  return capture.Store(folder, [&] {
    Check(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &kCount, &kGroup, 0, nullptr, nullptr),
          "clEnqueueNDRangeKernel");
  });
}

}  // namespace

int main(int argc, char** argv) {
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  if (argc != 2 || clGetPlatformIDs(1, &platform, nullptr) != CL_SUCCESS ||
      clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr) != CL_SUCCESS) {
    std::cerr << "usage: capture_launch FOLDER, where there is an OpenCL device\n";
    return 2;
  }
  try {
    std::cout << "attune tune --kernel " << Run(device, argv[1]) << "\n";
  } catch (const std::exception& error) {
    std::cerr << "capture_launch: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
