#include "attune/tuner/reference_bound.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;

TEST(ReferenceBoundTest, WhatTakesLongerThanIsAllowedIsKnownByItsPace) {
  ReferenceBound bound(10 * kSecondNs, 5 * kSecondNs);

  EXPECT_TRUE(bound.Admits(0, 10 * kSecondNs));
  EXPECT_TRUE(bound.Admits(0.001, 11 * kSecondNs));
  // Too early for a prediction.
  EXPECT_TRUE(bound.Admits(0.0011, 11 * kSecondNs + 1'000'000));
  EXPECT_FALSE(bound.Admits(0.011, 12 * kSecondNs));
  EXPECT_NEAR(static_cast<double>(bound.expected_ns()), 100.9e9, 1e6);
}

TEST(ReferenceBoundTest, WhatFitsIsAdmittedToTheEnd) {
  ReferenceBound bound(0, 11 * kSecondNs);

  for (int second = 0; second <= 10; ++second) {
    EXPECT_TRUE(bound.Admits(second / 10.0, second * kSecondNs)) << second;
  }
}

TEST(ReferenceBoundTest, InputsThatAloneTakeLongerEndItToo) {
  ReferenceBound bound(0, kSecondNs);

  EXPECT_TRUE(bound.Admits(0, kSecondNs));
  EXPECT_FALSE(bound.Admits(0, kSecondNs + 1));
}

TEST(ReferenceBoundTest, WhyItEndedIsSaidInSeconds) {
  ReferenceBound bound(0, 2 * kSecondNs);
  ASSERT_FALSE(bound.Admits(0, 3 * kSecondNs + 1));

  const Status exceeded = bound.Exceeded();

  EXPECT_EQ(exceeded.code(), StatusCode::kDeadlineExceeded);
  EXPECT_NE(exceeded.message().find("takes about 4 s or more, and 2 s are left"), std::string::npos)
      << exceeded.message();
}

TEST(ReferenceBoundTest, WithoutABoundEverythingIsAdmitted) {
  ReferenceBound bound(0, 0);

  EXPECT_TRUE(bound.Admits(0.001, 1000 * kSecondNs));
  EXPECT_TRUE(bound.Admits(0.002, 2000 * kSecondNs));
}

}  // namespace
}  // namespace attune
