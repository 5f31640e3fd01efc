#include "attune/formats/problem_list.h"

#include <filesystem>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/file.h"
#include "attune/formats/problem_line.h"
#include "attune/ops/conv/conv.h"

namespace attune {
namespace {

std::string DriverList(std::string_view name) {
  const auto content = ReadFile(std::string(ATTUNE_TEST_DATA_DIR "/driver/") + std::string(name));
  EXPECT_TRUE(content.ok()) << content.status().message();
  return content.ok() ? *content : "";
}

void ExpectCountsAddUp(const ProblemList& list) {
  EXPECT_EQ(list.read, list.imported + list.duplicates + list.rejected.size());
  EXPECT_LE(list.unsupported, list.imported);
}

size_t LinesThatSaySomething(const std::string& content) {
  std::istringstream lines(content);
  size_t count = 0;
  for (std::string line; std::getline(lines, line);) count += IsIgnoredLine(line) ? 0 : 1;
  return count;
}

TEST(ProblemListTest, PublishedListsAreReadWithoutARejectedLine) {
  for (const char* name :
       {"resnet50.txt", "vgg16.txt", "resnet50_pytorch.txt", "truncated.txt", "google_net.txt"}) {
    const ProblemList list = ReadProblemList(DriverList(name));

    ExpectCountsAddUp(list);
    EXPECT_TRUE(list.rejected.empty()) << name;
    EXPECT_GT(list.problems.size(), 0u) << name;
  }
}

// Larger lists, if they lie beside the checkout. None of their lines is damaged.
TEST(ProblemListTest, ListsBesideTheCheckoutAreReadWithoutARejectedLine) {
  const std::string folder = ATTUNE_SHARED_DATA_DIR "/driver/";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "There is no " << folder;
  for (const char* name : {"alexnet.txt", "inception3.txt", "resnet152.txt"}) {
    const auto content = ReadFile(folder + name);
    ASSERT_TRUE(content.ok()) << content.status().message();

    const ProblemList list = ReadProblemList(*content);

    SCOPED_TRACE(name);
    ExpectCountsAddUp(list);
    EXPECT_THAT(list.rejected, testing::IsEmpty());
    EXPECT_EQ(list.read, LinesThatSaySomething(*content));
    EXPECT_GT(list.problems.size(), 0u);
  }
}

TEST(ProblemListTest, LinesWithoutDirectionAreThreeProblems) {
  const ProblemList list = ReadProblemList(DriverList("resnet50_pytorch.txt"));

  EXPECT_EQ(list.problems.size(), 3 * list.imported);
}

TEST(ProblemListTest, OneLineGivesOneProblem) {
  const ProblemList list = ReadProblemList(DriverList("truncated.txt"));

  EXPECT_EQ(list.read, 1u);
  EXPECT_EQ(list.imported, 1u);
  ASSERT_EQ(list.problems.size(), 1u);
  EXPECT_EQ(list.problems[0].text,
            "conv@1{dir=fwd,n=128,c=1024,h=14,w=14,k=2048,fh=1,fw=1,sh=2,sw=2}");
  EXPECT_EQ(list.problems[0].key, FingerprintOf(list.problems[0].text));
}

TEST(ProblemListTest, PoolsAreUnsupportedAndNotRejected) {
  const ProblemList list = ReadProblemList(DriverList("google_net.txt"));

  EXPECT_EQ(list.read, 60u);
  EXPECT_EQ(list.unsupported, 11u);
}

TEST(ProblemListTest, FormsMixAndAreToldApartLineByLine) {
  const ProblemList list = ReadProblemList(
      "# a comment\n"
      "\n"
      "gemm@1{k=3,n=2,m=1}\n"
      "  MIOpenDriver conv -F 1\t\n"
      "Validator,PT_VERSION,2.14.0\n"
      "GemmTunableOp_float_NN,nn_1_2_3_ld_1_3_1\n"
      "   # another\n"
      "bogus\n");

  EXPECT_EQ(list.read, 4u);
  EXPECT_EQ(list.imported, 2u);
  EXPECT_EQ(list.duplicates, 1u);
  ASSERT_EQ(list.rejected.size(), 1u);
  EXPECT_EQ(list.rejected[0].line, 8u);
  EXPECT_EQ(list.rejected[0].column, 1u);
  ASSERT_EQ(list.problems.size(), 2u);
  EXPECT_EQ(list.problems[0].count, 2u);
  EXPECT_EQ(list.problems[0].line, 3u);
}

TEST(ProblemListTest, ALineIsADuplicateOnlyIfAllItsProblemsAre) {
  const ProblemList list = ReadProblemList(
      "MIOpenDriver conv -F 1\n"
      "MIOpenDriver conv\n"
      "MIOpenDriver conv -F 6\n");

  EXPECT_EQ(list.imported, 2u);
  EXPECT_EQ(list.duplicates, 1u);
  ASSERT_EQ(list.problems.size(), 3u);
  for (const ListedProblem& problem : list.problems) EXPECT_EQ(problem.count, 2u);
}

TEST(ProblemListTest, LineEndsOfEveryKindAreRead) {
  const std::string expected = "gemm@1{m=1,n=2,k=3}";
  for (const std::string& content : {expected, expected + "\n", expected + "\r\n",
                                     "\xef\xbb\xbf" + expected, "\r\n" + expected + "\r\n\r\n"}) {
    const ProblemList list = ReadProblemList(content);
    EXPECT_EQ(list.read, 1u);
    EXPECT_TRUE(list.rejected.empty());
    ASSERT_EQ(list.problems.size(), 1u);
    EXPECT_EQ(list.problems[0].text, expected);
  }
}

TEST(ProblemListTest, ForeignBytesAreRejectedWithTheirPlaceAndEscaped) {
  const std::string content = std::string("gemm@1{m=1,n=2,k=\0}\n", 20) +
                              "MIOpenDriver conv -n \xff\n" + "MIOpenDriver conv\r-n 3\n" +
                              "MIOpenDriver conv -m \xc3\xa9\n";

  const ProblemList list = ReadProblemList(content);

  ASSERT_EQ(list.rejected.size(), 4u);
  EXPECT_EQ(list.rejected[0], (RejectedLine{1, 18, "Byte '\\x00' is not printable ASCII."}));
  EXPECT_EQ(list.rejected[1], (RejectedLine{2, 22, "Byte '\\xff' is not printable ASCII."}));
  EXPECT_EQ(list.rejected[2].column, 18u);
  EXPECT_EQ(list.rejected[3].column, 22u);
}

TEST(ProblemListTest, LinesOfAnyLengthAreBounded) {
  const ProblemList list = ReadProblemList("MIOpenDriver conv -F " + std::string(10'000'000, '1') +
                                           "\ngemm@1{m=1,n=1,k=1}");

  ASSERT_EQ(list.rejected.size(), 1u);
  EXPECT_EQ(list.rejected[0].column, kMaxLineBytes + 1);
  EXPECT_LT(list.rejected[0].reason.size(), 200u);
  EXPECT_EQ(list.imported, 1u);
}

TEST(ProblemListTest, BatchSizeReplacesThatOfConvolutions) {
  ProblemListOptions options;
  options.batch_size = 2;

  const ProblemList list = ReadProblemList(
      "MIOpenDriver conv -F 1 -n 64\nMIOpenDriver conv -F 1 -n 128\nMIOpenDriver pool -n 9\n"
      "MIOpenDriver convfp8 -F 1\ngemm@1{m=1,n=2,k=3,batch=4}\n",
      options);

  EXPECT_EQ(list.imported, 4u);
  EXPECT_EQ(list.duplicates, 1u);
  EXPECT_NE(list.problems[0].text.find("n=2,"), std::string::npos);
  EXPECT_NE(list.problems[1].text.find("batchsize=2"), std::string::npos);
  EXPECT_NE(list.problems[2].text.find("n=2,"), std::string::npos);
  EXPECT_EQ(list.problems[3].text, "gemm@1{m=1,n=2,k=3,batch=4}");
}

TEST(ProblemListTest, AnImpossibleBatchSizeRejectsTheLine) {
  ProblemListOptions options;
  options.batch_size = 0;

  const ProblemList list = ReadProblemList("MIOpenDriver conv\n", options);

  ASSERT_EQ(list.rejected.size(), 1u);
  EXPECT_NE(list.rejected[0].reason.find("batch size of 0"), std::string::npos);
}

TEST(ProblemListTest, TheCallerSaysWhatIsSupported) {
  ProblemListOptions options;
  int asked = 0;
  options.is_supported = [&asked](const Problem& problem) {
    ++asked;
    return OutputType(problem) != DataType::kF16;
  };

  const ProblemList list = ReadProblemList(
      "MIOpenDriver convfp16\nMIOpenDriver convfp16\nMIOpenDriver conv -F 1\n", options);

  EXPECT_EQ(asked, 4);
  EXPECT_EQ(list.unsupported, 1u);
  EXPECT_FALSE(list.problems[0].supported);
  EXPECT_TRUE(list.problems[3].supported);
}

TEST(ProblemListTest, WhoeverAsksInWhateverOrderHearsTheSame) {
  std::string content;
  for (int i = 1; i <= 1500; ++i) {
    content += "MIOpenDriver conv" + std::string(i % 3 == 0 ? "fp16" : "") + " -F " +
               std::to_string(i % 2) + " -n " + std::to_string(i) + "\n";
  }
  ProblemListOptions options;
  options.is_supported = [](const Problem& problem) {
    return OutputType(problem) != DataType::kF16;
  };
  const ProblemList one_by_one = ReadProblemList(content, options);
  int64_t blocks = 0;
  options.for_each = [&blocks](int64_t count, const std::function<void(int64_t)>& task) {
    blocks = count;
    for (int64_t i = count; i > 0; --i) task(i - 1);
  };

  const ProblemList backwards = ReadProblemList(content, options);

  EXPECT_GT(blocks, 2);
  EXPECT_EQ(one_by_one.unsupported, 500u);
  EXPECT_EQ(backwards.unsupported, 500u);
  ASSERT_EQ(backwards.problems.size(), one_by_one.problems.size());
  for (size_t i = 0; i < backwards.problems.size(); ++i) {
    EXPECT_EQ(backwards.problems[i].text, one_by_one.problems[i].text);
    EXPECT_EQ(backwards.problems[i].supported, one_by_one.problems[i].supported);
  }
}

TEST(ProblemListTest, ALineIsUnsupportedByAProblemThatAnEarlierOneHas) {
  ProblemListOptions options;
  options.is_supported = [](const Problem& problem) {
    return problem.Get<Conv>().direction != ConvDirection::kBackwardWeights;
  };

  const ProblemList list =
      ReadProblemList("MIOpenDriver conv -F 4\nMIOpenDriver conv -F 0\n", options);

  EXPECT_EQ(list.imported, 2u);
  EXPECT_EQ(list.unsupported, 2u);
}

TEST(ProblemListTest, EmptyAndIgnoredContentReadsNothing) {
  for (const char* content : {"", "\n", "# only\n#comments\n", "   \t \n\r\n"}) {
    EXPECT_EQ(ReadProblemList(content).read, 0u);
  }
}

TEST(ProblemLineTest, ErrorsCountColumnsFromTheStartOfTheLine) {
  EXPECT_EQ(ReadProblemLine("  gemm@1{m=x,n=1,k=1}").error().column, 12u);
  EXPECT_NE(ParseProblems(" bogus").status().message().find("Column 2:"), std::string::npos);
}

}  // namespace
}  // namespace attune
