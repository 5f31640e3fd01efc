// Unusable drivers, as stand-ins that are loaded like the real one.
#include "backends/cuda/driver/driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/cuda/driver/inventory.h"

namespace attune::cuda {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

// Checks that an unusable driver has no device, and that opening one reports the reason.
void ExpectNoDevices(const Driver& driver) {
  EXPECT_FALSE(driver.available());
  const Inventory inventory(driver);
  EXPECT_THAT(inventory.Devices(), IsEmpty());
  EXPECT_THAT(inventory.Find("cuda:0").status().message(), HasSubstr(driver.report.missing));
}

TEST(LoadDriver, OneThatIsTooOldIsToldWithItsVersionAndTheLeast) {
  const Driver driver = LoadDriver(ATTUNE_STAND_IN_DRIVER_OLD);

  EXPECT_EQ(driver.report.version, "11.4");
  EXPECT_THAT(driver.report.missing,
              AllOf(HasSubstr("knows CUDA 11.4"), HasSubstr("12.3 is the least"),
                    HasSubstr("Install a newer driver")));
  ExpectNoDevices(driver);
}

TEST(LoadDriver, OneThatLacksAFunctionIsToldWithItsName) {
  const Driver driver = LoadDriver(ATTUNE_STAND_IN_DRIVER_PARTIAL);

  EXPECT_THAT(driver.report.missing,
              AllOf(HasSubstr("has no function 'cuInit'"), HasSubstr("older than CUDA 12.3")));
  ExpectNoDevices(driver);
}

TEST(LoadDriver, OneThatFindsNoDeviceSaysWhatToLookAt) {
  const Driver driver = LoadDriver(ATTUNE_STAND_IN_DRIVER_BARREN);

  EXPECT_EQ(driver.report.version, "13.0");
  EXPECT_THAT(driver.report.missing, AllOf(HasSubstr("cannot be initialised: error 100"),
                                           HasSubstr("nvidia-smi"), HasSubstr("CUDA_VISIBLE")));
  ExpectNoDevices(driver);
}

TEST(LoadDriver, AMachineWithoutOneIsToldWhatBringsIt) {
  const Driver driver = LoadDriver("libattune-no-such-driver.so.1");

  EXPECT_THAT(driver.report.missing, AllOf(HasSubstr("libattune-no-such-driver.so.1"),
                                           HasSubstr("NVIDIA's driver brings it")));
  ExpectNoDevices(driver);
}

// A driver without texts for its errors.
Driver Speechless() {
  Driver driver;
  driver.cuGetErrorName = [](CUresult, const char**) { return CUDA_ERROR_INVALID_VALUE; };
  driver.cuGetErrorString = driver.cuGetErrorName;
  return driver;
}

TEST(CudaStatus, AfterWhatNoContextSurvivesTheDeviceIsGoneForThisProcess) {
  for (const CUresult code :
       {CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_MISALIGNED_ADDRESS, CUDA_ERROR_LAUNCH_FAILED,
        CUDA_ERROR_ECC_UNCORRECTABLE, CUDA_ERROR_NVLINK_UNCORRECTABLE,
        CUDA_ERROR_CONTEXT_IS_DESTROYED, CUDA_ERROR_DEVICE_UNAVAILABLE, CUDA_ERROR_UNKNOWN}) {
    const Status status = CudaStatus(Speechless(), code, "Nothing runs");

    EXPECT_EQ(status.code(), StatusCode::kUnavailable) << code;
    EXPECT_THAT(status.message(), HasSubstr("cannot be used by this process any more"));
  }
}

TEST(CudaStatus, AfterWhatOneCallDidWrongTheDeviceGoesOn) {
  EXPECT_EQ(CudaStatus(Speechless(), CUDA_ERROR_INVALID_VALUE, "No").code(), StatusCode::kInternal);
  EXPECT_EQ(CudaStatus(Speechless(), CUDA_ERROR_NOT_READY, "No").code(), StatusCode::kInternal);
  EXPECT_EQ(CudaStatus(Speechless(), CUDA_ERROR_OUT_OF_MEMORY, "No").code(),
            StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace attune::cuda
