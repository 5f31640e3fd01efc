#include "attune/tunable/file_names.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune {
namespace {

TEST(FileNamesTest, TheOrdinalGoesToItsTokenElseBeforeTheLastDotElseToTheEnd) {
  EXPECT_EQ(WithOrdinal("r%d.csv", 3), "r3.csv");
  EXPECT_EQ(WithOrdinal("a%db%d", 3), "a3b%d");
  EXPECT_EQ(WithOrdinal("r.csv", 0), "r0.csv");
  EXPECT_EQ(WithOrdinal("r.2024.csv", 12), "r.202412.csv");
  EXPECT_EQ(WithOrdinal("results", 1), "results1");
}

TEST(FileNamesTest, DotsOfFoldersAndHiddenFilesAreNoExtensions) {
  EXPECT_EQ(WithOrdinal("./results", 1), "./results1");
  EXPECT_EQ(WithOrdinal("./r/run2024.csv", 0), "./r/run20240.csv");
  EXPECT_EQ(WithOrdinal("dir.d/results", 1), "dir.d/results1");
  EXPECT_EQ(WithOrdinal(".hidden", 1), ".hidden1");
}

class PatternTest : public testing::Test {
 protected:
  PatternTest()
      : folder_(std::filesystem::temp_directory_path() /
                fmt::format("attune_patterns_{}", ::getpid())) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_ / "r");
    for (const char* name : {"u0.csv", "u1.csv", "v*.csv", ".u2.csv", "r/u3.csv"}) {
      std::ofstream(folder_ / name) << "x";
    }
  }
  ~PatternTest() override { std::filesystem::remove_all(folder_); }

  std::vector<std::string> Matching(const std::string& pattern) const {
    std::vector<std::string> names;
    const auto files = FilesLike(folder_ / pattern);
    if (!files.ok()) return {std::string(StatusCodeName(files.error().code()))};
    for (const auto& file : *files) names.push_back(file.lexically_relative(folder_));
    return names;
  }

  const std::filesystem::path folder_;
};

TEST_F(PatternTest, FilesAreThoseThatAShellWouldFindByName) {
  EXPECT_THAT(Matching("u*.csv"), testing::ElementsAre("u0.csv", "u1.csv"));
  EXPECT_THAT(Matching("u?.csv"), testing::ElementsAre("u0.csv", "u1.csv"));
  EXPECT_THAT(Matching("u[1-9].csv"), testing::ElementsAre("u1.csv"));
  EXPECT_THAT(Matching("*/u*"), testing::ElementsAre("r/u3.csv"));
  EXPECT_THAT(Matching("v\\*.cs?"), testing::ElementsAre("v*.csv"));
}

TEST_F(PatternTest, APatternWithoutAWildcardOrAMatchIsAnError) {
  EXPECT_THAT(Matching("u0.csv"), testing::ElementsAre("invalid_argument"));
  EXPECT_THAT(Matching("v\\*.csv"), testing::ElementsAre("invalid_argument"));
  EXPECT_THAT(Matching("u[0.csv"), testing::ElementsAre("invalid_argument"));
  EXPECT_THAT(Matching("w*.csv"), testing::ElementsAre("not_found"));
  EXPECT_THAT(Matching("nowhere/u*.csv"), testing::ElementsAre("not_found"));
  EXPECT_EQ(FilesLike("").error().code(), StatusCode::kInvalidArgument);
}

TEST_F(PatternTest, WhatAPatternWouldMatchIsKnownBeforeItExists) {
  const std::string folder = folder_;

  EXPECT_TRUE(IsLike(folder + "/*.csv", folder_ / "later.csv"));
  EXPECT_TRUE(IsLike(folder + "/*.csv", folder_ / "r" / ".." / "later.csv"));
  EXPECT_TRUE(IsLike(folder + "/r/../*.csv", folder_ / "later.csv"));
  EXPECT_TRUE(IsLike(folder + "/*/*.csv", folder_ / "r" / "later.csv"));
  EXPECT_FALSE(IsLike(folder + "/*.csv", folder_ / "r" / "later.csv"));
  EXPECT_FALSE(IsLike(folder + "/u*.csv", folder_ / "later.csv"));
  EXPECT_FALSE(IsLike(folder + "/*.csv", folder_ / ".later.csv"));
  EXPECT_TRUE(IsLike("*.csv", "later.csv"));
  EXPECT_FALSE(IsLike("*.csv", folder_ / "later.csv"));
}

}  // namespace
}  // namespace attune
