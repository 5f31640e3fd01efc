#include "attune/formats/miopen/finding.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/formats/miopen/test_findings.h"

namespace attune::miopen {
namespace {

TEST(FindingsTest, EveryKindHasWordsOfItsOwn) {
  std::set<std::string_view> words;
  for (size_t i = 0; i < kFindingKinds; ++i) {
    words.insert(Name(static_cast<FindingKind>(i)));
    words.insert(Description(static_cast<FindingKind>(i)));
  }
  EXPECT_EQ(words.size(), 2 * kFindingKinds);
  EXPECT_FALSE(words.contains(""));
  // The first and the last, so that a kind in between has not moved the others.
  EXPECT_EQ(Name(FindingKind::kBadLine), "bad_line");
  EXPECT_EQ(Name(FindingKind::kUnusedConfig), "unused_config");
}

TEST(FindingsTest, AllAreCountedAndTheFirstOfEachKindKept) {
  Findings findings;
  for (uint64_t line = 1; line <= Findings::kMostKept + 5; ++line) {
    findings.Add(FindingKind::kBadItem, line, "");
  }
  findings.Add(FindingKind::kBadKey, 3, "last");

  EXPECT_EQ(findings.count(FindingKind::kBadItem), Findings::kMostKept + 5);
  EXPECT_EQ(findings.count(FindingKind::kBadKey), 1u);
  EXPECT_EQ(findings.total(), Findings::kMostKept + 6);
  EXPECT_EQ(findings.kept().size(), Findings::kMostKept + 1);
  EXPECT_EQ(findings.kept().back(), (Finding{FindingKind::kBadKey, 3, "last"}));
}

TEST(FindingsTest, WhatIsLeftOutIsToldFromWhatIsKept) {
  EXPECT_TRUE(IsLeftOut(FindingKind::kBadLine));
  EXPECT_TRUE(IsLeftOut(FindingKind::kHashMismatch));
  EXPECT_FALSE(IsLeftOut(FindingKind::kImpossibleProblem));
  EXPECT_FALSE(IsLeftOut(FindingKind::kUnusedConfig));
  EXPECT_FALSE(IsLeftOut(FindingKind::kNoRecord));
}

}  // namespace
}  // namespace attune::miopen
