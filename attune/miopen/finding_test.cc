#include "attune/miopen/finding.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/miopen/test_findings.h"

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

TEST(FindingsTest, ThoseOfAnotherComeBehindAndCountWhatItDidNotKeep) {
  Findings findings;
  Findings other;
  findings.Add(FindingKind::kBadKey, 1, "");
  for (uint64_t line = 1; line <= Findings::kMostKept + 5; ++line) {
    other.Add(FindingKind::kBadItem, line, "");
  }
  other.Add(FindingKind::kBadKey, 2, "");

  findings.Append(other);

  EXPECT_EQ(findings.count(FindingKind::kBadItem), Findings::kMostKept + 5);
  EXPECT_EQ(findings.count(FindingKind::kBadKey), 2u);
  EXPECT_EQ(PlacesOf(findings).front(), "1 bad_key");
  EXPECT_EQ(PlacesOf(findings).back(), "2 bad_key");
}

}  // namespace
}  // namespace attune::miopen
