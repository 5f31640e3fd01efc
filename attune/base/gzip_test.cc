#include "attune/base/gzip.h"

#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "attune/base/file.h"

namespace attune {
namespace {

// `printf hello | gzip -n`.
const std::string kHello(
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb\x48\xcd\xc9\xc9\x07\x00\x86\xa6\x10\x36\x05\x00"
    "\x00"
    "\x00",
    25);

TEST(GunzipTest, UnpacksOneFileAndSeveral) {
  EXPECT_TRUE(IsGzip(kHello));
  EXPECT_EQ(*Gunzip(kHello), "hello");
  EXPECT_EQ(*Gunzip(kHello + kHello), "hellohello");
}

TEST(GunzipTest, TextIsNotPacked) { EXPECT_FALSE(IsGzip("block_size_x,status")); }

TEST(GunzipTest, EveryPrefixIsCutOff) {
  for (size_t length = 0; length < kHello.size(); ++length) {
    EXPECT_EQ(Gunzip(kHello.substr(0, length)).status().code(), StatusCode::kDataLoss) << length;
  }
}

TEST(GunzipTest, ADamagedByteIsSeen) {
  std::string damaged = kHello;
  damaged[19] ^= 1;  // In the checksum.

  EXPECT_EQ(Gunzip(damaged).status().code(), StatusCode::kDataLoss);
}

TEST(GunzipTest, WhereAFileIsDamagedIsCountedFromItsBeginning) {
  EXPECT_EQ(Gunzip(kHello + "junk").status().message(), "A packed file is damaged at byte 27.");
  EXPECT_EQ(Gunzip(kHello + kHello.substr(0, 20)).status().message(),
            "A packed file is cut off at byte 45.");
}

TEST(GunzipTest, MoreThanWasAllowedIsRefused) {
  EXPECT_EQ(Gunzip(kHello, 4).status().code(), StatusCode::kResourceExhausted);
}

TEST(GunzipTest, AFileIsReadAsItIsOrUnpackedAndADamagedOneIsNamed) {
  std::string name = (std::filesystem::temp_directory_path() / "attune-gzip-XXXXXX").string();
  const std::filesystem::path folder = ::mkdtemp(name.data());
  ASSERT_TRUE(WriteFileAtomically(folder / "plain", "hello").ok());
  ASSERT_TRUE(WriteFileAtomically(folder / "packed", kHello).ok());
  ASSERT_TRUE(WriteFileAtomically(folder / "cut", kHello.substr(0, 12)).ok());

  const auto plain = ReadFileUnpacked(folder / "plain");
  const auto packed = ReadFileUnpacked(folder / "packed");
  const auto cut = ReadFileUnpacked(folder / "cut");
  const auto missing = ReadFileUnpacked(folder / "missing");
  std::filesystem::remove_all(folder);

  EXPECT_EQ(*plain, "hello");
  EXPECT_EQ(*packed, "hello");
  EXPECT_EQ(cut.status().code(), StatusCode::kDataLoss);
  EXPECT_NE(cut.status().message().find("cut"), std::string::npos);
  EXPECT_EQ(missing.status().code(), StatusCode::kNotFound);
}

TEST(GzipTest, WhatItPacksIsUnpackedAgain) {
  std::string bytes;
  for (int i = 0; i < 300000; ++i) bytes += static_cast<char>(i * i / 7);

  const auto packed = Gzip(bytes);

  ASSERT_TRUE(packed.ok());
  EXPECT_LT(packed->size(), bytes.size());
  EXPECT_EQ(*Gunzip(*packed), bytes);
  EXPECT_EQ(*Gunzip(*Gzip("")), "");
}

}  // namespace
}  // namespace attune
