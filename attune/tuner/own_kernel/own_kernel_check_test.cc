#include "attune/tuner/own_kernel/own_kernel_check.h"

#include <gtest/gtest.h>

#include "attune/problem/own_kernel.h"

namespace attune {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;

kernel::OwnSizes OfSize(int64_t n) { return {{"n", n}}; }

Problem ProblemOf(int64_t n) {
  OwnKernelProblem own;
  own.name = "scale";
  own.sizes = {{"n", n}};
  own.buffers = {{"y", OperandRole::kOut, DataType::kF32, {n}, {}}};
  return ToProblem(own);
}

int64_t DeadlineNs(int64_t n, std::vector<TunedSize> tuned) {
  return CheckDeadlineNs(tuned, OfSize(n), ProblemOf(n));
}

TunedSize TunedFor(int64_t n, double time_ns) { return {OfSize(n), {}, time_ns, time_ns}; }

TEST(OwnKernelCheckTest, WhatIsQuickMayHangForSecondsAlone) {
  const int64_t deadline_ns = DeadlineNs(1000, {TunedFor(900, 5000)});

  EXPECT_GE(deadline_ns, 5 * kSecondNs);
  EXPECT_LT(deadline_ns, 6 * kSecondNs);
}

TEST(OwnKernelCheckTest, WhatTakesLongHasTimeInProportionToTheSize) {
  const int64_t same_ns = DeadlineNs(1000, {TunedFor(1000, 2e7)});
  const int64_t twice_ns = DeadlineNs(2000, {TunedFor(1000, 2e7)});
  const int64_t half_ns = DeadlineNs(500, {TunedFor(1000, 2e7)});

  EXPECT_NEAR(static_cast<double>(same_ns), 7e9, 1e8);
  EXPECT_NEAR(static_cast<double>(twice_ns), 9e9, 1e8);
  EXPECT_NEAR(static_cast<double>(half_ns), 7e9, 1e8);
}

TEST(OwnKernelCheckTest, OutputsThatTakeLongToCompareCountToo) {
  EXPECT_GT(DeadlineNs(64 << 20, {TunedFor(1000, 1)}), 12 * kSecondNs);
}

TEST(OwnKernelCheckTest, NothingHasLongerThanWhatIsTuned) {
  EXPECT_EQ(DeadlineNs(1000, {TunedFor(1000, 1e12)}), ChildOptions().run_deadline_ns);
}

}  // namespace
}  // namespace attune
