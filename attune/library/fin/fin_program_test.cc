// `fin` as a real process, with every fault of it, through a program that replaces it.
#include "attune/library/fin/fin_program.h"

#include <sys/types.h>

#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/file.h"
#include "attune/base/scratch_folder.h"
#include "attune/base/steady_time.h"

namespace attune::fin {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

// True if a killed process is gone, or only waits for its parent.
bool Ends(pid_t process) {
  constexpr int64_t kPatienceNs = 10'000'000'000;
  const int64_t end_ns = SteadyNowNs() + kPatienceNs;
  while (SteadyNowNs() < end_ns) {
    const auto stat = ReadFile(fmt::format("/proc/{}/stat", process));
    if (!stat.ok() || stat->find(") Z ") != std::string::npos) return true;
    std::this_thread::yield();
  }
  return false;
}

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

  // The evaluation of the kernels in `compiled`.
  static Question Evaluate(Step step, const Answer& compiled) {
    Question question = Ask(step);
    for (const Outcome& outcome : compiled.outcomes) {
      if (!outcome.succeeded()) continue;
      question.solvers.push_back(outcome.solver);
      question.compiled[outcome.solver] = outcome.kernels;
    }
    return question;
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

TEST_F(FinProgramTest, EachStepTakesWhatTheOneBeforeItMade) {
  const Program fin = Stand("");
  const auto solvers = fin.Ask(Ask(Step::kSolvers));
  ASSERT_TRUE(solvers.ok()) << solvers.error().message();
  EXPECT_THAT(solvers->solvers, SizeIs(3));
  const auto applicable = fin.Ask(Ask(Step::kApplicability));
  ASSERT_TRUE(applicable.ok()) << applicable.error().message();
  EXPECT_EQ(applicable->applicable, all_);

  const auto compiled = fin.Ask(Ask(Step::kFindCompile, all_));
  ASSERT_TRUE(compiled.ok()) << compiled.error().message();
  const auto timed = fin.Ask(Evaluate(Step::kFindEval, *compiled));
  ASSERT_TRUE(timed.ok()) << timed.error().message();

  ASSERT_THAT(timed->outcomes, SizeIs(3));
  for (const Outcome& outcome : timed->outcomes) EXPECT_EQ(outcome.time_ms, 0.5) << outcome.failure;
  EXPECT_TRUE(timed->databases.empty());
}

TEST_F(FinProgramTest, WhatASearchFoundIsTimedByWhoeverHasItsDatabases) {
  const Program fin = Stand("");
  const auto compiled = fin.Ask(Ask(Step::kPerfCompile, {"ConvAsm1x1U"}));
  ASSERT_TRUE(compiled.ok()) << compiled.error().message();

  const auto searched = fin.Ask(Evaluate(Step::kPerfEval, *compiled));
  ASSERT_TRUE(searched.ok()) << searched.error().message();
  Question question = Evaluate(Step::kFindEval, *compiled);
  const auto without = fin.Ask(question);
  question.databases = searched->databases;
  const auto with = fin.Ask(question);

  ASSERT_THAT(searched->outcomes, SizeIs(1));
  EXPECT_EQ(searched->outcomes[0].params, "9,8,2,64,1,1,1,4");
  ASSERT_THAT(searched->databases, SizeIs(1));
  EXPECT_EQ(searched->databases.begin()->first, "miopen/gfx90a68.updb.txt");
  ASSERT_TRUE(without.ok() && with.ok());
  EXPECT_EQ(without->outcomes[0].params, "1,8,2,64,1,1,1,4");
  EXPECT_EQ(with->outcomes[0].params, "9,8,2,64,1,1,1,4");
  ASSERT_THAT(with->outcomes[0].kernels, SizeIs(1));
  EXPECT_EQ(with->outcomes[0].kernels[0].options, " -DSET=1");
}

TEST_F(FinProgramTest, ARunThatEndsBadlySaysHow) {
  for (const auto& [fault, code, says] :
       {std::tuple("segv", StatusCode::kUnavailable, "signal 11"),
        std::tuple("throw", StatusCode::kUnavailable, "exit status 1: terminate called"),
        std::tuple("cut", StatusCode::kDataLoss, "no JSON, or not all of it"),
        std::tuple("silent", StatusCode::kDataLoss, "wrote no answer"),
        std::tuple("pipe", StatusCode::kDataLoss, "is a pipe")}) {
    const Program fin = Stand("ConvAsm1x1U=" + std::string(fault));
    const Status asked = fin.Ask(Ask(Step::kFindCompile, {"ConvAsm1x1U"})).status();
    EXPECT_EQ(asked.code(), code) << fault;
    EXPECT_THAT(asked.message(), HasSubstr(says));
  }
  EXPECT_EQ(Program::Open("/opt/no/fin", {}).status().code(), StatusCode::kNotFound);
}

TEST_F(FinProgramTest, WhatHangsIsKilledAtItsDeadlineWithItsChildren) {
  constexpr int64_t kDeadlineNs = 4'000'000'000;
  const Program fin = Stand("ConvOclDirectFwd=hang", kDeadlineNs);

  const Status asked = fin.Ask(Ask(Step::kFindCompile, {"ConvOclDirectFwd"})).status();

  EXPECT_EQ(asked.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(asked.message(), HasSubstr("after 4 s"));
  const auto pids = ReadFile(folder_->path() / "runs.pids");
  ASSERT_TRUE(pids.ok());
  std::istringstream list(*pids);
  for (pid_t pid = 0; list >> pid;) EXPECT_TRUE(Ends(pid)) << pid;
}

TEST_F(FinProgramTest, EveryOutcomeThatIsNoneSaysWhyAndCostsNoOther) {
  const auto compiled = Stand("").Ask(Ask(Step::kFindCompile, all_));
  ASSERT_TRUE(compiled.ok());
  const Program fin = Stand("ConvAsm1x1U=quiet_zero,ConvOclDirectFwd=bad_md5");

  const auto answer = fin.Ask(Evaluate(Step::kFindEval, *compiled));

  ASSERT_TRUE(answer.ok()) << answer.error().message();
  EXPECT_THAT(FailureOf(*answer, "ConvAsm1x1U"), HasSubstr("its time is 0"));
  EXPECT_THAT(FailureOf(*answer, "ConvOclDirectFwd"), HasSubstr("damaged"));
  EXPECT_EQ(FailureOf(*answer, "GemmFwd1x1_0_1"), "");
  const auto other =
      Stand("GemmFwd1x1_0_1=not_evaluated").Ask(Evaluate(Step::kFindEval, *compiled));
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(FailureOf(*other, "GemmFwd1x1_0_1"), "Invoker not implemented");
  // Any text is accepted as a text; a missing text is a failure.
  const auto refused = Stand("ConvAsm1x1U=refuses,GemmFwd1x1_0_1=missing")
                           .Ask(Ask(Step::kPerfCompile, {"ConvAsm1x1U", "GemmFwd1x1_0_1"}));
  ASSERT_TRUE(refused.ok());
  EXPECT_EQ(FailureOf(*refused, "ConvAsm1x1U"), "Solver throws exception it's not ':valid'");
  EXPECT_EQ(FailureOf(*refused, "GemmFwd1x1_0_1"), "fin says nothing of it.");
}

TEST_F(FinProgramTest, WhoeverIsStoppedWaitsForNobody) {
  ProgramTerms stopped;
  stopped.go_on = [] { return false; };
  stopped.deadline_ns = 60'000'000'000;
  stopped.variables = {{"STAND_IN_FIN", "ConvAsm1x1U=hang"}};
  const auto program = Program::Open(ATTUNE_STAND_IN_FIN, stopped);
  ASSERT_TRUE(program.ok());

  EXPECT_EQ(program->Ask(Ask(Step::kFindCompile, all_)).status().code(),
            StatusCode::kDeadlineExceeded);
}

}  // namespace
}  // namespace attune::fin
