// Programs exit, or are killed, with their run time at work.
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/runtime/runtime_world.h"

namespace attune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kTuner = "attune-tuner";
// Tuning under this script takes half a minute.
constexpr const char* kSlowScript = "fake.tiled fault=slow_load delay_ms=30000";
// Who was killed dies when it next gets a processor, which under SCHED_IDLE on a busy machine may
// take long.
constexpr std::chrono::seconds kPatience{60};

std::vector<std::string> Leaver(const std::string& policy, int shapes, int milliseconds) {
  return {ATTUNE_RUNTIME_LEAVER, policy, std::to_string(shapes), std::to_string(milliseconds)};
}

// Threads that compute as long as it lives, two for each core.
class Load {
 public:
  Load() {
    for (unsigned i = 0; i < 2 * std::thread::hardware_concurrency(); ++i) {
      threads_.emplace_back([this] {
        while (!is_over_.load(std::memory_order_relaxed)) {
        }
      });
    }
  }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;
  ~Load() {
    is_over_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  std::atomic<bool> is_over_{false};
  std::vector<std::thread> threads_;
};

bool AwaitTuners(const RuntimeWorld& world, bool present, std::chrono::seconds patience) {
  const auto give_up = Clock::now() + patience;
  while (ProcessesCalled(kTuner, world.database()).empty() == present) {
    if (Clock::now() > give_up) return false;
    std::this_thread::yield();
  }
  return true;
}

TEST(Exit, AProgramThatLeavesItsRunTimeBehindEndsWellWithNothingLeftRunning) {
  RuntimeWorld world("fake.tiled fault=slow_load delay_ms=20");
  const Load load;

  for (int i = 0; i < 50; ++i) {
    // Some of them in the middle of opening the database, others of tuning.
    auto ended = CallerProcess(Leaver("deferred", 4, 3 * i)).Wait();

    ASSERT_EQ(ended["threads"], 1) << "in run " << i;
    // It was killed, and dies when it gets a processor, of which there is none to spare here.
    ASSERT_TRUE(AwaitTuners(world, false, kPatience)) << "in run " << i;
  }
}

TEST(Exit, WhatWasToBeRecordedIsRecordedBefore) {
  // More than once: the exit comes while two threads use the database for the first time.
  for (int i = 0; i < 30; ++i) {
    RuntimeWorld world;

    auto ended = CallerProcess(Leaver("record", 4, 0)).Wait();

    ASSERT_EQ(ended["threads"], 1) << "in run " << i;
    ASSERT_EQ(ProblemsUnder(world.database(), "recorded"), 4u) << "in run " << i;
  }
}

TEST(Exit, CallsThatFailDuringItAreExplained) {
  RuntimeWorld world;

  auto ended = CallerProcess({ATTUNE_FAILING_LEAVER}).Wait();

  for (const char* place : {"main", "atexit_handler", "static_destructor"}) {
    EXPECT_EQ(ended[place], ATTUNE_INVALID_ARGUMENT) << place;
  }
}

TEST(Exit, ATunerEndsInTheMiddleOfItsProblemWhenItsProgramWasKilled) {
  RuntimeWorld world(kSlowScript);
  CallerProcess program(Leaver("deferred", 1, 60'000));
  ASSERT_TRUE(AwaitTuners(world, true, std::chrono::seconds(30)));

  program.Kill();

  EXPECT_TRUE(AwaitTuners(world, false, kPatience));
}

}  // namespace
}  // namespace attune
