#include "attune/index/choice_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/index/sample_choices.h"
#include "attune/ops/gemm/gemm.h"

namespace attune {
namespace {

RecordedSet SetOf(const std::vector<Trial>& trials) {
  RecordedSet set{NewSet(PackedGemm(8, 8, 8), 0), true, {}};
  set.set.started_unix_ns = 77;
  for (const Trial& trial : trials) {
    set.records.push_back({static_cast<int64_t>(set.records.size()) + 10, 0, trial});
  }
  return set;
}

Trial DefaultTrial(double median_ns) {
  Trial trial = TimedTrial(CandidateNumber(1000), TrialRole::kFinal, median_ns);
  trial.is_default = true;
  return trial;
}

std::vector<Candidate> CandidatesOf(const IndexedChoice& choice) {
  std::vector<Candidate> candidates;
  for (const RankedCandidate& ranked : choice.ranking) candidates.push_back(ranked.candidate);
  return candidates;
}

TEST(ChoiceOfTest, TheWinnerStandsFirstThenTheFinalThenTheScreening) {
  const RecordedSet set =
      SetOf({TimedTrial(CandidateNumber(3), TrialRole::kScreen, 100),
             TimedTrial(CandidateNumber(4), TrialRole::kScreen, 90), DefaultTrial(1000),
             TimedTrial(CandidateNumber(1), TrialRole::kFinal, 400),
             TimedTrial(CandidateNumber(2), TrialRole::kFinal, 500)});

  const IndexedChoice choice = ChoiceOf(set, {}).value();

  EXPECT_THAT(CandidatesOf(choice),
              ::testing::ElementsAre(CandidateNumber(1), CandidateNumber(2), CandidateNumber(1000),
                                     CandidateNumber(4), CandidateNumber(3)));
  EXPECT_EQ(choice.default_position, 2u);
  EXPECT_NEAR(choice.speedup, 2.5, 0.01);
  EXPECT_GT(choice.speedup_low, 2);
  EXPECT_LT(choice.speedup_high, 3);
  EXPECT_GT(choice.confidence, 0.9);
  EXPECT_EQ(choice.revision, 14);
  EXPECT_EQ(choice.started_unix_ns, 77);
  EXPECT_EQ(*choice.target, set.set.target);
  EXPECT_EQ(*choice.environment, set.set.environment);
}

TEST(ChoiceOfTest, ADefaultThatWasKeptStandsFirst) {
  const RecordedSet set =
      SetOf({DefaultTrial(1000), TimedTrial(CandidateNumber(1), TrialRole::kFinal, 995)});

  const IndexedChoice choice = ChoiceOf(set, {}).value();

  EXPECT_THAT(CandidatesOf(choice),
              ::testing::ElementsAre(CandidateNumber(1000), CandidateNumber(1)));
  EXPECT_EQ(choice.default_position, 0u);
  EXPECT_EQ(choice.speedup, 1);
}

TEST(ChoiceOfTest, TimesAndNeedsOfEachCandidateComeAlong) {
  Trial winner = TimedTrial(CandidateNumber(1), TrialRole::kFinal, 500);
  winner.workspace_bytes = 4096;
  winner.build_ns = 7;
  winner.load_ns = 8;
  winner.capture_failure = "It allocates.";

  const IndexedChoice choice = ChoiceOf(SetOf({DefaultTrial(1000), winner}), {}).value();

  EXPECT_EQ(choice.best(), (RankedCandidate{CandidateNumber(1), 500, 4096, 7, 8, true}));
  EXPECT_FALSE(choice.ranking.back().fails_capture);
}

TEST(ChoiceOfTest, TheDefaultIsNeverCutOff) {
  std::vector<Trial> trials = {DefaultTrial(100'000)};
  for (uint64_t i = 0; i < 20; ++i) {
    trials.push_back(
        TimedTrial(CandidateNumber(i), TrialRole::kFinal, 500 + 10 * static_cast<double>(i)));
  }

  const IndexedChoice choice = ChoiceOf(SetOf(trials), {}).value();

  ASSERT_EQ(choice.ranking.size(), kMaxRanked);
  EXPECT_EQ(choice.default_position, kMaxRanked - 1);
  EXPECT_EQ(choice.ranking.back().candidate, CandidateNumber(1000));
  for (uint64_t i = 0; i + 1 < kMaxRanked; ++i) {
    EXPECT_EQ(choice.ranking[i].candidate, CandidateNumber(i));
  }
}

TEST(ChoiceOfTest, CandidatesThatFailedAtLastAreLeftOut) {
  Trial failed = TimedTrial(CandidateNumber(2), TrialRole::kFinal, 600);
  failed.outcome = Failure{FailureKind::kCrashed, Phase::kRun, "Signal 11."};
  const RecordedSet set =
      SetOf({TimedTrial(CandidateNumber(2), TrialRole::kScreen, 400), DefaultTrial(1000),
             TimedTrial(CandidateNumber(1), TrialRole::kFinal, 500), failed,
             TimedTrial(CandidateNumber(2), TrialRole::kScreen, 400)});

  const IndexedChoice choice = ChoiceOf(set, {}).value();

  EXPECT_THAT(CandidatesOf(choice),
              ::testing::ElementsAre(CandidateNumber(1), CandidateNumber(1000)));
}

TEST(ChoiceOfTest, TimesThatWereNeverMeasuredRankNowhere) {
  Trial zero = TimedTrial(CandidateNumber(2), TrialRole::kScreen, 0);
  Trial cold = TimedTrial(CandidateNumber(3), TrialRole::kScreen, 300);
  std::get<Measurement>(cold.outcome).cache = CacheState::kCold;

  const IndexedChoice choice = ChoiceOf(SetOf({zero, cold, DefaultTrial(1000)}), {}).value();

  EXPECT_THAT(CandidatesOf(choice), ::testing::ElementsAre(CandidateNumber(1000)));
}

TEST(ChoiceOfTest, UnfinishedSetsAndSetsWithoutADefaultChooseNothing) {
  RecordedSet unfinished = SetOf({DefaultTrial(1000)});
  unfinished.finished = false;

  EXPECT_FALSE(ChoiceOf(unfinished, {}).has_value());
  EXPECT_FALSE(ChoiceOf(SetOf({}), {}).has_value());
  EXPECT_FALSE(
      ChoiceOf(SetOf({TimedTrial(CandidateNumber(1), TrialRole::kFinal, 5)}), {}).has_value());
}

}  // namespace
}  // namespace attune
