#include "attune/record/front.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/record/memory_store.h"

namespace attune {
namespace {

using testing::ElementsAre;

const std::vector<Objective> kTimeAndError = {TimeObjective(), {"error", Direction::kMinimize, ""}};

TEST(ParetoFrontTest, HoldsThoseWhomNobodyBeatsInEverything) {
  const std::vector<std::vector<double>> values = {{5, 1}, {3, 3}, {1, 9}, {4, 4}, {3, 3}, {6, 1}};

  EXPECT_THAT(ParetoFront(values, kTimeAndError), ElementsAre(2, 1, 0));
}

TEST(ParetoFrontTest, MuchIsSoughtWhereTheFigureSaysSo) {
  const std::vector<Objective> objectives = {TimeObjective(), {"rate", Direction::kMaximize, ""}};
  const std::vector<std::vector<double>> values = {{1, 2}, {2, 9}, {3, 5}};

  EXPECT_THAT(ParetoFront(values, objectives), ElementsAre(0, 1));
}

TEST(ParetoFrontTest, OfOneObjectiveIsItsBest) {
  const std::vector<Objective> objectives = {{"rate", Direction::kMaximize, ""}};
  const std::vector<std::vector<double>> values = {{1}, {7}, {7}, {3}};

  EXPECT_THAT(ParetoFront(values, objectives), ElementsAre(1));
}

class FindFrontTest : public ::testing::Test {
 protected:
  // Sets are named by a letter.
  static std::string IdOf(char letter) { return std::string(32, letter); }

  void Keep(char letter, int64_t started_unix_ns, const std::string& sought) {
    MeasurementSet set;
    set.id = IdOf(letter);
    set.problem = problem_;
    set.target = target_;
    set.environment[std::string(kObjectiveTerm)] = sought;
    set.started_unix_ns = started_unix_ns;
    ASSERT_TRUE(records_.BeginSet(set).ok());
  }

  void Keep(char letter, int block, double time_ns, double error) {
    const std::string id = IdOf(letter);
    Trial trial;
    trial.candidate = Of(block);
    trial.role = TrialRole::kFinal;
    trial.is_default = block == 1;
    Measurement time;
    time.samples_ns = {time_ns};
    time.median_ns = time.low_ns = time.high_ns = time_ns;
    trial.outcome = time;
    ASSERT_TRUE(records_.Append(id, {&trial, 1}).ok());
    const TrialFigure figure{
        trial.candidate, trial.role, kTimeAndError[1], {error, error, error, 0.5, 2}};
    ASSERT_TRUE(figures_.AppendFigures(id, {&figure, 1}).ok());
  }

  static Candidate Of(int block) { return {{"fake.x", 1}, {{"BLOCK", int64_t{block}}}}; }

  Result<std::optional<ObjectiveFront>> Find(const std::string& names) {
    return FindFront(records_, figures_, {problem_, target_, names});
  }

  const Problem problem_ = *ParseProblem("gemm@1{m=4,n=5,k=6}");
  const Target target_ = *ParseTarget("fake:Fake Processor:fake-v1:2{isa=none}");
  MemoryStore records_;
  MemoryFigureStore figures_;
};

TEST_F(FindFrontTest, IsThatOfTheNewestSetInWhichTheSameWasSought) {
  Keep('a', 1, "time,error");
  Keep('a', 1, 9.0, 9.0);
  Keep('b', 2, "time,error");
  Keep('b', 1, 5.0, 1.0);
  Keep('b', 2, 6.0, 2.0);
  Keep('b', 3, 1.0, 3.0);
  Keep('c', 3, "error");
  Keep('c', 1, 5.0, 1.0);

  const auto front = Find("time,error");

  ASSERT_TRUE(front.ok() && front->has_value()) << front.status().message();
  EXPECT_EQ((*front)->set.id, IdOf('b'));
  ASSERT_EQ((*front)->points.size(), 3u);
  EXPECT_EQ((*front)->points[0].candidate, Of(3));
  EXPECT_EQ((*front)->points[1].candidate, Of(1));
  EXPECT_TRUE((*front)->points[1].is_on_front);
  EXPECT_TRUE((*front)->points[1].is_default);
  EXPECT_EQ((*front)->points[1].figures[1], (FigureValue{1, 1, 1, 0.5, 2}));
  EXPECT_EQ((*front)->points[2].candidate, Of(2));
  EXPECT_FALSE((*front)->points[2].is_on_front);
}

TEST_F(FindFrontTest, WhoDidNotComeToTheFinalIsNotOnTheFront) {
  Keep('a', 1, "time,error");
  Keep('a', 1, 5.0, 1.0);
  Trial trial;
  trial.candidate = Of(2);
  trial.role = TrialRole::kScreen;
  Measurement time;
  time.samples_ns = {1};
  time.median_ns = time.low_ns = time.high_ns = 1;
  trial.outcome = time;
  ASSERT_TRUE(records_.Append(IdOf('a'), {&trial, 1}).ok());
  const TrialFigure figure{Of(2), trial.role, kTimeAndError[1], {0, 0, 0, 0, 1}};
  ASSERT_TRUE(figures_.AppendFigures(IdOf('a'), {&figure, 1}).ok());

  const auto front = Find("time,error");

  ASSERT_TRUE(front.ok() && front->has_value());
  ASSERT_EQ((*front)->points.size(), 2u);
  EXPECT_EQ((*front)->points[0].candidate, Of(1));
  EXPECT_FALSE((*front)->points[1].is_final);
  EXPECT_FALSE((*front)->points[1].is_on_front);
}

TEST_F(FindFrontTest, IsNothingWhereNothingWasSought) {
  Keep('a', 1, "time,error");

  EXPECT_EQ(Find("time,error").value(), std::nullopt);
  EXPECT_EQ(Find("energy").value(), std::nullopt);
}

TEST_F(FindFrontTest, ImpossibleFiguresAreNotKept) {
  const TrialFigure figure{Of(1), TrialRole::kScreen, kTimeAndError[1], {3, 4, 5, 0.5, 2}};

  EXPECT_EQ(figures_.AppendFigures(IdOf('a'), {&figure, 1}).code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace attune
