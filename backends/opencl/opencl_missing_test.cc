// A machine without any OpenCL platform. A program of its own, because the ICD loader looks once in
// each process.
#include <cstdlib>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/kernel/kernel_library.h"
#include "backends/opencl/opencl_backend.h"

namespace attune::opencl {
namespace {

using ::testing::HasSubstr;

TEST(OpenClMissingTest, MachineWithoutAPlatformGetsAReportAndNoError) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / "attune_no_icd";
  std::filesystem::create_directories(folder);
  ::setenv("OCL_ICD_VENDORS", folder.c_str(), 1);

  const auto backend = OpenClBackend(kernel::KernelFolders());

  if (!backend->Devices().empty()) {
    GTEST_SKIP() << "The loader of this machine finds platforms whatever OCL_ICD_VENDORS says.";
  }
  ASSERT_FALSE(backend->Libraries().empty());
  EXPECT_FALSE(backend->Libraries()[0].available);
  EXPECT_THAT(backend->Libraries()[0].missing, HasSubstr("pocl-opencl-icd"));
  EXPECT_EQ(backend->Open("opencl:0").status().code(), StatusCode::kNotFound);
  EXPECT_TRUE(backend->DescribeEnvironment().count("driver.opencl0") == 0);
  EXPECT_FALSE(backend->solvers().empty());
}

}  // namespace
}  // namespace attune::opencl
