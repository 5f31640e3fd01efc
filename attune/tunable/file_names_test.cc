#include "attune/tunable/file_names.h"

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

}  // namespace
}  // namespace attune
