#include "attune/tunable/result_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune {
namespace {

using testing::HasSubstr;

TunableResult Make(std::string_view line) {
  auto parsed = ParseResultLine(line);
  EXPECT_TRUE(parsed.ok()) << line;
  auto result = MakeTunableResult(*parsed);
  EXPECT_TRUE(result.ok()) << line << ": " << result.status().message();
  return result.ok() ? *result : TunableResult();
}

std::string Served(const ResultTable& table, std::string_view problem, bool wildcards = true) {
  const auto matches = table.Matching(*ParseProblem(problem), wildcards);
  return matches.empty() ? "nothing" : matches.front().result.line.solution;
}

TEST(ResultTableTest, TheFirstOfEqualLinesWins) {
  ResultTable table;

  EXPECT_TRUE(table.Add(Make("GemmTunableOp_float_NN,nn_4_5_6_ld_4_6_4,First")));
  EXPECT_FALSE(table.Add(Make("GemmTunableOp_float_NN,nn_4_5_6_ld_4_6_4,Second")));

  EXPECT_EQ(Served(table, "gemm@1{m=4,n=5,k=6}"), "First");
}

TEST(ResultTableTest, TheOldFormStandsForThePackedProblem) {
  ResultTable table;
  table.Add(Make("GemmTunableOp_float_NT,nt_25088_4096_64,Old"));

  EXPECT_EQ(Served(table, "gemm@1{m=25088,n=4096,k=64,tb=t}"), "Old");
  EXPECT_EQ(Served(table, "gemm@1{m=25088,n=4096,k=64,lda=25089,tb=t}"), "nothing");
}

TEST(ResultTableTest, AKeyStandsForAllThatHasItAProblemForItself) {
  ResultTable table;
  table.Add(
      Make("GemmTunableOp_float_NN,nn_4_5_6_ld_4_6_4,Exact,1,ATTUNE_PROBLEM: "
           "gemm%401%7Bm%3D4%2Cn%3D5%2Ck%3D6%2Cbeta%3Done%7D"));

  EXPECT_EQ(Served(table, "gemm@1{m=4,n=5,k=6,beta=one}"), "Exact");
  EXPECT_EQ(Served(table, "gemm@1{m=4,n=5,k=6}"), "nothing");
  table.Add(Make("GemmTunableOp_float_NN,nn_4_5_6_ld_4_6_4,ByKey"));
  EXPECT_EQ(Served(table, "gemm@1{m=4,n=5,k=6}"), "ByKey");
  EXPECT_EQ(Served(table, "gemm@1{m=4,n=5,k=6,beta=one}"), "Exact");
}

TEST(ResultTableTest, AnOverrideAboveALineOfOursWins) {
  ResultTable table;
  table.Add(Make("GemmTunableOp_float_NN,nn_4_5_6_ld_4_6_4,Default"));
  table.Add(
      Make("GemmTunableOp_float_NN,nn_4_5_6_ld_4_6_4,Exact,1,ATTUNE_PROBLEM: "
           "gemm%401%7Bm%3D4%2Cn%3D5%2Ck%3D6%7D"));

  EXPECT_EQ(Served(table, "gemm@1{m=4,n=5,k=6}"), "Default");
}

TEST(ResultTableTest, TheMostSpecificWildcardServesThenTheNearestThenTheFirst) {
  ResultTable table;
  table.Add(Make("GemmTunableOp_float_NN,nn_*_*_6_ld_*_6_*,TwoStars"));
  EXPECT_EQ(Served(table, "gemm@1{m=100,n=5,k=6}"), "TwoStars");
  table.Add(
      Make("GemmTunableOp_float_NN,nn_*_5_6_ld_*_6_*,Far,1,ATTUNE_PROBLEM: "
           "gemm%401%7Bm%3D9999%2Cn%3D5%2Ck%3D6%7D"));
  EXPECT_EQ(Served(table, "gemm@1{m=100,n=5,k=6}"), "Far");
  table.Add(
      Make("GemmTunableOp_float_NN,nn_*_5_6_ld_*_6_*,Near,1,ATTUNE_PROBLEM: "
           "gemm%401%7Bm%3D90%2Cn%3D5%2Ck%3D6%7D"));
  EXPECT_EQ(Served(table, "gemm@1{m=100,n=5,k=6}"), "Near");
  table.Add(Make("GemmTunableOp_float_NN,nn_*65-128_5_6_ld_*_6_*,Bucket"));
  EXPECT_EQ(Served(table, "gemm@1{m=100,n=5,k=6}"), "Bucket");
  table.Add(Make("GemmTunableOp_float_NN,nn_100_5_6_ld_100_6_100,Concrete"));
  EXPECT_EQ(Served(table, "gemm@1{m=100,n=5,k=6}"), "Concrete");

  EXPECT_EQ(Served(table, "gemm@1{m=101,n=5,k=6}", false), "nothing");
  EXPECT_EQ(Served(table, "gemm@1{m=8000,n=5,k=6}"), "Far");
  EXPECT_EQ(Served(table, "gemm@1{m=8000,n=5,k=6,type=f64}"), "nothing");
}

TEST(ResultTableTest, AWildcardOfOursServesOnlyWhatDiffersInSizes) {
  ResultTable table;
  table.Add(
      Make("GemmTunableOp_float_NN,nn_*_5_6_ld_*_6_*,Ours,1,ATTUNE_PROBLEM: "
           "gemm%401%7Bm%3D9%2Cn%3D5%2Ck%3D6%2Cbeta%3Done%7D"));

  EXPECT_EQ(Served(table, "gemm@1{m=100,n=5,k=6,beta=one}"), "Ours");
  EXPECT_EQ(Served(table, "gemm@1{m=100,n=5,k=6}"), "nothing");
}

TEST(ResultTableTest, LinesThatContradictThemselvesStandForNothing) {
  for (const char* line :
       {"GemmTunableOp_float_NN,nn_4_5_6,X,1,ATTUNE_PROBLEM: gemm%401%7Bm%3D9%2Cn%3D5%2Ck%3D6%7D",
        "GemmTunableOp_float_NN,nn_*_5_6,X,1,ATTUNE_PROBLEM: gemm%401%7Bm%3D9%2Cn%3D9%2Ck%3D6%7D",
        "GemmTunableOp_float_NN,tn_4_5_6,X", "Unknown_op,nn_4_5_6,X",
        "AttuneProblem_gemm,conv%401%7B%7D,X", "GemmTunableOp_float_NN,nn_*_5_x,X"}) {
    EXPECT_FALSE(MakeTunableResult(*ParseResultLine(line)).ok()) << line;
  }
}

TEST(ResultTableTest, EveryChangeRaisesTheGeneration) {
  ResultTable table;
  const uint64_t before = table.generation();
  table.Add(Make("GemmTunableOp_float_NN,nn_4_5_6,First"));
  const uint64_t added = table.generation();
  table.Put(Make("GemmTunableOp_float_NN,nn_4_5_6,Second"));
  const uint64_t put = table.generation();
  table.Clear();

  EXPECT_LT(before, added);
  EXPECT_LT(added, put);
  EXPECT_LT(put, table.generation());
  EXPECT_EQ(table.size(), 0u);
}

}  // namespace
}  // namespace attune
