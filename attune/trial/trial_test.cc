#include "attune/trial/trial.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

TEST(CandidateTest, TextSortsKeysAndRoundTrips) {
  Candidate candidate{{"host.onednn-conv", 2}, {{"threads", int64_t{2}}, {"impl", "jit:avx2"}}};

  EXPECT_EQ(Text(candidate), "host.onednn-conv@2{impl=jit:avx2,threads=2}");
  EXPECT_EQ(*ParseCandidate(Text(candidate)), candidate);
}

TEST(CandidateTest, CandidateWithoutParametersHasEmptyBraces) {
  EXPECT_EQ(Text(*ParseCandidate("host.reference-gemm@1{}")), "host.reference-gemm@1{}");
}

TEST(CandidateTest, MalformedTextsAreRefusedWithTheText) {
  for (const char* text : {"", "@", "host.x", "host.x@1", "host.x@{}", "host.x@0{}", "host.x@1x{}",
                           "hostx@1{}", "Host.x@1{}", "host.x@1{a}", "host.x@1{a=1", ".x@1{}",
                           "host.x@1{a=1,a=2}", "host.x@99999999999{}"}) {
    EXPECT_FALSE(ParseCandidate(text).ok()) << text;
  }
}

TEST(TrialTest, EveryNameRoundTrips) {
  for (int i = 0; i <= static_cast<int>(FailureKind::kOutOfMemory); ++i) {
    const auto kind = static_cast<FailureKind>(i);
    EXPECT_EQ(ParseFailureKind(Name(kind)), kind);
  }
  for (int i = 0; i <= static_cast<int>(Phase::kMeasure); ++i) {
    EXPECT_EQ(ParsePhase(Name(static_cast<Phase>(i))), static_cast<Phase>(i));
  }
  for (int i = 0; i <= static_cast<int>(TrialRole::kFinal); ++i) {
    EXPECT_EQ(ParseTrialRole(Name(static_cast<TrialRole>(i))), static_cast<TrialRole>(i));
  }
  for (int i = 0; i <= static_cast<int>(CacheState::kRotating); ++i) {
    EXPECT_EQ(ParseCacheState(Name(static_cast<CacheState>(i))), static_cast<CacheState>(i));
  }
  EXPECT_EQ(ParseCacheState("lukewarm"), std::nullopt);
  EXPECT_EQ(ParseFailureKind("no such kind"), std::nullopt);
}

}  // namespace
}  // namespace attune
