// `fin` as a real process, with every fault of it, through a program that stands in for it.
#include "attune/fin/fin_program.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/file.h"
#include "attune/base/scratch_folder.h"
#include "attune/fin/fin_results.h"

namespace attune::fin {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class FinProgramTest : public ::testing::Test {
 protected:
  Program Stand(std::string faults, int64_t deadline_ns = 60'000'000'000) const {
    ProgramTerms terms;
    terms.deadline_ns = deadline_ns;
    terms.variables = {{"STAND_IN_FIN", std::move(faults)},
                       {"STAND_IN_FIN_RUNS", (folder_->path() / "runs").string()}};
    auto program = Program::Open(ATTUNE_STAND_IN_FIN, std::move(terms));
    EXPECT_TRUE(program.ok()) << program.status().message();
    return std::move(*program);
  }

  static Question Ask(Step step, std::vector<std::string> solvers = {}) {
    Question question;
    question.step = step;
    question.arch = "gfx90a";
    question.compute_units = 104;
    question.conv.batch = 16;
    question.conv.in_channels = 64;
    question.conv.out_channels = 64;
    question.conv.in = {1, 28, 28};
    question.solvers = std::move(solvers);
    return question;
  }

  // The evaluation of what `compiled` made.
  static Question Evaluate(Step step, const Answer& compiled) {
    Question question = Ask(step);
    for (const Outcome& outcome : compiled.outcomes) {
      if (!outcome.succeeded()) continue;
      question.solvers.push_back(outcome.solver);
      question.compiled[outcome.solver] = outcome.kernels;
    }
    return question;
  }

  int Runs() const {
    const auto runs = ReadFile(folder_->path() / "runs");
    return runs.ok() ? static_cast<int>(std::count(runs->begin(), runs->end(), '\n')) : 0;
  }

  static std::string FailureOf(const Answer& answer, const std::string& solver) {
    for (const Outcome& outcome : answer.outcomes) {
      if (outcome.solver == solver) return outcome.failure;
    }
    return "not there";
  }

  const std::unique_ptr<ScratchFolder> folder_ = *ScratchFolder::Make("attune-fin-test");
  const std::vector<std::string> all_ = {"ConvAsm1x1U", "ConvOclDirectFwd", "GemmFwd1x1_0_1"};
};

TEST_F(FinProgramTest, AllStepsTogetherGiveTheThreeDatabases) {
  const Program fin = Stand("");
  const auto solvers = fin.Ask(Ask(Step::kSolvers));
  ASSERT_TRUE(solvers.ok()) << solvers.error().message();
  EXPECT_THAT(solvers->solvers, SizeIs(3));
  const auto applicable = fin.Ask(Ask(Step::kApplicability));
  ASSERT_TRUE(applicable.ok()) << applicable.error().message();
  EXPECT_EQ(applicable->applicable, all_);

  const auto compiled = fin.AskEach(Ask(Step::kPerfCompile, applicable->applicable));
  ASSERT_TRUE(compiled.ok()) << compiled.error().message();
  const auto found = fin.AskEach(Evaluate(Step::kPerfEval, *compiled));
  ASSERT_TRUE(found.ok()) << found.error().message();

  const auto results = MeasuredOf(Ask(Step::kPerfEval).conv, *found);
  miopen::LeftOut left_out;
  const miopen::FindDb find_db = miopen::FindDbOf(results, left_out);
  ASSERT_THAT(find_db.records, SizeIs(1));
  EXPECT_THAT(find_db.records[0].items, SizeIs(3));
  EXPECT_EQ(find_db.records[0].items[0].time, "0.25");
  const miopen::PerfDb perf_db = miopen::PerfDbOf(results, left_out);
  ASSERT_THAT(perf_db.records, SizeIs(1));
  EXPECT_EQ(perf_db.records[0].items[0].params, "9,8,2,64,1,1,1,4");
  EXPECT_TRUE(left_out.empty());
  const Answer answers[] = {*compiled, *found};
  const auto kernels = KernelsOf(answers, "gfx90a");
  ASSERT_TRUE(kernels.ok()) << kernels.error().message();
  EXPECT_THAT(*kernels, SizeIs(4));
  miopen::Findings findings;
  for (const miopen::KernelRow& row : *kernels) EXPECT_TRUE(miopen::CheckKernel(row, findings));
}

TEST_F(FinProgramTest, ASolverThatTakesFinDownCostsNoOtherItsOutcome) {
  for (const auto& [fault, says] :
       {std::pair("segv", "signal 11"), std::pair("throw", "exit status 1: terminate called"),
        std::pair("cut", "no JSON, or not all of it")}) {
    const Program fin = Stand("ConvAsm1x1U=" + std::string(fault));
    const auto answer = fin.AskEach(Ask(Step::kFindCompile, all_));
    if (std::string(fault) == "cut") {
      // The stand-in cuts each answer then.
      ASSERT_TRUE(answer.ok());
      EXPECT_THAT(FailureOf(*answer, "GemmFwd1x1_0_1"), HasSubstr(says));
      continue;
    }
    ASSERT_TRUE(answer.ok()) << answer.error().message();
    EXPECT_THAT(FailureOf(*answer, "ConvAsm1x1U"), HasSubstr(says));
    EXPECT_EQ(FailureOf(*answer, "ConvOclDirectFwd"), "");
    EXPECT_EQ(FailureOf(*answer, "GemmFwd1x1_0_1"), "");
  }
  EXPECT_EQ(Runs(), 3 * 4);
}

TEST_F(FinProgramTest, WhatHangsIsKilledAtItsDeadlineAndTheOthersGoOn) {
  constexpr int64_t kDeadlineNs = 4'000'000'000;
  const Program fin = Stand("ConvOclDirectFwd=hang", kDeadlineNs);

  const auto answer = fin.AskEach(Ask(Step::kFindCompile, {"ConvOclDirectFwd", "GemmFwd1x1_0_1"}));

  ASSERT_TRUE(answer.ok()) << answer.error().message();
  EXPECT_THAT(FailureOf(*answer, "ConvOclDirectFwd"), HasSubstr("after 4 s"));
  EXPECT_EQ(FailureOf(*answer, "GemmFwd1x1_0_1"), "");
}

TEST_F(FinProgramTest, EveryOutcomeThatIsNoneSaysWhy) {
  const auto compiled = Stand("").AskEach(Ask(Step::kFindCompile, all_));
  ASSERT_TRUE(compiled.ok());
  const Question evaluation = Evaluate(Step::kFindEval, *compiled);
  const Program fin =
      Stand("ConvAsm1x1U=quiet_zero,ConvOclDirectFwd=bad_md5,GemmFwd1x1_0_1=not_evaluated");

  const auto answer = fin.AskEach(evaluation);

  ASSERT_TRUE(answer.ok()) << answer.error().message();
  EXPECT_THAT(FailureOf(*answer, "ConvAsm1x1U"), HasSubstr("its time is 0"));
  EXPECT_THAT(FailureOf(*answer, "ConvOclDirectFwd"), HasSubstr("damaged"));
  EXPECT_EQ(FailureOf(*answer, "GemmFwd1x1_0_1"), "Invoker not implemented");
  EXPECT_TRUE(MeasuredOf(evaluation.conv, *answer).empty());
  // A text is a text, whatever it holds; nothing told is a failure.
  const auto refused = Stand("ConvAsm1x1U=refuses,GemmFwd1x1_0_1=missing")
                           .AskEach(Ask(Step::kPerfCompile, {"ConvAsm1x1U", "GemmFwd1x1_0_1"}));
  ASSERT_TRUE(refused.ok());
  EXPECT_EQ(FailureOf(*refused, "ConvAsm1x1U"), "Solver throws exception it's not ':valid'");
  EXPECT_EQ(FailureOf(*refused, "GemmFwd1x1_0_1"), "fin says nothing of it.");
}

TEST_F(FinProgramTest, ARunThatAnswersNothingIsAnError) {
  EXPECT_EQ(Stand("x=silent").Ask(Ask(Step::kApplicability)).status().code(),
            StatusCode::kDataLoss);
  EXPECT_EQ(Program::Open("/opt/no/fin", {}).status().code(), StatusCode::kNotFound);
  ProgramTerms stopped;
  stopped.go_on = [] { return false; };
  stopped.deadline_ns = 60'000'000'000;
  stopped.variables = {{"STAND_IN_FIN", "ConvAsm1x1U=hang"}};
  const auto program = Program::Open(ATTUNE_STAND_IN_FIN, stopped);
  ASSERT_TRUE(program.ok());
  EXPECT_EQ(program->AskEach(Ask(Step::kFindCompile, all_)).status().code(),
            StatusCode::kDeadlineExceeded);
}

}  // namespace
}  // namespace attune::fin
