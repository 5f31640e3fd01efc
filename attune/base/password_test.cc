#include "attune/base/password.h"

#include <sys/stat.h>

#include <cstdlib>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/file.h"
#include "attune/base/scratch_folder.h"

namespace attune {
namespace {

using ::testing::HasSubstr;

TEST(PasswordOf, ComesFromAFileThatNotEverybodyReadsBeforeTheEnvironment) {
  const auto folder = ScratchFolder::Make("attune-password").value();
  const std::string file = folder->path() / "password";
  ASSERT_EQ(WriteFileAtomically(file, "geheim 1\r\nsecond line\n"), Status::Ok());
  ::chmod(file.c_str(), 0600);
  ::setenv("ATTUNE_TRY_PASSWORD", "of the environment", 1);
  EXPECT_EQ(*PasswordOf("the test", "ATTUNE_TRY_PASSWORD"), "of the environment");

  ::setenv("ATTUNE_TRY_PASSWORD_FILE", file.c_str(), 1);
  EXPECT_EQ(*PasswordOf("the test", "ATTUNE_TRY_PASSWORD"), "geheim 1");

  ::unsetenv("ATTUNE_TRY_PASSWORD_FILE");
  ::unsetenv("ATTUNE_TRY_PASSWORD");
  EXPECT_EQ(*PasswordOf("the test", "ATTUNE_TRY_PASSWORD"), "");
}

TEST(PasswordOf, FilesThatAreEmptyOrForEverybodyAreRefusedByTheirNames) {
  const auto folder = ScratchFolder::Make("attune-password").value();
  const std::string file = folder->path() / "password";
  ASSERT_EQ(WriteFileAtomically(file, "\nsecond line\n"), Status::Ok());
  ::setenv("ATTUNE_TRY_PASSWORD_FILE", file.c_str(), 1);

  ::chmod(file.c_str(), 0600);
  EXPECT_THAT(PasswordOf("the test", "ATTUNE_TRY_PASSWORD").status().message(),
              HasSubstr("is empty; it has to be the password of the test"));
  ::chmod(file.c_str(), 0604);
  EXPECT_THAT(PasswordOf("the test", "ATTUNE_TRY_PASSWORD").status().message(),
              HasSubstr("chmod o-rwx '" + file));
  ::setenv("ATTUNE_TRY_PASSWORD_FILE", folder->path().c_str(), 1);
  EXPECT_THAT(PasswordOf("the test", "ATTUNE_TRY_PASSWORD").status().message(),
              HasSubstr("no regular file"));
  ::setenv("ATTUNE_TRY_PASSWORD_FILE", (file + ".gone").c_str(), 1);
  const Status gone = PasswordOf("the test", "ATTUNE_TRY_PASSWORD").status();
  ::unsetenv("ATTUNE_TRY_PASSWORD_FILE");

  EXPECT_EQ(gone.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(gone.message(), HasSubstr("(ATTUNE_TRY_PASSWORD_FILE)"));
}

}  // namespace
}  // namespace attune
