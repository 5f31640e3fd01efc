// Whole tunings with candidates that crash, hang, lie and grow, each in a real child process.

#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/measure/clock.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/record/memory_store.h"
#include "attune/tuner/child_evaluator.h"
#include "attune/tuner/tune_run.h"
#include "attune/tuner/tuner.h"
#include "backends/fake/fake_backend.h"
#include "tests/conformance/store/temporary_folder.h"

namespace attune {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

// Everything that a tuning of the fake device needs, with a script that children read too.
class FaultTest : public testing::Test {
 protected:
  void Script(const std::string& text) {
    ::setenv(kFakeScriptVariable, text.c_str(), 1);
    auto script = FakeScript::Parse(text);
    ASSERT_TRUE(script.ok()) << script.status().message();
    backend_ = MakeFakeBackend(*script);
    ChildOptions options;
    options.program = ATTUNE_FAKE_EVALUATOR;
    options.device = "fake";
    options.jobs = 2;
    options.memory_limit_bytes = kMemoryLimitBytes;
    options.build_deadline_ns = kDeadlineNs;
    options.load_deadline_ns = kDeadlineNs;
    options.run_deadline_ns = run_deadline_ns_;
    evaluator_ = MakeChildEvaluator(options);
  }

  // From now on loading has no deadline of its own.
  void WaitForLoads() {
    ChildOptions options;
    options.program = ATTUNE_FAKE_EVALUATOR;
    options.device = "fake";
    options.jobs = 2;
    options.memory_limit_bytes = kMemoryLimitBytes;
    options.load_deadline_ns = 600'000'000'000;
    evaluator_ = MakeChildEvaluator(options);
  }

  TunerParts Parts() {
    TunerParts parts;
    parts.solvers = &backend_->solvers();
    parts.target = backend_->Devices().front().target;
    parts.environment = backend_->DescribeEnvironment();
    parts.store = store_.get();
    parts.evaluator = evaluator_.get();
    parts.clock = &clock_;
    return parts;
  }

  static TuneOptions Options(const std::string& searcher, bool retry_quarantined) {
    TuneOptions options;
    options.searcher = searcher;
    options.per_problem_ns = 60'000'000'000;
    options.retry_quarantined = retry_quarantined;
    return options;
  }

  Result<TuneReport> Tune(const std::string& searcher = "exhaustive",
                          bool retry_quarantined = false) {
    return Tuner(Parts(), Options(searcher, retry_quarantined)).Tune(kProblem);
  }

  // Failures on record, by candidate.
  std::map<std::string, Failure> RecordedFailures() {
    std::map<std::string, Failure> failures;
    const Status visited = store_->Visit({}, [&](const RecordedSet& recorded) {
      for (const Record& record : recorded.records) {
        if (const Failure* failure = record.trial.failure()) {
          failures.insert_or_assign(Text(record.trial.candidate), *failure);
        }
      }
      return Status::Ok();
    });
    EXPECT_TRUE(visited.ok()) << visited.message();
    return failures;
  }

  // Around the final of the only set on record.
  SetConditions RecordedConditions() {
    SetConditions conditions;
    const Status visited = store_->Visit({}, [&](const RecordedSet& recorded) {
      conditions = recorded.conditions;
      return Status::Ok();
    });
    EXPECT_TRUE(visited.ok()) << visited.message();
    return conditions;
  }

  // Tunes with one candidate broken in the given way; returns its recorded failure.
  Failure FailureOf(const std::string& fault) {
    Script(fmt::format("fake.tiled{{threads=2,tile=16,unroll=4}} fault={} time_ns=1", fault));
    const auto report = Tune();
    EXPECT_TRUE(report.ok()) << report.status().message();
    if (!report.ok()) return {};
    EXPECT_TRUE(report->choice.has_value()) << fault;
    if (report->choice.has_value()) {
      EXPECT_NE(Text(report->choice->candidate), kBroken) << fault;
      EXPECT_GT(report->choice->speedup_low, 1.0) << fault;
    }
    const auto failures = RecordedFailures();
    EXPECT_EQ(failures.size(), 1u) << fault;
    const auto found = failures.find(kBroken);
    return found == failures.end() ? Failure{} : found->second;
  }

  // How often one candidate, broken in the given way, is tried on a fresh store before the next
  // tuning leaves it out; at most three times.
  int RunsUntilQuarantined(const std::string& fault) {
    store_ = std::make_unique<MemoryStore>();
    Script(fmt::format("fake.tiled{{threads=2,tile=16,unroll=4}} fault={}", fault));
    for (int runs = 0; runs <= 3; ++runs) {
      const auto report = Tune();
      EXPECT_TRUE(report.ok()) << report.status().message();
      if (!report.ok()) return -1;
      if (report->quarantined > 0) {
        EXPECT_EQ(report->quarantined, 1);
        EXPECT_TRUE(report->failures.empty());
        return runs;
      }
      EXPECT_TRUE(RecordedFailures().contains(kBroken)) << "run " << runs;
    }
    return -1;
  }

  static constexpr int64_t kMemoryLimitBytes = int64_t{512} << 20;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  // Half a gigabyte with its shadow takes a loaded machine seconds to touch.
  static constexpr int64_t kDeadlineNs = 6'000'000'000;
#else
  static constexpr int64_t kDeadlineNs = 1'500'000'000;
#endif
  static constexpr const char* kBroken = "fake.tiled@1{threads=2,tile=16,unroll=4}";
  const Problem kProblem = Normalized(PackedGemm(16, 16, 16));
  int64_t run_deadline_ns_ = kDeadlineNs;  // As of the next Script().
  std::unique_ptr<const Backend> backend_;
  std::unique_ptr<Evaluator> evaluator_;
  std::unique_ptr<MemoryStore> store_ = std::make_unique<MemoryStore>();
  SteadyClock clock_;
};

TEST_F(FaultTest, WithoutFaultsTheFastestCandidateWins) {
  Script("");

  const auto report = Tune();

  ASSERT_TRUE(report.ok()) << report.status().message();
  ASSERT_TRUE(report->choice.has_value());
  EXPECT_EQ(Text(report->choice->candidate), kBroken);
  EXPECT_EQ(report->choice->provenance, Provenance::kMeasured);
  EXPECT_TRUE(RecordedFailures().empty());
}

TEST_F(FaultTest, WhatTheDeviceWorkedIsPartOfWhatWasUseful) {
  Script("");

  const auto report = Tune();

  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_GT(report->device_busy_ns, 0);
  EXPECT_LE(report->device_busy_ns, report->busy_ns);
}

TEST_F(FaultTest, ADeviceThatSaysItWorkedForYearsIsBelievedForAsLongAsItWasAsked) {
  Script("* time_ns=1e15");

  const auto report = Tune();

  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_LE(report->device_busy_ns, report->busy_ns);
}

TEST_F(FaultTest, BuildFailureCostsOneTrial) {
  EXPECT_EQ(FailureOf("build_fails").kind, FailureKind::kBuildFailed);
}

TEST_F(FaultTest, LoadFailureCostsOneTrial) {
  EXPECT_EQ(FailureOf("load_fails").kind, FailureKind::kLoadFailed);
}

TEST_F(FaultTest, LaunchFailureCostsOneTrial) {
  EXPECT_EQ(FailureOf("launch_fails").kind, FailureKind::kRunFailed);
}

TEST_F(FaultTest, CrashIsRecordedWithItsSignal) {
  const Failure failure = FailureOf("crash");

  EXPECT_EQ(failure.kind, FailureKind::kCrashed);
  EXPECT_NE(failure.message.find("signal 11"), std::string::npos) << failure.message;
}

TEST_F(FaultTest, SilentExitIsRecordedWithItsStatus) {
  const Failure failure = FailureOf("exit");

  EXPECT_EQ(failure.kind, FailureKind::kCrashed);
  EXPECT_NE(failure.message.find("exit status 3"), std::string::npos) << failure.message;
}

TEST_F(FaultTest, HangEndsAtTheDeadlineOfItsPhase) {
  const Failure failure = FailureOf("hang");

  EXPECT_EQ(failure.kind, FailureKind::kTimedOut);
  EXPECT_NE(failure.message.find(fmt::format("{} ms", kDeadlineNs / 1'000'000)), std::string::npos)
      << failure.message;
}

// Verified within the deadline; a block, which warms up first, is not.
TEST_F(FaultTest, CandidateWithLongLaunchesIsTimedAsLongAsQualifyingSaw) {
  constexpr int64_t kLaunchMs = kDeadlineNs * 6 / 10 / 1'000'000;
  Script(fmt::format("fake.library fault=slow_launch delay_ms={} time_ns={}", kLaunchMs,
                     kLaunchMs * 1'000'000));
  const auto library = ParseCandidate("fake.library@1{}");
  ASSERT_TRUE(library.ok()) << library.status().message();
  ASSERT_TRUE(evaluator_->Begin(kProblem, 1, {}, {}).ok());
  const auto qualified =
      evaluator_->Qualify({&*library, 1}, {.begin_by_ns = clock_.NowNs()}, nullptr);
  ASSERT_TRUE(qualified.ok()) << qualified.status().message();
  ASSERT_EQ(qualified->front().trial.failure(), nullptr)
      << qualified->front().trial.failure()->message;
  const auto timer = evaluator_->StartTiming({&*library, 1});
  ASSERT_TRUE(timer.ok()) << timer.status().message();

  const auto time_ns = (*timer)->TimeBlock(0, {.launches = 1});

  EXPECT_TRUE(time_ns.has_value()) << time_ns.error().message;
}

TEST_F(FaultTest, SpinEndsAtTheDeadlineOfItsPhase) {
  EXPECT_EQ(FailureOf("spin").kind, FailureKind::kTimedOut);
}

TEST_F(FaultTest, WhatHungIsChargedForTheTimeThatItWasWaitedFor) {
  Script("fake.tiled{threads=2,tile=16,unroll=4} fault=spin time_ns=1");
  const auto hung = ParseCandidate(kBroken);
  ASSERT_TRUE(hung.ok() && evaluator_->Begin(kProblem, 1, {}, {}).ok());

  const auto results = evaluator_->Qualify({&*hung, 1}, {}, nullptr);

  ASSERT_TRUE(results.ok()) << results.status().message();
  EXPECT_GE(results->front().verify_ns, kDeadlineNs);
}

TEST_F(FaultTest, WrongResultNeverWinsEvenIfFastest) {
  EXPECT_EQ(FailureOf("wrong_result").kind, FailureKind::kWrongResult);
}

TEST_F(FaultTest, NanNeverWinsEvenIfFastest) {
  EXPECT_EQ(FailureOf("nan").kind, FailureKind::kWrongResult);
}

TEST_F(FaultTest, StaleOutputNeverWinsEvenIfFastest) {
  EXPECT_EQ(FailureOf("stale").kind, FailureKind::kWrongResult);
}

TEST_F(FaultTest, WritesOutsideOfTheOutputAreFoundWhereverTheyAre) {
  for (const char* fault : {"write_past_end", "write_before_start", "overwrite_input"}) {
    store_ = std::make_unique<MemoryStore>();
    EXPECT_EQ(FailureOf(fault).kind, FailureKind::kOutOfBounds) << fault;
  }
}

TEST_F(FaultTest, MemoryHogIsStoppedAtTheLimit) {
  // The pages up to the limit take a machine seconds that gives them to others, too.
  run_deadline_ns_ = 30'000'000'000;
  const Failure failure = FailureOf("memory_hog");

  EXPECT_EQ(failure.kind, FailureKind::kOutOfMemory);
  EXPECT_NE(failure.message.find("limit of 536870912 bytes"), std::string::npos) << failure.message;
  EXPECT_NE(failure.message.find("--memory-limit"), std::string::npos) << failure.message;
}

TEST_F(FaultTest, WhoWasTooLargeForAMomentOnlyIsFoundWhenItAnswers) {
  // Above the limit for a moment: the allocation ends there and is given back before the answer.
  // The pages take a busy machine seconds.
  run_deadline_ns_ = 30'000'000'000;
  const Failure failure = FailureOf("memory_hog hog_limit_mib=520");

  EXPECT_EQ(failure.kind, FailureKind::kOutOfMemory);
  EXPECT_NE(failure.message.find("Its process grew to"), std::string::npos) << failure.message;
}

TEST_F(FaultTest, AMemoryLimitBelowThatOfAnIdleChildIsRefusedWithTheLeast) {
  Script("");
  ChildOptions options;
  options.program = ATTUNE_FAKE_EVALUATOR;
  options.device = "fake";
  EXPECT_TRUE(CheckMemoryLimit(options).ok());
  options.memory_limit_bytes = kMemoryLimitBytes;
  EXPECT_TRUE(CheckMemoryLimit(options).ok());
  options.memory_limit_bytes = 1 << 20;

  const Status status = CheckMemoryLimit(options);

  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("--memory-limit, 1048576 bytes"), std::string::npos)
      << status.message();
  const size_t least = status.message().find("at least ");
  ASSERT_NE(least, std::string::npos) << status.message();
  options.memory_limit_bytes = std::stoll(status.message().substr(least + 9)) << 20;
  EXPECT_TRUE(CheckMemoryLimit(options).ok());
}

TEST_F(FaultTest, CrashWhileMeasuringCostsTheCulpritOnly) {
  Script("fake.tiled{threads=2,tile=16,unroll=4} fault=crash at_launch=9");

  const auto report = Tune();

  ASSERT_TRUE(report.ok()) << report.status().message();
  ASSERT_TRUE(report->choice.has_value());
  EXPECT_EQ(report->choice->candidate.solver.name, "fake.tiled");
  const auto failures = RecordedFailures();
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures.begin()->first, kBroken);
  EXPECT_EQ(failures.begin()->second.kind, FailureKind::kCrashed);
  EXPECT_EQ(failures.begin()->second.phase, Phase::kMeasure);
}

TEST_F(FaultTest, WhoLosesTheDeviceWhileMeasuringIsTheOnlyOneToFail) {
  Script("fake.tiled{threads=2,tile=16,unroll=4} fault=loses_device at_launch=9");

  const auto report = Tune();

  ASSERT_TRUE(report.ok()) << report.status().message();
  ASSERT_TRUE(report->choice.has_value());
  EXPECT_EQ(report->choice->candidate.solver.name, "fake.tiled");
  const auto failures = RecordedFailures();
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures.begin()->first, kBroken);
  EXPECT_EQ(failures.begin()->second.kind, FailureKind::kRunFailed);
  EXPECT_EQ(failures.begin()->second.phase, Phase::kMeasure);
  EXPECT_NE(failures.begin()->second.message.find("any more"), std::string::npos);
}

TEST_F(FaultTest, ADeviceThatDisappearsInTheRaceIsNobodysCrash) {
  const TemporaryFolder folder;
  const std::string gone = (folder.path() / "gone").string();
  Script(
      fmt::format("device gone_if={};fake.tiled{{threads=2,tile=16,unroll=4}} "
                  "fault=loses_device at_launch=9",
                  gone));

  const Status status = Tune().status();
  const auto failures = RecordedFailures();
  std::filesystem::remove(gone);
  Script("");
  const auto again = Tune();

  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_NE(status.message().find("does not answer"), std::string::npos) << status.message();
  ASSERT_TRUE(failures.contains(kBroken));
  for (const auto& [candidate, failure] : failures) {
    EXPECT_EQ(failure.kind, FailureKind::kRunFailed) << candidate << ": " << failure.message;
  }
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->quarantined, 0);
  EXPECT_TRUE(again->choice.has_value());
}

TEST_F(FaultTest, FatalCandidateIsQuarantinedInTheNextRun) {
  for (const char* fault : {"crash", "exit", "write_past_end", "write_before_start"}) {
    EXPECT_EQ(RunsUntilQuarantined(fault), 1) << fault;
  }
}

TEST_F(FaultTest, CrashingDefaultIsReplacedByTheNextSolversDefault) {
  Script("fake.library fault=crash");

  const auto report = Tune();

  ASSERT_TRUE(report.ok()) << report.status().message();
  ASSERT_TRUE(report->choice.has_value());
  EXPECT_EQ(report->choice->default_candidate.solver.name, "fake.tiled");
}

TEST_F(FaultTest, DefaultThatDiesWhileItIsTimedIsReplacedAndNoted) {
  // Survives qualification (verification, then three quick runs) and dies at a block of the race or
  // of the final.
  for (const int launch : {6, 11}) {
    store_ = std::make_unique<MemoryStore>();
    Script(
        fmt::format("* time_ns=300000; fake.library fault=crash at_launch={}; "
                    "fake.tiled{{threads=2,tile=16,unroll=4}} time_ns=100000",
                    launch));

    const auto report = Tune();

    ASSERT_TRUE(report.ok()) << report.status().message();
    ASSERT_TRUE(report->choice.has_value()) << launch;
    EXPECT_EQ(Text(report->choice->candidate), kBroken) << launch;
    EXPECT_EQ(report->choice->default_candidate.solver.name, "fake.tiled") << launch;
    EXPECT_FALSE(report->notes.empty()) << launch;
    EXPECT_FALSE(RecordedFailures().empty()) << launch;
  }
}

TEST_F(FaultTest, WhatMayBeTheMachineOnceGetsAnotherChance) {
  for (const char* fault : {"hang", "memory_hog", "killed"}) {
    EXPECT_EQ(RunsUntilQuarantined(fault), 2) << fault;
  }
}

TEST_F(FaultTest, LaterSuccessClearsAQuarantinedCandidate) {
  Script("fake.tiled{threads=2,tile=16,unroll=4} fault=crash");
  ASSERT_TRUE(Tune().ok());
  Script("");
  ASSERT_TRUE(Tune("exhaustive", true).ok());

  const auto third = Tune();

  ASSERT_TRUE(third.ok());
  EXPECT_EQ(third->quarantined, 0);
  EXPECT_EQ(Text(third->choice->candidate), kBroken);
}

TEST_F(FaultTest, ProblemThatCannotBeEvaluatedDoesNotEndTheList) {
  Script("");
  TunerParts parts = Parts();
  Tuner tuner(parts, Options("exhaustive", false));
  const std::vector<TaggedProblem> problems = {{Normalized(PackedGemm(40000, 40000, 40000)), 1},
                                               {kProblem, 1}};

  const auto summary = TuneAll(tuner, problems, {}, nullptr);

  ASSERT_TRUE(summary.ok()) << summary.status().message();
  ASSERT_EQ(summary->outcomes.size(), 2u);
  EXPECT_NE(summary->outcomes[0].kind, ProblemOutcome::Kind::kTuned);
  EXPECT_FALSE(summary->outcomes[0].message.empty());
  EXPECT_EQ(summary->outcomes[1].kind, ProblemOutcome::Kind::kTuned);
}

// Takes longer to load than any test lasts, and is no hang before its deadline.
constexpr const char* kNeverReady = "fault=slow_load delay_ms=600000";

TEST_F(FaultTest, WhatIsNotReadyWhenTheProblemIsOverIsLeftOutAsIfItHadNotBegun) {
  Script(fmt::format("fake.tiled {}", kNeverReady));
  WaitForLoads();
  TuneOptions options = Options("exhaustive", false);
  options.per_problem_ns = 2'000'000'000;
  const int64_t begin_ns = clock_.NowNs();

  const auto report = Tuner(Parts(), options).Tune(kProblem);

  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->choice->candidate.solver.name, "fake.library");
  EXPECT_TRUE(report->failures.empty());
  EXPECT_TRUE(RecordedFailures().empty());
  EXPECT_LT(clock_.NowNs() - begin_ns, 20'000'000'000);
}

TEST_F(FaultTest, ARunEndsThoughNobodyIsReady) {
  Script(fmt::format("* {}", kNeverReady));
  WaitForLoads();
  TuneOptions options = Options("exhaustive", false);
  options.per_problem_ns = 200'000'000;
  TuneBounds bounds;
  bounds.end_ns = clock_.NowNs() + 3'000'000'000;

  const Status status = Tuner(Parts(), options).Tune(kProblem, nullptr, bounds).status();

  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded) << status.message();
  EXPECT_NE(status.message().find("No candidate was built and loaded in"), std::string::npos);
  EXPECT_GE(clock_.NowNs(), bounds.end_ns);
  EXPECT_LT(clock_.NowNs(), bounds.end_ns + 15'000'000'000);
  EXPECT_TRUE(RecordedFailures().empty());
}

TEST_F(FaultTest, RunEndsWithoutAChoiceWhenEverythingCrashes) {
  Script("* fault=crash");

  const auto report = Tune();

  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_FALSE(report->choice.has_value());
  EXPECT_EQ(report->qualified, 0);
  EXPECT_EQ(report->failures.at(FailureKind::kCrashed), report->considered);
}

TEST_F(FaultTest, MissingEvaluatorIsAnErrorThatNamesIt) {
  Script("");
  ChildOptions options;
  options.program = "/nonexistent/evaluator";
  options.device = "fake";
  evaluator_ = MakeChildEvaluator(options);

  const auto report = Tune();

  EXPECT_EQ(report.status().code(), StatusCode::kInternal);
  EXPECT_NE(report.status().message().find("/nonexistent/evaluator"), std::string::npos);
}

TEST_F(FaultTest, PeaksAreMeasuredInAChild) {
  Script("");
  ChildOptions options;
  options.program = ATTUNE_FAKE_EVALUATOR;
  options.device = "fake";

  const auto peaks = MeasurePeaksInChild(options);

  ASSERT_TRUE(peaks.ok()) << peaks.status().message();
  EXPECT_EQ(*peaks, (Peaks{100e9, 50e9, 10e9}));
}

TEST_F(FaultTest, AChildThatDiesOfPeaksIsAStatusThatSaysHow) {
  Script("");
  ChildOptions options;
  options.program = ATTUNE_FAKE_EVALUATOR;
  options.device = "cuda:7";
  EXPECT_NE(MeasurePeaksInChild(options).status().message().find("cuda:7"), std::string::npos);
  options.program = "/bin/false";

  const Status status = MeasurePeaksInChild(options).status();

  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_NE(status.message().find("exit status 1"), std::string::npos) << status.message();
}

TEST_F(FaultTest, UnknownDeviceIsRefusedByTheChildWithTheKnownOnes) {
  Script("");
  ChildOptions options;
  options.program = ATTUNE_FAKE_EVALUATOR;
  options.device = "cuda:7";
  evaluator_ = MakeChildEvaluator(options);

  const auto report = Tune();

  EXPECT_EQ(report.status().code(), StatusCode::kInternal);
  EXPECT_NE(report.status().message().find("cuda:7"), std::string::npos);
}

TEST_F(FaultTest, WhatTheDeviceSaysAroundTheFinalIsRecorded) {
  Script(
      "device compute_clock_mhz=1305 power_w=698.25 temperature_c=71 "
      "clock_reasons=gpu_idle,sw_power_cap");

  const auto report = Tune();

  ASSERT_TRUE(report.ok()) << report.status().message();
  const SetConditions conditions = RecordedConditions();
  ASSERT_TRUE(conditions.before.has_value() && conditions.after.has_value());
  EXPECT_EQ(conditions.before, conditions.after);
  EXPECT_EQ(conditions.after->compute_clock_mhz, 1305);
  EXPECT_EQ(conditions.after->power_w, 698.25);
  EXPECT_FALSE(conditions.after->memory_clock_mhz.has_value());
  EXPECT_EQ(report->held_back_by, std::vector<std::string>{"power cap"});
}

TEST_F(FaultTest, ADeviceThatKillsWhoeverAsksIsTimedWithoutAnAnswer) {
  Script("device conditions=crash");

  const auto report = Tune();

  ASSERT_TRUE(report.ok()) << report.status().message();
  ASSERT_TRUE(report->choice.has_value());
  EXPECT_GT(report->choice->speedup_low, 1.0);
  EXPECT_TRUE(report->failures.empty());
  EXPECT_TRUE(RecordedFailures().empty());
  EXPECT_TRUE(RecordedConditions().empty());
  EXPECT_THAT(report->notes, Contains(HasSubstr("ended the child that asked")));
}

TEST_F(FaultTest, WhoeverAsksIsKilledOnceInARunAndThatIsSaidOnce) {
  Script("device conditions=crash");
  ASSERT_TRUE(Tune().ok());
  store_ = std::make_unique<MemoryStore>();
  // Children that start from now on would get an answer.
  ::setenv(kFakeScriptVariable, "device compute_clock_mhz=1305", 1);

  const auto report = Tune();

  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_TRUE(report->choice.has_value());
  EXPECT_TRUE(RecordedConditions().empty());
  EXPECT_THAT(report->notes, Not(Contains(HasSubstr("ended the child that asked"))));
}

}  // namespace
}  // namespace attune
