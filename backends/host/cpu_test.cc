#include "backends/host/cpu.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune::host {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;

class CgroupTest : public ::testing::Test {
 protected:
  CgroupTest() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "attune_cgroup_XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
  }
  ~CgroupTest() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& file, const std::string& content) {
    std::filesystem::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << content << "\n";
  }

  std::filesystem::path root_;
};

TEST_F(CgroupTest, QuotaIsRoundedUpToWholeCores) {
  Write("job/cpu.max", "150000 100000");

  EXPECT_EQ(CoresGrantedByCgroup(root_, "0::/job\n"), 2);
}

TEST_F(CgroupTest, TheTightestGroupOnTheWayUpBinds) {
  Write("slice/cpu.max", "100000 100000");
  Write("slice/job/cpu.max", "800000 100000");

  EXPECT_EQ(CoresGrantedByCgroup(root_, "0::/slice/job\n"), 1);
}

TEST_F(CgroupTest, NoQuotaMeansNoLimit) {
  Write("job/cpu.max", "max 100000");

  EXPECT_EQ(CoresGrantedByCgroup(root_, "0::/job\n"), 0);
}

TEST_F(CgroupTest, VersionOneIsReadFromTheCpuController) {
  Write("cpu/job/cpu.cfs_quota_us", "300000");
  Write("cpu/job/cpu.cfs_period_us", "100000");

  EXPECT_EQ(CoresGrantedByCgroup(root_, "5:memory:/job\n4:cpu,cpuacct:/job\n"), 3);
}

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
