#include "attune/base/usable_cores.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "attune/base/on_one_core.h"

namespace attune {
namespace {

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

TEST(ThreadsAllowedByTest, TheSmallestVariableOfABlasBinds) {
  EXPECT_EQ(ThreadsAllowedBy({{"OPENBLAS_NUM_THREADS", "4"}, {"MKL_NUM_THREADS", "2"}}), 2);
}

TEST(ThreadsAllowedByTest, VariablesOfABlasGoBeforeThatOfOpenMp) {
  EXPECT_EQ(ThreadsAllowedBy({{"OPENBLAS_NUM_THREADS", "4"}, {"OMP_NUM_THREADS", "1"}}), 4);
  EXPECT_EQ(ThreadsAllowedBy({{"OMP_NUM_THREADS", "3,2"}}), 3);
}

TEST(ThreadsAllowedByTest, TheLimitOfOpenMpAlwaysBinds) {
  EXPECT_EQ(ThreadsAllowedBy({{"OPENBLAS_NUM_THREADS", "4"}, {"OMP_THREAD_LIMIT", "2"}}), 2);
}

TEST(ThreadsAllowedByTest, WhatIsNoNumberAllowsEverything) {
  EXPECT_EQ(ThreadsAllowedBy({}), 0);
  EXPECT_EQ(ThreadsAllowedBy({{"OMP_NUM_THREADS", "many"}, {"OPENBLAS_NUM_THREADS", "0"}}), 0);
}

TEST(UsableCoresTest, AProcessOnOneCoreHasOne) {
  const OnOneCore one;

  EXPECT_EQ(UsableCores(), 1);
}

}  // namespace
}  // namespace attune
