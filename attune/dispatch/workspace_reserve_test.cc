#include "attune/dispatch/workspace_reserve.h"

#include <chrono>
#include <cstddef>
#include <memory>

#include <gtest/gtest.h>

#include "attune/dispatch/test_solvers.h"

namespace attune {
namespace {

using Spares = WorkspaceReserve::Spares;
constexpr std::chrono::seconds kLongEnough(60);
constexpr size_t kMegabyte = size_t{1} << 20;

TEST(WorkspaceReserveTest, WithoutSparesAThreadGetsTwiceWhatItHad) {
  TestDevice device;
  WorkspaceReserve reserve(device, Spares::kNone);

  const auto buffer = reserve.Get(3 * kMegabyte, 2 * kMegabyte);

  ASSERT_TRUE(buffer.ok());
  EXPECT_EQ((*buffer)->size_bytes(), 4 * kMegabyte);
  EXPECT_EQ(device.allocations.all(), 1);
}

TEST(WorkspaceReserveTest, WhoGrowsAgainGetsWhatTheBackgroundMadeMeanwhile) {
  TestDevice device;
  WorkspaceReserve reserve(device, Spares::kOne);
  ASSERT_TRUE(reserve.Get(WorkspaceReserve::kFirstSignBytes, 0).ok());
  ASSERT_TRUE(reserve.WaitIdle(kLongEnough));
  ASSERT_EQ(device.allocations.all(), 2);

  const auto buffer = reserve.Get(2 * kMegabyte, WorkspaceReserve::kFirstSignBytes);

  ASSERT_TRUE(buffer.ok());
  EXPECT_EQ((*buffer)->size_bytes(), WorkspaceReserve::kSmallestSpareBytes);
}

TEST(WorkspaceReserveTest, TheNextSpareIsMadeWhenMoreThanHalfOfTheLastIsNeeded) {
  TestDevice device;
  WorkspaceReserve reserve(device, Spares::kOne);
  constexpr size_t kSpareBytes = WorkspaceReserve::kSmallestSpareBytes;
  ASSERT_TRUE(reserve.Get(WorkspaceReserve::kFirstSignBytes, 0).ok());
  ASSERT_TRUE(reserve.WaitIdle(kLongEnough));
  ASSERT_TRUE(reserve.Get(kSpareBytes / 2, WorkspaceReserve::kFirstSignBytes).ok());
  ASSERT_TRUE(reserve.WaitIdle(kLongEnough));
  EXPECT_EQ(device.allocations.all(), 2);

  // Without a spare the thread gets what it needs, which is a sign of more.
  ASSERT_TRUE(reserve.Get(kSpareBytes / 2 + 1, 0).ok());

  ASSERT_TRUE(reserve.WaitIdle(kLongEnough));
  EXPECT_EQ(device.allocations.all(), 4);
}

TEST(WorkspaceReserveTest, SmallNeedsNeitherTakeASpareNorCauseOne) {
  TestDevice device;
  WorkspaceReserve reserve(device, Spares::kOne);

  const auto buffer = reserve.Get(1000, 0);

  ASSERT_TRUE(buffer.ok());
  EXPECT_EQ((*buffer)->size_bytes(), 1000u);
  ASSERT_TRUE(reserve.WaitIdle(kLongEnough));
  EXPECT_EQ(device.allocations.all(), 1);
}

TEST(WorkspaceReserveTest, ASpareThatIsTooSmallStays) {
  TestDevice device;
  WorkspaceReserve reserve(device, Spares::kOne);
  ASSERT_TRUE(reserve.Get(kMegabyte, 0).ok());
  ASSERT_TRUE(reserve.WaitIdle(kLongEnough));

  const auto large = reserve.Get(2 * WorkspaceReserve::kLargestSpareBytes, kMegabyte);
  const auto other = reserve.Get(kMegabyte, 0);

  ASSERT_TRUE(large.ok() && other.ok());
  EXPECT_EQ((*large)->size_bytes(), 2 * WorkspaceReserve::kLargestSpareBytes);
  EXPECT_EQ((*other)->size_bytes(), WorkspaceReserve::kSmallestSpareBytes);
}

TEST(WorkspaceReserveTest, NoMoreIsHandedOutAheadThanTheBound) {
  TestDevice device;
  WorkspaceReserve reserve(device, Spares::kOne);
  size_t ahead_bytes = 0;

  for (int i = 0; i < 40; ++i) {
    const auto buffer = reserve.Get(kMegabyte, 0);
    ASSERT_TRUE(buffer.ok());
    if ((*buffer)->size_bytes() > kMegabyte) ahead_bytes += (*buffer)->size_bytes();
    ASSERT_TRUE(reserve.WaitIdle(kLongEnough));
  }

  EXPECT_GT(ahead_bytes, WorkspaceReserve::kLargestSpareBytes);
  EXPECT_LE(ahead_bytes, WorkspaceReserve::kMostHandedOutBytes);
}

}  // namespace
}  // namespace attune
