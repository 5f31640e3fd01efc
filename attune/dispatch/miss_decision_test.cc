#include "attune/dispatch/miss_decision.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune {
namespace {

using ::testing::ElementsAre;
using Tuning = MissDecision::Tuning;

constexpr MissPolicy kPolicies[] = {MissPolicy::kNever, MissPolicy::kRecord, MissPolicy::kDeferred,
                                    MissPolicy::kInline};
constexpr MissOutcome kOutcomes[] = {MissOutcome::kServed,      MissOutcome::kLeft,
                                     MissOutcome::kUnbuilt,     MissOutcome::kUnknown,
                                     MissOutcome::kNoResources, MissOutcome::kImpossible};

MissRules Rules(MissPolicy policy, bool deterministic = false) {
  return {.policy = policy, .deterministic = deterministic, .can_tune = true, .can_record = true};
}

// One word for each policy, in the order of kPolicies: what becomes of the problem.
std::vector<std::string> ByPolicy(const MissFacts& facts, bool deterministic = false) {
  std::vector<std::string> words;
  for (const MissPolicy policy : kPolicies) {
    const MissDecision decision = DecideMiss(Rules(policy, deterministic), facts);
    std::string word = decision.records ? "records" : "-";
    if (decision.tuning == Tuning::kPutOff) word = "puts off";
    if (decision.tuning == Tuning::kInBackground) word = "tunes";
    words.push_back(word);
  }
  return words;
}

MissReason ReasonOf(const MissFacts& facts) {
  return DecideMiss(Rules(MissPolicy::kNever), facts).reason;
}

TEST(MissDecisionTest, AProblemThatWantsTuningIsTunedByThePolicy) {
  for (const MissOutcome outcome :
       {MissOutcome::kServed, MissOutcome::kLeft, MissOutcome::kUnbuilt, MissOutcome::kUnknown}) {
    EXPECT_THAT(ByPolicy({.outcome = outcome, .wants_tuning = true}),
                ElementsAre("-", "records", "tunes", "-"))
        << static_cast<int>(outcome);
  }
}

TEST(MissDecisionTest, AProblemThatWantsNoTuningIsRecordedAllTheSame) {
  EXPECT_THAT(ByPolicy({.is_tuned = true}), ElementsAre("-", "records", "-", "-"));
}

TEST(MissDecisionTest, ACapturedCallPutsItsTuningOff) {
  EXPECT_THAT(ByPolicy({.launches = Launches::kCaptured, .wants_tuning = true}),
              ElementsAre("-", "records", "puts off", "puts off"));
  EXPECT_THAT(ByPolicy({.launches = Launches::kCaptured}), ElementsAre("-", "records", "-", "-"));
}

TEST(MissDecisionTest, ADeterministicRunTimeTunesNothingAfterwards) {
  EXPECT_THAT(ByPolicy({.wants_tuning = true}, true), ElementsAre("-", "records", "-", "-"));
  EXPECT_THAT(ByPolicy({.launches = Launches::kCaptured, .wants_tuning = true}, true),
              ElementsAre("-", "records", "-", "-"));
}

TEST(MissDecisionTest, WithoutSomethingThatTunesOrRecordsNothingFollows) {
  for (const MissPolicy policy : kPolicies) {
    for (const Launches launches : {Launches::kExecuted, Launches::kCaptured}) {
      const MissDecision decision =
          DecideMiss({.policy = policy}, {.launches = launches, .wants_tuning = true});

      EXPECT_EQ(decision.tuning, Tuning::kNone);
      EXPECT_FALSE(decision.records);
    }
  }
}

TEST(MissDecisionTest, WhatNothingComputesIsNeitherTunedNorRecorded) {
  EXPECT_THAT(ByPolicy({.outcome = MissOutcome::kImpossible, .wants_tuning = true}),
              ElementsAre("-", "-", "-", "-"));
}

TEST(MissDecisionTest, WhatALimitExcludesIsRecordedOnlyIfTheCallerComputesIt) {
  MissRules rules = Rules(MissPolicy::kRecord);
  const MissFacts facts = {.outcome = MissOutcome::kNoResources, .wants_tuning = true};
  EXPECT_FALSE(DecideMiss(rules, facts).records);

  rules.yields = true;
  EXPECT_TRUE(DecideMiss(rules, facts).records);

  rules.policy = MissPolicy::kDeferred;
  EXPECT_EQ(DecideMiss(rules, facts).tuning, Tuning::kNone);
}

TEST(MissDecisionTest, AStandInIsImprovedUnlessTheRunTimeIsDeterministic) {
  for (const MissPolicy policy : kPolicies) {
    EXPECT_TRUE(DecideMiss(Rules(policy), {.is_stand_in = true}).improves);
    EXPECT_FALSE(DecideMiss(Rules(policy), {.is_stand_in = false}).improves);
    EXPECT_FALSE(DecideMiss(Rules(policy, true), {.is_stand_in = true}).improves);
  }
}

TEST(MissDecisionTest, AServedMissIsAFirstCallByEvidenceAlone) {
  for (const Origin origin : {Origin::kForced, Origin::kMeasured}) {
    EXPECT_EQ(ReasonOf({.origin = origin, .is_tuned = true}), MissReason::kFirstCall);
    EXPECT_EQ(ReasonOf({.origin = origin, .is_tuned = false}), MissReason::kUnrecorded);
  }
  for (const Origin origin :
       {Origin::kCompatible, Origin::kNearest, Origin::kPredicted, Origin::kDefault}) {
    EXPECT_EQ(ReasonOf({.origin = origin, .is_tuned = true}), MissReason::kStale);
    EXPECT_EQ(ReasonOf({.origin = origin, .is_tuned = false}), MissReason::kUnrecorded);
    EXPECT_EQ(ReasonOf({.origin = origin, .has_skipped_records = true}), MissReason::kStale);
  }
}

TEST(MissDecisionTest, AStandInForARecordIsNotReady) {
  for (const Origin origin : {Origin::kMeasured, Origin::kDefault}) {
    EXPECT_EQ(ReasonOf({.origin = origin, .is_tuned = true, .is_stand_in = true}),
              MissReason::kNotReady);
    EXPECT_EQ(ReasonOf({.origin = origin, .is_tuned = false, .is_stand_in = true}),
              MissReason::kUnrecorded);
  }
}

TEST(MissDecisionTest, TheOtherOutcomesHaveOneReasonEach) {
  EXPECT_EQ(ReasonOf({.outcome = MissOutcome::kLeft, .is_tuned = true}), MissReason::kFirstCall);
  EXPECT_EQ(ReasonOf({.outcome = MissOutcome::kLeft, .is_tuned = true, .is_stand_in = true}),
            MissReason::kNotReady);
  EXPECT_EQ(ReasonOf({.outcome = MissOutcome::kUnknown}), MissReason::kUnrecorded);
  for (const MissOutcome outcome :
       {MissOutcome::kUnbuilt, MissOutcome::kNoResources, MissOutcome::kImpossible}) {
    EXPECT_EQ(ReasonOf({.outcome = outcome}), MissReason::kFailed);
  }
}

TEST(MissDecisionTest, ThePolicyChangesNeitherTheReasonNorTheImprovement) {
  for (const MissOutcome outcome : kOutcomes) {
    for (const bool is_stand_in : {false, true}) {
      const MissFacts facts = {.outcome = outcome, .is_stand_in = is_stand_in};
      const MissDecision never = DecideMiss(Rules(MissPolicy::kNever), facts);
      for (const MissPolicy policy : kPolicies) {
        const MissDecision decision = DecideMiss(Rules(policy), facts);
        EXPECT_EQ(decision.reason, never.reason);
        EXPECT_EQ(decision.improves, never.improves);
      }
    }
  }
}

TEST(MissDecisionTest, OnlyInlineTunesFirstAndNeverInACapture) {
  for (const MissPolicy policy : kPolicies) {
    for (const bool deterministic : {false, true}) {
      EXPECT_EQ(TunesFirst(Rules(policy, deterministic), Launches::kExecuted),
                policy == MissPolicy::kInline);
      EXPECT_FALSE(TunesFirst(Rules(policy, deterministic), Launches::kCaptured));
      EXPECT_FALSE(TunesFirst({.policy = policy}, Launches::kExecuted));
    }
  }
}

TEST(MissDecisionTest, OnlyADeterministicRunTimeOrInlineLetsACallWait) {
  for (const MissPolicy policy : kPolicies) {
    EXPECT_EQ(HasteOf(Rules(policy)),
              policy == MissPolicy::kInline ? Haste::kUnlessStuck : Haste::kAtOnce);
    EXPECT_EQ(HasteOf(Rules(policy, true)), Haste::kPatient);
  }
}

}  // namespace
}  // namespace attune
