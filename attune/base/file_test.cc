// Paths that look like files: links, pipes, devices; and files that never end.
#include "attune/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdlib>
#include <future>

#include <gtest/gtest.h>

#include "attune/base/unique_fd.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

class SpecialFileTest : public ::testing::Test {
 protected:
  SpecialFileTest() {
    std::string name = (fs::temp_directory_path() / "attune-file-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~SpecialFileTest() override { fs::remove_all(folder_); }

  fs::path folder_;
};

TEST_F(SpecialFileTest, ALinkStaysAndItsFileIsReplaced) {
  fs::create_directory(folder_ / "below");
  fs::create_symlink("below/second", folder_ / "first");
  fs::create_symlink("file", folder_ / "below" / "second");

  ASSERT_TRUE(WriteFileAtomically(folder_ / "first", "new").ok());

  EXPECT_TRUE(fs::is_symlink(folder_ / "first"));
  EXPECT_TRUE(fs::is_symlink(folder_ / "below" / "second"));
  EXPECT_EQ(*ReadFile(folder_ / "below" / "file"), "new");
}

TEST_F(SpecialFileTest, LinksInACircleAreRefused) {
  fs::create_symlink("b", folder_ / "a");
  fs::create_symlink("a", folder_ / "b");

  const Status status = WriteFileAtomically(folder_ / "a", "new");

  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status.message();
}

TEST_F(SpecialFileTest, APipeIsWrittenAndStaysAPipe) {
  const fs::path path = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  auto reader = std::async(std::launch::async, [&] { return ReadFile(path); });

  const Status status = WriteFileAtomically(path, "through");

  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(*reader.get(), "through");
  EXPECT_TRUE(fs::is_fifo(path));
}

TEST_F(SpecialFileTest, AFullDeviceIsAnErrorAndStaysADevice) {
  if (!fs::is_character_file("/dev/full")) GTEST_SKIP() << "There is no /dev/full here.";
  fs::create_symlink("/dev/full", folder_ / "link");

  const Status status = WriteFileAtomically(folder_ / "link", "new");

  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << status.message();
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST_F(SpecialFileTest, AFolderIsRefused) {
  const Status status = WriteFileAtomically(folder_, "new");

  EXPECT_FALSE(status.ok());
  EXPECT_TRUE(fs::is_directory(folder_));
}

TEST_F(SpecialFileTest, AtOnceAPipeIsRefusedWhoeverIsAtItsOtherEnd) {
  const fs::path path = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  ASSERT_TRUE(WriteFileAtomically(folder_ / "file", "content").ok());

  const auto without_writer = ReadFileAtOnce(path);
  const UniqueFd writer(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  const auto with_writer = ReadFileAtOnce(path);

  ASSERT_FALSE(without_writer.ok());
  EXPECT_EQ(without_writer.error().code(), StatusCode::kInvalidArgument);
  EXPECT_FALSE(with_writer.ok());
  EXPECT_EQ(*ReadFileAtOnce(folder_ / "file"), "content");
  EXPECT_EQ(*ReadFileAtOnce("/dev/null"), "");
}

TEST_F(SpecialFileTest, AtOnceADeviceIsRefusedBeforeItIsRead) {
  for (const char* device : {"/dev/zero", "/dev/full", "/dev/urandom"}) {
    const auto content = ReadFileAtOnce(device);

    ASSERT_FALSE(content.ok());
    EXPECT_EQ(content.error().code(), StatusCode::kInvalidArgument);
  }
}

TEST_F(SpecialFileTest, WhatIsLongerThanTheLimitIsNotRead) {
  ASSERT_TRUE(WriteFileAtomically(folder_ / "file", "12345678").ok());

  const auto whole = ReadFile(folder_ / "file", 8);
  const auto longer = ReadFile(folder_ / "file", 7);
  const auto endless = ReadFile("/dev/zero", 1 << 20);

  EXPECT_EQ(*whole, "12345678");
  ASSERT_FALSE(longer.ok());
  EXPECT_EQ(longer.error().code(), StatusCode::kResourceExhausted);
  EXPECT_FALSE(endless.ok());
}

}  // namespace
}  // namespace attune
