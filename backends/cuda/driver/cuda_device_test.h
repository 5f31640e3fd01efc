// A CUDA device for tests; they are skipped where there is none.
#pragma once

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/driver/module.h"
#include "backends/cuda/driver/nvrtc.h"

namespace attune::cuda {

class CudaDeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!driver_.available()) GTEST_SKIP() << "No CUDA device here: " << driver_.report.missing;
    ASSERT_FALSE(inventory_.Devices().empty());
    auto device = CudaDevice::Open(driver_, inventory_.Devices().front(), nvrtc_, nvml_);
    ASSERT_TRUE(device.ok()) << device.status().ToString();
    device_ = std::move(*device);
  }

  std::shared_ptr<Module> Compile(const std::string& source) {
    const auto recipe = MakeRecipe(nvrtc_.Get(), source, "", device_->target().arch);
    const auto cubin = BuildCubin(nvrtc_.Get(), *recipe);
    EXPECT_TRUE(cubin.ok()) << cubin.status().ToString();
    auto module = Module::Load(*device_, *cubin);
    EXPECT_TRUE(module.ok()) << module.status().ToString();
    return std::move(*module);
  }

  const Driver driver_ = LoadDriver();
  const Inventory inventory_{driver_};
  const Lazy<Nvrtc> nvrtc_;
  const Lazy<Nvml> nvml_;
  std::unique_ptr<CudaDevice> device_;
};

}  // namespace attune::cuda
