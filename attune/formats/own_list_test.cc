#include "attune/formats/own_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/formats/export.h"
#include "attune/formats/problem_list.h"
#include "attune/ops/conv/conv.h"
#include "attune/ops/gemm/gemm.h"

namespace attune {
namespace {

using testing::HasSubstr;

std::vector<Choice> Choices() {
  std::vector<Choice> choices(3);
  choices[0].problem = PackedGemm(4, 5, 6);
  choices[1].problem = Conv();
  choices[2].problem = PackedGemm(7, 8, 9, DataType::kF64);
  choices[0].target.device = "A \"CPU\", of 100%";
  return choices;
}

std::vector<std::string> ListedTexts(const ProblemList& list) {
  std::vector<std::string> texts;
  for (const ListedProblem& listed : list.problems) texts.push_back(listed.text);
  return texts;
}

TEST(OwnListTest, ExportedChoicesAreAListOfTheirProblems) {
  const std::vector<Choice> choices = Choices();
  std::vector<std::string> texts;
  for (const Choice& choice : choices) texts.push_back(Text(choice.problem));

  for (const std::string& content : {ExportJson(choices), ExportCsv(choices)}) {
    const ProblemList list = ReadProblemList(content);
    EXPECT_TRUE(list.rejected.empty()) << content;
    EXPECT_EQ(ListedTexts(list), texts);
    EXPECT_EQ(list.read, 3u);
  }
}

TEST(OwnListTest, PrintedProblemsHaveTheirWeights) {
  const std::string json =
      "[\n  {\"problem\": \"gemm@1{m=4,n=5,k=6}\", \"weight\": 12},\n"
      "  {\"problem\": \"conv@1{dir=fwd,n=1,c=1,h=1,w=1,k=1,fh=1,fw=1}\"}\n]\n";
  const std::string table =
      "weight  state        problem\n"
      "    12  solvable     gemm@1{m=4,n=5,k=6}\n"
      "     1  unsupported  conv@1{dir=fwd,n=1,c=1,h=1,w=1,k=1,fh=1,fw=1}\n"
      "\n1 of 2 problems are unsupported here:\n  1: No solver.\n";

  for (const std::string& content : {json, table}) {
    const ProblemList list = ReadProblemList(content);
    EXPECT_TRUE(list.rejected.empty()) << content;
    ASSERT_EQ(list.problems.size(), 2u);
    EXPECT_EQ(list.problems[0].count, 12u);
    EXPECT_EQ(list.problems[0].line, 2u);
    EXPECT_EQ(list.problems[1].count, 1u);
    EXPECT_EQ(list.problems[1].line, 3u);
  }
}

TEST(OwnListTest, WhatIsWrongInSuchAListIsRejectedWithItsPlace) {
  const auto rejected = [](std::string_view content) {
    const ProblemList list = ReadProblemList(content);
    EXPECT_EQ(list.rejected.size(), 1u) << content;
    return list.rejected.empty() ? RejectedLine() : list.rejected.front();
  };

  EXPECT_EQ(rejected("[{\"problem\": \"gemm@1{m=4}\"},\n {\"problem\" 3}]"),
            (RejectedLine{2, 13, "This is not JSON at '\"3\"'."}));
  EXPECT_EQ(rejected("[{\"problem\": \"gemm@1{m=1,n=1,k=1}\"},\n {\"problem\": \"gem\"}]").line,
            2u);
  EXPECT_THAT(rejected("{\"read\": 3}").reason, HasSubstr("no list of attune"));
  EXPECT_THAT(rejected("[3]").reason, HasSubstr("a text 'problem'"));
  EXPECT_THAT(rejected("[{\"problem\": \"x\", \"weight\": -1}]").reason, HasSubstr("weight -1"));
  EXPECT_EQ(rejected("problem,target\n\"gemm@1{m=1,n=1,k=1}\n").line, 2u);
  EXPECT_THAT(rejected("problem,target\na\n").reason, HasSubstr("1 fields"));
  EXPECT_THAT(rejected("weight  state  problem\nx\n").reason, HasSubstr("a weight, a state"));
}

}  // namespace
}  // namespace attune
