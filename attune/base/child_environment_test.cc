#include "attune/base/child_environment.h"

#include <cstdlib>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune {
namespace {

using ::testing::Contains;
using ::testing::Not;
using ::testing::StartsWith;

TEST(ChildEnvironmentTest, OurPreloadIsDroppedForHelpersAndTheOthersStay) {
  const auto dropped = [](std::string_view names) {
    return ObjectsForChild(names, OurPreload::kDropped);
  };

  EXPECT_EQ(dropped("/usr/lib/libattune_blas.so"), "");
  EXPECT_EQ(dropped("liba.so:/x/libattune_blas.so libb.so"), "liba.so:libb.so");
  EXPECT_EQ(dropped("/x/libattune_blas.so.1:liba.so"), "liba.so");
  EXPECT_EQ(dropped("/x/libattune_cublas.so:liba.so:/x/libattune_blas.so"), "liba.so");
  EXPECT_EQ(dropped(""), "");
  EXPECT_EQ(ObjectsForChild("/x/libattune_blas.so", OurPreload::kKept), "/x/libattune_blas.so");
}

TEST(ChildEnvironmentTest, NothingIsLoadedFromTheFolderThatAChildHappensToStartIn) {
  EXPECT_EQ(ObjectsForChild("./liba.so:lib/libb.so:libc.so:/x/libd.so", OurPreload::kKept),
            "libc.so:/x/libd.so");
  EXPECT_EQ(FoldersForChild("lib:/a::.:$ORIGIN/../b;c;/d"), "/a:$ORIGIN/../b:/d");
}

TEST(ChildEnvironmentTest, EverythingElseIsPassedOn) {
  ::setenv("ATTUNE_TEST_VARIABLE", "a=b c", 1);
  ::setenv("ATTUNE_TIME_MODELS", "", 1);
  ::setenv("LD_PRELOAD", "/x/libattune_blas.so", 1);
  ::setenv("LD_LIBRARY_PATH", ".", 1);

  const std::vector<std::string> entries = EnvironmentForChild(OurPreload::kDropped);

  for (const char* name : {"ATTUNE_TIME_MODELS", "LD_PRELOAD", "LD_LIBRARY_PATH"}) ::unsetenv(name);
  EXPECT_THAT(entries, Contains("ATTUNE_TEST_VARIABLE=a=b c"));
  EXPECT_THAT(entries, Contains("ATTUNE_TIME_MODELS="));
  EXPECT_THAT(entries, Not(Contains(StartsWith("LD_"))));
}

TEST(ChildEnvironmentTest, PathsToDataAreSeenFromWhereTheProcessStarted) {
  ::setenv("ATTUNE_TIME_MODELS", "a.json:/b.json", 1);

  const std::vector<std::string> entries = EnvironmentForChild(OurPreload::kDropped);

  ::unsetenv("ATTUNE_TIME_MODELS");
  const std::string folder = std::filesystem::current_path().string();
  EXPECT_THAT(entries, Contains("ATTUNE_TIME_MODELS=" + folder + "/a.json:/b.json"));
}

}  // namespace
}  // namespace attune
