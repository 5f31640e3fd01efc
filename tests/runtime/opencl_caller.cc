// A program that computes on the first OpenCL device, in buffers of a context of its own: two
// products and two convolutions of ones, each twice, and then, if told to wait, once more when the
// background is idle. Handles of the first round are multiples of 64, later ones are not, as may
// happen to any program. Prints counters as "name value" lines.
//
//   opencl_caller leave|wait gemm|conv
#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "attune/attune.h"

namespace {

int Fail(const char* what) {
  std::fprintf(stderr, "opencl_caller: %s: %s\n", what, attune_last_message());
  return 1;
}

// Buffers of a program, which never gives them back.
class Buffers {
 public:
  Buffers() {
    cl_platform_id platform = nullptr;
    (void)clGetPlatformIDs(1, &platform, nullptr);
    (void)clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device_, nullptr);
    context_ = clCreateContext(nullptr, 1, &device_, nullptr, nullptr, nullptr);
    queue_ = clCreateCommandQueue(context_, device_, 0, nullptr);
  }
  // Null if no handle of the wanted kind comes.
  cl_mem Filled(size_t count, float value, bool is_round) const {
    constexpr int kTries = 1000;
    std::vector<float> values(count, value);
    for (int i = 0; i < kTries; ++i) {
      const cl_mem buffer = clCreateBuffer(context_, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                           count * sizeof(float), values.data(), nullptr);
      if ((reinterpret_cast<uintptr_t>(buffer) % 64 == 0) == is_round) return buffer;
      shifts_.push_back(std::make_unique<char[]>(16 * static_cast<size_t>(1 + i % 7)));
    }
    return nullptr;
  }
  bool AreAll(cl_mem buffer, size_t count, float value) const {
    std::vector<float> values(count);
    (void)clEnqueueReadBuffer(queue_, buffer, CL_TRUE, 0, count * sizeof(float), values.data(), 0,
                              nullptr, nullptr);
    return std::count(values.begin(), values.end(), value) == static_cast<std::ptrdiff_t>(count);
  }

 private:
  cl_device_id device_ = nullptr;
  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
  mutable std::vector<std::unique_ptr<char[]>> shifts_;  // They shift later allocations.
};

bool Multiply(attune_runtime* runtime, const Buffers& buffers, int64_t size, bool is_round) {
  const auto count = static_cast<size_t>(size * size);
  attune_gemm gemm{};
  gemm.m = gemm.n = gemm.k = size;
  attune_arguments arguments = ATTUNE_ARGUMENTS_INIT;
  const cl_mem product = buffers.Filled(count, -1, is_round);
  arguments.a = buffers.Filled(count, 1, is_round);
  arguments.b = buffers.Filled(count, 1, is_round);
  arguments.c = product;
  if (attune_run_gemm(runtime, &gemm, &arguments) != ATTUNE_OK) return false;
  if (attune_synchronize(runtime) != ATTUNE_OK) return false;
  return buffers.AreAll(product, count, static_cast<float>(size));
}

bool Convolve(attune_runtime* runtime, const Buffers& buffers, int64_t size, bool is_round) {
  const auto count = static_cast<size_t>(size * size);
  attune_conv conv{};
  conv.in_channels = conv.out_channels = 4;
  conv.in[1] = conv.in[2] = size;
  conv.filter[1] = conv.filter[2] = 1;
  attune_arguments arguments = ATTUNE_ARGUMENTS_INIT;
  const cl_mem output = buffers.Filled(4 * count, -1, is_round);
  arguments.a = buffers.Filled(4 * count, 1, is_round);
  arguments.b = buffers.Filled(16, 1, is_round);
  arguments.c = output;
  if (attune_run_conv(runtime, &conv, &arguments) != ATTUNE_OK) return false;
  if (attune_synchronize(runtime) != ATTUNE_OK) return false;
  return buffers.AreAll(output, 4 * count, 4);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const bool waits = std::strcmp(argv[1], "wait") == 0;
  const auto call = std::strcmp(argv[2], "gemm") == 0 ? Multiply : Convolve;
  attune_options options = ATTUNE_OPTIONS_INIT;
  options.device = "opencl:0";
  attune_runtime* runtime = nullptr;
  if (attune_runtime_create(&options, &runtime) != ATTUNE_OK) return Fail("create");
  const Buffers buffers;
  const auto begin = std::chrono::steady_clock::now();
  for (int round = 0; round < 2; ++round) {
    const bool is_round = round == 0;
    if (!call(runtime, buffers, 16, is_round) || !call(runtime, buffers, 24, is_round)) {
      return Fail("call");
    }
  }
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - begin);
  if (waits) {
    if (attune_wait_idle(runtime, 240'000) != ATTUNE_OK) return Fail("wait");
    if (!call(runtime, buffers, 16, false) || !call(runtime, buffers, 24, false)) {
      return Fail("call after all");
    }
  }
  attune_counters counters = ATTUNE_COUNTERS_INIT;
  if (attune_get_counters(runtime, &counters) != ATTUNE_OK) return Fail("counters");
  std::printf("calls_ms %" PRId64 "\nmisses %" PRIu64 "\nnone %" PRIu64 "\nswaps %" PRIu64
              "\nbuilds_in_caller %" PRIu64 "\nbuilds_in_background %" PRIu64 "\n",
              static_cast<int64_t>(took.count()), counters.misses, counters.none, counters.swaps,
              counters.builds_in_caller, counters.builds_in_background);
  // A program that exits does not wait for compilation.
  if (!waits) {
    (void)std::fflush(stdout);
    std::quick_exit(0);
  }
  attune_runtime_destroy(runtime);
  return 0;
}
