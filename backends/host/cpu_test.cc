#include "backends/host/cpu.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune::host {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;

TEST(CpuTest, LevelAndExtensionListAgree) {
  const CpuDescription cpu = DescribeCpu();

  EXPECT_EQ(cpu.level >= IsaLevel::kV3, std::count(cpu.isa.begin(), cpu.isa.end(), "avx2") == 1);
  EXPECT_EQ(cpu.level >= IsaLevel::kV4,
            std::count(cpu.isa.begin(), cpu.isa.end(), "avx512vl") == 1);
  EXPECT_TRUE(std::is_sorted(cpu.isa.begin(), cpu.isa.end()));
}

TEST(CpuTest, LevelAgreesWithTheCompilersOwnDetection) {
  const CpuDescription cpu = DescribeCpu();

  EXPECT_EQ(cpu.level >= IsaLevel::kV3, __builtin_cpu_supports("avx2") &&
                                            __builtin_cpu_supports("fma") &&
                                            __builtin_cpu_supports("bmi2"));
  EXPECT_EQ(cpu.level >= IsaLevel::kV4,
            __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"));
}

TEST(CpuTest, EveryMachineHasAModelAndACore) {
  const CpuDescription cpu = DescribeCpu();

  EXPECT_THAT(cpu.model, Not(IsEmpty()));
  EXPECT_GE(cpu.usable_cores, 1);
}

}  // namespace
}  // namespace attune::host
