// Programs exit, or are killed, with their runtime at work.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/file.h"
#include "tests/runtime/runtime_world.h"

namespace attune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kTuner = "attune-tuner";
// Tuning under this script takes half a minute.
constexpr const char* kSlowScript = "fake.tiled fault=slow_load delay_ms=30000";
// A killed process dies when it next gets a processor, which under SCHED_IDLE on a busy machine may
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

TEST(Exit, MissesOfTheTunableLayerAreRecordedHoweverSoonItComes) {
  for (const std::string policy : {"deferred", "never", "record", "inline"}) {
    RuntimeWorld world;
    world.Set("ATTUNE_TUNABLE_ENABLED", "1");
    world.Set("ATTUNE_TUNABLE_TUNING", "0");
    world.Set("ATTUNE_TUNABLE_RECORD_UNTUNED", "1");
    world.Set("ATTUNE_TUNABLE_UNTUNED_FILENAME", (world.folder() / "untuned.csv").string());

    auto ended = CallerProcess(Leaver(policy, 20, -1)).Wait();

    ASSERT_EQ(ended["threads"], 1) << policy;
    const auto untuned = ReadFile(world.folder() / "untuned0.csv");
    ASSERT_TRUE(untuned.ok()) << policy << ": " << untuned.status().message();
    EXPECT_EQ(std::count(untuned->begin(), untuned->end(), '\n'), 20) << policy;
  }
}

TEST(Exit, TheSummaryIsToldOnceAndCountsTheCallsOfTheExit) {
  RuntimeWorld world;
  world.Set("ATTUNE_SUMMARY", "1");
  testing::internal::CaptureStderr();

  std::vector<std::string> words = Leaver("record", 4, -1);
  words.push_back("again");

  auto ended = CallerProcess(words).Wait();

  const std::string line = testing::internal::GetCapturedStderr();
  ASSERT_EQ(ended["threads"], 1);
  int hits = 0;
  int misses = 0;
  ASSERT_EQ(std::sscanf(line.c_str(), "attune: %d hits, %d misses", &hits, &misses), 2) << line;
  // Memory of another alignment makes another problem, so the last call may be either.
  EXPECT_EQ(hits + misses, 5) << line;
  EXPECT_THAT(line, testing::HasSubstr(" 4 recorded"));
  EXPECT_EQ(line.find('\n'), line.size() - 1);
}

TEST(Exit, CallsThatFailDuringItAreExplained) {
  RuntimeWorld world;

  auto ended = CallerProcess({ATTUNE_FAILING_LEAVER}).Wait();

  for (const char* place : {"main", "atexit_handler", "static_destructor"}) {
    EXPECT_EQ(ended[place], ATTUNE_INVALID_ARGUMENT) << place;
  }
}

#ifdef ATTUNE_CONVOLVING_LEAVER
struct Convolving {
  int threads;
  int products;
};

// oneDNN's static objects are gone when the handler and the destructor run. Some of them come into
// being when other threads of a program that has made many plans call it for the first time.
TEST(Exit, ConvolutionsDuringItAreServedByOtherLibraries) {
  RuntimeWorld world;
  world.Set("ATTUNE_PLUGINS", std::nullopt);
  std::vector<Convolving> cases = {{0, 0}, {0, 200}};
  for (int i = 0; i < 8; ++i) cases.push_back({3, 0});
  for (int i = 0; i < 8; ++i) cases.push_back({3, 200});

  for (const std::string solver : {"host.onednn-conv", "host.im2col-onednn"}) {
    for (const auto& [threads, products] : cases) {
      auto ended = CallerProcess({ATTUNE_CONVOLVING_LEAVER, "conv -> " + solver,
                                  std::to_string(threads), std::to_string(products)})
                       .Wait();

      ASSERT_EQ(ended.count("exit_handler"), 1U) << solver << ", " << threads << " threads";
      EXPECT_EQ(ended["exit_handler"], ATTUNE_OK) << solver;
      EXPECT_EQ(ended["static_destructor"], ATTUNE_OK) << solver;
    }
  }
}
#endif

TEST(Exit, ATunerEndsInTheMiddleOfItsProblemWhenItsProgramWasKilled) {
  RuntimeWorld world(kSlowScript);
  CallerProcess program(Leaver("deferred", 1, 60'000));
  ASSERT_TRUE(AwaitTuners(world, true, std::chrono::seconds(30)));

  program.Kill();

  EXPECT_TRUE(AwaitTuners(world, false, kPatience));
}

}  // namespace
}  // namespace attune
