// When the background of a plan server begins, and the times that it counts.
#include <atomic>
#include <chrono>
#include <latch>

#include <gtest/gtest.h>

#include "attune/dispatch/test_server.h"

namespace attune {
namespace {

class PlanServerClockTest : public ServerTest {};

TEST_F(PlanServerClockTest, TheBackgroundBeginsNothingWhileMissesCome) {
  TestServerOptions options;
  options.server.calm = std::chrono::hours(1);
  options.server.longest_hold = std::chrono::hours(2);
  TestServer server(machine_, options);

  for (int64_t i = 1; i < 50; ++i) server.Call(ProductOf(i, 1, 1));

  EXPECT_EQ(server.tunings(), 0);
  EXPECT_EQ(machine_.slow->loads.all(), 0);
  ASSERT_TRUE(server.WaitIdle());
  EXPECT_EQ(server.tunings(), 49);
}

TEST_F(PlanServerClockTest, TheBackgroundBeginsOnceNoMissCameForAWhile) {
  std::atomic<int64_t> now_ns = 0;
  std::latch tuned(1);
  TestServerOptions options;
  options.server.now_ns = [&] { return now_ns.load(); };
  options.tuned = [&](const Problem&) {
    tuned.count_down();
    return Status::Ok();
  };
  TestServer server(machine_, options);

  server.Call(problem_);
  now_ns += std::chrono::nanoseconds(options.server.calm).count() - 1;
  EXPECT_EQ(server.tunings(), 0);
  now_ns += 1;
  tuned.wait();

  EXPECT_EQ(server.tunings(), 1);
}

TEST_F(PlanServerClockTest, TimesThatAreCountedAreThoseOfTheClock) {
  std::atomic<int64_t> now_ns = 0;
  TestServerOptions options;
  options.server.policy = MissPolicy::kInline;
  options.server.now_ns = [&] { return now_ns.load(); };
  options.tuned = [&](const Problem&) {
    now_ns += 3'000'000'000;
    return Status::Ok();
  };
  options.missed = [&](const Problem&, bool is_tuned) {
    now_ns += 500;
    return !is_tuned;
  };
  TestServer server(machine_, options);

  server.Call(problem_);
  server.Call(problem_);

  EXPECT_EQ(server->counters().tuning_ns, 3'000'000'000);
  EXPECT_EQ(server->counters().miss_ns, 3'000'000'500);
}

TEST_F(PlanServerClockTest, TheBackgroundIsNotHeldForEver) {
  std::latch tuned(1);
  TestServerOptions options;
  options.server.calm = std::chrono::hours(1);
  options.server.longest_hold = std::chrono::milliseconds(1);
  options.tuned = [&](const Problem&) {
    tuned.count_down();
    return Status::Ok();
  };
  TestServer server(machine_, options);

  server.Call(problem_);
  tuned.wait();

  EXPECT_EQ(server.tunings(), 1);
}

}  // namespace
}  // namespace attune
