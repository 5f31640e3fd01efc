#include "attune/verify/memory_limit.h"

#include <stdlib.h>

#include <fstream>

#include <gtest/gtest.h>

namespace attune {
namespace {

namespace fs = std::filesystem;

class MemoryLimitTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "attune_memory_limit_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { fs::remove_all(root_); }

  void Write(const fs::path& path, const std::string& content) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << content;
  }

  fs::path root_;
};

TEST_F(MemoryLimitTest, WithoutControlGroupsItIsThePhysicalMemory) {
  const size_t physical_bytes = MemoryLimitBytes(root_);

  EXPECT_GT(physical_bytes, size_t{1} << 20);
  EXPECT_LE(MemoryLimitBytes(), physical_bytes);
}

TEST_F(MemoryLimitTest, LeastLimitAboveThisGroupCounts) {
  Write("proc/self/cgroup", "0::/user/session\n");
  Write("sys/fs/cgroup/user/session/memory.max", "max\n");
  Write("sys/fs/cgroup/user/memory.max", "1000000\n");
  Write("sys/fs/cgroup/memory.max", "2000000\n");

  EXPECT_EQ(MemoryLimitBytes(root_), 1000000u);
}

TEST_F(MemoryLimitTest, ContainerThatSeesOnlyItsOwnGroupIsLimitedByIt) {
  Write("proc/self/cgroup", "0::/of/the/host\n");
  Write("sys/fs/cgroup/memory.max", "3000000\n");

  EXPECT_EQ(MemoryLimitBytes(root_), 3000000u);
}

TEST_F(MemoryLimitTest, HierarchyOfTheMemoryControllerCountsInVersionOne) {
  Write("proc/self/cgroup", "5:cpu:/other\n4:hugetlb,memory:/job\nnonsense\n");
  Write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "4000000\n");
  Write("sys/fs/cgroup/memory/other/memory.limit_in_bytes", "5\n");

  EXPECT_EQ(MemoryLimitBytes(root_), 4000000u);
}

}  // namespace
}  // namespace attune
