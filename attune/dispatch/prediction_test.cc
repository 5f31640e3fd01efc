// Where predictions of times stand among what can serve a problem.
#include "attune/dispatch/dispatcher.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/dispatch/test_choices.h"
#include "attune/dispatch/test_server.h"
#include "attune/dispatch/test_solvers.h"
#include "attune/ops/gemm/gemm.h"

namespace attune {
namespace {

Problem AlignedTo(int bytes, const Problem& problem) {
  Gemm gemm = problem.Get<Gemm>();
  gemm.alignment_bytes = bytes;
  return gemm;
}

using ::testing::ElementsAre;

std::vector<std::string> Texts(const std::vector<Option>& options) {
  std::vector<std::string> texts;
  for (const Option& option : options) {
    texts.push_back(fmt::format("{} {}", Name(option.origin), Text(option.candidate)));
  }
  return texts;
}

class FixedPredictor final : public TimePredictor {
 public:
  bool Knows(const Problem&) const override { return true; }
  std::vector<PredictedCandidate> Predict(const Problem&, const Candidate&, const Wanted& wanted,
                                          size_t limit) const override {
    last_limit = limit;
    std::vector<PredictedCandidate> predicted;
    for (const PredictedCandidate& each : times) {
      if (wanted(each.candidate)) predicted.push_back(each);
    }
    return predicted;
  }
  std::vector<PredictedCandidate> times;  // Quickest first.
  mutable size_t last_limit = 0;
};

class PredictionTest : public ::testing::Test {
 protected:
  DispatchParts Parts() {
    DispatchParts parts = machine_.Parts();
    parts.predictor = &predictor_;
    return parts;
  }
  Result<Decision> Decide(Breadth breadth) {
    return Dispatcher(Parts(), {}).Decide(problem_, *machine_.choices, kNoWorkspaceLimit, breadth);
  }

  TestMachine machine_;
  FixedPredictor predictor_;
  Problem problem_ = ProductOf(4, 4, 4);
};

TEST_F(PredictionTest, ARecordOfThisMachineGoesBeforeNeighboursAndPredictions) {
  predictor_.times = {{machine_.plain->At(0), 1}, {machine_.slow->At(0), 2}};
  const Problem near = ProductOf(4, 4, 8);
  machine_.choices->Add(near, ChoiceOf({machine_.quick->At(2)}));
  machine_.choices->AddNeighbour(near, 1);
  machine_.choices->Add(problem_, ChoiceOf({machine_.quick->At(1)}));

  const auto decision = Decide(Breadth::kEnough);

  EXPECT_THAT(Texts(decision->options), ElementsAre("measured test.quick-gemm@1{variant=1}"));
  EXPECT_TRUE(decision->is_tuned);
  EXPECT_EQ(decision->options.front().because, "A record of this machine chose it.");
  EXPECT_EQ(decision->options.front().median_ns, 100);
}

TEST_F(PredictionTest, TheNearestNeighbourGoesBeforeAPrediction) {
  predictor_.times = {{machine_.plain->At(0), 1}, {machine_.slow->At(0), 2}};
  const Problem near = ProductOf(4, 4, 8);
  machine_.choices->Add(near, ChoiceOf({machine_.quick->At(2)}));
  machine_.choices->AddNeighbour(near, 1);

  const auto decision = Decide(Breadth::kEnough);

  EXPECT_THAT(Texts(decision->options), ElementsAre("nearest test.quick-gemm@1{variant=2}",
                                                    "predicted test.plain-gemm@1{variant=0}",
                                                    "predicted test.slow-gemm@1{variant=0}"));
  EXPECT_FALSE(decision->is_tuned);
  EXPECT_EQ(decision->options.front().expected_ns, 50);  // Half of the operations of 100 ns.
}

// Whether it applies, a library may take half a millisecond to say.
TEST_F(PredictionTest, WhereSomebodyWaitsANeighboursChoiceThatIsSlowToCreateIsLeftForLater) {
  int asked = 0;
  machine_.slow->applies = [&](const Gemm&) {
    ++asked;
    return Status::Ok();
  };
  const Problem near = ProductOf(4, 4, 8);
  machine_.choices->Add(near, ChoiceOf({machine_.slow->At(1), machine_.quick->At(2)}));
  machine_.choices->AddNeighbour(near, 1);

  const auto decision = Decide(Breadth::kReady);

  EXPECT_EQ(asked, 0);
  EXPECT_EQ(Texts(decision->options).front(), "nearest test.quick-gemm@1{variant=2}");
  EXPECT_TRUE(decision->is_provisional);
  EXPECT_EQ(Texts(Decide(Breadth::kEnough)->options).front(),
            "nearest test.slow-gemm@1{variant=1}");
  EXPECT_GT(asked, 0);
}

TEST_F(PredictionTest, ASolverThatMayLoseNanIsPassedOver) {
  machine_.plain->traits_.ieee_special_values = true;
  machine_.slow->traits_.ieee_special_values = true;
  predictor_.times = {
      {machine_.quick->At(1), 1}, {machine_.plain->At(1), 2}, {machine_.slow->At(0), 3}};
  DispatchOptions options;
  options.ieee_special_values = true;

  const auto decision =
      Dispatcher(Parts(), options)
          .Decide(problem_, *machine_.choices, kNoWorkspaceLimit, Breadth::kEverything);

  EXPECT_THAT(Texts(decision->options), ElementsAre("predicted test.plain-gemm@1{variant=1}",
                                                    "predicted test.slow-gemm@1{variant=0}",
                                                    "default test.plain-gemm@1{variant=0}"));
}

TEST_F(PredictionTest, APredictionGoesBeforeTheDefaultAndTheQuickestFirst) {
  predictor_.times = {{machine_.quick->At(1), 20}, {machine_.slow->At(0), 30}};

  const auto decision = Decide(Breadth::kEverything);

  EXPECT_THAT(
      Texts(decision->options),
      ElementsAre("predicted test.quick-gemm@1{variant=1}", "predicted test.slow-gemm@1{variant=0}",
                  "default test.quick-gemm@1{variant=0}", "default test.compiled-gemm@1{variant=0}",
                  "default test.plain-gemm@1{variant=0}"));
  EXPECT_EQ(decision->options.front().expected_ns, 20);
  EXPECT_FALSE(decision->is_tuned);
}

TEST_F(PredictionTest, WhereSomebodyWaitsWhoIsQuickerByLessThanModelsErrGoesBehindTheDefault) {
  predictor_.times = {{machine_.quick->At(1), 20, 31},
                      {machine_.quick->At(2), 22, 29},
                      {machine_.quick->At(0), 30, 33},
                      {machine_.plain->At(0), 40, 42}};

  EXPECT_THAT(Texts(Decide(Breadth::kReady)->options),
              ElementsAre("predicted test.quick-gemm@1{variant=2}",
                          "predicted test.quick-gemm@1{variant=0}",
                          "predicted test.quick-gemm@1{variant=1}",
                          "predicted test.plain-gemm@1{variant=0}"));

  predictor_.times.erase(predictor_.times.begin() + 1);
  const auto decision = Decide(Breadth::kReady);
  EXPECT_EQ(Texts(decision->options).front(), "predicted test.quick-gemm@1{variant=0}");
  EXPECT_EQ(decision->options.front().because,
            "A model is not sure enough that anything is quicker.");
}

TEST_F(PredictionTest, WhereNobodyWaitsTheQuickestServesHoweverSureTheModelIs) {
  predictor_.times = {{machine_.quick->At(1), 20, 31}, {machine_.slow->At(0), 30, 33}};

  const auto decision = Decide(Breadth::kEverything);

  EXPECT_EQ(Texts(decision->options).front(), "predicted test.quick-gemm@1{variant=1}");
  EXPECT_EQ(decision->options.front().because, "A model expects it to be the quickest.");
}

TEST_F(PredictionTest, AModelThatDoesNotKnowTheDefaultChoosesNothing) {
  predictor_.times = {{machine_.quick->At(1), 20}};

  const auto decision = Decide(Breadth::kEverything);

  EXPECT_EQ(Texts(decision->options).front(), "default test.slow-gemm@1{variant=0}");
}

TEST_F(PredictionTest, OfWhatIsPredictedOnlyWhatFitsAndIsHereServes) {
  machine_.quick->applies = [](const Gemm&) { return Unsupported("Not this one."); };
  Candidate unknown = machine_.plain->At(0);
  unknown.solver.name = "test.gone-gemm";
  Candidate outside = machine_.plain->At(0);
  outside.config["variant"] = int64_t{7};
  predictor_.times = {{unknown, 1},
                      {outside, 2},
                      {machine_.quick->At(0), 3},
                      {machine_.plain->At(1), 4},
                      {machine_.slow->At(0), 5}};

  const auto decision = Decide(Breadth::kEverything);

  EXPECT_EQ(Texts(decision->options).front(), "predicted test.plain-gemm@1{variant=1}");
}

TEST_F(PredictionTest, WhatOnlyTheDeviceListsIsPredictedForOperandsThatAreAlignedWell) {
  machine_.plain->traits_.listed_on_device = true;
  Candidate listed = machine_.plain->At(0);
  listed.config["variant"] = int64_t{7};
  predictor_.times = {{listed, 1}, {machine_.quick->At(0), 2}, {machine_.slow->At(0), 3}};

  for (const Breadth breadth : {Breadth::kReady, Breadth::kEverything}) {
    const auto decision = Decide(breadth);
    EXPECT_EQ(Texts(decision->options).front(), "predicted test.plain-gemm@1{variant=7}");
  }
  problem_ = AlignedTo(32, problem_);
  const auto decision = Decide(Breadth::kEverything);
  EXPECT_EQ(Texts(decision->options).front(), "predicted test.quick-gemm@1{variant=0}");
}

TEST_F(PredictionTest, WhatOnlyTheDeviceListsServesAtOnceOnlyWhereOperandsAreAlignedWell) {
  machine_.plain->traits_.listed_on_device = true;
  predictor_.times = {{machine_.plain->At(7), 1}, {machine_.quick->At(0), 2}};
  const Dispatcher dispatcher(Parts(), {});
  const auto served = [&] {
    const auto serving =
        dispatcher.Serve(problem_, *machine_.choices, kNoWorkspaceLimit, Haste::kAtOnce);
    return Text(serving->plan->option().candidate);
  };

  EXPECT_EQ(served(), "test.plain-gemm@1{variant=7}");
  problem_ = AlignedTo(16, problem_);
  EXPECT_EQ(served(), "test.quick-gemm@1{variant=0}");
}

TEST_F(PredictionTest, WhoseLibraryChecksTheAlignmentItselfIsPredictedForAnyOperands) {
  machine_.plain->traits_.listed_on_device = true;
  machine_.plain->traits_.checks_alignment = true;
  machine_.plain->on_load = [](const Config& config) {
    if (IntegerAt(config, "variant") != 8) return Status::Ok();
    return Unsupported("It takes operands that begin at multiples of 16 bytes.");
  };
  predictor_.times = {
      {machine_.plain->At(8), 1}, {machine_.plain->At(7), 2}, {machine_.quick->At(0), 3}};
  problem_ = AlignedTo(4, problem_);

  const auto serving =
      Dispatcher(Parts(), {}).Serve(problem_, *machine_.choices, kNoWorkspaceLimit, Haste::kAtOnce);

  EXPECT_EQ(Text(serving->plan->option().candidate), "test.plain-gemm@1{variant=7}");
  EXPECT_EQ(serving->plan->option().origin, Origin::kPredicted);
}

// Where the default itself is of a library that lists, as on NVIDIA GPUs.
TEST_F(PredictionTest, WhatASolverNamesForTheProblemItselfIsPredictedForAnyOperands) {
  for (TestSolver* const solver : {machine_.slow, machine_.quick}) {
    solver->traits_.listed_on_device = true;
  }
  predictor_.times = {
      {machine_.quick->At(7), 1}, {machine_.quick->At(2), 2}, {machine_.slow->At(0), 3}};
  problem_ = AlignedTo(4, problem_);

  const auto decision = Decide(Breadth::kEverything);

  EXPECT_EQ(Texts(decision->options).front(), "predicted test.quick-gemm@1{variant=2}");
}

TEST_F(PredictionTest, ACallerWaitsForFewPredictionsAndParametersThatDoNotFitAreSeenInLoading) {
  Candidate outside = machine_.quick->At(0);
  outside.config["variant"] = int64_t{7};
  predictor_.times = {{outside, 1}, {machine_.plain->At(1), 2}, {machine_.quick->At(0), 3}};

  const auto serving =
      Dispatcher(Parts(), {}).Serve(problem_, *machine_.choices, kNoWorkspaceLimit, Haste::kAtOnce);

  ASSERT_TRUE(serving.ok()) << serving.status().message();
  EXPECT_EQ(Text(serving->plan->option().candidate), "test.plain-gemm@1{variant=1}");
  EXPECT_EQ(serving->plan->option().origin, Origin::kPredicted);
  EXPECT_LE(predictor_.last_limit, 64u);
}

}  // namespace
}  // namespace attune
