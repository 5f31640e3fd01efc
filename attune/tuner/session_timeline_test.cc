#include "attune/tuner/session_timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr int64_t kMs = 1'000'000;

BusyInterval During(int64_t begin_ms, int64_t end_ms, TuningStep step, const char* candidate,
                    int process) {
  return {begin_ms * kMs, end_ms * kMs, step, candidate, process};
}

TEST(StageNotesTest, AStageEndsWhereTheNextBegins) {
  StageNotes notes;
  notes.Enter(TuneProgress::Stage::kEnumerate, 100);
  notes.Enter(TuneProgress::Stage::kQualify, 130);
  notes.Enter(TuneProgress::Stage::kQualify, 140);
  notes.Enter(TuneProgress::Stage::kFinal, 170);

  EXPECT_THAT(notes.Spans(100, 200), ElementsAre(StageSpan{TuningStage::kEnumerate, 0, 30},
                                                 StageSpan{TuningStage::kSearch, 30, 70},
                                                 StageSpan{TuningStage::kFinal, 70, 100}));
}

TEST(MakeTimelineTest, ProcessesAndCandidatesAreNumberedByTheirFirstStep) {
  BusyTime busy;
  busy.intervals = {During(20, 30, TuningStep::kVerify, "b", 77),
                    During(12, 20, TuningStep::kCompile, "a", 99)};
  busy.idle = {During(5, 12, TuningStep::kStart, "", 99)};

  const Timeline timeline = MakeTimeline({}, busy, 10 * kMs);

  EXPECT_THAT(timeline.candidates, ElementsAre("a", "b"));
  EXPECT_THAT(timeline.steps, ElementsAre(StepSpan{TuningStep::kStart, 1, std::nullopt, 0, 2 * kMs},
                                          StepSpan{TuningStep::kCompile, 1, 0, 2 * kMs, 10 * kMs},
                                          StepSpan{TuningStep::kVerify, 2, 1, 10 * kMs, 20 * kMs}));
}

TEST(MakeTimelineTest, AStepIsCutWhereItsProcessWasStopped) {
  BusyTime busy;
  busy.intervals = {During(0, 10, TuningStep::kCompile, "a", 1),
                    During(0, 10, TuningStep::kCompile, "b", 2)};
  busy.idle = {During(2, 4, TuningStep::kWait, "", 1), During(9, 12, TuningStep::kWait, "", 1)};

  const Timeline timeline = MakeTimeline({}, busy, 0);

  EXPECT_THAT(timeline.steps, SizeIs(5));
  int64_t compiled_ns = 0;
  for (const StepSpan& span : timeline.steps) {
    if (span.step == TuningStep::kCompile && span.lane == 1) {
      compiled_ns += span.end_ns - span.begin_ns;
    }
  }
  EXPECT_EQ(compiled_ns, 7 * kMs);
}

TEST(MakeTimelineTest, NoSpanEndsBeforeItBegins) {
  BusyTime busy;
  busy.idle = {During(7, 6, TuningStep::kStart, "", 1), During(2, 9, TuningStep::kStart, "", 2)};

  const Timeline timeline = MakeTimeline({}, busy, 5 * kMs);

  EXPECT_TRUE(ParseTimeline(Text(timeline)).ok());
  EXPECT_THAT(timeline.steps,
              ElementsAre(StepSpan{TuningStep::kStart, 1, std::nullopt, 0, 4 * kMs},
                          StepSpan{TuningStep::kStart, 2, std::nullopt, 2 * kMs, 2 * kMs}));
}

TEST(MakeTimelineTest, OfTooManyStepsNeighboursBecomeOne) {
  BusyTime busy;
  for (int i = 0; i < 3 * static_cast<int>(kMaxTimelineSteps); ++i) {
    busy.intervals.push_back(During(i, i + 1, TuningStep::kTime, i % 2 == 0 ? "a" : "b", 1));
  }

  const Timeline timeline = MakeTimeline({}, busy, 0);

  EXPECT_EQ(timeline.left_out, 0);
  ASSERT_THAT(timeline.steps, SizeIs(1));
  EXPECT_EQ(timeline.steps[0].end_ns, 3 * static_cast<int64_t>(kMaxTimelineSteps) * kMs);
  EXPECT_EQ(timeline.steps[0].candidate, std::nullopt);
}

TEST(MakeTimelineTest, StepsBeyondTheLimitAreCounted) {
  BusyTime busy;
  for (int i = 0; i < static_cast<int>(kMaxTimelineSteps) + 5; ++i) {
    busy.intervals.push_back(During(10 * i, 10 * i + 1, TuningStep::kTime, "a", 1));
  }

  const Timeline timeline = MakeTimeline({}, busy, 0);

  EXPECT_THAT(timeline.steps, SizeIs(kMaxTimelineSteps));
  EXPECT_EQ(timeline.left_out, 5);
}

}  // namespace
}  // namespace attune
