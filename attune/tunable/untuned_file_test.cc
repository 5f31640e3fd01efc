#include "attune/tunable/untuned_file.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/file.h"
#include "attune/ops/gemm/gemm.h"

namespace attune {
namespace {

using testing::HasSubstr;

Problem Parse(std::string_view text) {
  auto problem = ParseProblem(text);
  EXPECT_TRUE(problem.ok()) << text;
  return problem.ok() ? *problem : Problem();
}

class UntunedFileTest : public testing::Test {
 protected:
  UntunedFileTest()
      : path_(std::filesystem::temp_directory_path() /
              fmt::format("attune_untuned_{}.csv", ::getpid())) {
    std::filesystem::remove(path_);
  }
  ~UntunedFileTest() override { std::filesystem::remove(path_); }

  const std::filesystem::path path_;
};

TEST_F(UntunedFileTest, AProblemIsWrittenOnceWhoeverMissesIt) {
  ASSERT_TRUE(WriteFileAtomically(path_, "GemmTunableOp_float_NN,nn_4_5_6_ld_4_6_4").ok());
  UntunedFile first(path_);
  UntunedFile second(path_);

  EXPECT_FALSE(*first.Record(Parse("gemm@1{m=4,n=5,k=6}"), false));
  EXPECT_TRUE(*first.Record(Parse("gemm@1{m=7,n=5,k=6}"), false));
  EXPECT_FALSE(*second.Record(Parse("gemm@1{m=7,n=5,k=6}"), false));
  EXPECT_TRUE(*second.Record(Parse("gemm@1{m=8,n=5,k=6}"), false));
  EXPECT_FALSE(*first.Record(Parse("gemm@1{m=8,n=5,k=6}"), false));

  EXPECT_EQ(*ReadFile(path_),
            "GemmTunableOp_float_NN,nn_4_5_6_ld_4_6_4\nGemmTunableOp_float_NN,nn_7_5_6_ld_7_6_7\n"
            "GemmTunableOp_float_NN,nn_8_5_6_ld_8_6_8\n");
}

TEST_F(UntunedFileTest, WhatTheKeyLosesIsInAColumnOfItsOwn) {
  const Problem beta = Parse("gemm@1{m=4,n=5,k=6,beta=one}");
  const std::string line = UntunedLine(beta, true);

  EXPECT_THAT(line, HasSubstr("GemmTunableOp_float_NN,nn_4_5_6_ld_4_6_4,BLAS_PARAMS: - {"));
  EXPECT_THAT(line, HasSubstr("beta: 1"));
  EXPECT_THAT(line, HasSubstr(",ATTUNE_PROBLEM: "));
  EXPECT_EQ(ParseUntunedLine(line)->problem, beta);
}

TEST_F(UntunedFileTest, ManyThreadsRecordEachProblemOnce) {
  UntunedFile untuned(path_);
  std::atomic<int> added = 0;
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 8; ++thread) {
      threads.emplace_back([&] {
        for (int i = 1; i <= 40; ++i) {
          const auto recorded =
              untuned.Record(Parse(fmt::format("gemm@1{{m={},n=5,k=6}}", i)), false);
          if (recorded.ok() && *recorded) ++added;
        }
      });
    }
  }

  const std::string content = *ReadFile(path_);

  EXPECT_EQ(added, 40);
  EXPECT_EQ(std::ranges::count(content, '\n'), 40);
  EXPECT_EQ(ParseUntunedFile(content).problems.size(), 40u);
}

TEST_F(UntunedFileTest, ALineThatFindsTheFileTakenGoesWithTheNextOne) {
  UntunedFile untuned(path_);
  {
    const auto taken = LockedFile::Open(path_);
    ASSERT_TRUE(taken.ok());
    EXPECT_EQ(untuned.Record(Parse("gemm@1{m=4,n=5,k=6}"), false, 0).status().code(),
              StatusCode::kDeadlineExceeded);
    // Met again it still waits, once.
    EXPECT_FALSE(untuned.Record(Parse("gemm@1{m=4,n=5,k=6}"), false, 0).ok());
  }

  EXPECT_EQ(*untuned.Record(Parse("gemm@1{m=5,n=5,k=6}"), false, 0), 2);

  EXPECT_EQ(*ReadFile(path_),
            "GemmTunableOp_float_NN,nn_4_5_6_ld_4_6_4\nGemmTunableOp_float_NN,nn_5_5_6_ld_5_6_5\n");
}

TEST_F(UntunedFileTest, WhatWaitsIsWrittenAtTheEnd) {
  {
    UntunedFile untuned(path_);
    const auto taken = LockedFile::Open(path_);
    ASSERT_TRUE(taken.ok());
    EXPECT_FALSE(untuned.Record(Parse("gemm@1{m=4,n=5,k=6}"), false, 0).ok());
  }

  EXPECT_EQ(*ReadFile(path_), "GemmTunableOp_float_NN,nn_4_5_6_ld_4_6_4\n");
}

TEST_F(UntunedFileTest, WhatWaitsIsBounded) {
  UntunedFile untuned(path_ / "in_a_file_that_is_no_folder");
  for (size_t i = 1; i <= UntunedFile::kMaxWaiting; ++i) {
    ASSERT_FALSE(untuned.Record(Parse(fmt::format("gemm@1{{m={},n=5,k=6}}", i)), false, 0).ok());
  }

  const auto refused = untuned.Record(Parse("gemm@1{m=1,n=1,k=1}"), false, 0);

  EXPECT_EQ(refused.status().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(refused.status().message(), HasSubstr("4096 problems wait"));
}

TEST_F(UntunedFileTest, AFileThatWasTakenAwayIsBegunAgain) {
  UntunedFile untuned(path_);
  EXPECT_TRUE(*untuned.Record(Parse("gemm@1{m=4,n=5,k=6}"), false));
  std::filesystem::remove(path_);

  EXPECT_TRUE(*untuned.Record(Parse("gemm@1{m=5,n=5,k=6}"), false));

  EXPECT_EQ(ParseUntunedFile(*ReadFile(path_)).problems.size(), 1u);
}

TEST_F(UntunedFileTest, GarbageIsReportedByLineAndWildcardsAreCounted) {
  const UntunedList list = ParseUntunedFile(
      "nonsense\n\n# comment\nValidator,A,1\nGemmTunableOp_float_NN,nn_4_x_6\n"
      "GemmTunableOp_float_NN,nn_*_5_6_ld_*_6_*\nGemmTunableOp_float_NN,nn_4_5_6\r\n"
      "GemmTunableOp_float_NN,nn_4_5_6\n"
      "GemmTunableOp_float_NN,nn_4_5_6,ATTUNE_PROBLEM: gemm%401%7Bm%3D9%2Cn%3D5%2Ck%3D6%7D\n");

  ASSERT_EQ(list.problems.size(), 1u);
  EXPECT_EQ(list.problems[0].problem, Parse("gemm@1{m=4,n=5,k=6}"));
  EXPECT_EQ(list.wildcards, 1);
  ASSERT_EQ(list.unreadable.size(), 3u);
  EXPECT_EQ(list.unreadable[0].line, 1);
  EXPECT_EQ(list.unreadable[1].line, 5);
  EXPECT_EQ(list.unreadable[2].line, 9);
  EXPECT_THAT(list.unreadable[2].reason, HasSubstr("contradicts"));
}

TEST_F(UntunedFileTest, TheGoldenFileIsReadAndItsOwnLinesAreWrittenTheSame) {
  const std::string content = *ReadFile(ATTUNE_TEST_DATA_DIR "/tunableop/untuned.csv");

  const UntunedList list = ParseUntunedFile(content);

  ASSERT_EQ(list.problems.size(), 5u);
  EXPECT_TRUE(list.unreadable.empty());
  for (const UntunedProblem& untuned : list.problems) {
    const bool is_old_form = untuned.key.params == "nt_25088_4096_64";
    const bool with_blas =
        untuned.problem.As<Gemm>() != nullptr && untuned.problem.Get<Gemm>().type == DataType::kF64;
    const bool is_there =
        ("\n" + content).find("\n" + UntunedLine(untuned.problem, with_blas) + "\n") !=
        std::string::npos;
    EXPECT_NE(is_there, is_old_form) << untuned.key.params;
  }
}

}  // namespace
}  // namespace attune
