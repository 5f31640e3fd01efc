#include "attune/tunable/locked_file.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "attune/base/file.h"

namespace attune {
namespace {

class LockedFileTest : public testing::Test {
 protected:
  LockedFileTest()
      : path_(std::filesystem::temp_directory_path() /
              fmt::format("attune_locked_file_{}", ::getpid())) {
    std::filesystem::remove(path_);
  }
  ~LockedFileTest() override { std::filesystem::remove(path_); }

  LockedFile Open() {
    auto file = LockedFile::Open(path_);
    EXPECT_TRUE(file.ok()) << file.status().message();
    return std::move(*file);
  }

  const std::filesystem::path path_;
};

TEST_F(LockedFileTest, ALineWithoutItsEndIsEndedBeforeTheNext) {
  ASSERT_TRUE(WriteFileAtomically(path_, "whole\ntorn").ok());

  ASSERT_TRUE(Open().Append("next\n", Durability::kPowerLoss).ok());

  EXPECT_EQ(*ReadFile(path_), "whole\ntorn\nnext\n");
}

TEST_F(LockedFileTest, ASecondOpenWaitsAndGivesUpAtItsDeadline) {
  const LockedFile first = Open();

  const auto second = LockedFile::Open(path_, 5);

  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code(), StatusCode::kDeadlineExceeded);
}

TEST_F(LockedFileTest, LinesOfManyThreadsAndRewritesAreAllThere) {
  constexpr int kThreads = 4;
  constexpr int kLines = 50;
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        for (int i = 0; i < kLines; ++i) {
          const std::string line = fmt::format("{} {}\n", thread, i);
          LockedFile file = Open();
          if (i % 5 == 0) {
            const std::string content = *file.Read();
            EXPECT_TRUE(std::move(file).Replace(line + content).ok());
          } else {
            EXPECT_TRUE(file.Append(line, Durability::kProcessCrash).ok());
          }
        }
      });
    }
  }

  const std::string content = *ReadFile(path_);

  EXPECT_EQ(std::ranges::count(content, '\n'), kThreads * kLines);
  for (int thread = 0; thread < kThreads; ++thread) {
    for (int i = 0; i < kLines; ++i) {
      EXPECT_NE(("\n" + content).find(fmt::format("\n{} {}\n", thread, i)), std::string::npos);
    }
  }
}

TEST_F(LockedFileTest, AFullDiskIsAnErrorAndADeviceHasNoContent) {
  auto full = LockedFile::Open("/dev/full");
  ASSERT_TRUE(full.ok());

  EXPECT_EQ(*full->Read(), "");
  EXPECT_EQ(full->Append("line\n", Durability::kPowerLoss).code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(LockedFile::Open("/nonexistent/folder/file").status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace attune
