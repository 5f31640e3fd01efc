#include "extensions/fleet/fleet_state.h"

#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

constexpr int64_t kBeatSecondNs = 1'000'000'000;

WorkerState WorkerOn(const std::string& target, int64_t beat_s) {
  WorkerState worker;
  worker.target = target;
  worker.beat_unix_ns = beat_s * kBeatSecondNs;
  return worker;
}

TEST(FleetStateTest, WhoRunsIsCountedByWhatItDoes) {
  std::vector<WorkerState> workers = {WorkerOn("cuda H200", 100), WorkerOn("cuda H200", 90),
                                      WorkerOn("host", 100), WorkerOn("host", 100),
                                      WorkerOn("host", 30)};
  workers[2].ended_unix_ns = 1;

  const auto running = RunningByTarget(workers, 100 * kBeatSecondNs);

  EXPECT_THAT(running, ElementsAre(Pair("cuda H200", 2), Pair("host", 1)))
      << "Neither one that has ended, nor one that is silent.";
  EXPECT_EQ(RunningText(running),
            "3 workers run: 'attune workers' lists them.\n  2 on cuda H200\n  1 on host\n");
}

TEST(FleetStateTest, OfNobodyNothingIsSaid) { EXPECT_EQ(RunningText({}), ""); }

}  // namespace
}  // namespace attune
