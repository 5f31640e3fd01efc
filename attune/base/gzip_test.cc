#include "attune/base/gzip.h"

#include <string>

#include <gtest/gtest.h>

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
  damaged[19] ^= 1;  // Of the checksum.

  EXPECT_EQ(Gunzip(damaged).status().code(), StatusCode::kDataLoss);
}

TEST(GunzipTest, MoreThanWasAllowedIsRefused) {
  EXPECT_EQ(Gunzip(kHello, 4).status().code(), StatusCode::kResourceExhausted);
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
