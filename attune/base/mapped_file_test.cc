#include "attune/base/mapped_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "attune/base/code_folder.h"
#include "attune/base/unique_fd.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBytes = 8192;

// A mapped file of 8 KiB.
class MappedFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("attune-mapped-" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override {
    if (memory_ != nullptr) ::munmap(memory_, kBytes);
    fs::remove_all(folder_);
  }

  static void Write(const fs::path& path, char content) {
    std::ofstream(path) << std::string(kBytes, content);
  }

  const char* Map(const std::string& name) {
    path_ = folder_ / name;
    Write(path_, 'a');
    const UniqueFd fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    memory_ = ::mmap(nullptr, kBytes, PROT_READ, MAP_PRIVATE, fd.get(), 0);
    return static_cast<const char*>(memory_);
  }

  // An address in the second page.
  MappedFile Find() {
    return FindMappedFile(static_cast<const char*>(memory_) + 5000, found_, sizeof found_);
  }

  fs::path folder_;
  fs::path path_;
  void* memory_ = nullptr;
  char found_[PATH_MAX] = "";
};

TEST_F(MappedFileTest, FindsTheFileByAnAddressInIt) {
  Map("a file");

  EXPECT_EQ(Find(), MappedFile::kFound);
  EXPECT_EQ(found_, fs::canonical(path_));
}

TEST_F(MappedFileTest, AFileThatWasRenamedIsFoundUnderItsNewName) {
  Map("old");
  fs::rename(path_, folder_ / "new");

  EXPECT_EQ(Find(), MappedFile::kFound);
  EXPECT_EQ(found_, fs::canonical(folder_ / "new"));
}

TEST_F(MappedFileTest, AFileThatWasDeletedIsNoPath) {
  Map("file");
  fs::remove(path_);
  EXPECT_EQ(Find(), MappedFile::kReplaced);

  // Not even if another process creates the name that the kernel shows.
  Write(folder_ / "file (deleted)", 'b');
  EXPECT_EQ(Find(), MappedFile::kReplaced);
}

TEST_F(MappedFileTest, AFileThatWasReplacedIsNoPath) {
  Map("file");
  Write(folder_ / "other", 'b');
  fs::rename(folder_ / "other", path_);

  EXPECT_EQ(Find(), MappedFile::kReplaced);
}

TEST_F(MappedFileTest, ACopyIsNotTheFile) {
  struct statfs system {};
  ASSERT_EQ(::statfs(folder_.c_str(), &system), 0);
  if (system.f_type == OVERLAYFS_SUPER_MAGIC || system.f_type == BTRFS_SUPER_MAGIC) {
    GTEST_SKIP() << "the kernel shows no usual inodes here";
  }
  Map("file");
  Write(folder_ / "other", 'a');
  fs::rename(folder_ / "other", path_);

  EXPECT_EQ(Find(), MappedFile::kReplaced);
}

// The other root may contain the file by a link, next to other files.
TEST_F(MappedFileTest, InAnotherRootThereIsNoPath) {
  Map("file");
  constexpr int kNoRoot = 77;
  const pid_t child = ::fork();
  if (child == 0) {
    const fs::path jail = folder_ / "jail";
    fs::create_directories(jail / "proc/self");
    std::ofstream(jail / "proc/self/maps") << std::ifstream("/proc/self/maps").rdbuf();
    if (::chroot(jail.c_str()) != 0) ::_exit(kNoRoot);
    ::_exit(Find() == MappedFile::kOtherRoot ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (WEXITSTATUS(status) == kNoRoot) GTEST_SKIP() << "only the superuser can change the root";
  EXPECT_EQ(status, 0);
}

TEST_F(MappedFileTest, AFileMayBeCalledDeleted) {
  Map("file (deleted)");

  EXPECT_EQ(Find(), MappedFile::kFound);
  EXPECT_EQ(found_, fs::canonical(path_));
}

TEST_F(MappedFileTest, MemoryOfNoFileHasNoPath) {
  memory_ = ::mmap(nullptr, kBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  EXPECT_EQ(Find(), MappedFile::kNone);
}

TEST_F(MappedFileTest, APathThatIsLongerThanTheRoomForItIsNotCut) {
  const char* memory = Map("file");
  char small[8] = "";

  EXPECT_EQ(FindMappedFile(memory, small, sizeof small), MappedFile::kNone);
}

TEST(CodeFolderTest, CodeInAProgramFindsTheFolderOfTheProgram) {
  const auto program = fs::read_symlink("/proc/self/exe");

  EXPECT_EQ(FolderOfThisCode().value(), program.parent_path());
  EXPECT_EQ(InstallationFolder().value(), program.parent_path().parent_path());
}

}  // namespace
}  // namespace attune
