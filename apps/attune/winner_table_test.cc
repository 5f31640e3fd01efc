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
  const std::string line = TotalLines(TotalsOf({Won(348e3, 170e3, 1.354)}, {}));

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

NetworkProblems NetworkOfWeight(const std::string& model, int64_t weight,
                                const char* problem = kProblem) {
  return {{model, "1", "Fw", "2"}, {{*ParseProblem(problem), weight}}};
}

TEST(NetworkLineTest, TimesOfSeveralNetworksAreToldEachForItselfWithItsOwnWeights) {
  const ChosenProblem shared = Won(200e3, 100e3, 2, 7);
  const std::vector<NetworkProblems> networks = {NetworkOfWeight("A", 3), NetworkOfWeight("B", 4)};

  const std::vector<ToldTotal> totals = TotalsOf({shared}, networks);

  ASSERT_EQ(totals.size(), 2U);
  EXPECT_DOUBLE_EQ(totals[0].total.default_ns, 600e3);
  EXPECT_DOUBLE_EQ(totals[1].total.tuned_ns, 400e3);
  const std::string lines = TotalLines(totals);
  EXPECT_THAT(lines, HasSubstr("\nA:1 (Fw:2): 1 measured problem, each as often as its list has "
                               "it: 600 us by default, 300 us tuned: 2.00x.\n"));
  EXPECT_THAT(lines, HasSubstr("\nB:1 (Fw:2): 1 measured problem,"));
}

TEST(NetworkLineTest, ANetworkThatWasNotMeasuredIsNamedBesideOneThatWas) {
  ChosenProblem untuned;
  untuned.tagged.problem = *ParseProblem(kWideProblem);
  const std::vector<NetworkProblems> networks = {NetworkOfWeight("A", 1),
                                                 NetworkOfWeight("B", 1, kWideProblem)};

  EXPECT_THAT(TotalLines(TotalsOf({Won(200e3, 100e3, 2), untuned}, networks)),
              HasSubstr("\nB:1 (Fw:2): no problem of 1 was measured.\n"));
  EXPECT_EQ(TotalLines(TotalsOf({untuned}, {networks[1]})), "");
}

TEST(NetworkLineTest, AProblemThatWasImportedSinceTheOthersWereChosenIsLeftOut) {
  const auto totals = TotalsOf({}, {NetworkOfWeight("A", 1)});

  ASSERT_EQ(totals.size(), 1U);
  EXPECT_EQ(totals[0].total.left_out, 1);
}

TEST(NetworkLineTest, OneNetworkCountsWithoutProblemsThatWereNamedBesideIt) {
  ChosenProblem named = Won(900e3, 900e3, 1);
  named.tagged.problem = *ParseProblem(kWideProblem);

  const auto totals = TotalsOf({Won(200e3, 100e3, 2), named}, {NetworkOfWeight("A", 5)});

  ASSERT_EQ(totals.size(), 1U);
  EXPECT_DOUBLE_EQ(totals[0].total.tuned_ns, 500e3);
}

}  // namespace
}  // namespace attune
