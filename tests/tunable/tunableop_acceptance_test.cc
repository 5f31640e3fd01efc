// The tests of PyTorch's test_linalg.py on TunableOp, by name. docs/tunableop.md maps them.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "attune/base/file.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/verify/output_check.h"
#include "attune/verify/rotation.h"
#include "runtime/tuner_request.h"
#include "tests/tunable/fake_tunable.h"

namespace attune {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Key;
using testing::Pair;
using testing::StartsWith;

constexpr char kSmall[] = "gemm@1{m=4,n=5,k=6}";

int64_t RotatingBytes(TunableContext& context, std::string_view mib) {
  EXPECT_TRUE(context.Set(TunableVariable::kRotatingBufferSize, mib).ok());
  return context.rotating_buffer_bytes();
}

// The parameters of a solver that were looked at.
std::set<Config> ConfigsTried(FakeTunable& tunable, std::string_view solver) {
  std::set<Config> tried;
  for (const RecordedSet& set : tunable.Sets()) {
    for (const Record& record : set.records) {
      const Candidate& candidate = record.trial.candidate;
      if (candidate.solver.name == solver) tried.insert(candidate.config);
    }
  }
  return tried;
}

// Tunes and runs `text`; the result has to be that of three loops.
void TuneAndCompare(FakeTunable& tunable, std::string_view text) {
  const Problem problem = ProblemOf(text);
  ASSERT_TRUE(tunable.context().TuneMiss(problem).ok()) << text;
  const auto hit = tunable.context().Lookup(problem);
  ASSERT_TRUE(hit) << text;
  EXPECT_TRUE(
      IsClose(FakeTunable::Expected(problem.Get<Gemm>()), tunable.Run(problem, hit->candidate)))
      << text;
}

TEST(TunableOpAcceptance, MatmulSmallBruteForce) {
  const TemporaryFolder folder;
  FakeTunable tunable(VariablesIn(folder));
  for (const int m : {1, 3}) {
    for (const int n : {1, 4}) {
      for (const int k : {1, 5}) {
        for (const char* form :
             {"", ",ta=t", ",tb=t", ",ta=t,tb=t", ",lda=9,ldb=9,ldc=9", ",batch=2", ",beta=one"}) {
          TuneAndCompare(tunable, fmt::format("gemm@1{{m={},n={},k={}{}}}", m, n, k, form));
        }
      }
    }
  }

  EXPECT_EQ(tunable.context().results_filename(), folder / "results0.csv");
  EXPECT_FALSE(tunable.context().results().empty());
  EXPECT_EQ(KeysOf(folder.Read("results0.csv")).size(), tunable.context().results().size());
}

TEST(TunableOpAcceptance, RotatingBuffer) {
  const TemporaryFolder folder;
  FakeTunable tunable(VariablesIn(folder));

  EXPECT_EQ(tunable.context().rotating_buffer_bytes(), tunable.context().parts().cache_bytes);
  EXPECT_GT(tunable.context().rotating_buffer_bytes(), 0);
  EXPECT_EQ(RotatingBytes(tunable.context(), "0"), 0);
  EXPECT_EQ(RotatingBytes(tunable.context(), "1"), 1 << 20);
  EXPECT_EQ(RotatingBytes(tunable.context(), "-1"), tunable.context().parts().cache_bytes);
  ASSERT_TRUE(tunable.context().TuneMiss(ProblemOf(kSmall)).ok());
  const MeasurementSet set = tunable.Sets().front().set;
  EXPECT_EQ(set.cache, CacheState::kRotating);
  EXPECT_THAT(set.environment,
              Contains(Pair("tuning.rotation_bytes",
                            std::to_string(tunable.context().parts().cache_bytes))));
}

TEST(TunableOpAcceptance, CublasltRequestedAlgoCount) {
  const TemporaryFolder folder;
  FakeTunable tunable(VariablesIn(folder), 0, "device listed=20");
  const auto count = [&](std::string_view asked) {
    EXPECT_TRUE(tunable.context().Set(TunableVariable::kRequestedAlgoCount, asked).ok());
    return tunable.context().settings().requested_algo_count;
  };

  EXPECT_EQ(count("7"), 7);
  EXPECT_EQ(count("1"), 1);
  EXPECT_EQ(count("0"), 1);
  EXPECT_EQ(count("-7"), 1);
  // Two of the library's list, and its default.
  EXPECT_EQ(count("2"), 2);
  ASSERT_TRUE(tunable.context().TuneMiss(ProblemOf(kSmall)).ok());
  EXPECT_EQ(ConfigsTried(tunable, "fake.listed").size(), 3u);
}

TEST(TunableOpAcceptance, Bmm) {
  const TemporaryFolder folder;
  FakeTunable tunable(VariablesIn(folder));
  // Packed, permuted, shared, padded and sliced operands.
  for (const char* form :
       {"", ",ta=t,tb=t", ",sa=0", ",lda=9,ldb=8,ldc=7", ",sa=100,sb=90,sc=80"}) {
    const Problem problem = ProblemOf(fmt::format("gemm@1{{m=4,n=3,k=5,batch=3{}}}", form));
    const auto operands = Operands(problem);
    const auto plan = PlanRotation(operands, 4096, 64, 1 << 20);
    ASSERT_TRUE(plan.ok());
    std::vector<std::vector<std::byte>> exact;
    std::vector<std::span<const std::byte>> sources;
    for (const Operand& operand : operands) exact.emplace_back(SpanBytes(operand.tensor));
    for (const auto& bytes : exact) sources.emplace_back(bytes);
    std::vector<std::byte> block(plan->total_bytes, std::byte{255});

    FillRotation(*plan, sources, block);

    EXPECT_GT(plan->copies, 1u) << form;
    TuneAndCompare(tunable, Text(problem));
  }
}

TEST(TunableOpAcceptance, ValidatorRocm) {
  const ResultsFile file =
      ParseResultsFile(*ReadFile(ATTUNE_TEST_DATA_DIR "/tunableop/results_rocm_old.csv"));
  const TunableIdentity here{"0.1.0", {"hip", "Example", "gfx90a", 104, {}}, {}};

  const SectionVerdict verdict = JudgeSection(file.sections.front(), here);

  EXPECT_EQ(verdict.validators.size(), 5u);
  EXPECT_FALSE(verdict.rejected());
}

TEST(TunableOpAcceptance, ValidatorCuda) {
  const ResultsFile file =
      ParseResultsFile(*ReadFile(ATTUNE_TEST_DATA_DIR "/tunableop/results_pytorch.csv"));
  const TunableIdentity here{"0.1.0", {"cuda", "Example GPU", "sm_90", 132, {}}, {}};
  const TunableIdentity other{"0.1.0", {"cuda", "Another GPU", "sm_90", 132, {}}, {}};

  EXPECT_FALSE(JudgeSection(file.sections.front(), here).rejected());
  EXPECT_TRUE(JudgeSection(file.sections.front(), other).rejected());
}

TEST(TunableOpAcceptance, ValidatorsOfThisProcess) {
  const TemporaryFolder folder;
  FakeTunable tunable(VariablesIn(folder));

  const auto validators = tunable.context().validators();

  ASSERT_EQ(validators.size(), 4u);
  EXPECT_THAT(validators[1].second, testing::MatchesRegex("[0-9]+[.][0-9]+[.][0-9]+"));
  EXPECT_THAT(validators[2].second, StartsWith("fake:"));
}

TEST(TunableOpAcceptance, MinimumTuningIteration) {
  const TemporaryFolder folder;
  FakeTunable tunable(VariablesIn(folder), 0, "* time_ns=5000000");
  ASSERT_TRUE(tunable.context().Set(TunableVariable::kMaxTuningDurationMs, "0").ok());
  ASSERT_TRUE(tunable.context().Set(TunableVariable::kMaxTuningIterations, "0").ok());

  ASSERT_TRUE(tunable.context().TuneMiss(ProblemOf(kSmall)).ok());
  // A candidate's launch takes longer than it may be timed: once it is timed all the same.
  ASSERT_TRUE(tunable.context().Set(TunableVariable::kMaxTuningDurationMs, "1").ok());
  ASSERT_TRUE(tunable.context().TuneMiss(ProblemOf("gemm@1{m=9,n=9,k=9}")).ok());

  EXPECT_EQ(tunable.context().results().size(), 2u);
  const std::vector<RecordedSet> sets = tunable.Sets();
  ASSERT_EQ(sets.size(), 2u);
  EXPECT_THAT(sets[0].set.environment, Contains(Pair("tuning.max_launches", "100")));
  EXPECT_THAT(sets[1].set.environment, Contains(Pair("tuning.max_time_ns", "1000000")));
  size_t timed = 0;
  for (const Record& record : sets[1].records) {
    const Measurement* measurement = record.trial.measurement();
    if (measurement == nullptr) continue;
    ++timed;
    EXPECT_EQ(measurement->samples_ns.size(), 1u);
  }
  EXPECT_GT(timed, 0u);
}

TEST(TunableOpAcceptance, MatmulCheckEntries) {
  const TemporaryFolder folder;
  FakeTunable tunable(VariablesIn(folder));
  for (int repetition = 0; repetition < 3; ++repetition) {
    for (const char* form : {"", ",ta=t", ",tb=t", ",batch=2"}) {
      ASSERT_TRUE(
          tunable.context().TuneMiss(ProblemOf(fmt::format("gemm@1{{m=4,n=5,k=6{}}}", form))).ok());
    }
  }

  const auto keys = KeysOf(folder.Read("results0.csv"));

  EXPECT_EQ(keys.size(), 4u);
  EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), 4u);
  EXPECT_EQ(tunable.tunings(), 4);
}

TEST(TunableOpAcceptance, CublasltCandidate) {
  const TemporaryFolder folder;
  // One of those that the device's library lists, as cuBLASLt does, is the quickest.
  FakeTunable tunable(VariablesIn(folder), 0,
                      "device listed=20;* time_ns=100000;fake.listed{id=5} time_ns=10000");
  const Problem problem = ProblemOf("gemm@1{m=32,n=32,k=32}");

  TuneAndCompare(tunable, Text(problem));

  const Candidate winner = tunable.context().Lookup(problem)->candidate;
  EXPECT_EQ(winner.solver.name, "fake.listed");
  EXPECT_EQ(winner.config.at("id"), ParameterValue(int64_t{5}));
  const auto serving = tunable.Serve(problem);
  ASSERT_TRUE(serving.ok()) << serving.status().message();
  EXPECT_EQ(serving->plan->option().candidate, winner);
}

TEST(TunableOpAcceptance, InvalidCublasltCandidateFallback) {
  const TemporaryFolder folder;
  folder.Write("results0.csv",
               "GemmTunableOp_float_NN,nn_4_5_6,Gemm_Cublaslt_id_999999_tile_1,0.1\n"
               "GemmTunableOp_float_NN,nn_4_5_7,fake.tiled@1{tile=999999},0.1\n");
  FakeTunable tunable(VariablesIn(folder));

  for (const char* text : {"gemm@1{m=4,n=5,k=6}", "gemm@1{m=4,n=5,k=7}"}) {
    const auto serving = tunable.Serve(ProblemOf(text));
    ASSERT_TRUE(serving.ok()) << serving.status().message();
    EXPECT_EQ(serving->plan->option().origin, Origin::kDefault);
    EXPECT_FALSE(tunable.context().Lookup(ProblemOf(text)));
  }
  EXPECT_EQ(tunable.context().counters().unusable, 2);
}

TEST(TunableOpAcceptance, DisableTuning) {
  const TemporaryFolder folder;
  FakeTunable tunable(VariablesIn(folder));
  ASSERT_TRUE(tunable.context().TuneMiss(ProblemOf(kSmall)).ok());
  ASSERT_TRUE(tunable.context().Set(TunableVariable::kTuning, "0").ok());

  EXPECT_FALSE(tunable.context().TuneMiss(ProblemOf("gemm@1{m=9,n=9,k=9}")).ok());

  EXPECT_EQ(tunable.context().results().size(), 1u);
  EXPECT_EQ(KeysOf(folder.Read("results0.csv")).size(), 1u);
  EXPECT_TRUE(tunable.context().Lookup(ProblemOf(kSmall)));
}

TEST(TunableOpAcceptance, DumpResultsOnExit) {
  const TemporaryFolder folder;
  // One process ends in order, its file taken away meanwhile; one dies right after its result.
  const pid_t orderly = ::fork();
  if (orderly == 0) {
    FakeTunable tunable(VariablesIn(folder));
    const bool tuned = tunable.context().TuneMiss(ProblemOf(kSmall)).ok();
    std::filesystem::remove(folder / "results0.csv");
    tunable.context().WriteOnExit(true);
    tunable.End();
    ::_exit(tuned ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(::waitpid(orderly, &status, 0), orderly);
  EXPECT_EQ(status, 0);
  const std::string first = folder.Read("results0.csv");
  const pid_t dying = ::fork();
  if (dying == 0) {
    FakeTunable tunable(VariablesIn(folder));
    static_cast<void>(tunable.context().TuneMiss(ProblemOf("gemm@1{m=9,n=9,k=9}")));
    ::kill(::getpid(), SIGKILL);
  }
  ASSERT_EQ(::waitpid(dying, &status, 0), dying);

  EXPECT_EQ(KeysOf(first).size(), 1u);
  EXPECT_EQ(KeysOf(folder.Read("results0.csv")).size(), 2u);
}

TEST(TunableOpAcceptance, GemmBias) {
  const TemporaryFolder folder;
  FakeTunable tunable(VariablesIn(folder));
  TuneAndCompare(tunable, "gemm@1{m=4,n=5,k=6,ta=t,bias=row}");
  TuneAndCompare(tunable, "gemm@1{m=4,n=5,k=6,tb=t,bias=row}");

  EXPECT_THAT(KeysOf(folder.Read("results0.csv")),
              testing::ElementsAre("GemmAndBiasTunableOp_float_TN,tn_4_5_6_ld_6_6_4",
                                   "GemmAndBiasTunableOp_float_NT,nt_4_5_6_ld_4_5_4"));
}

TEST(TunableOpAcceptance, RowwiseScaledGemmNumerics) {
  const TemporaryFolder folder;
  folder.Write("results0.csv", "GemmTunableOp_float_NN,nn_4_5_6,Default\n");
  FakeTunable tunable(VariablesIn(folder));
  const Problem problem = ProblemOf(kSmall);

  const auto hit = tunable.context().Lookup(problem);

  ASSERT_TRUE(hit);
  EXPECT_EQ(hit->candidate, tunable.DefaultOf(problem));
  // The override serves a right result, as a tuning does.
  EXPECT_TRUE(
      IsClose(FakeTunable::Expected(problem.Get<Gemm>()), tunable.Run(problem, hit->candidate)));
  tunable.context().Clear();
  TuneAndCompare(tunable, kSmall);
}

TEST(TunableOpAcceptance, Tf32) {
  const TemporaryFolder folder;
  FakeTunable tunable(VariablesIn(folder));
  ASSERT_TRUE(tunable.context().TuneMiss(ProblemOf(kSmall)).ok());
  const Problem tf32 = ProblemOf("gemm@1{m=4,n=5,k=6,math=tf32}");

  EXPECT_FALSE(tunable.context().Lookup(tf32));

  ASSERT_TRUE(tunable.context().TuneMiss(tf32).ok());
  EXPECT_THAT(KeysOf(folder.Read("results0.csv")),
              testing::ElementsAre("GemmTunableOp_float_NN,nn_4_5_6_ld_4_6_4",
                                   "GemmTunableOp_tf32_NN,nn_4_5_6_ld_4_6_4"));
}

TEST(TunableOpAcceptance, BlasLog) {
  const TemporaryFolder folder;
  FakeTunable tunable(VariablesIn(folder, {{"ATTUNE_TUNABLE_BLAS_LOG", "1"}}));
  FakeTunable records(VariablesIn(folder, {{"ATTUNE_TUNABLE_BLAS_LOG", "1"},
                                           {"ATTUNE_TUNABLE_TUNING", "0"},
                                           {"ATTUNE_TUNABLE_RECORD_UNTUNED", "1"}}));

  ASSERT_TRUE(records.context().RecordMiss(ProblemOf(kSmall)).ok());
  ASSERT_TRUE(tunable.context().TuneMiss(ProblemOf(kSmall)).ok());

  const auto column = [](const std::string& content, int index) {
    std::string line = content;
    if (line.ends_with('\n')) line.pop_back();
    line.erase(0, line.rfind('\n') + 1);
    for (int i = 0; i < index; ++i) line.erase(0, line.find(',') + 1);
    return line;
  };
  EXPECT_THAT(column(folder.Read("untuned0.csv"), 2),
              StartsWith("BLAS_PARAMS: - { function: matmul, M: 4, N: 5, K: 6,"));
  EXPECT_THAT(column(folder.Read("results0.csv"), 4),
              StartsWith("BLAS_PARAMS: - { function: matmul, M: 4, N: 5, K: 6,"));
}

TEST(TunableOpAcceptance, OpsAppendToExistingFile) {
  const TemporaryFolder folder;
  ASSERT_TRUE(FakeTunable(VariablesIn(folder)).context().TuneMiss(ProblemOf(kSmall)).ok());
  const std::string before = folder.Read("results0.csv");

  FakeTunable next(VariablesIn(folder));
  ASSERT_TRUE(next.context().TuneMiss(ProblemOf("gemm@1{m=9,n=9,k=9}")).ok());

  EXPECT_THAT(folder.Read("results0.csv"), StartsWith(before));
  EXPECT_EQ(KeysOf(folder.Read("results0.csv")).size(), 2u);
}

TEST(TunableOpAcceptance, MatmulEmptyExistingFile) {
  const TemporaryFolder folder;
  folder.Write("results0.csv", "");
  FakeTunable tunable(VariablesIn(folder));

  ASSERT_TRUE(tunable.context().TuneMiss(ProblemOf(kSmall)).ok());

  const ResultsFile file = ParseResultsFile(folder.Read("results0.csv"));
  EXPECT_EQ(file.sections.size(), 1u);
  EXPECT_EQ(file.sections.front(), tunable.context().validators());
  EXPECT_EQ(KeysOf(folder.Read("results0.csv")).size(), 1u);
}

TEST(TunableOpAcceptance, CallCount) {
  const TemporaryFolder folder;
  for (const char* text : {kSmall, "gemm@1{m=4,n=5,k=6,bias=row}", "gemm@1{m=4,n=5,k=6,batch=2}"}) {
    // A launch that fails from the second one on says how many a call makes.
    FakeTunable tunable(VariablesIn(folder), 0, "fake.tiled fault=launch_fails at_launch=2");
    const Problem problem = ProblemOf(text);
    ASSERT_TRUE(
        tunable.context()
            .AddResult(problem, {*ParseCandidate("fake.tiled@1{threads=1,tile=4,unroll=1}"), 1000})
            .ok());
    const auto serving = tunable.Serve(problem);
    ASSERT_TRUE(serving.ok());
    ASSERT_EQ(serving->plan->option().candidate.solver.name, "fake.tiled");
    std::vector<std::vector<float>> memory;
    std::vector<BufferView> views;
    for (const Operand& operand : Operands(problem)) {
      memory.emplace_back(static_cast<size_t>(SpanElements(operand.tensor)), 1.0f);
    }
    for (std::vector<float>& values : memory) views.push_back({values.data(), 0});
    Arguments arguments;
    arguments.operands = views;

    EXPECT_TRUE(serving->plan->Run(arguments).ok()) << text;
    EXPECT_FALSE(serving->plan->Run(arguments).ok()) << text;
  }
}

TEST(TunableOpAcceptance, NumericalCheckAccuracy) {
  const TemporaryFolder folder;
  FakeTunable tunable(VariablesIn(folder, {{"ATTUNE_TUNABLE_NUMERICAL_CHECK", "1e-2_1e-1"}}));
  const NumericalCheck check = tunable.context().settings().numerical_check;
  ASSERT_TRUE(check.enabled);
  for (const char* text :
       {"gemm@1{m=13,n=7,k=17}", "gemm@1{m=1,n=19,k=3,ta=t}", "gemm@1{m=11,n=1,k=23,tb=t}"}) {
    const Problem problem = ProblemOf(text);
    ASSERT_TRUE(tunable.context().TuneMiss(problem).ok());
    const auto winner = tunable.Run(problem, tunable.context().Lookup(problem)->candidate);
    const auto baseline = tunable.Run(problem, tunable.DefaultOf(problem));

    const auto verdict =
        CompareOutputs({check.atol, check.rtol}, Operands(problem).back().tensor,
                       std::as_bytes(std::span(baseline)), std::as_bytes(std::span(winner)));

    ASSERT_TRUE(verdict.ok());
    EXPECT_TRUE(verdict->agrees) << text;
  }
  for (const RecordedSet& set : tunable.Sets()) {
    EXPECT_THAT(set.set.environment, Contains(Pair("tuning.output_check", "0.01_0.1")));
  }
}

TEST(TunableOpAcceptance, NumericCheckLeak) {
  const TemporaryFolder folder;
  FakeTunable tunable(VariablesIn(folder, {{"ATTUNE_TUNABLE_NUMERICAL_CHECK", "1e-2_1e-1"}}));
  ASSERT_TRUE(tunable.context().TuneMiss(ProblemOf(kSmall)).ok());
  const int after_first = tunable.live_buffers();

  for (const int m : {5, 6, 7}) {
    const Problem problem = ProblemOf(fmt::format("gemm@1{{m={},n=5,k=6,batch=2}}", m));
    ASSERT_TRUE(tunable.context().TuneMiss(problem).ok());
  }

  EXPECT_LE(tunable.live_buffers(), after_first);
  ASSERT_EQ(tunable.Sets().size(), 4u);
  for (const RecordedSet& set : tunable.Sets()) {
    EXPECT_THAT(set.set.environment, Contains(Key("tuning.output_check")));
  }
}

TEST(TunableOpAcceptance, AddmmRelu) {
  const TemporaryFolder folder;
  FakeTunable tunable(VariablesIn(folder));
  // The output holds NaN before where beta is zero.
  for (const char* transposes : {"", ",ta=t", ",tb=t", ",ta=t,tb=t"}) {
    for (const char* beta : {"", ",beta=one"}) {
      for (const char* activation : {"", ",act=relu"}) {
        TuneAndCompare(tunable, fmt::format("gemm@1{{m=4,n=5,k=6{}{},bias=row{}}}", transposes,
                                            beta, activation));
      }
    }
  }

  EXPECT_EQ(tunable.tunings(), 16);
}

TEST(TunableOpAcceptance, TuningMeasurementMode) {
  const TemporaryFolder folder;
  FakeTunable tunable(VariablesIn(folder));
  TunableContext& context = tunable.context();

  EXPECT_EQ(Name(context.settings().measurement_mode), "device_events");
  EXPECT_TRUE(context.Set(TunableVariable::kTuningMeasurementMode, "cuda_kernel_profile").ok());
  EXPECT_EQ(Name(context.settings().measurement_mode), "kernel_profile");
  EXPECT_EQ(context.Set(TunableVariable::kTuningMeasurementMode, "stopwatch").code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(Name(context.settings().measurement_mode), "kernel_profile");
  // Neither it nor the flush changes a tuning.
  const TuningTerms before = TermsOf(FakeTunable(VariablesIn(folder)).context());
  EXPECT_TRUE(context.Set(TunableVariable::kIcacheFlushEnabled, "0").ok());
  EXPECT_EQ(TermsOf(context), before);
  TuneAndCompare(tunable, kSmall);
}

}  // namespace
}  // namespace attune
