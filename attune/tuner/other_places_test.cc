#include "attune/tuner/other_places.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "attune/ops/gemm/gemm.h"
#include "attune/record/memory_store.h"
#include "attune/tuner/recorded_trials.h"

namespace attune {
namespace {

const Target kHere{"fake", "Device A", "a1", 4, {}};
const Target kThere{"fake", "Device B", "b1", 8, {}};
const SolverId kSolver{"fake.tiles", 1};

Candidate Tile(int64_t size) { return {kSolver, {{"tile", size}}}; }

Trial Timed(int64_t tile, double time_ns, TrialRole role = TrialRole::kFinal) {
  return TimedTrial(Tile(tile), time_ns, role);
}

Trial Failed(int64_t tile) {
  Trial trial;
  trial.candidate = Tile(tile);
  trial.role = TrialRole::kQualify;
  trial.outcome = Failure{.kind = FailureKind::kBuildFailed, .message = "too many registers"};
  return trial;
}

// "8:100 16:-" for each device context, in order; "-" failed.
std::vector<std::string> Texts(const TimesOfPlaces& times) {
  std::vector<std::string> texts;
  for (const auto& [solver, places] : times) {
    for (const auto& place : places) {
      std::vector<std::string> tried;
      for (const ConfigTime& config : place) {
        const int64_t tile = IntegerAt(config.config, "tile");
        tried.push_back(config.time_ns ? fmt::format("{}:{:.0f}", tile, *config.time_ns)
                                       : fmt::format("{}:-", tile));
      }
      texts.push_back(fmt::format("{}", fmt::join(tried, " ")));
    }
  }
  return texts;
}

std::vector<std::string> Found(OtherPlaces& places, RecordStore& store, const Problem& problem) {
  const auto found = places.Find(store, problem);
  EXPECT_TRUE(found.ok());
  return found.ok() ? Texts(*found) : std::vector<std::string>();
}

TEST(OtherPlacesTest, AnotherDeviceTellsEverythingThatItTried) {
  MemoryStore store;
  const Problem problem = PackedGemm(64, 64, 64);
  RecordTrials(store, problem, kThere,
               {Failed(32), Timed(8, 90, TrialRole::kScreen), Timed(16, 95, TrialRole::kScreen),
                Timed(8, 100)});
  OtherPlaces places(kHere);

  EXPECT_EQ(Found(places, store, problem), (std::vector<std::string>{"8:100 16:95 32:-"}));
}

TEST(OtherPlacesTest, ThisDeviceTellsOfTheNearestSizesOfTheFamilyAlone) {
  MemoryStore store;
  Gemm transposed = PackedGemm(64, 64, 96);
  transposed.trans_a = Transpose::kYes;
  RecordTrials(store, PackedGemm(64, 64, 64), kHere, {Timed(8, 1)});    // The same problem.
  RecordTrials(store, PackedGemm(64, 64, 128), kHere, {Timed(8, 2)});   // A distance of 1.
  RecordTrials(store, PackedGemm(64, 64, 80), kHere, {Timed(8, 3)});    // Nearer.
  RecordTrials(store, PackedGemm(64, 64, 1024), kHere, {Timed(8, 4)});  // Too far.
  RecordTrials(store, Normalized(transposed), kHere, {Timed(8, 5)});    // Another family.
  RecordTrials(store, PackedGemm(64, 64, 81), kThere, {Timed(8, 6)});   // Neither here nor this.
  OtherPlaces places(kHere);

  EXPECT_EQ(Found(places, store, PackedGemm(64, 64, 64)), (std::vector<std::string>{"8:3", "8:2"}));
}

TEST(OtherPlacesTest, NoMoreThanAFewSizesCount) {
  MemoryStore store;
  for (int64_t k = 65; k < 85; ++k)
    RecordTrials(store, PackedGemm(64, 64, k), kHere, {Timed(8, 1)});
  OtherPlaces places(kHere);

  EXPECT_EQ(Found(places, store, PackedGemm(64, 64, 64)).size(), OtherPlaces::kSizes);
}

TEST(OtherPlacesTest, OfALargeStoreOnlyWhatIsNewTellsOfSizes) {
  MemoryStore store;
  for (int64_t k = 65; k < 85; ++k)
    RecordTrials(store, PackedGemm(64, 64, k), kHere, {Timed(8, 1)});
  OtherPlaces places(kHere, 10);
  ASSERT_TRUE(Found(places, store, PackedGemm(64, 64, 64)).empty());

  RecordTrials(store, PackedGemm(64, 64, 90), kHere, {Timed(8, 2)});

  EXPECT_EQ(Found(places, store, PackedGemm(64, 64, 64)), (std::vector<std::string>{"8:2"}));
}

TEST(OtherPlacesTest, WhatWasMeasuredMeanwhileCounts) {
  MemoryStore store;
  const Problem problem = PackedGemm(64, 64, 64);
  OtherPlaces places(kHere);
  ASSERT_TRUE(Found(places, store, problem).empty());

  RecordTrials(store, PackedGemm(64, 64, 128), kHere, {Timed(8, 2)});
  EXPECT_EQ(Found(places, store, problem), (std::vector<std::string>{"8:2"}));

  RecordTrials(store, PackedGemm(64, 64, 128), kHere, {Timed(8, 3), Timed(16, 4)});
  EXPECT_EQ(Found(places, store, problem), (std::vector<std::string>{"8:3 16:4"}));
}

}  // namespace
}  // namespace attune
