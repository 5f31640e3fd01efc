// Faults that end the process's use of its device: a program of its own, label `gpu`.
#include <cstdint>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/cuda/driver/cuda_device_test.h"

namespace attune::cuda {
namespace {

using testing::HasSubstr;

constexpr const char* kStray = R"(extern "C" __global__ void stray(int* p) { p[0] = 1; })";

TEST_F(CudaDeviceTest, AStrayWriteIsAnErrorThatStays) {
  const auto module = Compile(kStray);
  const auto stray = module->Function("stray", 0);
  ASSERT_TRUE(stray.ok());
  void* address = reinterpret_cast<void*>(uintptr_t{8});
  void* pointers[] = {&address};

  ASSERT_TRUE(module->Launch(*stray, {}, pointers, device_->stream()).ok());
  const Status first = device_->Synchronize();
  const Status second = device_->Allocate(16).status();

  EXPECT_EQ(first.code(), StatusCode::kUnavailable);
  EXPECT_THAT(first.message(), HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS"));
  EXPECT_EQ(second.code(), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace attune::cuda
