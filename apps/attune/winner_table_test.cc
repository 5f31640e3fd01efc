#include "apps/attune/winner_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune {
namespace {

using ::testing::HasSubstr;

constexpr const char* kProblem = "gemm@1{m=512,n=512,k=512}";

ChosenProblem Won(double default_ns, double tuned_ns, double speedup, int64_t weight = 1) {
  ChosenProblem problem;
  problem.tagged = {*ParseProblem(kProblem), weight};
  Choice choice;
  choice.problem = problem.tagged.problem;
  choice.provenance = Provenance::kMeasured;
  choice.measurement.median_ns = tuned_ns;
  choice.default_measurement.median_ns = default_ns;
  choice.speedup = speedup;
  problem.choice = choice;
  return problem;
}

TEST(NetworkLineTest, TheSpeedupOfOneProblemIsThatOfItsRowAlsoWhereMediansDiffer) {
  const std::string line = NetworkLine({Won(348e3, 170e3, 1.354)});

  EXPECT_THAT(line, HasSubstr("230 us by default, 170 us tuned: 1.35x."));
}

constexpr const char* kWideProblem =
    "conv@1{dir=bwd_weights,n=1,c=1024,h=14,w=14,k=2048,fh=1,fw=1,sh=2,sw=2}";
constexpr const char* kWideCandidate =
    "host.libxsmm-gemm@1{block_columns=64,block_depth=256,block_rows=64,split=columns,threads=2}";

std::string RenderedAt(int width, bool is_terminal = true) {
  ChosenProblem problem = Won(348e3, 170e3, 1.354);
  problem.tagged.problem = *ParseProblem(kWideProblem);
  problem.choice->candidate = *ParseCandidate(kWideCandidate);
  return WinnerTable({problem}).Render({is_terminal, false}, width);
}

TEST(WinnerTableTest, EightyColumnsShowTheProblemAndTheWholeCandidateThatWon) {
  const std::string shown = RenderedAt(80);

  EXPECT_EQ(shown,
            "problem                                           time  speed-up   confident\n"
            "    best candidate\n"
            "conv bwd_weights 1x1024x14x14 k2048 1x1 s2 f32  170 us     1.35x  1.00..1.00\n"
            "    host.libxsmm-gemm@1{block_columns=64,block_depth=256,block_rows=64,\n"
            "    split=columns,threads=2}\n"
            "(Left out, because the terminal has 80 columns: interval, roofline.)\n");
}

TEST(WinnerTableTest, NothingIsLeftOutOrMovedInAPipeOrOnAWideTerminal) {
  const std::string piped = RenderedAt(80, false);

  EXPECT_EQ(RenderedAt(220), piped);
  EXPECT_THAT(piped, HasSubstr(std::string("s2 f32  ") + kWideCandidate + "  170 us"));
  EXPECT_THAT(piped, HasSubstr("roofline\n"));
}

TEST(NetworkLineTest, LongAndFrequentProblemsCountForMore) {
  const NetworkTotal total = TotalOf({Won(300e3, 100e3, 3, 4), Won(100e3, 100e3, 1)});

  EXPECT_DOUBLE_EQ(total.tuned_ns, 500e3);
  EXPECT_DOUBLE_EQ(total.default_ns, 1300e3);
}

}  // namespace
}  // namespace attune
