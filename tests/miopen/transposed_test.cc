// Lines `MIOpenDriver conv ... -m trans`, up to the keys of MIOpen's databases: there each is the
// plain convolution that MIOpen computes instead, with the tensors and the direction turned round.
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/formats/miopen/conv_keys.h"
#include "attune/formats/miopen/solver_candidate.h"
#include "attune/formats/problem_line.h"
#include "attune/ops/conv/conv.h"
#include "extensions/miopen/databases/measured_db.h"

namespace attune::miopen {
namespace {

using ::testing::HasSubstr;

Conv ConvOf(const std::string& line) {
  const auto problems = ParseProblems("MIOpenDriver conv " + line);
  EXPECT_TRUE(problems.ok()) << problems.status().message();
  return problems.ok() ? problems->at(0).Get<Conv>() : Conv();
}

std::string KeyOf(const std::string& line) {
  const auto key = FindKeyOf(ConvOf(line));
  return key.ok() ? Text(*key) : key.status().message();
}

struct Pair {
  std::string transposed;
  std::string plain;  // The same tensors: it writes the one that the transposed one reads.
};

const Pair kPairs[] = {
    {"-n 8 -c 64 -H 14 -W 14 -k 32 -y 3 -x 3 -p 1 -q 1 -u 2 -v 2 -Y 1 -X 1",
     "-n 8 -c 32 -H 28 -W 28 -k 64 -y 3 -x 3 -p 1 -q 1 -u 2 -v 2"},
    {"-n 8 -c 64 -H 14 -W 14 -k 32 -y 4 -x 4 -p 1 -q 1 -u 2 -v 2 -z same",
     "-n 8 -c 32 -H 28 -W 28 -k 64 -y 4 -x 4 -p 1 -q 1 -u 2 -v 2"},
    {"-n 2 -c 8 -H 7 -W 9 -k 12 -y 3 -x 3 -g 4 -l 2 -j 2",
     "-n 2 -c 12 -H 11 -W 13 -k 8 -y 3 -x 3 -g 4 -l 2 -j 2"},
    {"-n 2 -c 8 -H 7 -W 9 -k 12 -y 1 -x 3 -I NHWC -f NHWC -O NHWC",
     "-n 2 -c 12 -H 7 -W 11 -k 8 -y 1 -x 3 -I NHWC -f NHWC -O NHWC"},
    {"-n 2 -c 8 -H 7 -W 9 -k 12 -y 1 -x 3 -I NHWC -f NCHW -O NCHW",
     "-n 2 -c 12 -H 7 -W 11 -k 8 -y 1 -x 3 -I NCHW -f NCHW -O NHWC"},
    {"--spatial_dim 3 -n 2 -c 8 --in_d 5 -H 7 -W 9 -k 12 --fil_d 3 -y 3 -x 3 --conv_stride_d 2 "
     "--trans_output_pad_d 1",
     "--spatial_dim 3 -n 2 -c 12 --in_d 12 -H 9 -W 11 -k 8 --fil_d 3 -y 3 -x 3 --conv_stride_d 2"},
};

TEST(TransposedTest, ALineHasTheKeyOfThePlainOneTurnedRound) {
  for (const Pair& pair : kPairs) {
    const auto same_key = [&pair](int transposed, int plain) {
      EXPECT_EQ(KeyOf(fmt::format("{} -m trans -F {}", pair.transposed, transposed)),
                KeyOf(fmt::format("{} -F {}", pair.plain, plain)));
    };
    same_key(1, 2);
    same_key(2, 1);
    same_key(4, 4);
  }
  EXPECT_EQ(KeyOf(kPairs[0].transposed + " -m trans -F 1"),
            "64-14-14-3x3-32-28-28-8-1x1-2x2-1x1-0-NCHW-FP32-B");
}

TEST(TransposedTest, ItsPerfKeyIsThatOfThePlainOne) {
  for (const Pair& pair : kPairs) {
    EXPECT_EQ(Text(PerfKeyOf(*FindKeyOf(ConvOf(pair.transposed + " -m trans -F 1")))),
              Text(PerfKeyOf(*FindKeyOf(ConvOf(pair.plain + " -F 2")))));
  }
}

TEST(TransposedTest, WhatWasMeasuredOfItIsWrittenInThatDirection) {
  const MeasuredResult result = {ConvOf(kPairs[0].transposed + " -m trans -F 1"),
                                 CandidateOf({"GemmBwdRest", ""}), 1e6, 4096};
  LeftOut left_out;

  const FindDb db = FindDbOf(std::vector{result}, left_out);

  EXPECT_TRUE(left_out.empty());
  ASSERT_EQ(db.records.size(), 1u);
  EXPECT_EQ(db.records[0].key, "64-14-14-3x3-32-28-28-8-1x1-2x2-1x1-0-NCHW-FP32-B");
  EXPECT_EQ(db.records[0].items.at(0).algorithm, "miopenConvolutionBwdDataAlgoGEMM");
}

TEST(TransposedTest, WhatNoKeyTellsAndNoDriverTakesIsRefusedWithTheReason) {
  EXPECT_EQ(KeyOf("-m trans -F 1 -b 1"), "Keys of MIOpen's databases do not tell of a bias.");
  for (const auto& [flags, reason] :
       {std::pair("-m transpose", "conv or trans"), std::pair("-m Trans", "conv or trans"),
        std::pair("-m trans -u 2 -Y 2", "output_pad")}) {
    const auto problems = ParseProblems(fmt::format("MIOpenDriver conv {} -F 1", flags));
    ASSERT_FALSE(problems.ok()) << flags;
    EXPECT_THAT(problems.status().message(), HasSubstr(reason));
  }
}

}  // namespace
}  // namespace attune::miopen
