#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "attune/base/file.h"
#include "attune/base/fingerprint.h"
#include "attune/base/random.h"
#include "attune/base/status.h"
#include "attune/base/text.h"

namespace attune {
namespace {

Result<int> Half(int value) {
  if (value % 2 != 0) return InvalidArgument("Value (" + std::to_string(value) + ") is odd.");
  return value / 2;
}

Result<int> Quarter(int value) {
  ATTUNE_ASSIGN_OR_RETURN(const int half, Half(value));
  return Half(half);
}

TEST(TextTest, WhatIsCutEndsWithAWholeCharacter) {
  EXPECT_EQ(FirstBytes("short", 5), "short");
  EXPECT_EQ(FirstBytes("longer", 4), "long");
  const std::string text = "a\u00e9\u20ac";  // One, two and three bytes.
  EXPECT_EQ(FirstBytes(text, 6), text);
  EXPECT_EQ(FirstBytes(text, 5), "a\u00e9");
  EXPECT_EQ(FirstBytes(text, 4), "a\u00e9");
  EXPECT_EQ(FirstBytes(text, 3), "a\u00e9");
  EXPECT_EQ(FirstBytes(text, 2), "a");
  EXPECT_EQ(FirstBytes(text, 0), "");
}

TEST(TextTest, WhatIsNoUtf8IsCutAnywhere) {
  const std::string bytes(8, '\x80');
  EXPECT_EQ(FirstBytes(bytes, 6), bytes.substr(0, 6));
}

TEST(TextTest, TrimmedLeavesBlanksInside) {
  EXPECT_EQ(Trimmed(" \ta b\t "), "a b");
  EXPECT_EQ(Trimmed("a"), "a");
  EXPECT_EQ(Trimmed(" \t "), "");
  EXPECT_EQ(Trimmed(""), "");
}

TEST(TextTest, AnExcerptHasTheBeginningAndTheLength) {
  const std::string longest(kExcerptBytes, 'a');
  EXPECT_EQ(Excerpt(longest), longest);
  EXPECT_EQ(Excerpt(longest + "b"), longest + "... [81 bytes]");
}

TEST(StatusTest, ErrorsTravelThroughAssignOrReturn) {
  EXPECT_EQ(*Quarter(8), 2);
  EXPECT_EQ(Quarter(6).status().ToString(), "invalid_argument: Value (3) is odd.");
}

TEST(StatusTest, ContextIsPutBeforeTheMessageAndSuccessStaysSuccess) {
  EXPECT_EQ(NotFound("No x.").WithContext("Opening y").message(), "Opening y: No x.");
  EXPECT_TRUE(Status::Ok().WithContext("Opening y").ok());
}

TEST(FingerprintTest, HexRoundTripsAndRejectsEverythingElse) {
  const Fingerprint fingerprint = FingerprintOf("attune");

  EXPECT_EQ(Fingerprint::FromHex(fingerprint.ToHex()), fingerprint);
  EXPECT_FALSE(Fingerprint::FromHex("").has_value());
  EXPECT_FALSE(Fingerprint::FromHex(std::string(32, 'g')).has_value());
  EXPECT_FALSE(Fingerprint::FromHex(std::string(33, '0')).has_value());
  EXPECT_FALSE(Fingerprint::FromHex("-" + std::string(31, '0')).has_value());
}

TEST(FingerprintTest, ValueIsStableAcrossReleases) {
  EXPECT_EQ(FingerprintOf("").ToHex(), "99aa06d3014798d86001c324468d497f");
}

TEST(RandomTest, SequenceIsStableAcrossReleases) {
  Random random(1234567);

  EXPECT_EQ(random.Next(), 6457827717110365317ull);
  EXPECT_EQ(random.Next(), 3203168211198807973ull);
}

TEST(RandomTest, BelowStaysBelowAndReachesEverything) {
  Random random(7);
  bool seen[5] = {};

  for (int i = 0; i < 1000; ++i) seen[random.Below(5)] = true;

  for (const bool value : seen) EXPECT_TRUE(value);
}

TEST(FileTest, AtomicWriteReplacesTheWholeContent) {
  const auto path = std::filesystem::temp_directory_path() / "attune_base_file_test";
  ASSERT_TRUE(WriteFileAtomically(path, "a longer first text").ok());

  ASSERT_TRUE(WriteFileAtomically(path, "second").ok());

  EXPECT_EQ(*ReadFile(path), "second");
  std::filesystem::remove(path);
}

TEST(FileTest, MissingFileIsNotFoundAndNamed) {
  const Status status = ReadFile("/nonexistent/file").status();

  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_NE(status.message().find("/nonexistent/file"), std::string::npos);
}

}  // namespace
}  // namespace attune
