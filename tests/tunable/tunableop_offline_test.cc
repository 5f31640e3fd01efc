// PyTorch's tests of TunableOp that record first and tune off line.
#include <atomic>
#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "attune/base/file.h"
#include "attune/ops/gemm/gemm.h"
#include "tests/tunable/fake_tunable.h"

namespace attune {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::StartsWith;

// Misses `problems` with tuning off.
void Record(const TemporaryFolder& folder, const std::vector<std::string>& problems,
            int ordinal = 0) {
  FakeTunable tunable(
      VariablesIn(folder, {{"ATTUNE_TUNABLE_TUNING", "0"}, {"ATTUNE_TUNABLE_RECORD_UNTUNED", "1"}}),
      ordinal);
  for (const std::string& text : problems) {
    const Problem problem = ProblemOf(text);
    EXPECT_FALSE(tunable.context().Lookup(problem));
    EXPECT_TRUE(tunable.context().RecordMiss(problem).ok());
  }
}

// Every (op, params) of the untuned file is in the results file.
void ExpectCovered(const std::string& untuned, const std::string& results) {
  const auto keys = KeysOf(results);
  for (const UntunedProblem& problem : ParseUntunedFile(untuned).problems) {
    EXPECT_THAT(keys, Contains(fmt::format("{},{}", problem.key.op, problem.key.params)));
  }
}

// A tuner that takes anything, for operators that no solver here computes.
std::unique_ptr<TunableContext> MakeScripted(const TemporaryFolder& folder) {
  TunableParts parts;
  parts.here = {"0.1.0", {"fake", "Fake", "none", 1, {}}, {}};
  parts.tune = [](const Problem&) -> Result<TunedCandidate> {
    return TunedCandidate{*ParseCandidate("fake.any@1{}"), 1000};
  };
  parts.log = [](std::string_view) {};
  return std::make_unique<TunableContext>(parts,
                                          *TunableSwitches::FromEnvironment(VariablesIn(folder)));
}

std::string ScaledLines(int count) {
  std::string lines;
  for (int i = 1; i <= count; ++i) {
    lines += fmt::format(
        "ScaledGemmTunableOp_Float8_e4m3fn_Float8_e4m3fn_BFloat16_TN,tn_{0}_32_64_ld_64_64_{0}_rw_{"
        "1}"
        "_bias_None\n",
        16 * i, i % 2);
  }
  return lines;
}

TEST(TunableOpAcceptance, MatmulOffline) {
  const TemporaryFolder folder;
  std::vector<std::string> problems;
  for (const char* transposes : {"", ",tb=t", ",ta=t", ",ta=t,tb=t"}) {
    problems.push_back(fmt::format("gemm@1{{m=4,n=5,k=6{}}}", transposes));
    problems.push_back(fmt::format("gemm@1{{m=4,n=5,k=6,batch=3{}}}", transposes));
  }
  Record(folder, problems);
  FakeTunable tunable(VariablesIn(folder));

  const auto report = TuneFile(folder / "untuned0.csv", tunable.context());

  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->tuned, 8);
  EXPECT_TRUE(report->failed.empty());
  ExpectCovered(folder.Read("untuned0.csv"), folder.Read("results0.csv"));
  for (const std::string& text : problems) {
    EXPECT_TRUE(tunable.context().Lookup(ProblemOf(text))) << text;
  }
}

TEST(TunableOpAcceptance, MatmulOfflineOfShapesWithOnes) {
  // TunableOp leaves these out.
  const TemporaryFolder folder;
  Record(folder, {"gemm@1{m=1,n=5,k=6}", "gemm@1{m=4,n=1,k=6,batch=2}", "gemm@1{m=4,n=5,k=1}"});
  FakeTunable tunable(VariablesIn(folder));

  EXPECT_EQ(TuneFile(folder / "untuned0.csv", tunable.context())->tuned, 3);
}

TEST(TunableOpAcceptance, ScaledGemmOffline) {
  const TemporaryFolder folder;
  folder.Write("untuned0.csv", ScaledLines(6));
  const auto context = MakeScripted(folder);

  const auto report = TuneFile(folder / "untuned0.csv", *context);

  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->tuned, 6);
  EXPECT_EQ(context->results().size(), 6u);
  ExpectCovered(folder.Read("untuned0.csv"), folder.Read("results0.csv"));
}

TEST(TunableOpAcceptance, ScaledGemm) {
  const TemporaryFolder folder;
  const auto context = MakeScripted(folder);
  for (const UntunedProblem& untuned : ParseUntunedFile(ScaledLines(6)).problems) {
    ASSERT_TRUE(context->TuneMiss(untuned.problem).ok());
    ASSERT_TRUE(context->TuneMiss(untuned.problem).ok());
  }

  EXPECT_EQ(KeysOf(folder.Read("results0.csv")).size(), 6u);
}

TEST(TunableOpAcceptance, ScaledGemmThatNothingComputesIsNamed) {
  const TemporaryFolder folder;
  folder.Write("untuned0.csv", ScaledLines(1));
  FakeTunable tunable(VariablesIn(folder));

  const auto report = TuneFile(folder / "untuned0.csv", tunable.context());

  ASSERT_EQ(report->failed.size(), 1u);
  EXPECT_FALSE(report->failed[0].status.message().empty());
}

// Untuned files of two devices, and contexts of two that tune them.
class TunableOpAcceptanceMgpu : public testing::Test {
 protected:
  void RecordOnBoth() {
    Record(folder_, {"gemm@1{m=4,n=5,k=6}", "gemm@1{m=5,n=5,k=6}"}, 0);
    Record(folder_, {"gemm@1{m=4,n=5,k=6}", "gemm@1{m=6,n=5,k=6}", "gemm@1{m=7,n=5,k=6}"}, 1);
  }
  Result<OfflineReport> Tune(const std::string& pattern) {
    const OfflineDevice devices[] = {DeviceOf(first_.context()), DeviceOf(second_.context())};
    return TuneFiles(folder_ / pattern, devices);
  }
  bool Exists(const char* name) const { return std::filesystem::exists(folder_ / name); }
  void ExpectNoResults() const {
    for (const char* name :
         {"results0.csv", "results1.csv", "results_full0.csv", "results_full1.csv"}) {
      EXPECT_FALSE(Exists(name)) << name;
    }
  }

  const TemporaryFolder folder_;
  FakeTunable first_{VariablesIn(folder_), 0};
  FakeTunable second_{VariablesIn(folder_), 1};
};

TEST_F(TunableOpAcceptanceMgpu, MatmulOfflineMgpu) {
  RecordOnBoth();

  const auto report = Tune("untuned?.csv");

  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->tuned, 4);
  EXPECT_EQ(Complaints(*report), "");
  for (const char* name : {"results0.csv", "results1.csv"}) {
    EXPECT_EQ(KeysOf(folder_.Read(name)).size(), 2u);
    EXPECT_GT(folder_.Read("results_full0.csv").size(), folder_.Read(name).size());
  }
  EXPECT_EQ(KeysOf(folder_.Read("results_full0.csv")).size(), 4u);
  EXPECT_EQ(folder_.Read("results_full0.csv"), folder_.Read("results_full1.csv"));
  EXPECT_THAT(report->full_files,
              testing::ElementsAre(folder_ / "results_full0.csv", folder_ / "results_full1.csv"));
  for (const char* name : {"untuned0.csv", "untuned1.csv"}) {
    ExpectCovered(folder_.Read(name), folder_.Read("results_full0.csv"));
  }
  // One section, under the validators of these devices.
  const ResultsFile full = ParseResultsFile(folder_.Read("results_full0.csv"));
  ASSERT_EQ(full.sections.size(), 1u);
  EXPECT_EQ(full.sections.front(), first_.context().validators());
}

TEST_F(TunableOpAcceptanceMgpu, WhatIsGatheredServesWithTuningOff) {
  RecordOnBoth();
  ASSERT_TRUE(Tune("untuned*.csv").ok());

  FakeTunable serving(
      VariablesIn(folder_, {{"ATTUNE_TUNABLE_TUNING", "0"},
                            {"ATTUNE_TUNABLE_FILENAME", folder_ / "results_full%d.csv"}}));

  for (const int m : {4, 5, 6, 7}) {
    EXPECT_TRUE(serving.context().Lookup(ProblemOf(fmt::format("gemm@1{{m={},n=5,k=6}}", m))));
  }
}

TEST_F(TunableOpAcceptanceMgpu, TheSameCallAgainTunesNothing) {
  RecordOnBoth();
  ASSERT_TRUE(Tune("untuned?.csv").ok());
  const std::string full = folder_.Read("results_full0.csv");

  const auto again = Tune("untuned?.csv");

  EXPECT_EQ(again->tuned, 0);
  EXPECT_EQ(again->known, 4);
  EXPECT_EQ(folder_.Read("results_full0.csv"), full);
}

TEST_F(TunableOpAcceptanceMgpu, APatternWithoutAWildcardIsAnErrorAndWritesNothing) {
  RecordOnBoth();

  const auto report = Tune("untuned0.csv");

  EXPECT_EQ(report.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(report.status().message(), HasSubstr("untuned0.csv' has no wildcard"));
  EXPECT_EQ(Tune("absent*.csv").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(TuneFiles(folder_ / "untuned*.csv", {}).status().code(), StatusCode::kInvalidArgument);
  ExpectNoResults();
}

TEST_F(TunableOpAcceptanceMgpu, APatternThatMatchesResultsIsAnErrorAndWritesNothing) {
  RecordOnBoth();

  const auto report = Tune("*.csv");

  EXPECT_EQ(report.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(report.status().message(), HasSubstr("results_full0.csv', too"));
  EXPECT_EQ(Tune("*_full1.c?v").status().code(), StatusCode::kNotFound);
  ExpectNoResults();
  // By another name.
  ASSERT_TRUE(Tune("untuned?.csv").ok());
  std::filesystem::create_symlink(folder_ / "results1.csv", folder_ / "untuned9.csv");
  EXPECT_THAT(Tune("untuned?.csv").status().message(), HasSubstr("results1.csv', too"));
}

TEST_F(TunableOpAcceptanceMgpu, AFileThatCannotBeReadIsAnErrorAndWritesNothing) {
  RecordOnBoth();
  std::filesystem::create_directory(folder_ / "untuned2.csv");

  const auto report = Tune("untuned*.csv");

  EXPECT_THAT(report.status().message(), HasSubstr("untuned2.csv"));
  ExpectNoResults();
}

TEST_F(TunableOpAcceptanceMgpu, GarbageIsNamedWithItsFileAndLine) {
  folder_.Write("untuned0.csv", "GemmTunableOp_float_NN,nn_4_5_6\n\ngarbage\n");
  folder_.Write("untuned1.csv",
                "Gemm\xff,\n# remark\nGemmTunableOp_float_NN,nn_4_5_6\n"
                "GemmTunableOp_float_NN,nn_*_5_6_ld_*_6_*\nGemmTunableOp_float_NN,nn_0_5_6\n");

  const auto report = Tune("untuned?.csv");

  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->tuned, 1);
  EXPECT_EQ(report->wildcards, 1);
  ASSERT_EQ(report->unreadable.size(), 3u);
  EXPECT_THAT(Complaints(*report),
              testing::AllOf(HasSubstr("untuned0.csv:3: "), HasSubstr("untuned1.csv:1: "),
                             HasSubstr("untuned1.csv:5: ")));
  EXPECT_TRUE(StatusOf(*report).ok());
}

TEST_F(TunableOpAcceptanceMgpu, LinesOfOneProblemAreTunedOnceByOneDevice) {
  folder_.Write("untuned0.csv",
                "GemmTunableOp_float_NN,nn_4_5_6\nGemmTunableOp_float_NN,nn_4_5_6\n");
  folder_.Write("untuned1.csv",
                "GemmTunableOp_float_NN,nn_4_5_6_ld_4_6_4\nGemmTunableOp_float_NN,nn_4_5_6\n");

  const auto report = Tune("untuned?.csv");

  EXPECT_EQ(report->tuned, 1);
  EXPECT_EQ(first_.tunings() + second_.tunings(), 1);
  ExpectCovered(folder_.Read("untuned0.csv"), folder_.Read("results_full0.csv"));
  ExpectCovered(folder_.Read("untuned1.csv"), folder_.Read("results_full0.csv"));
}

TEST_F(TunableOpAcceptanceMgpu, ADeviceThatCannotBeOpenedCostsItsShareAlone) {
  RecordOnBoth();
  const OfflineDevice devices[] = {DeviceOf(first_.context()),
                                   {"fake:1", 1, Unavailable("It does not answer.")}};

  const auto report = TuneFiles(folder_ / "untuned?.csv", devices);

  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->tuned, 2);
  EXPECT_EQ(report->failed.size(), 2u);
  ASSERT_EQ(report->failed_devices.size(), 1u);
  EXPECT_EQ(report->failed_devices.front().without_result.size(), 2u);
  EXPECT_EQ(StatusOf(*report).code(), StatusCode::kUnavailable);
  EXPECT_EQ(Complaints(*report),
            "fake:1 failed: It does not answer. Without a result: "
            "GemmTunableOp_float_NN,nn_5_5_6_ld_5_6_5; GemmTunableOp_float_NN,nn_7_5_6_ld_7_6_7.");
  EXPECT_EQ(KeysOf(folder_.Read("results_full0.csv")).size(), 2u);
  EXPECT_EQ(folder_.Read("results_full0.csv"), folder_.Read("results_full1.csv"));
  EXPECT_FALSE(Exists("results1.csv"));
  const OfflineDevice nobody[] = {{"fake", 0, Unavailable("It does not answer.")}};
  EXPECT_THAT(TuneFiles(folder_ / "untuned?.csv", nobody).status().message(),
              HasSubstr("None of 1 devices can be used"));
}

TEST_F(TunableOpAcceptanceMgpu, ADeviceThatDiesMeanwhileIsGivenUpAndNamed) {
  std::string lines;
  for (int m = 1; m <= 10; ++m) {
    lines += fmt::format("GemmTunableOp_float_NN,nn_{0}_5_6_ld_{0}_6_{0}\n", m);
  }
  folder_.Write("untuned0.csv", lines);
  std::atomic<int> asked = 0;
  TunableParts parts;
  parts.here = first_.context().parts().here;
  parts.device_ordinal = 1;
  parts.tune = [&](const Problem&) -> Result<TunedCandidate> {
    ++asked;
    return Unavailable("The tuner ended before it answered.");
  };
  parts.log = [](std::string_view) {};
  TunableContext dying(parts, *TunableSwitches::FromEnvironment(VariablesIn(folder_)));
  const OfflineDevice devices[] = {DeviceOf(first_.context()), DeviceOf(dying)};

  const auto report = TuneFiles(folder_ / "untuned*.csv", devices);

  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(asked, 3);
  EXPECT_EQ(report->tuned, 5);
  ASSERT_EQ(report->failed_devices.size(), 1u);
  EXPECT_EQ(report->failed_devices.front().without_result.size(), 5u);
  EXPECT_THAT(Complaints(*report),
              testing::AllOf(StartsWith("fake:1 failed: The tuner ended before it answered."),
                             HasSubstr("nn_2_5_6"), HasSubstr("nn_10_5_6")));
  EXPECT_EQ(KeysOf(folder_.Read("results_full1.csv")).size(), 5u);
}

TEST(TunableOpAcceptance, GemmBiasOffline) {
  const TemporaryFolder folder;
  Record(folder, {"gemm@1{m=4,n=5,k=6,ta=t,bias=row}", "gemm@1{m=4,n=5,k=6,tb=t,bias=row}"});
  FakeTunable tunable(VariablesIn(folder));

  EXPECT_EQ(TuneFile(folder / "untuned0.csv", tunable.context())->tuned, 2);

  EXPECT_EQ(tunable.context().results().size(), 2u);
  ExpectCovered(folder.Read("untuned0.csv"), folder.Read("results0.csv"));
}

TEST(TunableOpAcceptance, Tf32Offline) {
  const TemporaryFolder folder;
  Record(folder, {"gemm@1{m=4,n=5,k=6}", "gemm@1{m=4,n=5,k=6,math=tf32}"});
  FakeTunable tunable(VariablesIn(folder));

  EXPECT_EQ(TuneFile(folder / "untuned0.csv", tunable.context())->tuned, 2);

  ExpectCovered(folder.Read("untuned0.csv"), folder.Read("results0.csv"));
}

TEST(TunableOpAcceptance, MmSubmatrixOffline) {
  const TemporaryFolder folder;
  std::vector<std::string> problems;
  for (const char* transposes : {"", ",tb=t", ",ta=t", ",ta=t,tb=t"}) {
    problems.push_back(fmt::format("gemm@1{{m=4,n=5,k=6,lda=12,ldb=12,ldc=12{}}}", transposes));
    problems.push_back(
        fmt::format("gemm@1{{m=4,n=5,k=6,lda=12,ldb=12,ldc=12,batch=2{}}}", transposes));
  }
  // A linear layer; and a leading dimension that equals another size, which once was taken for it.
  problems.push_back("gemm@1{m=4,n=5,k=6,lda=12,bias=row,ta=t}");
  problems.push_back("gemm@1{m=4,n=5,k=6,lda=5,ldb=6,ldc=6}");
  Record(folder, problems);
  FakeTunable tunable(VariablesIn(folder));

  const auto report = TuneFile(folder / "untuned0.csv", tunable.context());

  EXPECT_EQ(report->tuned, 10);
  EXPECT_EQ(tunable.context().results().size(), 10u);
  ExpectCovered(folder.Read("untuned0.csv"), folder.Read("results0.csv"));
  for (const std::string& text : problems) {
    const Problem problem = ProblemOf(text);
    const auto hit = tunable.context().Lookup(problem);
    ASSERT_TRUE(hit) << text;
    EXPECT_EQ(*hit->result.problem, problem);
  }
}

TEST(TunableOpAcceptance, OfflineTuningAppendToExistingFile) {
  const TemporaryFolder folder;
  Record(folder, {"gemm@1{m=4,n=5,k=6}"});
  const std::string before = folder.Read("untuned0.csv");

  Record(folder, {"gemm@1{m=4,n=5,k=6}", "gemm@1{m=5,n=5,k=6}"});

  EXPECT_THAT(folder.Read("untuned0.csv"), StartsWith(before));
  EXPECT_EQ(ParseUntunedFile(folder.Read("untuned0.csv")).problems.size(), 2u);
}

TEST(TunableOpAcceptance, OldLinesAreTunedAndKeepTheirNames) {
  const TemporaryFolder folder;
  folder.Write("untuned0.csv",
               "GemmTunableOp_float_NT,nt_4_5_6\nGemmTunableOp_float_NN,nn_7_5_6\n");
  FakeTunable tunable(VariablesIn(folder));

  ASSERT_EQ(TuneFile(folder / "untuned0.csv", tunable.context())->tuned, 2);
  const auto again = TuneFile(folder / "untuned0.csv", tunable.context());

  EXPECT_EQ(again->tuned, 0);
  EXPECT_EQ(again->known, 2);
  ExpectCovered(folder.Read("untuned0.csv"), folder.Read("results0.csv"));
}

}  // namespace
}  // namespace attune
