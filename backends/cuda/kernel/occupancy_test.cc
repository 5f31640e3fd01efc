// Occupancy of known kernels, built for GPUs that are not here.
#include "backends/cuda/kernel/occupancy.h"

#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "backends/cuda/driver/lazy.h"
#include "backends/cuda/driver/nvrtc.h"
#include "backends/cuda/kernel/hungry_kernel_test.h"

namespace attune::cuda {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kSource = R"(
extern "C" __global__ void __launch_bounds__(256) reverse_block(float* x) {
  __shared__ float values[1000];
  values[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = values[255 - threadIdx.x];
}
)";

class OccupancyTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!nvrtc_.Get().available()) GTEST_SKIP() << nvrtc_.Get().report.missing;
    const auto built = BuildCubin(
        nvrtc_.Get(), *MakeRecipe(nvrtc_.Get(), std::string(kSource) + kHungryKernel, "", arch()));
    ASSERT_TRUE(built.ok()) << built.status().message();
    cubin_ = *built;
  }

  std::string arch() const { return GetParam(); }
  bool is_sm_90() const { return arch() == "sm_90"; }

  Occupancy Of(const char* name, const BlockShape& block) const {
    const auto kernel = FindKernel(cubin_.bytes, name);
    EXPECT_TRUE(kernel.has_value()) << name;
    const auto room = OccupancyOf(kernel.value_or(CubinKernel()), block, arch());
    EXPECT_TRUE(room.ok()) << room.status().message();
    return room.value_or(Occupancy());
  }

  Result<std::optional<int>> BlocksOf(const std::vector<kernel::PlannedLaunch>& launches) const {
    kernel::KernelPlan plan;
    plan.launches = launches;
    return BlocksOfLaunches(cubin_, plan, arch());
  }

  static kernel::PlannedLaunch Launch(const char* name, int64_t threads, int64_t shared_bytes = 0) {
    return {name, {threads, 1, 1}, {1, 1, 1}, {}, shared_bytes};
  }

  Status Fit(const char* name, int64_t threads, int64_t shared_bytes = 0) const {
    return BlocksOf({Launch(name, threads, shared_bytes)}).status();
  }

  const Lazy<Nvrtc> nvrtc_;
  Artifact cubin_;
};

TEST_P(OccupancyTest, MachineCodeTellsRegistersSharedMemoryAndLaunchBounds) {
  const auto few = FindKernel(cubin_.bytes, "reverse_block");
  const auto many = FindKernel(cubin_.bytes, "hungry");
  ASSERT_TRUE(few.has_value() && many.has_value());

  EXPECT_GT(few->registers, 0);
  EXPECT_LT(few->registers, 32);
  EXPECT_GE(many->registers, 200);
  EXPECT_LE(many->registers, 255);
  EXPECT_EQ(few->most_threads, 256);
  EXPECT_EQ(many->most_threads, 0);
  // From sm_90 on the driver's share is counted, too.
  EXPECT_EQ(few->section_bytes, is_sm_90() ? 4000 + 1024 : 4000);
  EXPECT_EQ(many->section_bytes, 0);
  EXPECT_FALSE(FindKernel(cubin_.bytes, "no_such").has_value());
}

TEST_P(OccupancyTest, WhatIsShortDecidesHowManyBlocksThereAre) {
  const Occupancy threads = Of("reverse_block", {256});
  EXPECT_EQ(threads.blocks, 8);
  EXPECT_EQ(threads.limited, "threads");
  const Occupancy shared = Of("reverse_block", {256, 60'000});
  EXPECT_EQ(shared.blocks, is_sm_90() ? 3 : 2);
  EXPECT_EQ(shared.limited, "shared memory");
  const Occupancy registers = Of("hungry", {256});
  EXPECT_EQ(registers.blocks, 1);
  EXPECT_EQ(registers.limited, "registers");
}

TEST_P(OccupancyTest, ABlockWithoutRoomIsRefusedInWords) {
  EXPECT_EQ(Fit("hungry", 256), Status::Ok());
  const Status refused = Fit("hungry", 1024);
  EXPECT_EQ(refused.code(), StatusCode::kUnsupported);
  EXPECT_THAT(refused.message(),
              AllOf(HasSubstr("A multiprocessor of " + arch()), HasSubstr("'hungry': 1024 threads"),
                    HasSubstr("too much of its registers")));

  // 200,000 bytes are more than one block of sm_80 may have, and not of sm_90.
  EXPECT_EQ(Fit("reverse_block", 256, 200'000).ok(), is_sm_90());
  EXPECT_THAT(Fit("reverse_block", 256, 231'000).message(), HasSubstr("shared memory"));
  EXPECT_THAT(Fit("reverse_block", 512).message(), HasSubstr("too much of its threads"));
}

TEST_P(OccupancyTest, OfSeveralLaunchesTheOneWithTheLeastRoomCounts) {
  EXPECT_EQ(*BlocksOf({Launch("reverse_block", 256)}), 8);
  EXPECT_EQ(*BlocksOf({Launch("reverse_block", 256), Launch("hungry", 256)}), 1);
  EXPECT_EQ(*BlocksOf({Launch("hungry", 256), Launch("reverse_block", 256)}), 1);
  // A launch that is not understood makes the result unknown; one without room is refused all the
  // same.
  EXPECT_EQ(*BlocksOf({Launch("reverse_block", 256), Launch("no_such", 256)}), std::nullopt);
  EXPECT_FALSE(BlocksOf({Launch("no_such", 256), Launch("hungry", 1024)}).ok());
}

TEST_P(OccupancyTest, WhatIsNotUnderstoodIsLeftToTheDriver) {
  EXPECT_EQ(Fit("no_such", 1024), Status::Ok());
  kernel::KernelPlan plan;
  plan.launches.push_back(Launch("hungry", 1024));
  EXPECT_EQ(*BlocksOfLaunches(cubin_, plan, "sm_123"), std::nullopt);
  // Half a file, or a changed one, gives an answer or none, and nothing beyond it is read.
  for (size_t size = 0; size < cubin_.bytes.size(); size += 101) {
    Artifact damaged{cubin_.bytes.substr(0, size)};
    (void)BlocksOfLaunches(damaged, plan, arch());
    damaged.bytes = cubin_.bytes;
    damaged.bytes[size] = static_cast<char>(~damaged.bytes[size]);
    (void)BlocksOfLaunches(damaged, plan, arch());
  }
  EXPECT_EQ(*BlocksOfLaunches({cubin_.bytes.substr(0, 64)}, plan, arch()), std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(Architectures, OccupancyTest, testing::Values("sm_80", "sm_90"));

}  // namespace
}  // namespace attune::cuda
