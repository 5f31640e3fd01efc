// Whole tunings for other objectives than time, on a fake clock.
#include "attune/tuner/objective_session.h"

#include <algorithm>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/measure/fake_clock.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/record/memory_store.h"
#include "attune/tuner/past_tuning.h"
#include "attune/tuner/scripted_evaluator.h"
#include "attune/tuner/space_only_solver.h"
#include "attune/tuner/tuner.h"

namespace attune {
namespace {

using testing::ElementsAre;

const Objective kError = {"error", Direction::kMinimize, ""};
const Objective kRate = {"rate", Direction::kMaximize, "1/s"};

class ObjectiveSessionTest : public ::testing::Test {
 protected:
  ObjectiveSessionTest() : evaluator_(TimeOf, 5, clock_) {
    solvers_.push_back(std::make_unique<const SpaceOnlySolver>("test.scripted", 12));
    parts_.solvers = &solvers_;
    parts_.store = &records_;
    parts_.evaluator = &evaluator_;
    parts_.clock = &clock_;
    options_.per_problem_ns = 20'000'000'000;
    evaluator_.Disturb(0.001);
    // An error of 12 - p; a config with odd p is worse than the one before, and slower.
    evaluator_.MeterAs([](int64_t p) { return Figures(12.0 - static_cast<double>(p & ~1)); });
  }

  static double TimeOf(int64_t p) { return 1e6 * static_cast<double>(p + 1); }

  static tl::expected<MeterReading, Failure> Figures(double value) {
    MeterReading reading;
    reading.outputs = {value};
    return reading;
  }

  Result<ObjectiveReport> Run(std::vector<Objective> objectives) {
    return RunIn(figures_, std::move(objectives));
  }

  Result<ObjectiveReport> RunIn(FigureStore& figures, std::vector<Objective> objectives) {
    Sought sought{std::move(objectives), {}};
    sought.meter.outputs.emplace_back();
    const Tuner tuner(parts_, options_);
    const auto participants = tuner.FindParticipants(problem_);
    if (!participants.ok()) return participants.error();
    names_ = Text(sought.objectives);
    return ObjectiveSession({parts_, options_, figures, problem_, sought}, nullptr)
        .Run(*participants, {});
  }

  // Configs `p` on the front, in its order.
  std::vector<int64_t> Front() {
    const auto front = FindFront(records_, figures_, {problem_, parts_.target, names_});
    std::vector<int64_t> configs;
    if (!front.ok() || !front->has_value()) return configs;
    for (const FrontPoint& point : (*front)->points) {
      if (point.is_on_front) configs.push_back(IntegerAt(point.candidate.config, "p"));
    }
    return configs;
  }

  std::optional<Choice> Served() { return *Tuner(parts_, options_).FindStanding(problem_); }

  FakeClock clock_;
  ScriptedEvaluator evaluator_;
  MemoryStore records_;
  MemoryFigureStore figures_;
  SolverList solvers_;
  TunerParts parts_;
  TuneOptions options_;
  const Problem problem_ = PackedGemm(64, 64, 64);
  std::string names_;
};

TEST_F(ObjectiveSessionTest, TheFrontOfTimeAndAFigureIsFound) {
  const auto report = Run({TimeObjective(), kError});

  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_TRUE(report->is_whole);
  EXPECT_EQ(report->measured, 12);
  EXPECT_THAT(Front(), ElementsAre(0, 2, 4, 6, 8, 10));
}

TEST_F(ObjectiveSessionTest, TimeFirstDecidesWhatIsServed) {
  options_.seed = 9;
  evaluator_.MeterAs([](int64_t p) { return Figures(p == 0 ? 1.0 : 2.0); });

  ASSERT_TRUE(Run({TimeObjective(), kError}).ok());

  ASSERT_TRUE(Served().has_value());
  EXPECT_EQ(IntegerAt(Served()->candidate.config, "p"), 0);
}

TEST_F(ObjectiveSessionTest, AnotherFigureFirstDecidesNothingThatIsServed) {
  const auto report = Run({kError});

  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_THAT(Front(), ElementsAre(10));
  EXPECT_FALSE(Served().has_value());
}

TEST_F(ObjectiveSessionTest, TimeSpentOnAnotherFigureIsNoneSpentOnTimes) {
  ASSERT_TRUE(Run({kError}).ok());
  EXPECT_EQ(FindPastTuning(Tuner(parts_, options_), problem_)->most_time_ns, 0);

  ASSERT_TRUE(Run({TimeObjective(), kError}).ok());
  EXPECT_EQ(FindPastTuning(Tuner(parts_, options_), problem_)->most_time_ns,
            options_.per_problem_ns);
}

TEST_F(ObjectiveSessionTest, MuchIsSoughtWhereTheFigureSaysSo) {
  evaluator_.MeterAs([](int64_t p) { return Figures(p == 7 ? -1.0 : -3.0); });

  ASSERT_TRUE(Run({kRate}).ok());

  EXPECT_THAT(Front(), ElementsAre(7));
}

TEST_F(ObjectiveSessionTest, FiguresOfTheFinalHaveAsManySamplesAsRounds) {
  const auto report = Run({kError});
  ASSERT_TRUE(report.ok()) << report.status().message();

  const auto figures = figures_.FiguresOf(report->set_id);

  ASSERT_TRUE(figures.ok());
  EXPECT_EQ(figures->back().role, TrialRole::kFinal);
  EXPECT_EQ(figures->back().figure.samples, report->rounds);
  EXPECT_GE(figures->back().figure.confidence, 0.99);
  EXPECT_EQ(figures->front().role, TrialRole::kScreen);
  EXPECT_EQ(figures->front().figure.samples, 1);
}

TEST_F(ObjectiveSessionTest, WhoHasNoFigureFailsAndHurtsNobody) {
  evaluator_.MeterAs([](int64_t p) -> tl::expected<MeterReading, Failure> {
    if (p != 10) return Figures(12.0 - static_cast<double>(p));
    return tl::unexpected(Failure{FailureKind::kRunFailed, Phase::kMeasure, "As told."});
  });

  const auto report = Run({kError});

  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->failures.at(FailureKind::kRunFailed), 1);
  EXPECT_THAT(Front(), ElementsAre(11));
}

TEST_F(ObjectiveSessionTest, WhatCannotBeMeasuredIsSaidBeforeAnythingIsTried) {
  evaluator_.MeterAs(nullptr);

  const auto report = Run({kError});

  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code(), StatusCode::kUnsupported);
  EXPECT_TRUE(evaluator_.batches().empty());
}

TEST_F(ObjectiveSessionTest, FewerCandidatesThanThereAreAreNotTheWholeSpace) {
  options_.max_candidates = 3;

  const auto report = Run({kError});

  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->considered, 3);
  EXPECT_FALSE(report->is_whole);
}

TEST_F(ObjectiveSessionTest, AsManyCandidatesAsThereAreAreTheWholeSpace) {
  options_.max_candidates = 12;

  const auto report = Run({TimeObjective(), kError});

  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_TRUE(report->is_whole);
}

TEST_F(ObjectiveSessionTest, WhyNothingCouldBeMeasuredIsSaid) {
  evaluator_.MeterAs([](int64_t) -> tl::expected<MeterReading, Failure> {
    return tl::unexpected(Failure{FailureKind::kRunFailed, Phase::kMeasure, "It is outside."});
  });

  const auto report = Run({kError});

  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->measured, 0);
  EXPECT_EQ(report->last_failure, "It is outside.");
}

// Killed when all were measured but the last, of which only the time was kept.
TEST_F(ObjectiveSessionTest, WhatATuningMeasuredThatWasCutOffIsNotMeasuredAgain) {
  options_.goes_on = true;
  const auto whole = Run({TimeObjective(), kError});
  ASSERT_TRUE(whole.ok()) << whole.status().message();
  MemoryStore cut_records;
  MemoryFigureStore cut_figures;
  ASSERT_TRUE(
      records_
          .Visit({},
                 [&](const RecordedSet& recorded) {
                   EXPECT_TRUE(cut_records.BeginSet(recorded.set).ok());
                   for (const Record& record : recorded.records) {
                     if (record.trial.role == TrialRole::kScreen) {
                       EXPECT_TRUE(cut_records.Append(recorded.set.id, {&record.trial, 1}).ok());
                     } else if (record.trial.role == TrialRole::kQualify) {
                       const Qualified result{record.trial, record.quick_ns};
                       EXPECT_TRUE(cut_records.AppendQualified(recorded.set.id, {&result, 1}).ok());
                     }
                   }
                   return Status::Ok();
                 })
          .ok());
  std::vector<TrialFigure> screened = *figures_.FiguresOf(whole->set_id);
  std::erase_if(screened, [](const auto& each) { return each.role != TrialRole::kScreen; });
  screened.pop_back();
  ASSERT_TRUE(cut_figures.AppendFigures(whole->set_id, screened).ok());
  parts_.store = &cut_records;
  const size_t batches = evaluator_.batches().size();

  const auto report = RunIn(cut_figures, {TimeObjective(), kError});

  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->taken_over, 12);
  EXPECT_EQ(report->measured, 12);
  EXPECT_EQ(evaluator_.batches().size(), batches);
  const auto figures = cut_figures.FiguresOf(report->set_id);
  EXPECT_EQ(std::count_if(figures->begin(), figures->end(),
                          [](const auto& each) { return each.role == TrialRole::kScreen; }),
            1);
  EXPECT_TRUE(report->is_whole);
}

TEST_F(ObjectiveSessionTest, ATuningThatCameToItsFinalIsNotGoneOnWith) {
  options_.goes_on = true;
  ASSERT_TRUE(Run({kError}).ok());

  const auto again = Run({kError});

  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->taken_over, 0);
}

TEST_F(ObjectiveSessionTest, AShortTimeStillMeasuresTheDefault) {
  options_.per_problem_ns = 1;

  const auto report = Run({kError});

  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_FALSE(report->is_whole);
  EXPECT_THAT(Front(), ElementsAre(0));
}

}  // namespace
}  // namespace attune
