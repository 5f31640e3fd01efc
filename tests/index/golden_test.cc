// The bytes of an index, against the golden file.
#include <gtest/gtest.h>

#include "attune/index/choice_index.h"
#include "attune/index/index_builder.h"
#include "attune/index/sample_choices.h"
#include "attune/ops/conv/conv.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/problem/other_op.h"
#include "tests/golden/golden_file.h"

namespace attune {
namespace {

// Sizes are powers of two: their logarithms are the same in every mathematics library.
std::vector<Problem> GoldenProblems() {
  Conv conv;
  conv.in_channels = 16;
  conv.out_channels = 32;
  conv.in = {1, 8, 8};
  return {PackedGemm(64, 32, 16), PackedGemm(128, 32, 16), PackedGemm(2, 32, 16), conv,
          OtherOp{"pool", {{"mode", "max"}}}};
}

TEST(IndexGoldenTest, AnIndexIsWrittenAsEverAndReadAsEver) {
  Random random(1);
  IndexBuilder builder;
  std::vector<IndexedChoice> choices;
  const std::vector<Problem> problems = GoldenProblems();
  for (const Problem& problem : problems) {
    choices.push_back(RandomChoice(static_cast<int64_t>(choices.size()), random));
    ASSERT_TRUE(builder.Add(problem, choices.back()).ok());
  }

  const std::string bytes = builder.Bytes({"00112233445566778899aabbccddeeff", 7}).value();

  EXPECT_TRUE(IsGolden("index_v1.hex", HexText(bytes), "index.md"));
  const auto golden = std::move(*ChoiceIndex::Over(BytesOfHex(GoldenText("index_v1.hex"))));
  for (size_t i = 0; i < problems.size(); ++i) {
    ExpectSameChoices(golden->Find(problems[i]).value(), {choices[i]});
  }
  EXPECT_EQ(golden->Nearest(problems[0], 9, 9).value().size(), 2u);
}

}  // namespace
}  // namespace attune
