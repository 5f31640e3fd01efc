// Candidates that share a worker, as on a device that is costly to open, and the list of a device.

#include <sched.h>
#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "attune/base/steady_time.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/tuner/child_evaluator.h"
#include "backends/fake/fake_backend.h"
#include "tests/conformance/store/temporary_folder.h"
#include "tests/faults/child_processes.h"

namespace attune {
namespace {

const std::vector<std::string> kFive = {
    "fake.library@1{threads=1}", "fake.tiled@1{threads=1,tile=8,unroll=1}",
    "fake.tiled@1{threads=2,tile=16,unroll=4}", "fake.tiled@1{threads=2,tile=8,unroll=2}",
    "fake.library@1{threads=2}"};

class SharedChildrenTest : public testing::Test {
 protected:
  void Begin(const std::string& script, std::vector<SolverId> compiling = {}) {
    ::setenv(kFakeScriptVariable, script.c_str(), 1);
    ChildOptions options;
    options.program = ATTUNE_FAKE_EVALUATOR;
    options.device = "fake";
    options.share_children = true;
    options.on_processor = on_processor_;
    options.jobs = on_processor_ ? 2 : 0;
    options.compiling = std::move(compiling);
    options.compile_jobs = compile_jobs_;
    options.memory_limit_bytes = int64_t{512} << 20;
    options.run_deadline_ns = run_deadline_ns_;
    options.opens_ahead = opens_ahead_;
    evaluator_ = MakeChildEvaluator(options);
    ASSERT_TRUE(evaluator_->Begin(problem_, 1, {}, {}).ok());
  }

  // Kinds of failure of those that failed.
  std::map<std::string, FailureKind> FailuresOf(const std::vector<std::string>& texts) {
    std::vector<Candidate> candidates;
    for (const std::string& text : texts) candidates.push_back(*ParseCandidate(text));
    const auto results = evaluator_->Qualify(candidates, {}, nullptr);
    EXPECT_TRUE(results.ok()) << results.status().message();
    EXPECT_EQ(results->size(), candidates.size());
    std::map<std::string, FailureKind> failures;
    for (const Qualified& result : *results) {
      if (const Failure* failure = result.trial.failure()) {
        failures.emplace(Text(result.trial.candidate), failure->kind);
      }
    }
    return failures;
  }

  // Expects that the third of kFive fails in these ways, and no other.
  void ExpectOneFails(const std::map<std::string, FailureKind>& kinds) {
    for (const auto& [fault, kind] : kinds) {
      ASSERT_NO_FATAL_FAILURE(
          Begin(fmt::format("fake.tiled{{threads=2,tile=16,unroll=4}} fault={}", fault)));

      const auto failures = FailuresOf(kFive);

      EXPECT_EQ(failures, (std::map<std::string, FailureKind>{{kFive[2], kind}})) << fault;
    }
  }

  // Workers that have opened the device by then and wait for the race and the final.
  static constexpr size_t kOpenedForTiming = 2;

  const Problem problem_ = Normalized(PackedGemm(16, 16, 16));
  int compile_jobs_ = 2;
  bool opens_ahead_ = false;
  bool on_processor_ = false;
  int64_t run_deadline_ns_ = 1'500'000'000;
  std::unique_ptr<Evaluator> evaluator_;
};

TEST_F(SharedChildrenTest, OneThatFailsTakesNobodyWithIt) {
  ExpectOneFails({{"crash", FailureKind::kCrashed},
                  {"hang", FailureKind::kTimedOut},
                  {"wrong_result", FailureKind::kWrongResult},
                  {"write_past_end", FailureKind::kOutOfBounds},
                  {"load_fails", FailureKind::kLoadFailed},
                  {"loses_device", FailureKind::kRunFailed},
                  {"loses_device_on_load", FailureKind::kLoadFailed}});
}

TEST_F(SharedChildrenTest, WhoIsNotReadyInTimeIsLeftOutWithWhoComesBehind) {
  ASSERT_NO_FATAL_FAILURE(
      Begin("fake.tiled{threads=2,tile=16,unroll=4} fault=slow_load delay_ms=600000"));
  std::vector<Candidate> candidates;
  for (const std::string& text : kFive) candidates.push_back(*ParseCandidate(text));
  QualifyTime time;
  time.begin_by_ns = SteadyNowNs() + 3'000'000'000;
  time.ready_by_ns = time.begin_by_ns;

  const auto results = evaluator_->Qualify(candidates, time, nullptr);

  ASSERT_TRUE(results.ok()) << results.status().message();
  ASSERT_EQ(results->size(), 2u);
  EXPECT_EQ(Text((*results)[1].trial.candidate), kFive[1]);
  EXPECT_EQ((*results)[1].trial.failure(), nullptr);
}

TEST_F(SharedChildrenTest, WhoFailsBehindOthersIsTriedAlone) {
  ASSERT_NO_FATAL_FAILURE(Begin("fake.tiled fault=crash_behind_others"));

  EXPECT_TRUE(FailuresOf(kFive).empty());
}

TEST_F(SharedChildrenTest, OneChildListsAndQualifiesUntilOthersAreTimed) {
  ASSERT_NO_FATAL_FAILURE(Begin("fake.tiled{tile=16} fault=load_fails; device listed=3"));

  ASSERT_TRUE(evaluator_->List({"fake.listed", 1}).ok());
  const std::set<pid_t> first = ChildProcesses();
  ASSERT_EQ(first.size(), 1u + kOpenedForTiming);
  EXPECT_TRUE(FailuresOf({kFive[0], kFive[1]}).empty());
  // No such config: refused, and nothing left behind.
  EXPECT_EQ(FailuresOf({"fake.unknown@1{}", kFive[3]}).size(), 1u);
  EXPECT_EQ(ChildProcesses(), first);

  EXPECT_EQ(FailuresOf({kFive[2], kFive[4]}).size(), 1u);
  EXPECT_NE(ChildProcesses(), first);
}

TEST_F(SharedChildrenTest, WhoIsTimedIsWithAChildThatHadOpenedTheDevice) {
  ASSERT_NO_FATAL_FAILURE(Begin(""));
  const std::set<pid_t> at_start = ChildProcesses();
  EXPECT_TRUE(FailuresOf({kFive[0], kFive[2]}).empty());
  const std::vector<Candidate> timed = {*ParseCandidate(kFive[0])};

  const auto race = evaluator_->StartTiming(timed);
  const std::set<pid_t> in_race = ChildProcesses();
  const auto final = evaluator_->StartTiming(timed);
  const std::set<pid_t> in_final = ChildProcesses();

  // Each has one, and the qualifying worker is gone.
  ASSERT_TRUE(race.ok() && final.ok());
  ASSERT_EQ(in_race.size(), kOpenedForTiming);
  EXPECT_EQ(in_final, in_race);
  EXPECT_TRUE(std::includes(at_start.begin(), at_start.end(), in_race.begin(), in_race.end()));
}

TEST_F(SharedChildrenTest, TheNextProblemHasAsManyChildren) {
  ASSERT_NO_FATAL_FAILURE(Begin(""));
  const std::vector<Candidate> timed = {*ParseCandidate(kFive[0])};
  EXPECT_TRUE(FailuresOf({kFive[0]}).empty());
  ASSERT_TRUE(evaluator_->StartTiming(timed).ok());

  ASSERT_TRUE(evaluator_->Begin(problem_, 2, {}, {}).ok());

  EXPECT_TRUE(FailuresOf(kFive).empty());
  EXPECT_EQ(ChildProcesses().size(), 1u + kOpenedForTiming);
}

class OpenedAheadTest : public SharedChildrenTest {
 protected:
  OpenedAheadTest() { opens_ahead_ = true; }

  // Race and final of a problem.
  void TimeTwice() {
    const std::vector<Candidate> timed = {*ParseCandidate(kFive[0])};
    for (int i = 0; i < 2; ++i) {
      const auto timer = evaluator_->StartTiming(timed);
      ASSERT_TRUE(timer.ok()) << timer.status().message();
      ASSERT_TRUE((*timer)->TimeBlock(0, {.launches = 1}).has_value());
    }
  }

  // The living workers, as soon as there are at most `most`: a killed one takes a moment to end.
  static std::set<pid_t> Living(size_t most) {
    const int64_t deadline_ns = SteadyNowNs() + 20'000'000'000;
    for (;;) {
      std::set<pid_t> living = ChildProcesses();
      std::erase_if(living, [](pid_t child) {
        siginfo_t info{};
        const int asked =
            ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT);
        return asked != 0 || info.si_pid == child;
      });
      if (living.size() <= most || SteadyNowNs() > deadline_ns) return living;
      ::sched_yield();
    }
  }
};

TEST_F(OpenedAheadTest, OneOpensTheDeviceForTheNextProblemWhichBeginsWithIt) {
  ASSERT_NO_FATAL_FAILURE(Begin(""));
  EXPECT_TRUE(FailuresOf({kFive[0], kFive[2]}).empty());
  // The qualifying worker, the timing ones, and one more, however much is qualified.
  EXPECT_EQ(ChildProcesses().size(), 2u + kOpenedForTiming);
  EXPECT_TRUE(FailuresOf({kFive[1], kFive[3]}).empty());
  EXPECT_EQ(ChildProcesses().size(), 2u + kOpenedForTiming);
  ASSERT_NO_FATAL_FAILURE(TimeTwice());
  const std::set<pid_t> waiting = Living(1);
  ASSERT_EQ(waiting.size(), 1u);

  ASSERT_TRUE(evaluator_->Begin(problem_, 2, {}, {}).ok());
  ASSERT_TRUE(
      evaluator_->Qualify(std::vector<Candidate>{*ParseCandidate(kFive[0])}, {}, nullptr).ok());

  // It qualifies: no other one is added to it but those that time, and the next one.
  const std::set<pid_t> children = ChildProcesses();
  EXPECT_EQ(children.size(), 2u + kOpenedForTiming);
  EXPECT_TRUE(children.contains(*waiting.begin()));
  const auto timer = evaluator_->StartTiming(std::vector<Candidate>{*ParseCandidate(kFive[0])});
  ASSERT_TRUE(timer.ok());
  EXPECT_FALSE(ChildProcesses().contains(*waiting.begin()));
}

TEST_F(OpenedAheadTest, OneThatDiedInWaitIsReplaced) {
  ASSERT_NO_FATAL_FAILURE(Begin(""));
  EXPECT_TRUE(FailuresOf({kFive[0]}).empty());
  ASSERT_NO_FATAL_FAILURE(TimeTwice());
  for (const pid_t child : ChildProcesses()) ::kill(child, SIGKILL);
  ASSERT_TRUE(Living(0).empty());

  ASSERT_TRUE(evaluator_->Begin(problem_, 2, {}, {}).ok());

  EXPECT_TRUE(FailuresOf(kFive).empty());
  ASSERT_NO_FATAL_FAILURE(TimeTwice());
  EXPECT_EQ(Living(1).size(), 1u);
}

TEST_F(OpenedAheadTest, ACrashOfTheNextProblemIsItsOwn) {
  ASSERT_NO_FATAL_FAILURE(Begin("fake.tiled{threads=2,tile=16,unroll=4} fault=crash"));
  EXPECT_TRUE(FailuresOf({kFive[0]}).empty());
  ASSERT_NO_FATAL_FAILURE(TimeTwice());
  ASSERT_TRUE(evaluator_->Begin(problem_, 2, {}, {}).ok());

  EXPECT_EQ(FailuresOf(kFive),
            (std::map<std::string, FailureKind>{{kFive[2], FailureKind::kCrashed}}));
}

TEST_F(OpenedAheadTest, NobodyIsLeftOfAnEvaluator) {
  ASSERT_NO_FATAL_FAILURE(Begin(""));
  EXPECT_TRUE(FailuresOf({kFive[0]}).empty());
  ASSERT_NO_FATAL_FAILURE(TimeTwice());

  evaluator_.reset();

  EXPECT_TRUE(ChildProcesses().empty());
}

// A worker that ended without being waited for is a zombie, still a child of this process.
TEST_F(SharedChildrenTest, WhoQualifiedAndWhoWasTimedAreGoneBeforeOthersAreTimed) {
  ASSERT_NO_FATAL_FAILURE(Begin(""));
  EXPECT_TRUE(FailuresOf({kFive[0]}).empty());
  const std::set<pid_t> at_start = ChildProcesses();
  ASSERT_EQ(at_start.size(), 1u + kOpenedForTiming);
  const std::vector<Candidate> timed = {*ParseCandidate(kFive[0])};

  auto race = evaluator_->StartTiming(timed);
  ASSERT_TRUE(race.ok());
  EXPECT_EQ(ChildProcesses().size(), kOpenedForTiming);
  race->reset();
  const auto final = evaluator_->StartTiming(timed);
  ASSERT_TRUE(final.ok());

  EXPECT_EQ(ChildProcesses().size(), kOpenedForTiming - 1);
}

TEST_F(SharedChildrenTest, WhoWasTimedIsGoneBeforeTheNextProblemIsTried) {
  ASSERT_NO_FATAL_FAILURE(Begin(""));
  EXPECT_TRUE(FailuresOf({kFive[0]}).empty());
  const std::set<pid_t> before = ChildProcesses();
  const std::vector<Candidate> timed = {*ParseCandidate(kFive[0])};
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(evaluator_->StartTiming(timed).ok());

  ASSERT_TRUE(evaluator_->Begin(problem_, 2, {}, {}).ok());
  EXPECT_TRUE(FailuresOf({kFive[0]}).empty());

  const std::set<pid_t> after = ChildProcesses();
  EXPECT_EQ(after.size(), 1u + kOpenedForTiming);
  for (const pid_t child : before) EXPECT_FALSE(after.contains(child));
}

TEST_F(SharedChildrenTest, ADeviceThatDoesNotOpenIsSaidToWhoeverIsGreeted) {
  ::setenv(kFakeScriptVariable, "", 1);
  ChildOptions options;
  options.program = ATTUNE_FAKE_EVALUATOR;
  options.device = "absent:0";
  options.share_children = true;
  evaluator_ = MakeChildEvaluator(options);
  ASSERT_TRUE(evaluator_->Begin(problem_, 1, {}, {}).ok());
  const std::vector<Candidate> one = {*ParseCandidate(kFive[0])};

  const auto results = evaluator_->Qualify(one, {}, nullptr);

  ASSERT_FALSE(results.ok());
  EXPECT_NE(results.status().message().find("absent:0"), std::string::npos)
      << results.status().message();
}

class CompiledAheadTest : public SharedChildrenTest {
 protected:
  CompiledAheadTest() { ::setenv("XDG_CACHE_HOME", cache_.path().c_str(), 1); }
  ~CompiledAheadTest() override { ::unsetenv("XDG_CACHE_HOME"); }

  const TemporaryFolder cache_;
  const std::vector<SolverId> compiling_ = {{"fake.tiled", 1}};
};

TEST_F(CompiledAheadTest, OthersCompileForTheOneThatHasTheDeviceAndStayForTheNextBatch) {
  ASSERT_NO_FATAL_FAILURE(Begin("", compiling_));
  std::vector<Candidate> candidates;
  for (const std::string& text : kFive) candidates.push_back(*ParseCandidate(text));

  const auto results = evaluator_->Qualify(candidates, {}, nullptr);
  const std::set<pid_t> first = ChildProcesses();
  const auto again = evaluator_->Qualify(candidates, {}, nullptr);

  ASSERT_TRUE(results.ok()) << results.status().message();
  ASSERT_EQ(results->size(), candidates.size());
  for (size_t i = 0; i < candidates.size(); ++i) {
    const Trial& trial = (*results)[i].trial;
    EXPECT_EQ(trial.candidate, candidates[i]);
    EXPECT_EQ(trial.failure(), nullptr);
    EXPECT_EQ(trial.build_ns > 0, trial.candidate.solver.name == "fake.tiled") << i;
  }
  // The workers that have the device, and those that compile.
  EXPECT_GT(first.size(), 1u + kOpenedForTiming);
  EXPECT_EQ(ChildProcesses(), first);
  ASSERT_TRUE(again.ok());
  for (const Qualified& result : *again) EXPECT_EQ(result.trial.build_ns, 0);
}

TEST_F(CompiledAheadTest, NoMoreCompileAtOnceThanMay) {
  for (const int jobs : {1, 3}) {
    compile_jobs_ = jobs;
    ASSERT_NO_FATAL_FAILURE(Begin("", compiling_));

    EXPECT_TRUE(FailuresOf(kFive).empty());

    // The others have the device. The first ones may have compiled everything before the last one
    // would be there.
    const size_t compilers = ChildProcesses().size() - 1 - kOpenedForTiming;
    EXPECT_GE(compilers, 1u);
    EXPECT_LE(compilers, static_cast<size_t>(jobs));
  }
}

TEST_F(CompiledAheadTest, WhatIsNotCompiledInTimeIsGivenUpAndTriedAnotherTime) {
  ASSERT_NO_FATAL_FAILURE(Begin("fake.tiled{tile=16} fault=slow_build delay_ms=60000", compiling_));
  const std::vector<Candidate> candidates = {*ParseCandidate(kFive[2]), *ParseCandidate(kFive[1])};
  constexpr int64_t kSecondNs = 1'000'000'000;
  const int64_t begin_ns = SteadyNowNs();
  const int64_t ready_by_ns = begin_ns + 3 * kSecondNs;

  const auto results = evaluator_->Qualify(
      candidates, {.ready_by_ns = ready_by_ns, .first_ready_by_ns = ready_by_ns}, nullptr);

  EXPECT_LT(SteadyNowNs() - begin_ns, 30 * kSecondNs);
  ASSERT_TRUE(results.ok()) << results.status().message();
  ASSERT_EQ(results->size(), 1u);
  EXPECT_EQ((*results)[0].trial.candidate, candidates[1]);
  EXPECT_EQ((*results)[0].trial.failure(), nullptr);
  // Neither a failure nor a compiler that is gone for good.
  EXPECT_TRUE(FailuresOf({kFive[1], kFive[3]}).empty());
}

TEST_F(CompiledAheadTest, WhatDoesNotCompileNeverReachesTheDevice) {
  ASSERT_NO_FATAL_FAILURE(Begin("fake.tiled{tile=16} fault=build_fails", compiling_));

  EXPECT_EQ(FailuresOf(kFive),
            (std::map<std::string, FailureKind>{{kFive[2], FailureKind::kBuildFailed}}));
}

TEST_F(CompiledAheadTest, WhoFailsOnTheDeviceFailsAsEver) {
  ASSERT_NO_FATAL_FAILURE(Begin("fake.tiled{tile=16} fault=crash", compiling_));

  EXPECT_EQ(FailuresOf(kFive),
            (std::map<std::string, FailureKind>{{kFive[2], FailureKind::kCrashed}}));
}

TEST_F(CompiledAheadTest, ACompilerThatIsKilledCostsWhatItCompiled) {
  ASSERT_NO_FATAL_FAILURE(Begin("", compiling_));
  ASSERT_TRUE(FailuresOf({kFive[1]}).empty());
  // All that wait for the next batch, including the one with the device.
  for (const pid_t child : ChildProcesses()) ::kill(child, SIGKILL);

  // Compiling workers are started anew, or their candidates fail with them.
  const auto failures = FailuresOf(kFive);

  for (const auto& [text, kind] : failures) EXPECT_EQ(kind, FailureKind::kCrashed) << text;
  EXPECT_LT(failures.size(), kFive.size());
  EXPECT_TRUE(FailuresOf(kFive).empty());
}

TEST_F(CompiledAheadTest, APastDeadlineLeavesOneThatIsQualified) {
  ASSERT_NO_FATAL_FAILURE(Begin("", compiling_));
  const std::vector<Candidate> candidates = {*ParseCandidate(kFive[1]), *ParseCandidate(kFive[2]),
                                             *ParseCandidate(kFive[3])};

  const auto results = evaluator_->Qualify(candidates, {.begin_by_ns = 1}, nullptr);

  ASSERT_TRUE(results.ok()) << results.status().message();
  EXPECT_EQ(results->size(), 1u);
}

TEST_F(SharedChildrenTest, AWrongResultCostsNoChild) {
  ASSERT_NO_FATAL_FAILURE(Begin("fake.tiled{tile=16} fault=wrong_result"));
  EXPECT_TRUE(FailuresOf({kFive[0]}).empty());
  const std::set<pid_t> before = ChildProcesses();

  EXPECT_EQ(FailuresOf(kFive),
            (std::map<std::string, FailureKind>{{kFive[2], FailureKind::kWrongResult}}));

  EXPECT_EQ(ChildProcesses(), before);
}

TEST_F(SharedChildrenTest, AListOfManyPagesArrivesWholeAndInOrder) {
  ASSERT_NO_FATAL_FAILURE(Begin("device listed=5000"));

  const auto configs = evaluator_->List({"fake.listed", 1});

  ASSERT_TRUE(configs.ok()) << configs.status().message();
  ASSERT_EQ(configs->size(), 5000u);
  for (int64_t i = 0; i < 5000; ++i) {
    const Config expected = {{"id", i % 16}, {"tile", i / 16}};
    ASSERT_EQ((*configs)[static_cast<size_t>(i)], expected);
  }
}

TEST_F(SharedChildrenTest, WhoCannotListSaysWhy) {
  ASSERT_NO_FATAL_FAILURE(Begin(""));

  const auto configs = evaluator_->List({"fake.listed", 1});

  ASSERT_FALSE(configs.ok());
  EXPECT_EQ(configs.status().message(), "There is no solver fake.listed@1 here.");
}

class ProcessorChildrenTest : public SharedChildrenTest {
 protected:
  void SetUp() override { on_processor_ = true; }

  static std::vector<std::string> Twelve() {
    std::vector<std::string> texts;
    for (const int tile : {8, 16, 32}) {
      for (const int unroll : {1, 2, 4}) {
        texts.push_back(fmt::format("fake.tiled@1{{threads=1,tile={},unroll={}}}", tile, unroll));
      }
    }
    texts.insert(texts.end(), {kFive[0], kFive[2], kFive[4]});
    return texts;
  }

  const TemporaryFolder folder_;
};

TEST_F(ProcessorChildrenTest, OneThatFailsHarmsNoOther) {
  ExpectOneFails({{"crash", FailureKind::kCrashed},
                  {"hang", FailureKind::kTimedOut},
                  {"wrong_result", FailureKind::kWrongResult},
                  {"write_past_end", FailureKind::kOutOfBounds}});
}

TEST_F(ProcessorChildrenTest, TwoWorkSideBySideAndAreTimedOneAtATime) {
  const auto spans = folder_.path() / "spans";
  ASSERT_NO_FATAL_FAILURE(
      Begin(fmt::format("device spans={};* fault=slow_launch delay_ms=5", spans.string())));

  EXPECT_TRUE(FailuresOf(Twelve()).empty());

  struct Span {
    int64_t begin_ns = 0;
    int64_t end_ns = 0;
    pid_t process = 0;
    bool operator<(const Span& other) const { return begin_ns < other.begin_ns; }
  };
  std::set<Span> blocks;
  std::set<pid_t> processes;
  std::ifstream file(spans);
  for (Span span; file >> span.process >> span.begin_ns >> span.end_ns;) {
    blocks.insert(span);
    processes.insert(span.process);
  }
  EXPECT_GE(blocks.size(), Twelve().size());
  EXPECT_EQ(processes.size(), 2u);
  const Span* before = nullptr;
  for (const Span& block : blocks) {
    EXPECT_LE(before == nullptr ? 0 : before->end_ns, block.begin_ns);
    before = &block;
  }
}

TEST_F(ProcessorChildrenTest, StandingStillCountsInNoDeadline) {
  // A candidate is verified by one launch of 0.3 s and timed by three. So a child that verifies is
  // paused for 0.9 s while the other one times.
  run_deadline_ns_ = 1'100'000'000;
  ASSERT_NO_FATAL_FAILURE(Begin("* fault=slow_launch delay_ms=300"));

  EXPECT_TRUE(FailuresOf(kFive).empty());
}

}  // namespace
}  // namespace attune
