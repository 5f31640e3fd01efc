#include "apps/attune/cpu_budget.h"

#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <thread>

#include <gtest/gtest.h>

namespace attune {
namespace {

constexpr int64_t kMillisecondNs = 1'000'000;

// Until the calling thread has had the processor for so long.
void Compute(int64_t ns) {
  timespec used{};
  do {
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  } while (int64_t{used.tv_sec} * 1'000'000'000 + used.tv_nsec < ns);
}

TEST(CpuBudgetTest, ARestMakesTheAverageTheShare) {
  EXPECT_EQ(RestNs(100, 100, 1), 0);
  EXPECT_EQ(RestNs(200, 100, 1), 100);
  EXPECT_EQ(RestNs(100, 100, 0.25), 300);
  EXPECT_EQ(RestNs(50, 100, 0.5), 0);
  EXPECT_EQ(RestNs(10, 100, 0.5), 0);
}

TEST(CpuBudgetTest, EveryThreadCountsAndEveryChildThatEnded) {
  const int64_t before_ns = ProcessorTimeNs();
  std::thread([] { Compute(30 * kMillisecondNs); }).join();
  const int64_t with_thread_ns = ProcessorTimeNs();
  const pid_t child = ::fork();
  if (child == 0) {
    Compute(30 * kMillisecondNs);
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  const int64_t with_child_ns = ProcessorTimeNs();

  // The system counts in ticks of some milliseconds.
  EXPECT_GE(with_thread_ns - before_ns, 15 * kMillisecondNs);
  EXPECT_GE(with_child_ns - with_thread_ns, 15 * kMillisecondNs);
}

}  // namespace
}  // namespace attune
