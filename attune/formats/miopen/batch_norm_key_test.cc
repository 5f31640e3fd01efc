#include "attune/formats/miopen/batch_norm_key.h"

#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/problem/problem.h"

namespace attune::miopen {
namespace {

using testing::HasSubstr;

BatchNormKey KeyIn(std::string_view text) {
  const auto key = ReadBatchNormKey(text);
  EXPECT_TRUE(key.has_value()) << text << ": " << (key ? "" : key.error().reason);
  return key.value_or(BatchNormKey());
}

// The problem of a key as a text; "invalid_argument" or "unsupported" of one that means none.
std::string ProblemText(std::string_view text) {
  const auto norm = ProblemOf(KeyIn(text));
  return norm.ok() ? Text(Problem(*norm)) : std::string(StatusCodeName(norm.status().code()));
}

BatchNorm NormOf(std::string_view text) {
  const auto problem = ParseProblem(text);
  EXPECT_TRUE(problem.ok()) << problem.status().message();
  return problem->Get<BatchNorm>();
}

TEST(BatchNormKeyTest, FieldsAreInMIOpensOrder) {
  const BatchNormKey key = KeyIn("3x16x64x112x96x8x1x0x0xNCDHWxTrnxBF16x0");

  EXPECT_EQ(key.spatial_rank, 3);
  EXPECT_EQ(key.batch, 16);
  EXPECT_EQ(key.channels, 64);
  EXPECT_EQ(key.extents, (Spatial{8, 112, 96}));
  EXPECT_TRUE(key.saves);
  EXPECT_FALSE(key.runs);
  EXPECT_FALSE(key.uses_saved);
  EXPECT_EQ(key.layout, "NCDHW");
  EXPECT_EQ(key.pass, BatchNormPass::kTraining);
  EXPECT_EQ(key.type, ElementType::kBf16);
  EXPECT_EQ(key.mode, BatchNormMode::kPerActivation);
}

TEST(BatchNormKeyTest, EveryKeyThatMIOpenWritesIsReadAndWrittenAgain) {
  for (const char* shape : {"2x16x64x112x112x1", "3x1x1x1x1x4", "2x4x3x2147483648x1x1"}) {
    for (const char* flags : {"x0x0x0", "x1x0x0", "x0x1x0", "x1x1x0", "x0x0x1"}) {
      for (const char* layout : {"NCHW", "NHWC", "NHCW", "CHWN", "NCDHW", "NDHWC", "UNKNOWN"}) {
        for (const char* end : {"TrnxFP32x1", "InfxFP16x0", "BwdxBF16x1", "BwdxFP64x0"}) {
          const std::string text = fmt::format("{}{}x{}x{}", shape, flags, layout, end);
          EXPECT_EQ(Text(KeyIn(text)), text);
        }
      }
    }
  }
}

TEST(BatchNormKeyTest, AWrongFieldIsNamedWithItsPlace) {
  const struct {
    const char* text;
    size_t column;
    const char* reason;
  } cases[] = {
      {"", 1, "Field 'spatial_dim' is ''"},
      {"4x16x64x112x112x1x1x1x0xNCHWxTrnxFP32x1", 1, "Field 'spatial_dim' is 4, not 2 or 3."},
      {"2x16x64x-1x112x1x1x1x0xNCHWxTrnxFP32x1", 9, "Field 'in_h' is '-1'"},
      {"2x16x64x112x112x1x2x1x0xNCHWxTrnxFP32x1", 19, "Field 'resultsave' is 2, not 0 or 1."},
      {"2x16x64x112x112x1x1x1x0xNCHHxTrnxFP32x1", 25, "Layout 'NCHH' is unknown."},
      {"2x16x64x112x112x1x1x1x0xNCHWxFxFP32x1", 30, "Field 'direction' is 'F', which is unknown."},
      {"2x16x64x112x112x1x1x1x0xNCHWxTrnxFP23x1", 34, "Type 'FP23' is unknown."},
      {"2x16x64x112x112x1x1x1x0xNCHWxTrnxFP32x2", 39, "Field 'mode' is '2', which is unknown."},
      {"2x16x64x112x112x1x1x1x0xNCHWxTrnxFP32", 38, "Field 'mode' is missing."},
      {"2x16x64x112x112x1x1x1x0xNCHWxTrnxFP32x1x0", 41, "Nothing is known behind the mode."},
      // The key for convolutions, and MIOpen's name of the same batch norm in its kernel cache.
      {"2x64x56x56x1x3x3x1x64x32x1x1x0x1x1x0x1x1x0x0x1xNCHWxFP32xF", 16, "'resultsave' is 3"},
      {"64x1x112x112x16xNCHWxNCHWxFP32xFP32xFP32xFP32xFP32xFP32x0xTrnx1x1x1x0", 1, "64"},
  };
  for (const auto& each : cases) {
    const auto key = ReadBatchNormKey(each.text);
    ASSERT_FALSE(key.has_value()) << each.text;
    EXPECT_EQ(key.error().column, each.column) << each.text;
    EXPECT_THAT(key.error().reason, HasSubstr(each.reason));
  }
}

TEST(BatchNormKeyTest, KeysThatNoBatchNormHasAreToldFromOthers) {
  EXPECT_EQ(WhyImpossible(KeyIn("2x16x64x112x112x1x1x1x0xNCHWxTrnxFP32x1")), "");
  EXPECT_EQ(WhyImpossible(KeyIn("2x16x64x112x112x1x1x1x0xUNKNOWNxTrnxFP32x1")), "");
  for (const char* text :
       {"2x16x64x112x112x2x1x1x0xNCHWxTrnxFP32x1", "2x16x64x112x112x1x1x1x0xNCDHWxTrnxFP32x1",
        "3x16x64x112x112x1x1x1x0xNCHWxTrnxFP32x1", "2x16x64x0x112x1x1x1x0xNCHWxTrnxFP32x1",
        "2x0x64x112x112x1x1x1x0xNCHWxTrnxFP32x1", "2x16x0x112x112x1x1x1x0xNCHWxTrnxFP32x1",
        "2x16x64x112x112x1x0x0x1xNCHWxTrnxFP32x1", "2x16x64x112x112x1x1x0x0xNCHWxInfxFP32x1",
        "2x16x64x112x112x1x0x1x1xNCHWxBwdxFP32x1"}) {
    EXPECT_NE(WhyImpossible(KeyIn(text)), "") << text;
    EXPECT_EQ(ProblemText(text), "invalid_argument") << text;
  }
}

TEST(BatchNormKeyTest, AKeyMeansAProblemWithoutAnActivation) {
  EXPECT_EQ(ProblemText("2x16x64x112x112x1x1x1x0xNCHWxTrnxFP32x1"),
            "batch_norm@1{n=16,c=64,h=112,w=112,running=1,saved=1}");
  EXPECT_EQ(ProblemText("2x32x64x56x28x1x0x0x1xNHWCxBwdxFP16x1"),
            "batch_norm@1{dir=bwd,n=32,c=64,h=56,w=28,layout=nhwc,saved=1,type=f16}");
  EXPECT_EQ(ProblemText("2x32x64x7x7x1x0x0x0xNCHWxInfxBF16x0"),
            "batch_norm@1{dir=infer,mode=act,n=32,c=64,h=7,w=7,type=bf16}");
  EXPECT_EQ(ProblemText("3x2x8x7x7x5x0x0x0xNDHWCxTrnxFP32x1"),
            "batch_norm@1{n=2,c=8,d=5,h=7,w=7,layout=ndhwc}");
  EXPECT_EQ(ProblemText("3x2x8x7x7x1x0x0x0xNDHWCxTrnxFP32x1"),
            "batch_norm@1{n=2,c=8,h=7,w=7,layout=nhwc}");
}

TEST(BatchNormKeyTest, WhatABatchNormLacksIsUnsupported) {
  EXPECT_EQ(ProblemText("2x16x64x112x112x1x1x1x0xNCHWxTrnxFP64x1"), "unsupported");
  EXPECT_EQ(ProblemText("2x16x64x112x112x1x1x1x0xCHWNxTrnxFP32x1"), "unsupported");
  EXPECT_EQ(ProblemText("2x16x1x112x1x1x1x1x0xNHCWxTrnxFP32x1"), "unsupported");
  EXPECT_EQ(ProblemText("2x16x64x112x112x1x1x1x0xUNKNOWNxTrnxFP32x1"), "unsupported");
  // MIOpen computes the mean of one value; a BatchNorm has two at least.
  EXPECT_EQ(ProblemText("2x1x64x1x1x1x1x1x0xNCHWxTrnxFP32x1"), "invalid_argument");
}

TEST(BatchNormKeyTest, EveryProblemWithAKeyComesBackFromIt) {
  for (const char* text :
       {"batch_norm@1{n=16,c=64,h=112,w=112,running=1,saved=1}",
        "batch_norm@1{n=16,c=64,h=112,w=112,layout=nhwc,running=1}",
        "batch_norm@1{dir=bwd,n=32,c=64,h=56,w=28,layout=nhwc,saved=1,type=f16}",
        "batch_norm@1{dir=bwd,mode=act,n=2,c=1}", "batch_norm@1{dir=infer,n=1,c=1,type=bf16}"}) {
    const BatchNorm norm = NormOf(text);
    const auto key = BatchNormKeyOf(norm);
    ASSERT_TRUE(key.ok()) << key.status().message();
    EXPECT_EQ(WhyImpossible(*key), "");
    EXPECT_EQ(ProblemText(Text(*key)), text);
    EXPECT_EQ(MeantByKeyOf(norm), norm);
  }
}

TEST(BatchNormKeyTest, DepthAndHeightAreOneInAKey) {
  const BatchNorm norm = NormOf("batch_norm@1{n=2,c=8,d=5,h=7,w=3,layout=ndhwc,saved=1}");

  EXPECT_EQ(Text(BatchNormKeyOf(norm).value()), "2x2x8x35x3x1x1x0x0xNHWCxTrnxFP32x1");
  EXPECT_EQ(MeantByKeyOf(norm), NormOf("batch_norm@1{n=2,c=8,h=35,w=3,layout=nhwc,saved=1}"));
  // No BatchNorm has such a height, so the key means no problem.
  const BatchNorm tall = NormOf("batch_norm@1{n=2,c=1,d=65536,h=65536,layout=ndhwc}");
  EXPECT_EQ(MeantByKeyOf(tall), tall);
}

TEST(BatchNormKeyTest, WhatAKeyDoesNotTellIsUnsupported) {
  for (const char* text : {"batch_norm@1{n=16,c=64,fuse=relu}", "batch_norm@1{n=16,c=64,fuse=add}",
                           "batch_norm@1{n=16,c=64,affine=0}", "batch_norm@1{n=16,c=64,det=1}",
                           "batch_norm@1{n=16,c=64,align=4}"}) {
    const BatchNorm norm = NormOf(text);
    EXPECT_EQ(BatchNormKeyOf(norm).status().code(), StatusCode::kUnsupported) << text;
    EXPECT_EQ(MeantByKeyOf(norm), norm);
  }
}

TEST(BatchNormKeyTest, DroppedFlagsAreNotInAKey) {
  BatchNorm norm = NormOf("batch_norm@1{dir=infer,n=16,c=64}");
  norm.running = norm.saved = true;

  EXPECT_EQ(Text(BatchNormKeyOf(norm).value()), "2x16x64x1x1x1x0x0x0xNCHWxInfxFP32x1");
}

TEST(BatchNormKeyTest, SolversWhoseParametersMIOpenSearchesAreKnown) {
  for (const char* solver : {"BnCKFwdTraining", "BnCKFwdInference", "BnCKBwdBackward",
                             "BnFwdTrainingSpatial", "BnBwdTrainingSpatial"}) {
    EXPECT_TRUE(IsBatchNormSolver(solver)) << solver;
  }
  EXPECT_FALSE(IsBatchNormSolver("BnFwdTrainingPerActivation"));
  EXPECT_FALSE(IsBatchNormSolver("ConvAsm1x1U"));
}

}  // namespace
}  // namespace attune::miopen
