#include "attune/tunable/results_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/file.h"

namespace attune {
namespace {

using testing::HasSubstr;

constexpr char kCandidate[] = "host.blis-gemm@1{layout=any,threads=2}";

ResultLine LineOf(std::string_view text) {
  const auto line = ParseResultLine(text);
  EXPECT_TRUE(line.ok()) << text << ": " << line.status().message();
  return line.ok() ? *line : ResultLine();
}

std::string Golden(std::string_view name) {
  const auto content =
      ReadFile(std::string(ATTUNE_TEST_DATA_DIR "/tunableop/") + std::string(name));
  EXPECT_TRUE(content.ok()) << name;
  return content.ok() ? *content : std::string();
}

TEST(ResultsFileTest, EveryFormOfALineIsRead) {
  const ResultLine full = LineOf(
      "GemmTunableOp_float_NN,nn_5_6_7_ld_5_7_5,Gemm_Rocblas_42,0.0171,BLAS_PARAMS: - { M: 5, "
      "N: 6 }");
  const ResultLine timeless = LineOf("GemmTunableOp_float_NN,nn_5_6_7,Default");
  const ResultLine blas_only = LineOf("GemmTunableOp_float_NN,nn_5_6_7,Default,BLAS_PARAMS: - {}");

  EXPECT_EQ(full.key, (TunableOpKey{"GemmTunableOp_float_NN", "nn_5_6_7_ld_5_7_5"}));
  EXPECT_EQ(full.solution, "Gemm_Rocblas_42");
  EXPECT_EQ(full.milliseconds, 0.0171);
  EXPECT_EQ(full.blas_params, "- { M: 5, N: 6 }");
  EXPECT_FALSE(timeless.milliseconds.has_value());
  EXPECT_EQ(blas_only.blas_params, "- {}");
}

TEST(ResultsFileTest, ACandidateTextIsReadEscapedPlainOrQuoted) {
  for (const char* solution :
       {"host.blis-gemm%401%7Blayout%3Dany%2Cthreads%3D2%7D",
        "host.blis-gemm@1{layout=any,threads=2}", "\"host.blis-gemm@1{layout=any,threads=2}\""}) {
    const ResultLine line =
        LineOf(std::string("GemmTunableOp_float_NN,nn_5_6_7,") + solution + ",0.5");
    EXPECT_EQ(line.solution, kCandidate);
    EXPECT_EQ(line.milliseconds, 0.5);
  }
}

TEST(ResultsFileTest, WhatIsWrittenHasEachColumnWhereCommaSplittersLook) {
  ResultLine line;
  line.key = {"GemmTunableOp_float_NN", "nn_5_6_7_ld_5_7_5"};
  line.solution = kCandidate;
  line.milliseconds = 0.0125;
  line.problem_text = "gemm@1{m=5,n=6,k=7,beta=one}";
  ResultLine with_blas = line;
  with_blas.blas_params = "- { M: 5, N: 6 }";

  const std::string text = Text(line);
  EXPECT_EQ(text,
            "GemmTunableOp_float_NN,nn_5_6_7_ld_5_7_5,"
            "host.blis-gemm%401%7Blayout%3Dany%2Cthreads%3D2%7D,0.0125,"
            "ATTUNE_PROBLEM: gemm%401%7Bm%3D5%2Cn%3D6%2Ck%3D7%2Cbeta%3Done%7D");
  EXPECT_EQ(LineOf(text), line);
  EXPECT_EQ(LineOf(Text(with_blas)), with_blas);
  EXPECT_THAT(Text(with_blas), HasSubstr(",0.0125,BLAS_PARAMS: - { M: 5, N: 6 },ATTUNE_PROBLEM: "));
}

TEST(ResultsFileTest, GarbageIsKeptByteForByteAndNamedByLine) {
  const std::string content =
      "\xEF\xBB\xBFValidator,PT_VERSION,2.14.0\r\n\n# a comment\nnonsense\n"
      "GemmTunableOp_float_NN,nn_5_6_7,Default,fast\nA,B,C,1\nValidator,only\n\x01\x02\nlast,one,"
      "ends";

  const ResultsFile file = ParseResultsFile(content);

  EXPECT_EQ(Text(file), content);
  ASSERT_EQ(file.lines.size(), 9u);
  EXPECT_EQ(file.lines[0].kind, FileLineKind::kValidator);
  EXPECT_EQ(file.lines[0].validator.second, "2.14.0");
  EXPECT_EQ(file.lines[1].kind, FileLineKind::kBlank);
  EXPECT_EQ(file.lines[2].kind, FileLineKind::kBlank);
  EXPECT_EQ(file.lines[3].kind, FileLineKind::kUnreadable);
  EXPECT_THAT(file.lines[4].reason, HasSubstr("Expected a measurable time in milliseconds"));
  EXPECT_EQ(file.lines[5].kind, FileLineKind::kResult);
  EXPECT_EQ(file.lines[6].kind, FileLineKind::kUnreadable);
  EXPECT_EQ(file.lines[7].kind, FileLineKind::kUnreadable);
}

TEST(ResultsFileTest, BlocksOfValidatorsBeginSections) {
  const ResultsFile file = ParseResultsFile(
      "a,b,Default\nValidator,X,1\nValidator,Y,2\na,b,Default\nValidator,X,2\n"
      "Validator,X,3\nc,d,Default\n");

  ASSERT_EQ(file.sections.size(), 4u);
  EXPECT_TRUE(file.sections[0].empty());
  EXPECT_EQ(file.sections[1], (std::vector<Validator>{{"X", "1"}, {"Y", "2"}}));
  EXPECT_EQ(file.sections[3], (std::vector<Validator>{{"X", "3"}}));
  EXPECT_EQ(file.lines.back().section, 3u);
}

TEST(ResultsFileTest, APutResultReplacesOursAndGoesBeforeThoseOfOthers) {
  ResultsFile file = ParseResultsFile(
      "Validator,X,1\na,b,Gemm_Rocblas_1,1\nc,d,host.old@1{},1\nValidator,X,2\ne,f,Default");
  ResultLine ours;
  ours.solution = "host.new@1{}";

  const auto put = [&](TunableOpKey key, size_t section) {
    ours.key = std::move(key);
    PutResults({&ours, 1}, section, file);
  };
  put({"a", "b"}, 0);
  put({"c", "d"}, 0);
  put({"g", "h"}, 1);
  put({"g", "h"}, 1);

  EXPECT_EQ(Text(file),
            "Validator,X,1\na,b,host.new%401%7B%7D\na,b,Gemm_Rocblas_1,1\nc,d,host.new%401%7B%7D\n"
            "Validator,X,2\ne,f,Default\ng,h,host.new%401%7B%7D\n");
}

TEST(ResultsFileTest, TheGoldenFilesReadAndWriteUnchanged) {
  for (const char* name : {"results_v1.csv", "results_pytorch.csv", "results_rocm_old.csv"}) {
    const std::string content = Golden(name);
    const ResultsFile file = ParseResultsFile(content);
    EXPECT_FALSE(file.lines.empty()) << name;
    EXPECT_EQ(Text(file), content) << name;
    for (const FileLine& line : file.lines) {
      EXPECT_NE(line.kind, FileLineKind::kUnreadable) << name << ": " << line.text;
      if (line.kind == FileLineKind::kResult && std::string_view(name) == "results_v1.csv") {
        EXPECT_EQ(Text(line.result) + "\n", line.text);
      }
    }
  }
}

}  // namespace
}  // namespace attune
