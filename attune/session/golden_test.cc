#include "attune/session/golden.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/ops/gemm/gemm.h"

namespace attune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

GoldenEntry Standing(double low, double high) {
  GoldenEntry entry;
  entry.set_id = "old";
  entry.candidate = {{"host.a", 1}, {}};
  entry.low_ns = low;
  entry.median_ns = (low + high) / 2;
  entry.high_ns = high;
  return entry;
}

Choice Fresh(double low, double high) {
  Choice choice;
  choice.set_id = "new";
  choice.candidate = {{"host.b", 1}, {}};
  choice.measurement.low_ns = low;
  choice.measurement.median_ns = (low + high) / 2;
  choice.measurement.high_ns = high;
  return choice;
}

TEST(GoldenTest, WhatIsNewIsTaken) {
  const GoldenDecision decision = Decide(nullptr, true, Fresh(1, 2), false, {});
  EXPECT_EQ(decision.verdict, GoldenVerdict::kTake);
  EXPECT_EQ(decision.reason, GoldenReason::kNew);
}

TEST(GoldenTest, OnlyTheSignificantlyFasterTakesAPlace) {
  const GoldenEntry standing = Standing(100, 110);
  EXPECT_EQ(Decide(&standing, true, Fresh(90, 98), false, {}).verdict, GoldenVerdict::kTake);
  EXPECT_EQ(Decide(&standing, true, Fresh(90, 98), false, {}).reason, GoldenReason::kFaster);
  // Its interval ends within the margin, touches, or is of a slower one.
  EXPECT_EQ(Decide(&standing, true, Fresh(90, 99.5), false, {}).verdict, GoldenVerdict::kKeep);
  EXPECT_EQ(Decide(&standing, true, Fresh(90, 105), false, {}).verdict, GoldenVerdict::kKeep);
  EXPECT_EQ(Decide(&standing, true, Fresh(120, 130), false, {}).verdict, GoldenVerdict::kKeep);
}

TEST(GoldenTest, ASlowerOneReplacesOnlyByForceOrWhatIsInvalid) {
  const GoldenEntry standing = Standing(100, 110);
  EXPECT_EQ(Decide(&standing, true, Fresh(120, 130), true, {}).reason, GoldenReason::kForced);
  EXPECT_EQ(Decide(&standing, true, Fresh(120, 130), true, {}).verdict, GoldenVerdict::kTake);
  EXPECT_EQ(Decide(&standing, false, Fresh(120, 130), false, {}).reason, GoldenReason::kInvalid);
  EXPECT_EQ(Decide(&standing, false, Fresh(120, 130), false, {}).verdict, GoldenVerdict::kTake);
}

TEST(GoldenTest, TheSameEvidenceIsAddedOnce) {
  const GoldenEntry standing = Standing(100, 110);
  Choice same = Fresh(100, 110);
  same.set_id = standing.set_id;
  same.candidate = standing.candidate;
  EXPECT_EQ(Decide(&standing, true, same, true, {}).verdict, GoldenVerdict::kSame);
}

GoldenEntry On(const char* device, int64_t order, double low, double high) {
  GoldenEntry entry = Standing(low, high);
  entry.target.backend = "host";
  entry.target.device = device;
  Gemm gemm;
  gemm.m = gemm.n = gemm.k = order;
  entry.problem = Normalized(gemm);
  return entry;
}

TEST(GoldenTest, DiffTellsEachKindOfChange) {
  const std::vector<GoldenEntry> before = {On("a", 1, 10, 11), On("a", 2, 10, 11),
                                           On("a", 3, 10, 11), On("a", 4, 10, 11),
                                           On("a", 5, 10, 11)};
  std::vector<GoldenEntry> after = {On("a", 2, 10, 11), On("a", 3, 8, 9), On("a", 4, 12, 13),
                                    On("a", 5, 10.5, 12), On("b", 1, 10, 11)};
  for (size_t i = 1; i < 4; ++i) after[i].set_id = "new";
  std::vector<std::string_view> words;
  for (const GoldenChange& change : DiffGolden(before, after)) words.push_back(change.word);
  EXPECT_EQ(words,
            (std::vector<std::string_view>{"gone", "same", "faster", "slower", "changed", "new"}));
}

TEST(GoldenTest, TimesWithCachesInTwoStatesAreNeverCompared) {
  std::vector<GoldenEntry> before = {On("a", 1, 10, 11)};
  std::vector<GoldenEntry> after = {On("a", 1, 20, 21)};
  before[0].cache = CacheState::kWarm;
  after[0].cache = CacheState::kCold;
  after[0].set_id = "new";

  const auto changes = DiffGolden(before, after);

  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0].word, "gone");
  EXPECT_EQ(changes[1].word, "new");
  EXPECT_EQ(CacheName(*changes[1].after), "cold");
  EXPECT_EQ(CacheName(On("a", 1, 1, 2)), "unknown");
}

TEST(GoldenTest, WhatBeginsFromAWithdrawnVersionIsFound) {
  std::vector<GoldenVersion> versions(3);
  versions[0].name = "1";
  versions[1].name = "2";
  versions[1].base = "1";
  versions[2].name = "3";
  versions[2].base = "2";
  EXPECT_EQ(FindWithdrawn(versions, versions[2]), nullptr);
  versions[0].withdrawn_unix_ns = 1;
  EXPECT_EQ(FindWithdrawn(versions, versions[2]), &versions[0]);
  versions[1].withdrawn_unix_ns = 1;
  EXPECT_EQ(FindWithdrawn(versions, versions[2]), &versions[1]);
}

TEST(GoldenTest, HowToBeginIsToldAsThingsAre) {
  std::vector<GoldenVersion> versions;
  EXPECT_THAT(HowToBegin(versions), HasSubstr("create NAME' begins anew"));
  versions.resize(1);
  versions[0].name = "1";
  EXPECT_THAT(HowToBegin(versions), HasSubstr("'attune golden approve 1' makes it a base"));
  versions[0].approved_unix_ns = 1;
  EXPECT_THAT(HowToBegin(versions), HasSubstr("create NAME --base 1'"));
  versions.resize(3);
  versions[1].name = "2";
  versions[1].base = "1";
  versions[1].approved_unix_ns = 2;
  versions[2].name = "3";
  versions[2].base = "2";
  EXPECT_THAT(HowToBegin(versions), HasSubstr("--base 2'"));
  EXPECT_THAT(FindDependents(versions, versions[0]), ElementsAre(&versions[1], &versions[2]));
  EXPECT_THAT(FindDependents(versions, versions[2]), IsEmpty());

  versions[0].withdrawn_unix_ns = 3;

  // Versions that begin from it, approved or not, cannot be used either.
  EXPECT_EQ(FindNewestBase(versions), nullptr);
  EXPECT_EQ(FindOpenDraft(versions), nullptr);
  EXPECT_THAT(HowToBegin(versions), HasSubstr("create NAME' begins anew"));
}

TEST(GoldenTest, ReasonsAreReadAsTheyAreWritten) {
  for (const GoldenReason reason :
       {GoldenReason::kNew, GoldenReason::kFaster, GoldenReason::kInvalid, GoldenReason::kForced}) {
    ASSERT_TRUE(ParseGoldenReason(Name(reason)).ok());
    EXPECT_EQ(*ParseGoldenReason(Name(reason)), reason);
  }
  EXPECT_FALSE(ParseGoldenReason("slower").ok());
}

}  // namespace
}  // namespace attune
