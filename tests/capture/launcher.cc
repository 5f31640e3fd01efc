// A program that launches kernels on the first OpenCL device, to be captured: launcher WHAT
// [STATUS]. It knows nothing of attune, prints its results, and checks them.

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr const char* kSource = R"(
#define REAL float
// STEP is what nobody may change: with 2, half of y stays as it was.
__kernel void saxpy(__global const REAL* restrict x, __global REAL* y, REAL a, int n) {
  const int i = get_global_id(0) * STEP;
  if (i < n) y[i] = a * x[i] + BIAS + y[i];
}
__kernel void reverse(__global float* values, __local float* copy, uint n) {
  const size_t i = get_local_id(0);
  copy[i] = values[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  values[get_global_id(0)] = copy[n - 1 - i];
}
__kernel void shift(__global uchar* letters, uchar4 by) { letters[get_global_id(0)] += by.y; }
__kernel void copy_image(__read_only image2d_t image, __global float* out) {
  const sampler_t plain = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
  out[get_global_id(0)] = read_imagef(image, plain, (int2)(get_global_id(0), 0)).x;
}
__kernel void infinite(__global float* out) { out[get_global_id(0)] = 1.0f / out[0]; }
)";
constexpr const char* kOptions = "-D STEP=1 -DBIAS=(1.0f+0) -DUNUSED=0.5 -cl-mad-enable";
constexpr size_t kCount = 1000;
constexpr size_t kGroup = 50;

void Require(cl_int code, const char* what) {
  if (code == CL_SUCCESS) return;
  std::fprintf(stderr, "launcher: %s: %d\n", what, code);
  std::exit(90);
}

void Expect(bool is_right, const char* what) {
  if (is_right) return;
  std::fprintf(stderr, "launcher: wrong result: %s\n", what);
  std::exit(91);
}

class Machine {
 public:
  Machine() {
    cl_platform_id platform = nullptr;
    Require(clGetPlatformIDs(1, &platform, nullptr), "no platform");
    Require(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device_, nullptr), "no device");
    cl_int code = CL_SUCCESS;
    context_ = clCreateContext(nullptr, 1, &device_, nullptr, nullptr, &code);
    Require(code, "context");
    program_ =
        clCreateProgramWithSource(context_, 1, const_cast<const char**>(&kSource), nullptr, &code);
    Require(clBuildProgram(program_, 1, &device_, kOptions, nullptr, nullptr), "build");
  }

  cl_command_queue Queue() const {
    cl_int code = CL_SUCCESS;
    cl_command_queue queue = clCreateCommandQueue(context_, device_, 0, &code);
    Require(code, "queue");
    return queue;
  }

  cl_kernel Kernel(const char* name) const { return KernelOf(program_, name); }

  static cl_kernel KernelOf(cl_program program, const char* name) {
    cl_int code = CL_SUCCESS;
    cl_kernel kernel = clCreateKernel(program, name, &code);
    Require(code, name);
    return kernel;
  }

  template <class T>
  cl_mem Buffer(const std::vector<T>& content) const {
    cl_int code = CL_SUCCESS;
    cl_mem buffer =
        clCreateBuffer(context_, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                       content.size() * sizeof(T), const_cast<T*>(content.data()), &code);
    Require(code, "buffer");
    return buffer;
  }

  // The same program out of its binary.
  cl_program FromBinary() const {
    size_t size = 0;
    Require(clGetProgramInfo(program_, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr),
            "size");
    std::vector<unsigned char> bytes(size);
    unsigned char* place = bytes.data();
    Require(clGetProgramInfo(program_, CL_PROGRAM_BINARIES, sizeof place, &place, nullptr),
            "binary");
    const unsigned char* binary = place;
    cl_int code = CL_SUCCESS;
    cl_program program =
        clCreateProgramWithBinary(context_, 1, &device_, &size, &binary, nullptr, &code);
    Require(code, "program of a binary");
    Require(clBuildProgram(program, 1, &device_, kOptions, nullptr, nullptr), "build of a binary");
    return program;
  }

  cl_context context() const { return context_; }

 private:
  cl_device_id device_ = nullptr;
  cl_context context_ = nullptr;
  cl_program program_ = nullptr;
};

template <class T>
void Set(cl_kernel kernel, cl_uint index, const T& value) {
  Require(clSetKernelArg(kernel, index, sizeof value, &value), "argument");
}

void Launch(cl_command_queue queue, cl_kernel kernel, size_t global, size_t local) {
  Require(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &global, &local, 0, nullptr, nullptr),
          "launch");
}

template <class T>
std::vector<T> Read(cl_command_queue queue, cl_mem buffer, size_t count) {
  std::vector<T> values(count);
  Require(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, count * sizeof(T), values.data(), 0,
                              nullptr, nullptr),
          "read");
  return values;
}

std::vector<float> Ramp(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i) / 8;
  return values;
}

// y = 2 x + 1 + y, `times` times. Says what the last element is.
void Saxpy(const Machine& machine, cl_program program, int times) {
  const cl_command_queue queue = machine.Queue();
  const cl_kernel kernel =
      program == nullptr ? machine.Kernel("saxpy") : Machine::KernelOf(program, "saxpy");
  const cl_mem x = machine.Buffer(Ramp(kCount));
  const cl_mem y = machine.Buffer(std::vector<float>(kCount, 3));
  Set(kernel, 0, x);
  Set(kernel, 1, y);
  Set(kernel, 2, 2.0f);
  Set(kernel, 3, static_cast<cl_int>(kCount));
  for (int i = 0; i < times; ++i) Launch(queue, kernel, kCount, kGroup);
  const float last = Read<float>(queue, y, kCount).back();
  Expect(last == 3 + static_cast<float>(times) * (2 * 999.0f / 8 + 1), "saxpy");
  std::printf("saxpy %.3f\n", static_cast<double>(last));
}

void Reverse(const Machine& machine) {
  const cl_command_queue queue = machine.Queue();
  const cl_kernel kernel = machine.Kernel("reverse");
  const cl_mem values = machine.Buffer(Ramp(64));
  Set(kernel, 0, values);
  Require(clSetKernelArg(kernel, 1, 64 * sizeof(float), nullptr), "local memory");
  Set(kernel, 2, cl_uint{64});
  Launch(queue, kernel, 64, 64);
  Expect(Read<float>(queue, values, 64).front() == 63.0f / 8, "reverse");
  std::printf("reverse\n");
}

// Seven bytes, which are no whole words; nothing changes before the second launch.
void Shift(const Machine& machine) {
  const cl_command_queue queue = machine.Queue();
  const cl_kernel kernel = machine.Kernel("shift");
  const cl_mem letters =
      machine.Buffer(std::vector<unsigned char>{'a', 'b', 'c', 'd', 'e', 'f', 'g'});
  Set(kernel, 0, letters);
  for (const unsigned char by : {0, 2}) {
    const cl_uchar4 vector = {{9, by, 9, 9}};
    Set(kernel, 1, vector);
    const size_t count = 7;
    Require(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &count, nullptr, 0, nullptr, nullptr),
            "launch");
  }
  Expect(Read<unsigned char>(queue, letters, 7).front() == 'c', "shift");
}

cl_mem Part(cl_mem buffer, size_t begin, size_t size) {
  const cl_buffer_region region = {begin, size};
  cl_int code = CL_SUCCESS;
  cl_mem part =
      clCreateSubBuffer(buffer, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
  Require(code, "sub-buffer");
  return part;
}

// y = x + 1 + y on two parts of one buffer, which meet if `overlap`.
void Parts(const Machine& machine, bool overlap) {
  const cl_command_queue queue = machine.Queue();
  const cl_kernel kernel = machine.Kernel("saxpy");
  const cl_mem all = machine.Buffer(Ramp(512));
  Set(kernel, 0, Part(all, 0, overlap ? 2048 : 1024));
  Set(kernel, 1, Part(all, 1024, 1024));
  Set(kernel, 2, 1.0f);
  Set(kernel, 3, cl_int{256});
  Launch(queue, kernel, 256, 64);
  Expect(Read<float>(queue, all, 512)[256] == 256.0f / 8 + 1, "parts");
}

void Image(const Machine& machine) {
  const cl_image_format format = {CL_R, CL_FLOAT};
  cl_image_desc description = {};
  description.image_type = CL_MEM_OBJECT_IMAGE2D;
  description.image_width = 16;
  description.image_height = 1;
  std::vector<float> pixels = Ramp(16);
  cl_int code = CL_SUCCESS;
  cl_mem image = clCreateImage(machine.context(), CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, &format,
                               &description, pixels.data(), &code);
  Require(code, "image");
  const cl_command_queue queue = machine.Queue();
  const cl_kernel kernel = machine.Kernel("copy_image");
  const cl_mem out = machine.Buffer(std::vector<float>(16, 0));
  Set(kernel, 0, image);
  Set(kernel, 1, out);
  Launch(queue, kernel, 16, 16);
  Expect(Read<float>(queue, out, 16)[8] == 1, "image");
}

void Infinite(const Machine& machine) {
  const cl_command_queue queue = machine.Queue();
  const cl_kernel kernel = machine.Kernel("infinite");
  const cl_mem out = machine.Buffer(std::vector<float>(1, 0));
  Set(kernel, 0, out);
  Launch(queue, kernel, 1, 1);
  Require(clFinish(queue), "finish");
}

// The launch waits for an event that this thread sets behind it.
void HeldBack(const Machine& machine) {
  const cl_command_queue queue = machine.Queue();
  const cl_kernel kernel = machine.Kernel("saxpy");
  cl_int code = CL_SUCCESS;
  cl_event go = clCreateUserEvent(machine.context(), &code);
  Set(kernel, 0, machine.Buffer(Ramp(kCount)));
  Set(kernel, 1, machine.Buffer(Ramp(kCount)));
  Set(kernel, 2, 2.0f);
  Set(kernel, 3, static_cast<cl_int>(kCount));
  const size_t global = kCount;
  Require(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &global, nullptr, 1, &go, nullptr),
          "launch");
  Require(clSetUserEventStatus(go, CL_COMPLETE), "event");
  Require(clFinish(queue), "finish");
}

void Offset(const Machine& machine) {
  const cl_command_queue queue = machine.Queue();
  const cl_kernel kernel = machine.Kernel("shift");
  Set(kernel, 0, machine.Buffer(std::vector<unsigned char>(8, 'a')));
  Set(kernel, 1, cl_uchar4{{1, 1, 1, 1}});
  const size_t offset = 4;
  const size_t global = 4;
  Require(clEnqueueNDRangeKernel(queue, kernel, 1, &offset, &global, nullptr, 0, nullptr, nullptr),
          "launch");
  Require(clFinish(queue), "finish");
}

// A launch that is refused: its local size is none.
void Failing(const Machine& machine) {
  const cl_command_queue queue = machine.Queue();
  const cl_kernel kernel = machine.Kernel("shift");
  Set(kernel, 0, machine.Buffer(std::vector<unsigned char>(8, 'a')));
  const size_t global = 8;
  const cl_int code =
      clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &global, nullptr, 0, nullptr, nullptr);
  Expect(code == CL_INVALID_KERNEL_ARGS, "a launch without an argument");
}

void Threads(const Machine& machine) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] { Saxpy(machine, nullptr, 20); });
    threads.emplace_back([&] {
      for (int j = 0; j < 20; ++j) Reverse(machine);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

int main(int argc, char** argv) {
  const Machine machine;
  const std::map<std::string, std::function<void()>> all = {
      {"two", [&] { Saxpy(machine, nullptr, 3), Reverse(machine); }},
      {"shift", [&] { Shift(machine); }},
      {"parts", [&] { Parts(machine, false); }},
      {"overlap", [&] { Parts(machine, true); }},
      {"image", [&] { Image(machine); }},
      {"infinite", [&] { Infinite(machine); }},
      {"held_back", [&] { HeldBack(machine); }},
      {"offset", [&] { Offset(machine); }},
      {"failing", [&] { Failing(machine); }},
      {"binary", [&] { Saxpy(machine, machine.FromBinary(), 1); }},
      {"threads", [&] { Threads(machine); }},
      {"crash",
       [&] {
         Saxpy(machine, nullptr, 2);
         std::abort();
       }},
      {"stay",
       [&] {
         Saxpy(machine, nullptr, 2);
         std::fflush(stdout);
         ::pause();
       }},
      {"none", [] {}}};
  const auto found = argc > 1 ? all.find(argv[1]) : all.end();
  if (found == all.end()) return 92;
  found->second();
  return argc > 2 ? std::atoi(argv[2]) : 0;
}
