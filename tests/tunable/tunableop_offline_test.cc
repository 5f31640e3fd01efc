// Those of PyTorch's tests on TunableOp that record first and tune off line.
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "attune/base/file.h"
#include "tests/tunable/fake_tunable.h"

namespace attune {
namespace {

using testing::Contains;
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
  EXPECT_FALSE(report->failed[0].reason.empty());
}

TEST(TunableOpAcceptance, MatmulOfflineMgpu) {
  const TemporaryFolder folder;
  Record(folder, {"gemm@1{m=4,n=5,k=6}", "gemm@1{m=5,n=5,k=6}"}, 0);
  Record(folder, {"gemm@1{m=4,n=5,k=6}", "gemm@1{m=6,n=5,k=6}", "gemm@1{m=7,n=5,k=6}"}, 1);
  FakeTunable first(VariablesIn(folder), 0);
  FakeTunable second(VariablesIn(folder), 1);
  TunableContext* const contexts[] = {&first.context(), &second.context()};
  const std::filesystem::path files[] = {folder / "untuned0.csv", folder / "untuned1.csv"};

  const auto report = TuneFiles(files, contexts);

  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->tuned, 4);
  for (const char* name : {"results0.csv", "results1.csv"}) {
    EXPECT_EQ(KeysOf(folder.Read(name)).size(), 2u);
    EXPECT_GT(folder.Read("results_full0.csv").size(), folder.Read(name).size());
  }
  EXPECT_EQ(KeysOf(folder.Read("results_full0.csv")).size(), 4u);
  EXPECT_EQ(folder.Read("results_full0.csv"), folder.Read("results_full1.csv"));
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
