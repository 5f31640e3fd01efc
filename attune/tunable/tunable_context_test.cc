#include "attune/tunable/tunable_context.h"

#include <unistd.h>

#include <condition_variable>
#include <filesystem>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/file.h"
#include "attune/formats/cublaslt_name.h"
#include "attune/tunable/offline_tuning.h"

namespace attune {
namespace {

using testing::Contains;
using testing::HasSubstr;

Problem Parse(std::string_view text) {
  auto problem = ParseProblem(text);
  EXPECT_TRUE(problem.ok()) << text;
  return problem.ok() ? *problem : Problem();
}

Candidate Of(const std::string& text) { return *ParseCandidate(text); }

class TunableContextTest : public testing::Test {
 protected:
  TunableContextTest()
      : folder_(std::filesystem::temp_directory_path() /
                fmt::format("attune_tunable_context_{}", ::getpid())) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
  }
  ~TunableContextTest() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ / name; }

  TunableParts Parts() {
    TunableParts parts;
    parts.here = {"0.1.0", {"fake", "Fake", "none", 1, {}}, {}};
    parts.cache_bytes = 1000;
    parts.solutions.default_of = [](const Problem&) { return Of("fake.library@1{threads=1}"); };
    parts.solutions.find = [](const Problem&, std::string_view name) -> Result<Candidate> {
      if (name == "fake.tiled") return Of("fake.tiled@1{tile=4}");
      return NotFound("No such solver.");
    };
    parts.solutions.check = [](const Problem&, const Candidate& candidate) {
      return candidate.solver.name == "fake.gone" ? NotFound("fake.gone is gone.") : Status::Ok();
    };
    parts.tune = [this](const Problem&) -> Result<TunedCandidate> {
      ++tunings_;
      return TunedCandidate{Of("fake.tiled@1{tile=16}"), 1250};
    };
    parts.log = [this](std::string_view line) {
      const std::lock_guard lock(log_mutex_);
      log_.emplace_back(line);
    };
    return parts;
  }

  TunableSwitches Switches(ProcessVariables more = {}) {
    more.emplace("ATTUNE_TUNABLE_ENABLED", "1");
    more.emplace("ATTUNE_TUNABLE_FILENAME", Path("results%d.csv"));
    more.emplace("ATTUNE_TUNABLE_UNTUNED_FILENAME", Path("untuned.csv"));
    auto switches = TunableSwitches::FromEnvironment(more);
    EXPECT_TRUE(switches.ok());
    return *switches;
  }

  const std::filesystem::path folder_;
  std::atomic<int> tunings_ = 0;
  std::mutex log_mutex_;
  std::vector<std::string> log_;
};

const char kProblem[] = "gemm@1{m=4,n=5,k=6}";

TEST_F(TunableContextTest, ATunedMissIsServedAndInTheFileAtOnce) {
  TunableContext context(Parts(), Switches());
  EXPECT_FALSE(context.Lookup(Parse(kProblem)));

  EXPECT_EQ(*context.TuneMiss(Parse(kProblem)), TuneOutcome::kTuned);

  const auto hit = context.Lookup(Parse(kProblem));
  ASSERT_TRUE(hit);
  EXPECT_EQ(hit->matched_by, MatchedBy::kProblem);
  EXPECT_EQ(hit->candidate, Of("fake.tiled@1{tile=16}"));
  TunableContext next(Parts(), Switches());
  EXPECT_TRUE(next.Lookup(Parse(kProblem)));
}

TEST_F(TunableContextTest, AnAlgorithmOfCublasLtIsWrittenByTunableOpsNameAndServesAgain) {
  const std::string name =
      "Gemm_Cublaslt_id_66_tile_20_stages_4_splitk_1_red_0_swizzle_0_custom_3_inner_0_cluster_2";
  const Candidate tuned = *ParseCublasLtName(name);
  TunableParts parts = Parts();
  parts.tune = [&](const Problem&) -> Result<TunedCandidate> {
    return TunedCandidate{tuned, 1250};
  };

  ASSERT_TRUE(TunableContext(parts, Switches()).TuneMiss(Parse(kProblem)).ok());

  EXPECT_THAT(*ReadFile(Path("results0.csv")), HasSubstr("," + name + ",0.00125,ATTUNE_PROBLEM"));
  TunableContext next(Parts(), Switches());
  const auto hit = next.Lookup(Parse(kProblem));
  ASSERT_TRUE(hit);
  EXPECT_EQ(hit->candidate, tuned);
  // Another result takes its place, as that of any candidate of ours.
  ASSERT_TRUE(next.AddResult(Parse(kProblem), {Of("fake.tiled@1{tile=16}"), 1000}).ok());
  EXPECT_THAT(*ReadFile(Path("results0.csv")), Not(HasSubstr(name)));
}

TEST_F(TunableContextTest, AFileOfPyTorchServesTheAlgorithmsThatItNames) {
  std::filesystem::copy_file(ATTUNE_TEST_DATA_DIR "/tunableop/results_pytorch.csv",
                             Path("results0.csv"));
  TunableContext context(Parts(), Switches());

  const auto hit = context.Lookup(Parse("gemm@1{m=4096,n=128,k=4096,ta=t,type=bf16}"));

  ASSERT_TRUE(hit);
  EXPECT_EQ(Text(hit->candidate),
            "cuda.cublaslt-gemm@1{cluster=2,custom=0,id=66,inner=0,reduction=0,split_k=1,stages=4,"
            "swizzle=0,tile=20}");
}

TEST_F(TunableContextTest, AHitIsNeverTunedAgain) {
  TunableContext context(Parts(), Switches());
  ASSERT_TRUE(context.TuneMiss(Parse(kProblem)).ok());

  EXPECT_EQ(*context.TuneMiss(Parse(kProblem)), TuneOutcome::kKnown);

  EXPECT_EQ(tunings_, 1);
}

TEST_F(TunableContextTest, AResultIsKeptAsAWildcardOnceAndWithoutALookup) {
  TunableContext context(Parts(), Switches());
  const Problem problem = Parse("gemm@1{m=4,n=5,k=6}");
  const DynamicDims dims{kDynamicN, Reach::kAnySize};
  EXPECT_FALSE(context.KeepAsWildcard(problem, dims));
  ASSERT_TRUE(context.TuneMiss(problem).ok());
  const TunableCounters before = context.counters();

  EXPECT_TRUE(context.KeepAsWildcard(problem, dims));
  EXPECT_TRUE(context.KeepAsWildcard(problem, dims));

  EXPECT_EQ(context.results().size(), 2u);
  EXPECT_EQ(context.counters(), before);
}

TEST_F(TunableContextTest, TwoThreadsThatMissOneKeyTuneItOnce) {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_tuning = false;
  bool may_end = false;
  TunableParts parts = Parts();
  parts.tune = [&](const Problem&) -> Result<TunedCandidate> {
    std::unique_lock lock(mutex);
    ++tunings_;
    is_tuning = true;
    changed.notify_all();
    changed.wait(lock, [&] { return may_end; });
    return TunedCandidate{Of("fake.tiled@1{tile=16}"), 1250};
  };
  TunableContext context(parts, Switches());
  std::jthread first([&] { EXPECT_EQ(*context.TuneMiss(Parse(kProblem)), TuneOutcome::kTuned); });
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return is_tuning; });
  }

  EXPECT_EQ(*context.TuneMiss(Parse(kProblem)), TuneOutcome::kInProgress);

  {
    const std::lock_guard lock(mutex);
    may_end = true;
  }
  changed.notify_all();
  first.join();
  EXPECT_EQ(*context.TuneMiss(Parse(kProblem)), TuneOutcome::kKnown);
  EXPECT_EQ(tunings_, 1);
}

TEST_F(TunableContextTest, ALookupServesItsOwnProblemHoweverManyThreadsAskForOthers) {
  TunableContext context(Parts(), Switches());
  for (int m = 1; m <= 20; ++m) {
    const Problem problem = Parse(fmt::format("gemm@1{{m={},n=5,k=6}}", m));
    const TunedCandidate tuned{Of(fmt::format("fake.tiled@1{{tile={}}}", m)), 1};
    ASSERT_TRUE(context.AddResult(problem, tuned).ok());
  }
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 200; ++i) {
        const int m = (i + 5 * thread) % 20 + 1;
        const auto hit = context.Lookup(Parse(fmt::format("gemm@1{{m={},n=5,k=6}}", m)));
        ASSERT_TRUE(hit);
        EXPECT_EQ(hit->candidate, Of(fmt::format("fake.tiled@1{{tile={}}}", m)));
      }
    });
  }
}

TEST_F(TunableContextTest, MissesAreRecordedOnlyWhileTuningIsOff) {
  TunableContext tunes(Parts(), Switches({{"ATTUNE_TUNABLE_RECORD_UNTUNED", "1"}}));
  TunableContext records(
      Parts(), Switches({{"ATTUNE_TUNABLE_RECORD_UNTUNED", "1"}, {"ATTUNE_TUNABLE_TUNING", "0"}}));

  ASSERT_TRUE(tunes.RecordMiss(Parse(kProblem)).ok());
  ASSERT_TRUE(records.RecordMiss(Parse(kProblem)).ok());
  ASSERT_TRUE(records.RecordMiss(Parse(kProblem)).ok());

  EXPECT_EQ(records.TuneMiss(Parse(kProblem)).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(*ReadFile(Path("untuned0.csv")), "GemmTunableOp_float_NN,nn_4_5_6_ld_4_6_4\n");
  EXPECT_EQ(records.counters().recorded, 1);
}

TEST_F(TunableContextTest, OverridesByHandServeWhatTheyName) {
  ASSERT_TRUE(WriteFileAtomically(Path("results0.csv"),
                                  "GemmTunableOp_float_NN,nn_4_5_6,Default\n"
                                  "GemmTunableOp_float_NN,nn_5_5_6,fake.tiled\n"
                                  "GemmTunableOp_float_NN,nn_6_5_6,fake.tiled@1{tile=8,unroll=2}\n"
                                  "GemmTunableOp_float_NN,nn_7_5_6,Gemm_Rocblas_42,0.1\n"
                                  "GemmTunableOp_float_NN,nn_8_5_6,fake.gone@1{}\n")
                  .ok());
  TunableContext context(Parts(), Switches());
  const auto served = [&](int m) {
    const auto hit = context.Lookup(Parse(fmt::format("gemm@1{{m={},n=5,k=6,beta=one}}", m)));
    return hit ? Text(hit->candidate) : "nothing";
  };

  EXPECT_EQ(served(4), "fake.library@1{threads=1}");
  EXPECT_EQ(served(5), "fake.tiled@1{tile=4}");
  EXPECT_EQ(served(6), "fake.tiled@1{tile=8,unroll=2}");
  EXPECT_EQ(served(7), "nothing");
  EXPECT_EQ(served(8), "nothing");
  EXPECT_EQ(context.counters().unusable, 2);
}

TEST_F(TunableContextTest, AResultThatNoLongerExistsIsTunedAgainAndReplaced) {
  ASSERT_TRUE(TunableContext(Parts(), Switches())
                  .AddResult(Parse(kProblem), {Of("fake.gone@1{}"), 1})
                  .ok());
  TunableContext context(Parts(), Switches());
  EXPECT_FALSE(context.Lookup(Parse(kProblem)));

  EXPECT_EQ(*context.TuneMiss(Parse(kProblem)), TuneOutcome::kTuned);

  EXPECT_TRUE(context.Lookup(Parse(kProblem)));
  EXPECT_TRUE(TunableContext(Parts(), Switches()).Lookup(Parse(kProblem)));
  EXPECT_THAT(*ReadFile(Path("results0.csv")), Not(HasSubstr("fake.gone")));
}

TEST_F(TunableContextTest, TheChoiceHasTheTimeTheCandidateAndTheDefault) {
  TunableContext context(Parts(), Switches());
  const auto choices = context.choices();
  ASSERT_TRUE(context.TuneMiss(Parse(kProblem)).ok());

  const auto found = choices->Find(Parse(kProblem));

  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->size(), 1u);
  const IndexedChoice& choice = found->front();
  EXPECT_EQ(choice.best().candidate, Of("fake.tiled@1{tile=16}"));
  EXPECT_DOUBLE_EQ(choice.best().median_ns, 1250);
  EXPECT_EQ(choice.ranking.at(choice.default_position).candidate, Of("fake.library@1{threads=1}"));
  EXPECT_EQ(*choice.target, Parts().here.target);
  EXPECT_EQ(choices->problem_count(), 1);
  EXPECT_TRUE(choices->Nearest(Parse(kProblem), 5, 5)->empty());
}

TEST_F(TunableContextTest, SwitchedOffItReadsNothingAndServesNothing) {
  ASSERT_TRUE(
      WriteFileAtomically(Path("results0.csv"), "GemmTunableOp_float_NN,nn_4_5_6,Default\n").ok());
  TunableSwitches switches = Switches({{"ATTUNE_TUNABLE_ENABLED", "0"}});
  TunableContext context(Parts(), switches);
  const uint64_t before = context.generation();
  EXPECT_TRUE(context.choices()->Find(Parse(kProblem))->empty());
  EXPECT_TRUE(context.results().empty());

  ASSERT_TRUE(context.Set(TunableVariable::kEnabled, "1").ok());

  EXPECT_GT(context.generation(), before);
  EXPECT_EQ(context.choices()->Find(Parse(kProblem))->size(), 1u);
}

TEST_F(TunableContextTest, AFileThatCannotBeWrittenLosesNoResultInMemory) {
  TunableContext context(Parts(), TunableSwitches());
  ASSERT_TRUE(context.Set(TunableVariable::kEnabled, "1").ok());
  ASSERT_TRUE(context.SetFilename("/dev/full", false).ok());

  const auto outcome = context.TuneMiss(Parse(kProblem));

  EXPECT_FALSE(outcome.ok());
  EXPECT_TRUE(context.Lookup(Parse(kProblem)));
}

TEST_F(TunableContextTest, WarningsAndUnreadableLinesAreInTheLog) {
  ASSERT_TRUE(WriteFileAtomically(Path("results0.csv"), "garbage\n").ok());
  TunableContext context(Parts(), Switches({{"ATTUNE_TUNABLE_VERBOSE", "1"},
                                            {"ATTUNE_TUNABLE_MAX_TUNING_ITERATIONS", "x"}}));

  context.choices();

  EXPECT_THAT(log_, Contains(HasSubstr("MAX_TUNING_ITERATIONS")));
  EXPECT_THAT(log_, Contains(HasSubstr("results0.csv:1: Expected at least three columns")));
}

TEST_F(TunableContextTest, ClearForgetsAndDoesNotReadTheFileAgain) {
  TunableContext context(Parts(), Switches());
  ASSERT_TRUE(context.TuneMiss(Parse(kProblem)).ok());

  context.Clear();

  EXPECT_FALSE(context.Lookup(Parse(kProblem)));
  EXPECT_EQ(context.ReadResults()->accepted, 1);
  EXPECT_TRUE(context.Lookup(Parse(kProblem)));
}

TEST_F(TunableContextTest, AWrittenFileKeepsWhatItHadAndDoesNotGrowByWritingAgain) {
  ASSERT_TRUE(WriteFileAtomically(Path("results0.csv"),
                                  "Validator,PT_VERSION,2.14.0\ngarbage\n"
                                  "GemmTunableOp_float_NN,nn_9_5_6,Gemm_Rocblas_42,0.1\n")
                  .ok());
  {
    TunableContext context(Parts(), Switches());
    ASSERT_TRUE(context.TuneMiss(Parse(kProblem)).ok());
    context.WriteOnExit(true);
  }
  const std::string once = *ReadFile(Path("results0.csv"));
  {
    TunableContext context(Parts(), Switches());
    context.choices();
    ASSERT_TRUE(context.WriteResults().ok());
  }

  EXPECT_THAT(once, HasSubstr("garbage\nGemmTunableOp_float_NN,nn_9_5_6,Gemm_Rocblas_42,0.1\n"));
  EXPECT_EQ(*ReadFile(Path("results0.csv")), once);
}

TEST_F(TunableContextTest, AWrittenFileElsewhereHasEveryResultUnderItsOwnValidators) {
  ASSERT_TRUE(WriteFileAtomically(Path("results0.csv"),
                                  "Validator,PT_VERSION,2.14.0\n"
                                  "GemmTunableOp_float_NN,nn_9_5_6,Gemm_Rocblas_42,0.1\n")
                  .ok());
  TunableContext context(Parts(), Switches());
  ASSERT_TRUE(context.TuneMiss(Parse(kProblem)).ok());

  ASSERT_TRUE(context.WriteResults(Path("copy.csv")).ok());

  EXPECT_EQ(*ReadFile(Path("copy.csv")), *ReadFile(Path("results0.csv")));
}

}  // namespace
}  // namespace attune
