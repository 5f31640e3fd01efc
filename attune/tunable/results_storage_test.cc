#include "attune/tunable/results_storage.h"

#include <unistd.h>

#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/file.h"

namespace attune {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TunableIdentity Here(const std::string& blis = "0.9.0") {
  return {"0.1.0", {"host", "Example CPU", "x86-64-v3", 2, {}}, {{"library.blis", blis}}};
}

ResultLine LineOf(const std::string& params, const std::string& solution) {
  ResultLine line;
  line.key = {"GemmTunableOp_float_NN", params};
  line.solution = solution;
  line.milliseconds = 0.5;
  return line;
}

class ResultsStorageTest : public testing::Test {
 protected:
  ResultsStorageTest()
      : path_(std::filesystem::temp_directory_path() /
              fmt::format("attune_results_{}.csv", ::getpid())) {
    std::filesystem::remove(path_);
  }
  ~ResultsStorageTest() override { std::filesystem::remove(path_); }

  void Save(const TunableIdentity& here, const ResultLine& line) {
    const ResultGroup group{ValidatorsOf(here), {line}};
    const Status status = SaveResults(path_, {&group, 1}, here, Durability::kPowerLoss);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  void Write(std::string_view content) { ASSERT_TRUE(WriteFileAtomically(path_, content).ok()); }
  std::string Content() { return *ReadFile(path_); }
  LoadReport Load(const TunableIdentity& here, ResultTable& table) {
    return LoadResults(Content(), here, table);
  }

  const std::filesystem::path path_;
};

TEST_F(ResultsStorageTest, AnEmptyFileGetsValidatorsAndTheResult) {
  Write("");

  Save(Here(), LineOf("nn_4_5_6", "Default"));

  EXPECT_EQ(Content(),
            "Validator,ATTUNE_RESULTS,1\nValidator,ATTUNE_VERSION,0.1.0\n"
            "Validator,ATTUNE_TARGET,host%3AExample CPU%3Ax86-64-v3%3A2%7B%7D\n"
            "Validator,library.blis,0.9.0\nGemmTunableOp_float_NN,nn_4_5_6,Default,0.5\n");
}

TEST_F(ResultsStorageTest, ResultsAreNeverAppendedUnderValidatorsThatRejectThem) {
  Save(Here("0.8.0"), LineOf("nn_4_5_6", "host.blis-gemm@1{}"));
  const std::string old_content = Content();

  Save(Here("0.9.0"), LineOf("nn_4_5_6", "host.blis-gemm@1{}"));
  ResultTable table;
  const LoadReport report = Load(Here("0.9.0"), table);

  EXPECT_THAT(Content(), StartsWith(old_content));
  EXPECT_EQ(report.accepted, 1);
  ASSERT_EQ(report.rejected.size(), 1u);
  EXPECT_EQ(report.rejected[0].line, 5);
  EXPECT_THAT(report.rejected[0].reason, HasSubstr("0.8.0"));
}

TEST_F(ResultsStorageTest, TwoEnvironmentsThatTakeTurnsKeepOneSectionEach) {
  for (int i = 1; i <= 5; ++i) {
    Save(Here("0.8.0"), LineOf(fmt::format("nn_{}_5_6", i), "host.blis-gemm@1{}"));
    Save(Here("0.9.0"), LineOf(fmt::format("nn_{}_5_6", i), "host.blis-gemm@1{}"));
  }

  const ResultsFile file = ParseResultsFile(Content());
  ResultTable table;

  EXPECT_EQ(file.sections.size(), 2u);
  EXPECT_EQ(Load(Here("0.9.0"), table).accepted, 5);
}

TEST_F(ResultsStorageTest, ARetunedResultReplacesItsLineAndNothingElse) {
  Write(
      "Validator,PT_VERSION,2.14.0\nGemmTunableOp_float_NN,nn_4_5_6,Gemm_Rocblas_42,0.1\n"
      "garbage\n");
  Save(Here(), LineOf("nn_4_5_6", "host.old@1{}"));
  Save(Here(), LineOf("nn_7_5_6", "host.other@1{}"));

  Save(Here(), LineOf("nn_4_5_6", "host.new@1{}"));
  ResultTable table;
  Load(Here(), table);

  EXPECT_THAT(Content(), StartsWith("Validator,PT_VERSION,2.14.0\nGemmTunableOp_float_NN,nn_4_5_6,"
                                    "Gemm_Rocblas_42,0.1\ngarbage\nValidator,ATTUNE_RESULTS,1\n"));
  EXPECT_THAT(Content(), Not(HasSubstr("host.old")));
  EXPECT_THAT(Content(), HasSubstr("host.new"));
  EXPECT_THAT(Content(), HasSubstr("host.other"));
}

TEST_F(ResultsStorageTest, GarbageIsReportedByLineAndTheRestIsUsed) {
  Write(
      "nonsense\nGemmTunableOp_float_NN,nn_4_5_6,Default\nGemmTunableOp_float_NN,nn_x_5_6,Default\n"
      "GemmTunableOp_float_NN,nn_4_5_6,Later\n");
  ResultTable table;

  const LoadReport report = Load(Here(), table);

  EXPECT_EQ(report.accepted, 1);
  EXPECT_EQ(report.duplicates, 1);
  ASSERT_EQ(report.unreadable.size(), 2u);
  EXPECT_EQ(report.unreadable[0].line, 1);
  EXPECT_EQ(report.unreadable[1].line, 3);
}

TEST_F(ResultsStorageTest, FilesOfPyTorchHoldWithoutTheirValidators) {
  for (const char* name : {"results_pytorch.csv", "results_rocm_old.csv"}) {
    ResultTable table;
    const auto content = ReadFile(std::string(ATTUNE_TEST_DATA_DIR "/tunableop/") + name);

    const LoadReport report = LoadResults(*content, Here(), table);

    EXPECT_EQ(report.accepted, 3) << name;
    EXPECT_TRUE(report.rejected.empty() && report.unreadable.empty()) << name;
  }
}

TEST_F(ResultsStorageTest, AUnionHasEachResultOnceUnderItsValidators) {
  const std::filesystem::path other = path_.string() + ".other";
  const std::filesystem::path merged = path_.string() + ".merged";
  Save(Here(), LineOf("nn_4_5_6", "host.a@1{}"));
  std::filesystem::copy(path_, other, std::filesystem::copy_options::overwrite_existing);
  Save(Here(), LineOf("nn_5_5_6", "host.b@1{}"));
  const std::vector<std::filesystem::path> sources = {path_, other};

  ASSERT_TRUE(MergeResultsFiles(sources, {&merged, 1}).ok());

  EXPECT_EQ(*ReadFile(merged), Content());
  std::filesystem::remove(other);
  std::filesystem::remove(merged);
}

TEST_F(ResultsStorageTest, AFolderThatCannotBeWrittenIsAnErrorThatNamesIt) {
  const ResultGroup group{ValidatorsOf(Here()), {LineOf("nn_4_5_6", "Default")}};

  const Status status =
      SaveResults("/nonexistent/results.csv", {&group, 1}, Here(), Durability::kPowerLoss);

  EXPECT_THAT(status.message(), HasSubstr("/nonexistent/results.csv"));
}

}  // namespace
}  // namespace attune
