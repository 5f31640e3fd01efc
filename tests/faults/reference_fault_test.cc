// References that a worker computes on its device: taken if they are right, and computed by the
// processor if the device fails in any way.

#include <signal.h>
#include <sys/types.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/steady_time.h"
#include "attune/tuner/child_evaluator.h"
#include "backends/fake/fake_backend.h"
#include "tests/conformance/store/temporary_folder.h"
#include "tests/faults/child_processes.h"

namespace attune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ReferenceFaultTest : public testing::Test {
 protected:
  void Use(const std::string& script) {
    ::setenv(kFakeScriptVariable, script.c_str(), 1);
    ChildOptions options;
    options.program = program_;
    options.device = "fake";
    options.share_children = true;
    options.pays_on_device = [this](const Problem&) {
      ++questions_;
      return true;
    };
    options.memory_limit_bytes = int64_t{512} << 20;
    options.run_deadline_ns = 1'500'000'000;
    evaluator_ = MakeChildEvaluator(options);
  }

  Status Begin(const Problem& problem) { return evaluator_->Begin(problem, 1, {}, {}); }

  // The reference is right: a right candidate passes, and one that leaves a term out does not.
  void ExpectCandidatesAreJudged() {
    const std::vector<Candidate> candidates = {
        *ParseCandidate("fake.library@1{threads=1}"),
        *ParseCandidate("fake.tiled@1{threads=1,tile=8,unroll=1}")};
    const auto results = evaluator_->Qualify(candidates, {}, nullptr);
    ASSERT_TRUE(results.ok()) << results.status().message();
    ASSERT_EQ(results->size(), 2u);
    EXPECT_EQ((*results)[0].trial.failure(), nullptr);
    const Failure* failure = (*results)[1].trial.failure();
    ASSERT_NE(failure, nullptr);
    EXPECT_EQ(failure->kind, FailureKind::kWrongResult);
  }

  // Workers that have opened the device by then and wait for the race and the final.
  static constexpr size_t kOpenedForTiming = 2;

  static constexpr const char* kWrongCandidate = "fake.tiled fault=wrong_result";
  const Problem problem_ = *ParseProblem("gemm@1{m=16,n=16,k=16,ldc=19,beta=other}");
  std::filesystem::path program_ = ATTUNE_FAKE_EVALUATOR;
  int questions_ = 0;
  std::unique_ptr<Evaluator> evaluator_;
};

TEST_F(ReferenceFaultTest, WhoComputesTheReferenceGoesOnWithItsDevice) {
  Use(kWrongCandidate);

  ASSERT_TRUE(Begin(problem_).ok());
  const std::set<pid_t> opened = ChildProcesses();
  ASSERT_EQ(opened.size(), 1 + kOpenedForTiming);
  const std::vector<Candidate> right = {*ParseCandidate("fake.library@1{threads=1}")};
  ASSERT_TRUE(evaluator_->Qualify(right, {}, nullptr).ok());

  EXPECT_EQ(ChildProcesses(), opened);
  ASSERT_TRUE(evaluator_->StartTiming(right).ok());
  const std::set<pid_t> timing = ChildProcesses();
  EXPECT_TRUE(std::includes(opened.begin(), opened.end(), timing.begin(), timing.end()));
  EXPECT_THAT(evaluator_->TakeNotes(), IsEmpty());
  ExpectCandidatesAreJudged();
  // And again, with the existing workers.
  ASSERT_TRUE(Begin(problem_).ok());
  ExpectCandidatesAreJudged();
  EXPECT_EQ(questions_, 2);
}

TEST_F(ReferenceFaultTest, WhateverFailsIsSaidOnceAndNotAskedAgain) {
  const std::pair<const char*, const char*> faults[] = {
      {"crash", "Killed by signal 11"},
      {"killed", "Killed by signal 9"},
      {"exit", "exit status 3"},
      {"hang", "took longer than its deadline"},
      {"launch_fails", "rejects the launch"},
      {"load_fails", "cannot be loaded"},
      {"loses_device", "cannot be used by this process"},
      {"wrong_result", "and rounding explains"},
      {"nan", "finite numbers"},
      {"stale", "finite numbers"}};
  for (const auto& [fault, why] : faults) {
    Use(std::string(kWrongCandidate) + "; fake.f64 fault=" + fault);

    ASSERT_TRUE(Begin(problem_).ok()) << fault;
    const std::vector<std::string> notes = evaluator_->TakeNotes();
    EXPECT_EQ(ChildProcesses().size(), 1 + kOpenedForTiming) << fault;
    ExpectCandidatesAreJudged();
    questions_ = 0;
    ASSERT_TRUE(Begin(problem_).ok()) << fault;

    EXPECT_THAT(notes, ElementsAre(testing::AllOf(HasSubstr("Device 'fake'"), HasSubstr(why))))
        << fault;
    EXPECT_EQ(questions_, 0) << fault;
    EXPECT_THAT(evaluator_->TakeNotes(), IsEmpty()) << fault;
  }
}

TEST_F(ReferenceFaultTest, WhatADeviceRefusesIsComputedByTheProcessorInSilence) {
  Use("");

  ASSERT_TRUE(Begin(*ParseProblem("gemm@1{m=16,n=16,k=16,type=f64}")).ok());
  EXPECT_THAT(evaluator_->TakeNotes(), IsEmpty());
  EXPECT_EQ(ChildProcesses().size(), 1 + kOpenedForTiming);
  // The next one it may take.
  questions_ = 0;
  ASSERT_TRUE(Begin(problem_).ok());
  EXPECT_EQ(questions_, 1);
}

TEST_F(ReferenceFaultTest, WhoeverStopsDoesNotWaitForTheDevice) {
  Use("fake.f64 fault=slow_launch delay_ms=600000");
  int asked = 0;
  ReferenceTerms terms;
  terms.go_on = [&](double) { return ++asked < 10; };
  const int64_t begin_ns = SteadyNowNs();

  const Status status = evaluator_->Begin(problem_, 1, {}, terms);

  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded) << status.message();
  EXPECT_LT(SteadyNowNs() - begin_ns, 60'000'000'000);
  EXPECT_EQ(ChildProcesses().size(), kOpenedForTiming);
  EXPECT_THAT(evaluator_->TakeNotes(), IsEmpty());
}

TEST_F(ReferenceFaultTest, WhoDiesOfWarmingUpSaysNothingOfReferences) {
  const TemporaryFolder folder;
  program_ = folder.path() / "evaluator.sh";
  std::ofstream(program_) << "#!/bin/sh\n"
                             "[ $# -eq 0 ] || kill -SEGV $$\n"
                             "exec '" ATTUNE_FAKE_EVALUATOR "'\n";
  std::filesystem::permissions(program_, std::filesystem::perms::owner_all);
  Use(kWrongCandidate);

  ASSERT_TRUE(Begin(problem_).ok());

  EXPECT_THAT(evaluator_->TakeNotes(), IsEmpty());
  ExpectCandidatesAreJudged();
  ASSERT_TRUE(Begin(problem_).ok());
  EXPECT_EQ(questions_, 2);
}

TEST_F(ReferenceFaultTest, AnEvaluatorThatSpeaksNonsenseIsNoneToTrust) {
  program_ = "/bin/true";
  Use("");

  EXPECT_TRUE(Begin(problem_).ok());
  EXPECT_EQ(evaluator_->TakeNotes().size(), 1u);
}

}  // namespace
}  // namespace attune
