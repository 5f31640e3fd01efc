#include "storage/sql/server_clock.h"

#include <gtest/gtest.h>

namespace attune::sql {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;

TEST(ServerClockTest, GoesBySteadyTimeAndAsksOnceAMinute) {
  ServerClock clock;
  int asked = 0;
  int64_t ahead_ns = 3600 * kSecondNs;
  const auto ask = [&]() -> Result<int64_t> {
    ++asked;
    return ahead_ns;
  };

  EXPECT_EQ(clock.UnixNs(5 * kSecondNs, ask).value(), 3605 * kSecondNs);
  ahead_ns = 3601 * kSecondNs;
  EXPECT_EQ(clock.UnixNs(64 * kSecondNs, ask).value(), 3664 * kSecondNs);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(clock.UnixNs(65 * kSecondNs, ask).value(), 3666 * kSecondNs);
  EXPECT_EQ(asked, 2);
}

TEST(ServerClockTest, TheLastAnswerCountsWhileTheServerIsAwayAndTheFirstIsNeeded) {
  ServerClock clock;
  bool is_away = true;
  const auto ask = [&]() -> Result<int64_t> {
    if (is_away) return Unavailable("It is away.");
    return 7 * kSecondNs;
  };

  EXPECT_EQ(clock.UnixNs(kSecondNs, ask).status().code(), StatusCode::kUnavailable);
  is_away = false;
  EXPECT_EQ(clock.UnixNs(kSecondNs, ask).value(), 8 * kSecondNs);
  is_away = true;
  EXPECT_EQ(clock.UnixNs(500 * kSecondNs, ask).value(), 507 * kSecondNs);
}

}  // namespace
}  // namespace attune::sql
