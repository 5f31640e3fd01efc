// One look-up for each miss, and the breadths of a ranking.
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/dispatch/dispatcher.h"
#include "attune/dispatch/test_server.h"
#include "attune/dispatch/test_solvers.h"

namespace attune {
namespace {

// Counts the questions.
class CountedChoices final : public ChoiceSource {
 public:
  explicit CountedChoices(const ChoiceSource& choices) : choices_(choices) {}

  Result<std::vector<IndexedChoice>> Find(const Problem& problem) const override {
    ++finds;
    return choices_.Find(problem);
  }
  Result<std::vector<Neighbour>> Nearest(const Problem& problem, size_t limit,
                                         double max_distance) const override {
    ++nearest;
    return choices_.Nearest(problem, limit, max_distance);
  }
  int64_t problem_count() const override { return choices_.problem_count(); }

  mutable int finds = 0;
  mutable int nearest = 0;

 private:
  const ChoiceSource& choices_;
};

class RankingTest : public ::testing::Test {
 protected:
  void Record(const std::vector<Candidate>& ranking) {
    machine_.choices->Add(problem_, ChoiceOf(ranking));
  }
  Decision RankedTo(Breadth breadth) {
    Ranking ranking = dispatcher_.Look(problem_, choices_, kNoWorkspaceLimit);
    EXPECT_TRUE(dispatcher_.Rank(ranking, breadth).ok());
    return std::move(ranking.decision);
  }

  TestMachine machine_;
  const Problem problem_ = ProductOf(4, 4, 4);
  const Dispatcher dispatcher_{machine_.Parts(), {}};
  const CountedChoices choices_{*machine_.choices};
};

TEST_F(RankingTest, EveryBreadthUsesTheSameLookUps) {
  const Problem near = ProductOf(4, 4, 8);
  machine_.choices->Add(near, ChoiceOf({machine_.quick->At(2)}));
  machine_.choices->AddNeighbour(near, 1);
  Ranking ranking = dispatcher_.Look(problem_, choices_, kNoWorkspaceLimit);

  for (const Breadth breadth :
       {Breadth::kFirst, Breadth::kReady, Breadth::kEnough, Breadth::kEverything}) {
    ASSERT_TRUE(dispatcher_.Rank(ranking, breadth).ok());
    EXPECT_EQ(ranking.decision.options.front().origin, Origin::kNearest);
  }

  EXPECT_EQ(choices_.finds, 2);  // The problem and its neighbour.
  EXPECT_EQ(choices_.nearest, 1);
}

TEST_F(RankingTest, AProblemThatIsTunedAsksForNoNeighbours) {
  Record({machine_.quick->At(1)});

  EXPECT_TRUE(RankedTo(Breadth::kFirst).is_tuned);
  EXPECT_EQ(choices_.finds, 1);
  EXPECT_EQ(choices_.nearest, 0);
}

TEST_F(RankingTest, TheFirstInstantCandidateOfARecordIsEnoughForACall) {
  Record({machine_.slow->At(1), machine_.quick->At(1), machine_.quick->At(2)});

  EXPECT_EQ(RankedTo(Breadth::kFirst).options.size(), 2U);
  EXPECT_EQ(RankedTo(Breadth::kReady).options.size(), 3U);
}

TEST_F(RankingTest, WhereTheFirstCannotBeLoadedTheNextOfItsRecordServesAndNoSlowSolverIsAsked) {
  Record({machine_.quick->At(1), machine_.quick->At(2)});
  machine_.quick->on_load = [&](const Config& config) {
    return config == machine_.quick->At(1).config ? Internal("It broke.") : Status::Ok();
  };

  const auto serving = dispatcher_.Serve(problem_, choices_, kNoWorkspaceLimit, Haste::kAtOnce);

  ASSERT_TRUE(serving.ok()) << serving.status().ToString();
  EXPECT_EQ(serving->plan->option().candidate, machine_.quick->At(2));
  EXPECT_EQ(machine_.slow->defaults.all(), 0);
  EXPECT_EQ(choices_.finds, 1);
}

TEST_F(RankingTest, AMissThatFallsBackLooksItsProblemUpOnce) {
  machine_.quick->workspace_bytes = 100;

  const auto serving = dispatcher_.Serve(problem_, choices_, 99, Haste::kAtOnce);

  EXPECT_EQ(serving->plan->option().candidate.solver.name, "test.plain-gemm");
  EXPECT_EQ(choices_.finds, 1);
  EXPECT_EQ(choices_.nearest, 1);
}

TEST_F(RankingTest, ARankingThatFailedFailsAgain) {
  for (TestSolver* solver : {machine_.slow, machine_.quick, machine_.compiled, machine_.plain}) {
    solver->applies = [](const Gemm&) { return Unsupported("Not this one."); };
  }
  Ranking ranking = dispatcher_.Look(problem_, choices_, kNoWorkspaceLimit);

  const Status first = dispatcher_.Rank(ranking, Breadth::kEnough);

  EXPECT_EQ(first.code(), StatusCode::kUnsupported);
  EXPECT_EQ(dispatcher_.Rank(ranking, Breadth::kEnough), first);
}

}  // namespace
}  // namespace attune
