#include "attune/record/spool_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/random.h"
#include "attune/ops/gemm/gemm.h"

namespace attune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const SpoolHeader kHeader = {"/a folder/attune.db", "my tag\n", 12, 34, "python3", "0011"};

Problem ProductOfSize(int64_t m) {
  Gemm gemm;
  gemm.m = m;
  gemm.n = 3;
  gemm.k = 4;
  return Normalized(gemm);
}

std::string SpoolOf(int count) {
  std::string text = Text(kHeader);
  for (int i = 1; i <= count; ++i) AppendProblemLine(Text(ProductOfSize(i)), text);
  return text;
}

TEST(SpoolFormat, WhatIsWrittenIsRead) {
  const std::string text = SpoolOf(2) + LossLine({7, "No space left on device."});

  const auto content = ParseSpool(text);

  ASSERT_TRUE(content.ok()) << content.status().message();
  EXPECT_EQ(content->header, kHeader);
  EXPECT_THAT(content->problems, ElementsAre(ProductOfSize(1), ProductOfSize(2)));
  EXPECT_THAT(content->losses, ElementsAre(SpoolLoss{7, "No space left on device."}));
  EXPECT_EQ(content->damaged_bytes, 0);
}

TEST(SpoolFormat, ATornEndCostsWhatIsTornAlone) {
  const std::string whole = SpoolOf(2);
  const std::string text = SpoolOf(3);

  for (size_t size = whole.size() + 1; size < text.size(); ++size) {
    const auto content = ParseSpool(text.substr(0, size));

    ASSERT_TRUE(content.ok()) << size;
    EXPECT_EQ(content->problems.size(), 2u) << size;
    EXPECT_EQ(content->damaged_bytes, static_cast<int64_t>(size - whole.size()));
    EXPECT_THAT(content->damage, HasSubstr("cut off"));
  }
}

TEST(SpoolFormat, LinesAfterATornOneAreRead) {
  const std::string whole = SpoolOf(1);
  std::string next;
  AppendProblemLine(Text(ProductOfSize(9)), next);

  const auto content = ParseSpool(whole + "0123456789abcdef prob\n" + next);

  ASSERT_TRUE(content.ok());
  EXPECT_THAT(content->problems, ElementsAre(ProductOfSize(1), ProductOfSize(9)));
  EXPECT_EQ(content->damaged_bytes, 22);
}

TEST(SpoolFormat, AChangedByteCostsItsLineAlone) {
  const std::string text = SpoolOf(3);
  const size_t begin = Text(kHeader).size();
  Random random(1);

  for (int i = 0; i < 2000; ++i) {
    std::string changed = text;
    const size_t at = begin + random.Below(text.size() - begin);
    const auto byte = static_cast<char>(random.Below(256));
    if (changed[at] == byte || changed[at] == '\n' || byte == '\n') continue;
    changed[at] = byte;

    const auto content = ParseSpool(changed);

    ASSERT_TRUE(content.ok());
    EXPECT_EQ(content->problems.size(), 2u) << at;
    EXPECT_GT(content->damaged_bytes, 0);
  }
}

TEST(SpoolFormat, NoBytesMakeTheReaderMisbehave) {
  const std::string text = SpoolOf(3) + LossLine({1, "x"});
  Random random(2);

  for (int i = 0; i < 5000; ++i) {
    std::string mutant = text;
    for (uint64_t change = random.Below(8) + 1; change-- > 0 && !mutant.empty();) {
      const size_t at = random.Below(mutant.size());
      switch (random.Below(3)) {
        case 0:
          mutant[at] = static_cast<char>(random.Below(256));
          break;
        case 1:
          mutant.erase(at, random.Below(30) + 1);
          break;
        default:
          mutant.insert(at, text.substr(random.Below(text.size()), random.Below(40)));
      }
    }
    const auto content = ParseSpool(mutant);
    if (!content.ok()) continue;
    // A duplicated line counts twice; importing ignores repeats.
    for (const Problem& problem : content->problems) EXPECT_EQ(Validate(problem), Status::Ok());
  }
}

TEST(SpoolFormat, OtherFilesAndVersionsAreRefused) {
  EXPECT_EQ(ParseSpool("").status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(ParseSpool("SQLite format 3").status().code(), StatusCode::kDataLoss);
  const Status newer = ParseSpool("attune problem spool, version 2\n").status();
  EXPECT_EQ(newer.code(), StatusCode::kUnsupported);
  EXPECT_THAT(newer.message(), HasSubstr("version 2"));
  const Status untagged = ParseSpool("attune problem spool, version 1\n").status();
  EXPECT_EQ(untagged.code(), StatusCode::kDataLoss);
  EXPECT_THAT(untagged.message(), HasSubstr("tag"));
}

TEST(SpoolFormat, ATextThatIsNoProblemCountsAsDamage) {
  std::string text = SpoolOf(1);
  AppendProblemLine("gemm@1{m=0}", text);

  const auto content = ParseSpool(text);

  ASSERT_TRUE(content.ok());
  EXPECT_EQ(content->problems.size(), 1u);
  EXPECT_GT(content->damaged_bytes, 0);
  EXPECT_THAT(content->damage, HasSubstr("line 7"));
}

}  // namespace
}  // namespace attune
