#include "attune/index/copied_file.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace attune {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLarge = CopiedFile::kWholeBytes + 100'000;

class CopiedFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = fs::temp_directory_path() / ("attune-copied-" + std::to_string(::getpid()));
  }
  void TearDown() override { fs::remove(path_); }

  static std::string Content(size_t size, char begin) {
    std::string content(size, '\0');
    for (size_t i = 0; i < size; ++i) content[i] = static_cast<char>(begin + i / 4096 % 20);
    return content;
  }
  void Write(const std::string& content) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << content;
  }
  std::unique_ptr<const CopiedFile> OpenNew(size_t size) const {
    Write(Content(size, 'a'));
    return std::move(*CopiedFile::Open(path_));
  }
  static std::string_view BytesOf(const CopiedFile& file) { return {file.data(), file.size()}; }

  fs::path path_;
};

TEST_F(CopiedFileTest, ASmallFileStaysWhateverBecomesOfIt) {
  const auto file = OpenNew(100'000);

  Write("");

  EXPECT_TRUE(file->Load(50'000, 1000).ok());
  EXPECT_EQ(BytesOf(*file), Content(100'000, 'a'));
}

TEST_F(CopiedFileTest, ALargeFileIsReadWhereItIsAskedFor) {
  const auto file = OpenNew(kLarge);
  const std::string content = Content(kLarge, 'a');

  for (const size_t at : {size_t{0}, size_t{4095}, size_t{12'288}, kLarge - 10}) {
    const size_t size = std::min<size_t>(10, kLarge - at);
    ASSERT_TRUE(file->Load(at, size).ok()) << at;
    EXPECT_EQ(BytesOf(*file).substr(at, size), content.substr(at, size)) << at;
  }
  EXPECT_EQ(file->data()[100 * 4096], '\0');

  ASSERT_TRUE(file->LoadAll().ok());
  EXPECT_EQ(BytesOf(*file), content);
}

TEST_F(CopiedFileTest, WhatWasReadOfALargeFileStaysWhenItIsCut) {
  const auto file = OpenNew(kLarge);
  ASSERT_TRUE(file->Load(8192, 4096).ok());

  Write("");

  EXPECT_TRUE(file->Load(8192, 4096).ok());
  EXPECT_EQ(BytesOf(*file).substr(8192, 4096), Content(kLarge, 'a').substr(8192, 4096));
  EXPECT_EQ(file->Load(8192, 4097).code(), StatusCode::kUnavailable);
  EXPECT_EQ(file->LoadAll().code(), StatusCode::kUnavailable);
}

TEST_F(CopiedFileTest, ALargeFileIsNotMixedWithOneThatTakesItsPlace) {
  const auto file = OpenNew(kLarge);
  ASSERT_TRUE(file->Load(0, 100).ok());
  fs::path other = path_;
  other += ".new";
  std::ofstream(other, std::ios::binary) << Content(kLarge, 'b');

  fs::rename(other, path_);

  EXPECT_EQ(file->Load(4096, 100).code(), StatusCode::kUnavailable);
  fs::remove(path_);
  EXPECT_EQ(file->Load(4096, 100).code(), StatusCode::kUnavailable);
  EXPECT_TRUE(file->Load(0, 100).ok());
}

TEST_F(CopiedFileTest, WhatIsNoFileHasNoBytes) {
  EXPECT_EQ((*CopiedFile::Open("/"))->size(), 0u);
  EXPECT_EQ((*CopiedFile::Open("/dev/zero"))->size(), 0u);
  EXPECT_EQ(CopiedFile::Open("/nonexistent/index").status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace attune
