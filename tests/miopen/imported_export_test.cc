// `attune miopen export` of imports by an earlier version, over a real database.
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/attune/verbs.h"
#include "attune/base/file.h"
#include "attune/formats/miopen/import_lines.h"
#include "extensions/miopen/miopen_verbs.h"
#include "storage/sql/sql_store.h"
#include "tests/conformance/store/temporary_folder.h"

namespace attune::miopen {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kKey = "64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-FP32-F";
constexpr std::string_view kOtherKey = "64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F";

class ImportedExportTest : public ::testing::Test {
 protected:
  // Lines of a find-db as they are kept, whether they would be kept today or not.
  void Keep(const std::vector<std::string>& texts) {
    const auto imports = ImportsIn(*OpenSqlDatabase(path_));
    ImportedFile file;
    file.kind = kFindDbKind;
    file.target = "gfx906_60";
    file.name = "gfx906_60.HIP.fdb.txt";
    const auto id = imports->Begin(file);
    ASSERT_TRUE(id.ok()) << id.status().message();
    std::vector<ImportedLine> lines;
    for (const std::string& text : texts) {
      lines.push_back({FingerprintOf(text), static_cast<int64_t>(lines.size()) + 1, text});
    }
    ASSERT_EQ(imports->Append(*id, lines), Status::Ok());
    ASSERT_EQ(imports->Finish(*id).status(), Status::Ok());
  }

  // The exit status of an export of the find-db to file_; its messages go to said_.
  Result<int> Export() {
    CLI::App program;
    Invocation invocation;
    AddMiopenVerb(program, invocation);
    program.parse("miopen export --target gfx906_60 --find-db --json -o " + file_);
    // Before: an application prints to the standard error of its start.
    ::testing::internal::CaptureStderr();
    Application application;
    application.SetDatabase(path_);
    const Result<int> status = invocation.run(application);
    said_ = ::testing::internal::GetCapturedStderr();
    return status;
  }

  TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_.path() / "attune.db";
  const std::string file_ = folder_.path() / "gfx906_60.out.HIP.fdb.txt";
  std::string said_;
};

TEST_F(ImportedExportTest, TimesThatAreNoLongerBelievedAreLeftOutAndCounted) {
  const std::string gemm = "GemmFwdRest:2.5,0,miopenConvolutionFwdAlgoGEMM";
  Keep({fmt::format("{}=ConvAsm3x3U:0.00005,0,miopenConvolutionFwdAlgoDirect", kOtherKey),
        fmt::format("{}=ConvAsm3x3U:0.00005,0,miopenConvolutionFwdAlgoDirect;{}", kKey, gemm)});

  const Result<int> status = Export();

  ASSERT_TRUE(status.ok()) << status.status().message();
  EXPECT_EQ(*status, kExitPartly);
  EXPECT_THAT(said_, HasSubstr("Left out: 2 results: The time was believed when it was imported"));
  EXPECT_EQ(ReadFile(file_).value(), fmt::format("{}={}\n", kKey, gemm));
}

TEST_F(ImportedExportTest, WhereNoTimeIsBelievedAnyMoreNothingIsWrittenAndTheReasonTold) {
  Keep({fmt::format("{}=ConvAsm3x3U:0.00005,0,miopenConvolutionFwdAlgoDirect", kKey)});

  const Result<int> status = Export();

  EXPECT_EQ(status.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(said_, HasSubstr("Left out: 1 result: The time was believed"));
  EXPECT_FALSE(std::filesystem::exists(file_));
}

}  // namespace
}  // namespace attune::miopen
