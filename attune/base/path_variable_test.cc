#include "attune/base/path_variable.h"

#include <stdlib.h>

#include <filesystem>

#include <gtest/gtest.h>

namespace attune {
namespace {

namespace fs = std::filesystem;

TEST(PathVariableTest, DataIsSeenFromTheFolderAtTheStartWhereverTheProcessGoes) {
  const fs::path start = fs::current_path();
  fs::current_path("/");

  const std::string file = FromStart("t.db");
  const std::string list = ListFromStart("a::/b:c/d");

  fs::current_path(start);
  EXPECT_EQ(file, start / "t.db");
  EXPECT_EQ(list, (start / "a").string() + ":/b:" + (start / "c/d").string());
  EXPECT_EQ(FromStart("/x"), "/x");
  EXPECT_EQ(FromStart(""), "");
}

TEST(PathVariableTest, CodeHasAnAbsolutePath) {
  ::setenv("ATTUNE_TEST_CODE", "./x", 1);
  const auto relative = CodePathIn("ATTUNE_TEST_CODE");
  const auto relative_name = CodeNameIn("ATTUNE_TEST_CODE");
  ::setenv("ATTUNE_TEST_CODE", "/x/y", 1);
  const auto absolute = CodePathIn("ATTUNE_TEST_CODE");
  ::setenv("ATTUNE_TEST_CODE", "libx.so.1", 1);
  const auto name = CodeNameIn("ATTUNE_TEST_CODE");
  const auto bare = CodePathIn("ATTUNE_TEST_CODE");
  ::unsetenv("ATTUNE_TEST_CODE");

  EXPECT_EQ(relative.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(relative.status().message(),
            "Cannot use ATTUNE_TEST_CODE: './x' is a relative path, and code is loaded by absolute "
            "paths only. Give the whole path.");
  EXPECT_EQ(relative_name.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(*absolute, "/x/y");
  EXPECT_EQ(*name, "libx.so.1");
  EXPECT_EQ(bare.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(*CodePathIn("ATTUNE_TEST_CODE"), "");
}

}  // namespace
}  // namespace attune
