// Times out of records: the ones that count.
#include "attune/index/record_samples.h"

#include <gtest/gtest.h>

#include "attune/index/model_origin.h"
#include "attune/ops/conv/conv.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/record/memory_store.h"

namespace attune {
namespace {

const Target kTarget = {"host", "A", "x86-64-v3", 2, {}};
const Environment kEnvironment = {{"library.openblas", "0.3.21"}, {"policy.boost", "on"}};

Trial Timed(const std::string& candidate, TrialRole role, double median_ns) {
  Trial trial;
  trial.candidate = *ParseCandidate(candidate);
  trial.role = role;
  Measurement measured;
  measured.median_ns = median_ns;
  trial.outcome = measured;
  return trial;
}

void AddSet(RecordStore& store, const Problem& problem, const Environment& environment,
            const std::vector<Trial>& trials) {
  MeasurementSet set;
  set.id = NewSetId();
  set.problem = problem;
  set.target = kTarget;
  set.environment = environment;
  ASSERT_TRUE(store.BeginSet(set).ok());
  ASSERT_TRUE(store.Append(set.id, trials).ok());
}

TEST(TimedInRecords, FinalsCountForMoreThanScreensAndLaterSetsForMoreThanEarlierOnes) {
  MemoryStore store;
  const Problem problem = Normalized(PackedGemm(8, 8, 8));
  Trial failed = Timed("host.c@1{}", TrialRole::kQualify, 1);
  failed.outcome = Failure{};
  AddSet(
      store, problem, kEnvironment,
      {Timed("host.a@1{}", TrialRole::kScreen, 9e6), Timed("host.b@1{}", TrialRole::kScreen, 5e6),
       Timed("host.a@1{}", TrialRole::kFinal, 8e6), failed});
  AddSet(store, problem, kEnvironment, {Timed("host.b@1{}", TrialRole::kScreen, 4e6)});

  const auto timed = TimedInRecords(store, kTarget, OriginOf(kTarget, kEnvironment));

  ASSERT_TRUE(timed.ok());
  ASSERT_EQ(timed->size(), 2u);
  EXPECT_EQ((*timed)[0].algorithm, "host.a@1{}");
  EXPECT_EQ((*timed)[0].time_ms, 8);
  EXPECT_EQ((*timed)[1].time_ms, 4);
}

Qualified QuickTime(const std::string& candidate, double quick_ns) {
  Qualified qualified;
  qualified.trial.candidate = *ParseCandidate(candidate);
  qualified.trial.role = TrialRole::kQualify;
  qualified.quick_ns = quick_ns;
  return qualified;
}

// Otherwise a model would know the candidate only from problems that it is good for.
TEST(TimedInRecords, WhoWasTooSlowToBeScreenedHasItsQuickTime) {
  MemoryStore store;
  MeasurementSet set;
  set.id = NewSetId();
  set.problem = Normalized(PackedGemm(8, 8, 8));
  set.target = kTarget;
  set.environment = kEnvironment;
  ASSERT_TRUE(store.BeginSet(set).ok());
  const std::vector<Qualified> qualified = {
      QuickTime("host.a@1{}", 3e6), QuickTime("host.b@1{}", 70e6), QuickTime("host.c@1{}", 0)};
  ASSERT_TRUE(store.AppendQualified(set.id, qualified).ok());
  ASSERT_TRUE(store.Append(set.id, std::vector{Timed("host.a@1{}", TrialRole::kScreen, 2e6)}).ok());
  // A later quick time has less weight than an earlier screen.
  set.id = NewSetId();
  ASSERT_TRUE(store.BeginSet(set).ok());
  ASSERT_TRUE(store.AppendQualified(set.id, std::vector{QuickTime("host.a@1{}", 4e6)}).ok());

  const auto timed = TimedInRecords(store, kTarget, OriginOf(kTarget, kEnvironment));

  ASSERT_TRUE(timed.ok());
  ASSERT_EQ(timed->size(), 2u);
  EXPECT_EQ((*timed)[0].time_ms, 2);
  EXPECT_EQ((*timed)[1].algorithm, "host.b@1{}");
  EXPECT_EQ((*timed)[1].time_ms, 70);
}

TEST(TimedInRecords, SetsOfOtherLibrariesAndDevicesDoNotCount) {
  MemoryStore store;
  const Problem problem = Normalized(PackedGemm(8, 8, 8));
  Environment newer = kEnvironment;
  newer["library.openblas"] = "0.3.26";
  AddSet(store, problem, newer, {Timed("host.a@1{}", TrialRole::kFinal, 8e6)});

  EXPECT_TRUE(TimedInRecords(store, kTarget, OriginOf(kTarget, kEnvironment))->empty());
  EXPECT_EQ(TimedInRecords(store, kTarget, OriginOf(kTarget, newer))->size(), 1u);
  Target other = kTarget;
  other.device = "B";
  EXPECT_TRUE(TimedInRecords(store, other, OriginOf(kTarget, newer))->empty());
}

TEST(SamplesOf, CandidatesOfOneProblemAreOneConfigurationAndOtherOperatorsAreCounted) {
  const Problem first = Normalized(PackedGemm(8, 8, 8));
  const Problem second = Normalized(PackedGemm(8, 8, 16));
  const std::vector<TimedCandidate> timed = {
      {first, "a", 1}, {second, "a", 2}, {first, "b", 3}, {Conv{}, "a", 4}};

  const auto data = SamplesOf(timed, "gemm");

  ASSERT_TRUE(data.ok());
  ASSERT_EQ(data->samples.size(), 3u);
  EXPECT_EQ(data->samples[0].configuration, data->samples[2].configuration);
  EXPECT_NE(data->samples[0].configuration, data->samples[1].configuration);
  EXPECT_EQ(data->configurations, 2u);
  EXPECT_EQ(data->left_out, 1u);
  EXPECT_FALSE(SamplesOf(timed, "kernel").ok());
}

}  // namespace
}  // namespace attune
