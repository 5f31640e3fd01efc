// Operands, workspace and queue of a call on an OpenCL device: buffers that the call can use are
// taken, everything else is refused with a message and without a fault.
#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/ops/batch_norm.h"
#include "attune/ops/softmax.h"
#include "tests/runtime/runtime_world.h"

namespace attune {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr size_t kSize = 8;
constexpr size_t kBytes = kSize * kSize * sizeof(float);

attune_gemm Square(int64_t size) {
  attune_gemm gemm{};
  gemm.m = gemm.n = gemm.k = size;
  return gemm;
}

// A product of ones; each test replaces its operands one by one.
class OpenClOperands : public ::testing::Test {
 protected:
  void SetUp() override {
    attune_options options = ATTUNE_OPTIONS_INIT;
    options.device = "opencl:0";
    options.policy = ATTUNE_NEVER;
    runtime_ = MakeRuntime(options);
    if (runtime_ == nullptr) GTEST_SKIP() << attune_last_message();
    cl_platform_id platform = nullptr;
    ASSERT_EQ(clGetPlatformIDs(1, &platform, nullptr), CL_SUCCESS);
    ASSERT_EQ(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device_, nullptr), CL_SUCCESS);
    context_ = clCreateContext(nullptr, 1, &device_, nullptr, nullptr, nullptr);
    queue_ = clCreateCommandQueue(context_, device_, 0, nullptr);
    ASSERT_TRUE(context_ != nullptr && queue_ != nullptr);
    call_.a = ones_ = Buffer(CL_MEM_READ_WRITE, kBytes);
    call_.b = Buffer(CL_MEM_READ_ONLY, kBytes);
    call_.c = product_ = Buffer(CL_MEM_READ_WRITE, kBytes);
  }
  void TearDown() override {
    runtime_ = nullptr;
    for (const cl_mem buffer : buffers_) (void)clReleaseMemObject(buffer);
    if (queue_ != nullptr) (void)clReleaseCommandQueue(queue_);
    if (context_ != nullptr) (void)clReleaseContext(context_);
  }

  // A buffer of ones.
  cl_mem Buffer(cl_mem_flags flags, size_t bytes) {
    std::vector<float> ones(bytes / sizeof(float) + 1, 1);
    buffers_.push_back(
        clCreateBuffer(context_, flags | CL_MEM_COPY_HOST_PTR, bytes, ones.data(), nullptr));
    EXPECT_NE(buffers_.back(), nullptr);
    return buffers_.back();
  }
  attune_code Run() { return attune_run_gemm(runtime_.get(), &gemm_, &call_); }
  bool IsProduct(cl_mem buffer) {
    EXPECT_EQ(attune_synchronize(runtime_.get()), ATTUNE_OK);
    std::vector<float> values(kSize * kSize);
    (void)clEnqueueReadBuffer(queue_, buffer, CL_TRUE, 0, kBytes, values.data(), 0, nullptr,
                              nullptr);
    return values == std::vector<float>(kSize * kSize, kSize);
  }
  // Each field of the call in turn gets `value`: every one is refused by its name.
  void ExpectRefusedEverywhere(void* value, const std::string& because) {
    const attune_arguments kept = call_;
    for (const char* field : {"a", "b", "c", "workspace"}) {
      call_ = kept;
      if (*field == 'a') call_.a = value;
      if (*field == 'b') call_.b = value;
      if (*field == 'c') call_.c = value;
      if (*field == 'w') {
        call_.workspace = value;
        call_.workspace_bytes = 64;
      }
      EXPECT_EQ(Run(), ATTUNE_INVALID_ARGUMENT) << field << " at " << value;
      EXPECT_THAT(attune_last_message(),
                  AllOf(HasSubstr("cannot run gemm@1{m=8"),
                        HasSubstr(std::string("'") + field + "'"), HasSubstr(because)));
    }
    call_ = kept;
  }

  RuntimeWorld world_;
  RuntimeHandle runtime_;
  attune_gemm gemm_ = Square(kSize);
  attune_arguments call_ = ATTUNE_ARGUMENTS_INIT;
  cl_device_id device_ = nullptr;
  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
  cl_mem ones_ = nullptr;
  cl_mem product_ = nullptr;
  std::vector<cl_mem> buffers_;
};

TEST_F(OpenClOperands, AHostPointerIsRefusedWithWhatTheDeviceTakes) {
  std::vector<float> heap(kSize * kSize, 1);
  float stack[kSize * kSize] = {};
  static float fixed[kSize * kSize] = {};
  std::vector<void*> none(64, nullptr);
  std::vector<void*> itself(64);
  itself[0] = itself.data();

  for (void* address :
       {static_cast<void*>(heap.data()), static_cast<void*>(stack), static_cast<void*>(fixed),
        static_cast<void*>(none.data()), static_cast<void*>(itself.data())}) {
    ExpectRefusedEverywhere(address, "clCreateBuffer");
  }
  EXPECT_EQ(Run(), ATTUNE_OK) << attune_last_message();
  EXPECT_TRUE(IsProduct(product_));
}

TEST_F(OpenClOperands, AnAddressThatCannotBeReadIsRefusedWithoutAFault) {
  const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  void* sealed = ::mmap(nullptr, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  void* gone = ::mmap(nullptr, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_TRUE(sealed != MAP_FAILED && gone != MAP_FAILED);
  ASSERT_EQ(::munmap(gone, page), 0);

  for (void* address :
       {sealed, gone, reinterpret_cast<void*>(uintptr_t{8}),
        reinterpret_cast<void*>(uintptr_t{0xdeadbeef}), reinterpret_cast<void*>(~uintptr_t{7}),
        reinterpret_cast<void*>(uintptr_t{1} << 63)}) {
    ExpectRefusedEverywhere(address, "clCreateBuffer");
  }
  EXPECT_EQ(::munmap(sealed, page), 0);
}

TEST_F(OpenClOperands, AnOddAddressIsRefused) {
  ExpectRefusedEverywhere(reinterpret_cast<char*>(ones_) + 1, "clCreateBuffer");
  ExpectRefusedEverywhere(reinterpret_cast<char*>(ones_) + 8, "clCreateBuffer");
}

TEST_F(OpenClOperands, AnotherObjectOfOpenClIsRefused) {
  const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
  cl_image_desc shape{};
  shape.image_type = CL_MEM_OBJECT_IMAGE2D;
  shape.image_width = shape.image_height = 16;
  const cl_mem image =
      clCreateImage(context_, CL_MEM_READ_WRITE, &format, &shape, nullptr, nullptr);

  ExpectRefusedEverywhere(context_, "not a buffer");
  ExpectRefusedEverywhere(queue_, "not a buffer");
  ExpectRefusedEverywhere(device_, "not a buffer");
  if (image == nullptr) return;  // The device has none.
  ExpectRefusedEverywhere(image, "not a buffer");
  (void)clReleaseMemObject(image);
}

TEST_F(OpenClOperands, WhatABufferIsMappedToIsRefused) {
  cl_int code = CL_SUCCESS;
  void* mapped = clEnqueueMapBuffer(queue_, ones_, CL_TRUE, CL_MAP_READ, 0, kBytes, 0, nullptr,
                                    nullptr, &code);
  ASSERT_EQ(code, CL_SUCCESS);

  ExpectRefusedEverywhere(mapped, "clCreateBuffer");

  (void)clEnqueueUnmapMemObject(queue_, ones_, mapped, 0, nullptr, nullptr);
  (void)clFinish(queue_);
}

TEST_F(OpenClOperands, ABufferThatIsTooSmallIsRefusedWithBothSizes) {
  const cl_mem small = Buffer(CL_MEM_READ_WRITE, kBytes - 4);
  const attune_arguments kept = call_;

  call_.a = small;
  EXPECT_EQ(Run(), ATTUNE_INVALID_ARGUMENT);
  EXPECT_THAT(attune_last_message(), AllOf(HasSubstr("'a'"), HasSubstr("252"), HasSubstr("256")));
  call_ = kept;
  call_.c = small;
  EXPECT_EQ(Run(), ATTUNE_INVALID_ARGUMENT);
  EXPECT_THAT(attune_last_message(), AllOf(HasSubstr("'c'"), HasSubstr("252"), HasSubstr("256")));
  call_ = kept;
  call_.workspace = small;
  call_.workspace_bytes = 1000;
  EXPECT_EQ(Run(), ATTUNE_INVALID_ARGUMENT);
  EXPECT_THAT(attune_last_message(),
              AllOf(HasSubstr("'workspace'"), HasSubstr("252"), HasSubstr("1000")));
}

TEST_F(OpenClOperands, ABufferThatMayNotBeWrittenOrReadIsRefused) {
  const attune_arguments kept = call_;

  call_.c = Buffer(CL_MEM_READ_ONLY, kBytes);
  EXPECT_EQ(Run(), ATTUNE_INVALID_ARGUMENT);
  EXPECT_THAT(attune_last_message(), AllOf(HasSubstr("'c'"), HasSubstr("CL_MEM_READ_ONLY")));
  call_ = kept;
  call_.b = Buffer(CL_MEM_WRITE_ONLY, kBytes);
  EXPECT_EQ(Run(), ATTUNE_INVALID_ARGUMENT);
  EXPECT_THAT(attune_last_message(), AllOf(HasSubstr("'b'"), HasSubstr("CL_MEM_WRITE_ONLY")));
  call_ = kept;
  const cl_mem output = Buffer(CL_MEM_WRITE_ONLY, kBytes);
  call_.c = output;
  EXPECT_EQ(Run(), ATTUNE_OK) << attune_last_message();
  call_.beta = 1;
  EXPECT_EQ(Run(), ATTUNE_INVALID_ARGUMENT);
  EXPECT_THAT(attune_last_message(), AllOf(HasSubstr("'c'"), HasSubstr("CL_MEM_WRITE_ONLY")));
}

TEST_F(OpenClOperands, ASubBufferIsABufferOfItsOwnSize) {
  const cl_mem parent = Buffer(CL_MEM_READ_WRITE, 4 * kBytes);
  const cl_buffer_region region = {2 * kBytes, kBytes};
  const cl_buffer_region smaller = {2 * kBytes, kBytes / 2};
  const auto part = [&](const cl_buffer_region& of) {
    cl_int code = CL_SUCCESS;
    buffers_.push_back(clCreateSubBuffer(parent, 0, CL_BUFFER_CREATE_TYPE_REGION, &of, &code));
    EXPECT_EQ(code, CL_SUCCESS);
    return buffers_.back();
  };

  const cl_mem fits = part(region);
  call_.c = fits;
  EXPECT_EQ(Run(), ATTUNE_OK) << attune_last_message();
  EXPECT_TRUE(IsProduct(fits));
  call_.c = part(smaller);
  EXPECT_EQ(Run(), ATTUNE_INVALID_ARGUMENT);
  EXPECT_THAT(attune_last_message(), HasSubstr("128"));
}

TEST_F(OpenClOperands, ConvolutionsAndPlansAreCheckedToo) {
  std::vector<float> host(64, 1);
  attune_conv conv{};
  conv.in_channels = conv.out_channels = 1;
  conv.in[1] = conv.in[2] = kSize;
  conv.filter[1] = conv.filter[2] = 1;
  attune_arguments call = call_;
  call.c = host.data();
  attune_plan* plan = nullptr;
  ASSERT_EQ(attune_plan_gemm(runtime_.get(), &gemm_, 1, 0, ATTUNE_NO_LIMIT, &plan), ATTUNE_OK)
      << attune_last_message();

  EXPECT_EQ(attune_run_conv(runtime_.get(), &conv, &call), ATTUNE_INVALID_ARGUMENT);
  EXPECT_THAT(attune_last_message(), AllOf(HasSubstr("conv@1{"), HasSubstr("'c'")));
  EXPECT_EQ(attune_plan_run(plan, &call), ATTUNE_INVALID_ARGUMENT);
  EXPECT_THAT(attune_last_message(), HasSubstr("'c'"));
  EXPECT_EQ(attune_plan_run(plan, &call_), ATTUNE_OK) << attune_last_message();
  attune_plan_release(plan);
}

// Runs `operands` with each of them in turn at a host pointer, then in a buffer that is too small.
template <class Run>
void ExpectEachIsChecked(const Run& run, std::vector<void*> operands, cl_mem small) {
  std::vector<float> host(kSize * kSize, 1);
  const auto code_of = [&] {
    attune_operands call = ATTUNE_OPERANDS_INIT;
    call.data = operands.data();
    call.count = operands.size();
    return run(call);
  };
  EXPECT_EQ(code_of(), ATTUNE_OK) << attune_last_message();
  for (size_t i = 0; i < operands.size(); ++i) {
    void* const kept = operands[i];
    operands[i] = host.data();
    EXPECT_EQ(code_of(), ATTUNE_INVALID_ARGUMENT) << "operand " << i;
    EXPECT_THAT(attune_last_message(), HasSubstr("clCreateBuffer"));
    operands[i] = small;
    EXPECT_EQ(code_of(), ATTUNE_INVALID_ARGUMENT) << "operand " << i;
    EXPECT_THAT(attune_last_message(), HasSubstr(" 4 "));
    operands[i] = kept;
  }
}

TEST_F(OpenClOperands, OtherOperatorsAreCheckedToo) {
  attune_softmax softmax{};
  softmax.outer = softmax.length = kSize;
  softmax.mask = ATTUNE_SOFTMAX_ADDITIVE;
  softmax.queries = kSize;
  attune_batch_norm norm{};
  norm.batch = norm.height = 2;
  norm.channels = norm.width = 4;
  norm.affine = 1;
  const cl_mem small = Buffer(CL_MEM_READ_WRITE, sizeof(float));
  const auto several = [&](size_t count) {
    std::vector<void*> buffers(count);
    for (void*& buffer : buffers) buffer = Buffer(CL_MEM_READ_WRITE, kBytes);
    return buffers;
  };

  ExpectEachIsChecked(
      [&](const attune_operands& call) {
        return attune_run_softmax(runtime_.get(), &softmax, &call);
      },
      several(3), small);
  ExpectEachIsChecked(
      [&](const attune_operands& call) {
        return attune_run_batch_norm(runtime_.get(), &norm, 1e-5, 0.1, &call);
      },
      several(4), small);
}

TEST_F(OpenClOperands, AQueueIsRefused) {
  for (void* queue : {static_cast<void*>(queue_), static_cast<void*>(&call_)}) {
    call_.queue = queue;
    EXPECT_EQ(Run(), ATTUNE_UNSUPPORTED);
    EXPECT_THAT(attune_last_message(), HasSubstr("'queue' has to be null"));
  }
}

// Addresses are given out again: a former buffer is checked each time.
TEST_F(OpenClOperands, HandlesThatComeAndGoAreCheckedByManyThreads) {
  ASSERT_EQ(Run(), ATTUNE_OK) << attune_last_message();
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([this, &wrong, t] {
      std::vector<float> host(kSize * kSize, 1);
      attune_arguments call = call_;
      for (int i = 0; i < 200; ++i) {
        const bool is_small = i % 3 == 0;
        const cl_mem made =
            clCreateBuffer(context_, CL_MEM_READ_WRITE, is_small ? 16 : kBytes, nullptr, nullptr);
        call.c = i % 5 == 0 ? static_cast<void*>(host.data()) : made;
        const bool is_taken = attune_run_gemm(runtime_.get(), &gemm_, &call) == ATTUNE_OK;
        if (is_taken == (is_small || i % 5 == 0)) ++wrong[t];
        (void)attune_synchronize(runtime_.get());
        (void)clReleaseMemObject(made);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_THAT(wrong, testing::Each(0));
}

}  // namespace
}  // namespace attune
