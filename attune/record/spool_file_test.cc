#include "attune/record/spool_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "attune/base/file.h"
#include "attune/base/scratch_folder.h"

namespace attune {
namespace {

namespace fs = std::filesystem;
using testing::EndsWith;
using testing::HasSubstr;

class SpoolFileTest : public testing::Test {
 protected:
  SpoolFile Make(size_t max_bytes = kMaxSpoolBytes, const std::string& run = "") {
    SpoolHeader header;
    header.tag = "t";
    header.run = run;
    return SpoolFile(SpoolPlaceOf(scratch_->path() / "attune.db", false), header, max_bytes);
  }
  std::vector<fs::path> Files() const {
    std::vector<fs::path> files;
    for (const auto& entry :
         fs::directory_iterator(SpoolFolderOf(scratch_->path() / "attune.db", ::geteuid()))) {
      files.push_back(entry.path());
    }
    return files;
  }

  const std::unique_ptr<ScratchFolder> scratch_ = *ScratchFolder::Make("attune-test-spool");
};

TEST_F(SpoolFileTest, IsForItsUserAloneWhateverTheMask) {
  const mode_t before = ::umask(0277);
  SpoolFile file = Make();
  const Status written = file.Append("a\n");
  ::umask(before);

  ASSERT_EQ(written, Status::Ok());
  ASSERT_EQ(Files().size(), 1u);
  struct stat info {};
  ASSERT_EQ(::stat(Files()[0].c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
}

TEST_F(SpoolFileTest, BeginsWithItsHeaderAndGrows) {
  SpoolFile file = Make();

  ASSERT_EQ(file.Append("a\n"), Status::Ok());
  ASSERT_EQ(file.Append("b\n"), Status::Ok());

  ASSERT_EQ(Files().size(), 1u);
  EXPECT_EQ(ReadFile(Files()[0]).value(), Text(file.header()) + "a\nb\n");
}

TEST_F(SpoolFileTest, IsMadeAgainWhenAnImporterHasRemovedIt) {
  SpoolFile file = Make();
  ASSERT_EQ(file.Append("a\n"), Status::Ok());
  fs::remove_all(SpoolFolderOf(scratch_->path() / "attune.db", ::geteuid()));

  ASSERT_EQ(file.Append("b\n"), Status::Ok());

  ASSERT_EQ(Files().size(), 1u);
  EXPECT_EQ(ReadFile(Files()[0]).value(), Text(file.header()) + "b\n");
}

TEST_F(SpoolFileTest, WaitsForNoImporter) {
  SpoolFile file = Make();
  ASSERT_EQ(file.Append("a\n"), Status::Ok());
  const fs::path first = Files()[0];
  const UniqueFd importer(::open(first.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(::flock(importer.get(), LOCK_EX), 0);

  ASSERT_EQ(file.Append("b\n"), Status::Ok());

  EXPECT_EQ(Files().size(), 2u);
  EXPECT_EQ(ReadFile(first).value(), Text(file.header()) + "a\n");
}

TEST_F(SpoolFileTest, AppendsNothingToAFileThatHasAnotherNameNow) {
  SpoolFile file = Make();
  ASSERT_EQ(file.Append("a\n"), Status::Ok());
  const fs::path first = Files()[0];
  fs::path imported = first;
  imported.replace_extension(kImportedSuffix);
  fs::rename(first, imported);

  ASSERT_EQ(file.Append("b\n"), Status::Ok());

  EXPECT_EQ(ReadFile(imported).value(), Text(file.header()) + "a\n");
}

TEST_F(SpoolFileTest, IsBoundedWithRoomForWordsOfTheLoss) {
  SpoolFile file = Make(1000);
  const std::string many(1000, 'x');
  ASSERT_EQ(file.Append("a\n"), Status::Ok());

  const Status full = file.Append(many);

  EXPECT_EQ(full.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(full.message(), HasSubstr("which is the limit"));
  EXPECT_EQ(file.AppendLoss(many), Status::Ok());
}

TEST_F(SpoolFileTest, AFailedWriteLeavesNoPartOfIt) {
  SpoolFile file = Make();
  ASSERT_EQ(file.Append("a\n"), Status::Ok());
  const std::string before = ReadFile(Files()[0]).value();

  const pid_t child = ::fork();
  if (child == 0) {
    // Part of the text fits, and the signal of the limit must not end the process.
    const rlimit limit = {before.size() + 10, before.size() + 10};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const Status status = file.Append(std::string(1000, 'x') + "\n");
    ::_exit(status.code() == StatusCode::kResourceExhausted ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);

  EXPECT_EQ(status, 0);
  EXPECT_EQ(ReadFile(Files()[0]).value(), before);
}

TEST_F(SpoolFileTest, TheRunIsInItsName) {
  SpoolFile file = Make(kMaxSpoolBytes, "0123456789abcdef");
  ASSERT_EQ(file.Append("a\n"), Status::Ok());

  EXPECT_EQ(RunOf(Files()[0].filename().string()), "0123456789abcdef");
  EXPECT_EQ(RunOf("1-2-3-.spool"), "");
  EXPECT_EQ(RunOf("1-2-3--4.spool"), "");
  EXPECT_EQ(RunOf("1-2-3-0123456789abcdef-4.imported"), "0123456789abcdef");
  EXPECT_EQ(RunOf("other"), "");
}

TEST_F(SpoolFileTest, AReadOnlyFolderIsTold) {
  if (::geteuid() == 0) GTEST_SKIP() << "the superuser may write to every folder";
  fs::permissions(scratch_->path(), fs::perms::owner_read | fs::perms::owner_exec);
  SpoolFile file = Make();

  const Status status = file.Append("a\n");
  fs::permissions(scratch_->path(), fs::perms::owner_all);

  EXPECT_THAT(status.message(), HasSubstr("Permission denied"));
}

}  // namespace
}  // namespace attune
