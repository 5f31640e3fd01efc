#include "backends/host/host_device.h"

#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/random.h"
#include "backends/host/quiescence.h"

namespace attune::host {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

class FunctionExecutable final : public Executable {
 public:
  explicit FunctionExecutable(std::function<Status()> function) : function_(std::move(function)) {}
  size_t workspace_bytes() const override { return 0; }
  Status Run(const Arguments&) override { return function_(); }

 private:
  std::function<Status()> function_;
};

class HostDeviceTest : public ::testing::Test {
 protected:
  double TimeNs(Executable& executable, CacheState cache, int launches = 1) {
    const auto time = device_.TimeNs(executable, {}, {.launches = launches, .cache = cache});
    EXPECT_TRUE(time.ok()) << time.status().ToString();
    return time.ok() ? *time : 0;
  }

  const CpuDescription cpu_ = DescribeCpu();
  ThreadPool pool_{cpu_.usable_cores};
  HostDevice device_{cpu_, pool_};
};

TEST_F(HostDeviceTest, BuffersAreAlignedToPagesAndLargeOnesToHugePages) {
  const auto small = device_.Allocate(100);
  const auto large = device_.Allocate(5u << 20);

  ASSERT_TRUE(small.ok() && large.ok());
  EXPECT_EQ(reinterpret_cast<uintptr_t>((*small)->handle()) % 4096, 0u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>((*large)->handle()) % (2u << 20), 0u);
}

TEST_F(HostDeviceTest, TouchedMemoryIsThereBeforeItIsWritten) {
  constexpr size_t kPages = 2000;
  const std::atomic<bool> never{false};
  const auto buffer = device_.AllocateTouched(kPages * 4096, never);

  ASSERT_TRUE(buffer.ok());
  std::vector<unsigned char> is_there(kPages);
  ASSERT_EQ(::mincore((*buffer)->handle(), kPages * 4096, is_there.data()), 0);
  EXPECT_THAT(is_there, Each(1));
}

TEST_F(HostDeviceTest, TouchingMemoryStopsWhenItIsAsked) {
  const std::atomic<bool> stop{true};

  const auto buffer = device_.AllocateTouched(size_t{1} << 30, stop);

  EXPECT_EQ(buffer.error().code(), StatusCode::kUnavailable);
}

TEST_F(HostDeviceTest, WhatIsUploadedIsDownloadedFromTheSameOffset) {
  const std::vector<std::byte> sent = {std::byte{1}, std::byte{2}, std::byte{3}};
  std::vector<std::byte> received(3);
  const auto buffer = device_.Allocate(64);
  ASSERT_TRUE(buffer.ok());

  EXPECT_TRUE(device_.Upload(sent, {(*buffer)->handle(), 10}).ok());
  EXPECT_TRUE(device_.Download((*buffer)->View(10), received).ok());

  EXPECT_EQ(received, sent);
}

TEST_F(HostDeviceTest, AnImpossibleAllocationIsAnErrorWithItsSize) {
  const auto buffer = device_.Allocate(size_t{1} << 60);

  ASSERT_FALSE(buffer.ok());
  EXPECT_EQ(buffer.error().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(buffer.error().message(), HasSubstr("1152921504606846976"));
}

TEST_F(HostDeviceTest, EveryLaunchIsCountedAndAFailedOneReported) {
  int launches = 0;
  FunctionExecutable counting([&] {
    ++launches;
    return Status::Ok();
  });
  FunctionExecutable failing([] { return Internal("broken"); });

  TimeNs(counting, CacheState::kWarm, 5);
  const auto failed = device_.TimeNs(failing, {}, {});
  const auto none = device_.TimeNs(counting, {}, {.launches = 0});

  EXPECT_EQ(launches, 5);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().message(), "broken");
  EXPECT_EQ(none.status().code(), StatusCode::kInvalidArgument);
}

TEST_F(HostDeviceTest, TimesAreThoseOfOneLaunch) {
  constexpr int64_t kSpinNs = 2'000'000;
  FunctionExecutable spinning([] {
    timespec begin{}, now{};
    ::clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
      ::clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1'000'000'000 + now.tv_nsec - begin.tv_nsec < kSpinNs);
    return Status::Ok();
  });

  EXPECT_GE(TimeNs(spinning, CacheState::kWarm, 3), kSpinNs);
  EXPECT_GE(TimeNs(spinning, CacheState::kCold, 3), kSpinNs);
}

TEST_F(HostDeviceTest, AColdLaunchFindsThePoolAsleepAsItFindsTheThreadsOfLibraries) {
  int launches_that_met_polling = 0;
  FunctionExecutable looking([&] {
    if (!pool_.IsAsleep()) ++launches_that_met_polling;
    return Status::Ok();
  });

  TimeNs(looking, CacheState::kCold, 10);

  EXPECT_EQ(launches_that_met_polling, 0);
}

// A walk in a random order through memory that fits the second-level cache: each step depends on
// the one before, so neither prefetching nor overlap hides where the lines come from.
class PointerChase {
 public:
  static constexpr size_t kLines = 4096;
  static constexpr size_t kWordsPerLine = 8;

  PointerChase() : next_(kLines * kWordsPerLine) {
    std::vector<size_t> order(kLines);
    for (size_t i = 0; i < kLines; ++i) order[i] = i;
    Random random(7);
    random.Shuffle(std::span<size_t>(order));
    for (size_t i = 0; i < kLines; ++i) {
      next_[order[i] * kWordsPerLine] = order[(i + 1) % kLines] * kWordsPerLine;
    }
  }
  Status Walk() {
    size_t at = 0;
    for (size_t i = 0; i < kLines; ++i) at = next_[at];
    end_ = at;
    return Status::Ok();
  }

 private:
  std::vector<size_t> next_;
  volatile size_t end_ = 0;
};

TEST_F(HostDeviceTest, ColdLaunchesFindTheirOperandsInMainMemory) {
  if (cpu_.l2_bytes == 0) GTEST_SKIP() << "The system does not describe any cache.";
  PointerChase chase;
  FunctionExecutable walk([&] { return chase.Walk(); });
  const auto best_of = [&](CacheState cache) {
    double best_ns = 1e18;
    // As many as it takes to be alone in the caches once, where a neighbour is busy.
    for (int i = 0; i < 20; ++i) best_ns = std::min(best_ns, TimeNs(walk, cache));
    return best_ns / PointerChase::kLines;
  };
  TimeNs(walk, CacheState::kWarm);

  const double hit_ns = best_of(CacheState::kWarm);
  const double miss_ns = best_of(CacheState::kCold);

  RecordProperty("hit_ns", std::to_string(hit_ns));
  RecordProperty("miss_ns", std::to_string(miss_ns));
  // A hit in the second level takes some 4 ns, in the third 15, main memory 80.
  EXPECT_GT(miss_ns, 5 * hit_ns) << "hit " << hit_ns << " ns, miss " << miss_ns << " ns";
}

TEST_F(HostDeviceTest, ASpinningThreadIsNamedAndAQuietProcessIsQuiet) {
  std::atomic<bool> stop{false};
  std::atomic<bool> running{false};
  std::thread spinner([&] {
    ::pthread_setname_np(::pthread_self(), "spinner)(");
    running = true;
    while (!stop) {
    }
  });
  while (!running) std::this_thread::yield();

  const Status busy = device_.AwaitQuiescence(20'000'000);
  stop = true;
  spinner.join();
  const Status quiet = device_.AwaitQuiescence(2'000'000'000);

  EXPECT_EQ(busy.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(busy.message(), HasSubstr("spinner)("));
  EXPECT_TRUE(quiet.ok()) << quiet.ToString();
}

TEST_F(HostDeviceTest, OurOwnThreadsGoToSleepByThemselves) {
  pool_.Run(pool_.max_threads(), [](int) {});

  EXPECT_TRUE(device_.AwaitQuiescence(2'000'000'000).ok());
}

TEST(QuiescenceTest, NamesMayContainParenthesesAndSpaces) {
  EXPECT_EQ(ParseThreadState("17 (a) b (c) R 1 2 3"), (ThreadState{'R', "a) b (c"}));
  EXPECT_EQ(ParseThreadState("17 (x) S 1"), (ThreadState{'S', "x"}));
  EXPECT_EQ(ParseThreadState("17 (x"), std::nullopt);
  EXPECT_EQ(ParseThreadState(""), std::nullopt);
}

}  // namespace
}  // namespace attune::host
