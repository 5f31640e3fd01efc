// oneDNN's candidates against a naive computation, through the plug-in as programs load it.
#include <cstdlib>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/ops/conv/conv.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/solver/plugin.h"
#include "backends/host/conv/candidate_check.h"
#include "backends/host/conv/conv_cases.h"

namespace attune {
namespace {

using host::CandidateCheck;
using host::CheckOutcome;
using host::ConvCase;
using host::TestTarget;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kF32Error = 2e-5;  // Winograd loses three digits against the direct form.
constexpr double kBf16Error = 8e-3;

const PluginDescription& Plugin() {
  const auto plugin = LoadPlugin("onednn");
  EXPECT_TRUE(plugin.ok()) << plugin.status().ToString();
  return **plugin;
}

class OneDnn : public ::testing::Test {
 protected:
  const Solver& Named(const std::string& name) {
    const Solver* solver = FindSolver(solvers_, {name, 1});
    EXPECT_NE(solver, nullptr);
    return *solver;
  }
  // Every config on `threads` threads.
  void CheckAll(const Solver& solver, const Problem& problem, double tolerance) {
    const auto space = solver.Space(problem, TestTarget(2));
    ASSERT_TRUE(space.ok()) << space.status().ToString();
    const CandidateCheck check(problem, 7);
    for (uint64_t i = 0; i < space->size(); ++i) {
      const Config config = space->At(i);
      if (i > 0 && IntegerAt(config, "threads") != 2) continue;
      const CheckOutcome outcome = check.Run(solver, config);
      EXPECT_THAT(outcome.complaint, IsEmpty()) << Text(problem) << " " << Text(config);
      EXPECT_LT(outcome.worst_error, tolerance) << Text(problem) << " " << Text(config);
    }
  }

  SolverList solvers_ = Plugin().make_solvers();
};

TEST_F(OneDnn, EveryConvolutionCandidateIsRightInEveryForm) {
  const Solver& solver = Named("host.onednn-conv");
  for (const ConvCase& test : host::ConvCasesInAllForms(DataType::kF32)) {
    SCOPED_TRACE(test.name);
    ASSERT_TRUE(solver.IsApplicable(test.conv, TestTarget(2)).ok());
    CheckAll(solver, test.conv, kF32Error);
  }
}

TEST_F(OneDnn, Bf16ConvolutionsAreRightWhereTheLibraryTakesThem) {
  const Solver& solver = Named("host.onednn-conv");
  for (const ConvCase& test : host::ConvCasesInAllForms(DataType::kBf16)) {
    SCOPED_TRACE(test.name);
    if (!solver.IsApplicable(test.conv, TestTarget(2)).ok()) continue;
    CheckAll(solver, test.conv, kBf16Error);
  }
}

TEST_F(OneDnn, FirstConvolutionConfigIsTheLibrarysOwnChoiceOnAllThreads) {
  Conv conv;
  conv.batch = 2;
  conv.in_channels = conv.out_channels = 32;
  conv.in = {1, 28, 28};
  conv.filter = {1, 3, 3};
  conv.pad = {0, 1, 1};

  const auto space = Named("host.onednn-conv").Space(conv, TestTarget(2));

  ASSERT_TRUE(space.ok());
  EXPECT_EQ(StringAt(space->At(0), "layout"), "any");
  EXPECT_EQ(IntegerAt(space->At(0), "threads"), 2);
}

TEST_F(OneDnn, DefaultIsTheFirstConfigOfTheSpace) {
  std::vector<std::pair<std::string, Problem>> problems;
  for (const DataType type : {DataType::kF32, DataType::kBf16}) {
    for (const ConvCase& test : host::ConvCasesInAllForms(type)) {
      problems.emplace_back("host.onednn-conv", test.conv);
    }
    for (const int64_t extent : {1, 17, 64, 300}) {
      Gemm gemm{.m = extent, .n = 40, .k = 33};
      gemm.type = gemm.c_type = type;
      problems.emplace_back("host.onednn-gemm", Normalized(gemm));
      gemm.trans_b = Transpose::kYes;
      gemm.beta = ScalarClass::kOther;
      problems.emplace_back("host.onednn-gemm", Normalized(gemm));
    }
  }
  int compared = 0;
  for (const auto& [name, problem] : problems) {
    const Solver& solver = Named(name);
    if (!solver.IsApplicable(problem, TestTarget(2)).ok()) continue;
    const auto space = solver.Space(problem, TestTarget(2));
    ASSERT_TRUE(space.ok()) << space.status().ToString();

    const auto config = solver.DefaultConfig(problem, TestTarget(2));

    ASSERT_TRUE(config.ok()) << config.status().ToString();
    EXPECT_EQ(*config, space->At(0)) << name << " " << Text(problem);
    ++compared;
  }
  EXPECT_GT(compared, 20);
}

TEST_F(OneDnn, ImplementationNamesAreTheSameEveryTimeAndNameOneImplementationEach) {
  const Solver& solver = Named("host.onednn-conv");
  for (const ConvCase& test : host::ConvCases()) {
    const auto first = solver.Space(test.conv, TestTarget(2));
    const auto second = solver.Space(test.conv, TestTarget(2));
    ASSERT_TRUE(first.ok() && second.ok());
    std::set<std::string> texts;

    for (uint64_t i = 0; i < first->size(); ++i) texts.insert(Text(first->At(i)));

    EXPECT_EQ(texts.size(), first->size()) << test.name;
    EXPECT_EQ(first->parameters(), second->parameters()) << test.name;
  }
}

TEST_F(OneDnn, CandidateTextOfEveryConfigReadsBack) {
  const Solver& solver = Named("host.onednn-conv");
  for (const ConvCase& test : host::ConvCases()) {
    const auto space = solver.Space(test.conv, TestTarget(2));
    ASSERT_TRUE(space.ok());
    for (uint64_t i = 0; i < space->size(); ++i) {
      const Candidate candidate{solver.id(), space->At(i)};

      const auto parsed = ParseCandidate(Text(candidate));

      ASSERT_TRUE(parsed.ok()) << Text(candidate);
      EXPECT_EQ(*parsed, candidate);
    }
  }
}

TEST_F(OneDnn, ReferenceLoopsAreNoChoiceBesideAnotherOne) {
  const Solver& solver = Named("host.onednn-conv");
  for (const ConvCase& test : host::ConvCases()) {
    const auto space = solver.Space(test.conv, TestTarget(2));
    ASSERT_TRUE(space.ok());
    const auto& names = space->parameters()[0].values;
    for (const ParameterValue& name : names) {
      const bool is_reference = std::get<std::string>(name).starts_with("ref");
      EXPECT_TRUE(!is_reference || names.size() == 1) << test.name;
    }
  }
}

TEST_F(OneDnn, TransposedConvolutionsAreRefusedWithTheReason) {
  Conv conv;
  conv.mode = ConvMode::kTransposed;

  const Status status = Named("host.onednn-conv").IsApplicable(conv, TestTarget(2));

  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_THAT(status.message(), HasSubstr("transposed"));
}

TEST_F(OneDnn, ImagesWithMorePixelsThanTheLibraryCountsAreRefusedUnasked) {
  Conv conv;
  conv.in = {1, 2147483647, 200};

  const Status status = Named("host.onednn-conv").IsApplicable(conv, TestTarget(2));

  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_THAT(status.message(), HasSubstr("at most 2147483647 pixels"));
}

TEST_F(OneDnn, UnknownImplementationFailsToLoadByName) {
  const Solver& solver = Named("host.onednn-conv");
  const Conv conv;
  Config config = solver.Space(conv, TestTarget(2))->At(0);
  config["impl"] = std::string("jit:imagined");

  const CheckOutcome outcome = CandidateCheck(conv, 1).Run(solver, config);

  EXPECT_THAT(outcome.complaint, HasSubstr("jit:imagined"));
}

TEST_F(OneDnn, EveryProductCandidateIsRightForEveryTransposition) {
  const Solver& solver = Named("host.onednn-gemm");
  for (const Transpose trans_a : {Transpose::kNo, Transpose::kYes}) {
    for (const Transpose trans_b : {Transpose::kNo, Transpose::kYes}) {
      Gemm gemm;
      gemm.m = 37;
      gemm.n = 21;
      gemm.k = 19;
      gemm.trans_a = trans_a;
      gemm.trans_b = trans_b;
      gemm.lda = 41;
      gemm.ldb = 40;
      gemm.ldc = 43;
      CheckAll(solver, Normalized(gemm), kF32Error);
    }
  }
}

TEST_F(OneDnn, AlphaBetaBiasAndActivationAreAppliedInTheRightOrder) {
  const Solver& solver = Named("host.onednn-gemm");
  for (const ScalarClass alpha : {ScalarClass::kOne, ScalarClass::kOther}) {
    for (const ScalarClass beta : {ScalarClass::kZero, ScalarClass::kOne, ScalarClass::kOther}) {
      for (const Bias bias : {Bias::kNone, Bias::kPerRow, Bias::kPerColumn}) {
        for (const Activation activation : {Activation::kNone, Activation::kRelu, Activation::kGelu,
                                            Activation::kTanh, Activation::kSigmoid}) {
          Gemm gemm = PackedGemm(18, 11, 23);
          gemm.alpha = alpha;
          gemm.beta = beta;
          gemm.bias = bias;
          gemm.activation = activation;
          CheckAll(solver, gemm, kF32Error);
        }
      }
    }
  }
}

TEST_F(OneDnn, BatchesAreRightWithOwnAndWithSharedMatrices) {
  const Solver& solver = Named("host.onednn-gemm");
  Gemm gemm = PackedGemm(9, 14, 20);
  gemm.batch_count = 3;
  gemm.stride_a = 9 * 20 + 5;
  gemm.stride_b = 14 * 20;
  gemm.stride_c = 9 * 14 + 2;
  gemm.bias = Bias::kPerRow;
  CheckAll(solver, gemm, kF32Error);

  gemm.stride_a = 0;

  CheckAll(solver, gemm, kF32Error);
}

TEST_F(OneDnn, Bf16ProductsAreRightWhereTheLibraryTakesThem) {
  const Solver& solver = Named("host.onednn-gemm");
  for (const DataType out : {DataType::kBf16, DataType::kF32}) {
    Gemm gemm = PackedGemm(33, 17, 50, DataType::kBf16);
    gemm.c_type = out;
    if (!solver.IsApplicable(gemm, TestTarget(2)).ok()) continue;
    CheckAll(solver, gemm, out == DataType::kF32 ? kF32Error : kBf16Error);
  }
}

// oneDNN saturates sums of two products there, for some values only.
TEST_F(OneDnn, Int8ProductsAreRefusedWhereTheProcessorDoesNotSumThemExactly) {
  Gemm gemm = PackedGemm(32, 16, 64, DataType::kI8);
  gemm.c_type = DataType::kI32;
  Target target = TestTarget(2);
  target.properties["isa"] = "avx2,f16c,fma";

  const Status refused = Named("host.onednn-gemm").IsApplicable(gemm, target);

  EXPECT_EQ(refused.code(), StatusCode::kUnsupported);
  EXPECT_THAT(refused.message(), HasSubstr("avx2,f16c,fma"));
  for (const char* isa : {"avx2,avxvnni", "avx512f,avx512vnni", "amx-int8"}) {
    target.properties["isa"] = isa;
    EXPECT_TRUE(Named("host.onednn-gemm").IsApplicable(gemm, target).ok()) << isa;
  }
}

// oneDNN computes all steps after the sum in f32, which holds 24 bits.
TEST_F(OneDnn, Int8ProductsAreRefusedUnlessTheyArePlainSums) {
  Gemm plain = PackedGemm(32, 16, 64, DataType::kI8);
  plain.c_type = DataType::kI32;
  Target target = TestTarget(2);
  target.properties["isa"] = "avx512f,avx512vnni";
  std::vector<Gemm> others(4, plain);
  others[0].alpha = ScalarClass::kOther;
  others[1].beta = ScalarClass::kOne;
  others[2].bias = Bias::kPerRow;
  others[3].activation = Activation::kRelu;

  EXPECT_TRUE(Named("host.onednn-gemm").IsApplicable(plain, target).ok());
  for (const Gemm& other : others) {
    const Status refused = Named("host.onednn-gemm").IsApplicable(other, target);
    EXPECT_EQ(refused.code(), StatusCode::kUnsupported) << Text(Problem(other));
    EXPECT_THAT(refused.message(), HasSubstr("rounds"));
  }
}

TEST_F(OneDnn, MoreImagesThanItCountsAreRefusedAtOnce) {
  Conv conv;
  conv.batch = (int64_t{1} << 31) - 1;
  conv.in_channels = conv.out_channels = 2;
  conv.in = {1, 8, 8};

  const Status refused = Named("host.onednn-conv").IsApplicable(conv, TestTarget(2));

  EXPECT_EQ(refused.code(), StatusCode::kUnsupported);
  EXPECT_THAT(refused.message(), HasSubstr("2147483647"));
}

TEST_F(OneDnn, DoublePrecisionIsRefusedByName) {
  const Status status =
      Named("host.onednn-gemm").IsApplicable(PackedGemm(4, 4, 4, DataType::kF64), TestTarget(2));

  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_THAT(status.message(), HasSubstr("f64"));
}

TEST(OneDnnPlugin, ReportNamesVersionFileAndBuild) {
  const LibraryReport report = Plugin().report();

  EXPECT_EQ(report.name, "onednn");
  EXPECT_TRUE(report.available);
  EXPECT_THAT(report.version, ::testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
  EXPECT_THAT(report.path, HasSubstr("dnnl"));
  EXPECT_GE(report.build_id.size(), 16u);
}

TEST(OneDnnPlugin, MissingFileIsUnavailableWithItsPlace) {
  ::setenv("ATTUNE_PLUGIN_PATH", "/nonexistent", 1);

  const auto plugin = LoadPlugin("onednn");

  ::unsetenv("ATTUNE_PLUGIN_PATH");
  ASSERT_FALSE(plugin.ok());
  EXPECT_EQ(plugin.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(plugin.status().message(), HasSubstr("/nonexistent/attune_onednn.so"));
}

}  // namespace
}  // namespace attune
