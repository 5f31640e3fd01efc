#include "attune/record/spool_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "attune/base/scratch_folder.h"

namespace attune {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class SpoolFolderTest : public testing::Test {
 protected:
  fs::path database() const { return scratch_->path() / "attune.db"; }
  fs::path own() const { return SpoolFolderOf(database(), ::geteuid()); }

  const std::unique_ptr<ScratchFolder> scratch_ = *ScratchFolder::Make("attune-test-spool");
};

TEST_F(SpoolFolderTest, IsMadeForItsUserAlone) {
  const auto folder = OpenOwnSpoolFolder(SpoolPlaceOf(database(), false));

  ASSERT_TRUE(folder.ok()) << folder.status().message();
  struct stat info {};
  ASSERT_EQ(::stat(own().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700u);
}

TEST_F(SpoolFolderTest, IsOfUseWhateverTheMaskTakes) {
  const auto mode_of = [](const fs::path& path) {
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
  };
  for (const mode_t mask : {0177, 0777, 0077, 0}) {
    const SpoolPlace place = SpoolPlaceOf(scratch_->path() / fmt::format("{:o}/attune.db", mask),
                                          /*makes_folders=*/true);
    const mode_t before = ::umask(mask);
    const auto folder = OpenOwnSpoolFolder(place);
    ::umask(before);
    ASSERT_TRUE(folder.ok()) << folder.error().message();
    EXPECT_EQ(mode_of(SpoolFolderOf(place.database, ::geteuid())), 0700u);
    EXPECT_EQ(mode_of(place.database.parent_path()), 0700u);
  }
}

TEST_F(SpoolFolderTest, OneThatLacksModesOfItsOwnerGetsThemBack) {
  for (const mode_t mode : {0600, 0000, 0400}) {
    fs::create_directory(own());
    ASSERT_EQ(::chmod(own().c_str(), mode), 0);

    const auto folder = OpenOwnSpoolFolder(SpoolPlaceOf(database(), false));

    ASSERT_TRUE(folder.ok()) << folder.error().message();
    EXPECT_EQ(fs::status(own()).permissions(), fs::perms::owner_all);
    fs::remove(own());
  }
}

TEST_F(SpoolFolderTest, ALinkIsNotFollowed) {
  fs::create_directory(scratch_->path() / "elsewhere");
  fs::create_directory_symlink(scratch_->path() / "elsewhere", own());

  const auto folder = OpenOwnSpoolFolder(SpoolPlaceOf(database(), false));

  EXPECT_FALSE(folder.ok());
  std::string refused;
  EXPECT_THAT(OpenSpoolFolders(database(), refused), IsEmpty());
}

TEST_F(SpoolFolderTest, AFolderThatOthersMayWriteToIsRefused) {
  fs::create_directory(own());
  fs::permissions(own(), fs::perms::all);

  const auto folder = OpenOwnSpoolFolder(SpoolPlaceOf(database(), false));

  ASSERT_FALSE(folder.ok());
  EXPECT_THAT(folder.error().message(), HasSubstr("chmod 700"));
  std::string refused;
  EXPECT_THAT(OpenSpoolFolders(database(), refused), IsEmpty());
  EXPECT_THAT(refused, IsEmpty());  // The folder is empty.
  std::ofstream(own() / "1-2-3-.spool") << "x";
  EXPECT_THAT(OpenSpoolFolders(database(), refused), IsEmpty());
  EXPECT_THAT(refused, HasSubstr("not imported"));
}

TEST_F(SpoolFolderTest, AFolderOfAnotherUserIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only the superuser gives folders to others";
  constexpr uid_t kOther = 12345;
  fs::create_directory(own());
  ASSERT_EQ(::chmod(own().c_str(), 0700), 0);
  ASSERT_EQ(::chown(own().c_str(), kOther, kOther), 0);

  const auto folder = OpenOwnSpoolFolder(SpoolPlaceOf(database(), false));

  ASSERT_FALSE(folder.ok());
  EXPECT_THAT(folder.error().message(), HasSubstr("belongs to user 12345"));
  std::string refused;
  EXPECT_THAT(OpenSpoolFolders(database(), refused), IsEmpty());
  EXPECT_THAT(refused, IsEmpty());  // The folder is empty.
  std::ofstream(own() / "1-2-3-.spool") << "x";
  EXPECT_THAT(OpenSpoolFolders(database(), refused), IsEmpty());
  EXPECT_THAT(refused, HasSubstr("belongs to user 12345"));
}

TEST_F(SpoolFolderTest, ThatOfTheDatabasesOwnerIsTrusted) {
  if (::geteuid() != 0) GTEST_SKIP() << "only the superuser gives files to others";
  constexpr uid_t kOther = 12345;
  std::ofstream(database()) << "x";
  const fs::path folder = SpoolFolderOf(database(), kOther);
  fs::create_directory(folder);
  ASSERT_EQ(::chmod(folder.c_str(), 0700), 0);
  ASSERT_EQ(::chown(folder.c_str(), kOther, kOther), 0);
  ASSERT_EQ(::chown(database().c_str(), kOther, kOther), 0);

  std::string refused;
  const auto folders = OpenSpoolFolders(database(), refused);

  ASSERT_EQ(folders.size(), 1u);
  EXPECT_EQ(folders[0].owner, kOther);
  EXPECT_EQ(refused, "");
}

TEST_F(SpoolFolderTest, MissingFoldersAreMadeOnlyWhereNobodyNamedThem) {
  const fs::path database = scratch_->path() / "share/attune/attune.db";

  EXPECT_EQ(OpenOwnSpoolFolder(SpoolPlaceOf(database, false)).status().code(),
            StatusCode::kNotFound);
  EXPECT_TRUE(OpenOwnSpoolFolder(SpoolPlaceOf(database, true)).ok());
}

TEST_F(SpoolFolderTest, EveryNameOfADatabaseHasOneSpool) {
  fs::create_directory(scratch_->path() / "real");
  std::ofstream(scratch_->path() / "real/attune.db") << "x";
  fs::create_symlink(scratch_->path() / "real/attune.db", database());

  EXPECT_EQ(SpoolPlaceOf(database(), false).database, scratch_->path() / "real/attune.db");
}

TEST_F(SpoolFolderTest, OnlyRegularFilesOfOneNameAreSpools) {
  const auto folder = OpenOwnSpoolFolder(SpoolPlaceOf(database(), false));
  ASSERT_TRUE(folder.ok());
  std::ofstream(own() / "a.spool") << "x";
  std::ofstream(own() / "b.spool") << "x";
  fs::create_hard_link(own() / "b.spool", scratch_->path() / "second name");
  fs::create_symlink("/etc/passwd", own() / "c.spool");
  ASSERT_EQ(::mkfifo((own() / "d.spool").c_str(), 0600), 0);

  std::vector<std::string> spools;
  for (const std::string& name : NamesIn(folder->get(), kSpoolSuffix, 100)) {
    const UniqueFd file = OpenIn(folder->get(), name.c_str(), O_RDONLY);
    const bool is_spool =
        file.valid() && IsSpoolOf(::geteuid(), file.get(), folder->get(), name.c_str());
    if (is_spool) spools.push_back(name);
  }

  EXPECT_THAT(spools, ElementsAre("a.spool"));
}

TEST_F(SpoolFolderTest, FilesGetNoNumberOfAStandardStream) {
  const auto folder = OpenOwnSpoolFolder(SpoolPlaceOf(database(), false));
  ASSERT_TRUE(folder.ok());
  const UniqueFd kept(::dup(STDIN_FILENO));
  ::close(STDIN_FILENO);

  const UniqueFd file = OpenIn(folder->get(), "x", O_WRONLY | O_CREAT, 0600);
  const int number = file.get();
  if (kept.valid()) ::dup2(kept.get(), STDIN_FILENO);

  EXPECT_GT(number, STDERR_FILENO);
}

}  // namespace
}  // namespace attune
