#include "backends/cuda/conv/conv_split.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/ops/conv/conv.h"
#include "backends/cuda/layout/tensor_layout_on_host_test.h"
#include "backends/cuda/problem_on_host_test.h"

namespace attune::cuda {
namespace {

using testing::HasSubstr;

using Names = std::vector<std::string>;
using Elements = std::vector<HostElement>;

constexpr HostElement kPoison = -99;

Elements PartsOf(Split task, const HostElement* from, size_t elements) {
  Elements to(elements, kPoison);
  task.copy.from = from;
  task.copy.to = to.data();
  SplitOnHost(task);
  return to;
}

// The output of `conv` as the solver computes it, elements on the host instead of f32.
OperandValues ComputedThrough(const ConvSplit& split, const std::vector<OperandValues>& operands) {
  std::vector<OperandValues> inner = OperandsOnHost(split.inner);
  const std::vector<Elements> given = {Narrowed(operands[0]), Narrowed(operands[1])};
  Elements output(operands[2].size(), kPoison);
  for (int64_t round = 0; round < split.rounds; ++round) {
    const auto at = [&](size_t i) {
      return round * split.steps_bytes[i] / static_cast<int64_t>(sizeof(float));
    };
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(split.parts_bytes[i], inner[i].size() * sizeof(float));
      inner[i] = Widened(PartsOf(split.into[i], given[i].data() + at(i), inner[i].size()));
    }
    const Elements part = Narrowed(ExpectedOf(split.inner, inner));
    if (split.is_output_copied) {
      Relayout task = split.output_back;
      task.from = part.data();
      task.to = output.data() + at(2);
      RelayoutOnHost(task);
    } else {
      std::copy(part.begin(), part.end(), output.begin() + at(2));
    }
  }
  return Widened(output);
}

// All products but those of two low parts.
OperandValues ExpectedOfParts(const Conv& conv, std::vector<OperandValues> operands) {
  OperandValues expected = ExpectedOf(conv, operands);
  for (size_t i = 0; i < 2; ++i) {
    for (double& value : operands[i]) value = LowOf(static_cast<HostElement>(value));
  }
  const OperandValues left_out = ExpectedOf(conv, operands);
  for (size_t i = 0; i < expected.size(); ++i) expected[i] -= left_out[i];
  return expected;
}

const char* const kShapes[] = {
    "n=2,c=16,h=9,w=11,k=24,fh=3,fw=3,ph=1,pw=1,sh=2",
    "n=2,c=3,h=9,w=11,k=5,fh=3,fw=3,ph=1,pw=1",
    "n=2,c=3,h=9,w=11,k=5,fh=3,fw=2,ph=1,pw=1,layout=nhwc",
    "n=2,c=16,h=9,w=11,k=24,fh=3,fw=3,dh=2,layout=nhwc",
    "n=2,c=6,h=9,w=11,k=4,fh=3,fw=3,g=2",
    "n=2,c=6,h=9,w=11,k=9,fh=3,fw=3,g=3,layout=nhwc",
    "n=2,c=6,h=9,w=11,k=6,fh=3,fw=3,g=6",
    "n=2,c=6,h=9,w=11,k=4,fh=1,fw=1,layout=nhwc,ylayout=nchw",
    "n=2,c=8,h=9,w=11,k=4,fh=3,fw=1,wlayout=nhwc,g=2",
    "n=2,c=1,h=9,w=11,k=4,fh=3,fw=1",
    "n=2,c=5,d=3,h=5,w=4,k=7,fd=2,fh=3,fw=1,sd=2",
    "n=2,c=9,h=1,w=1,k=11,fh=1,fw=1",
    "n=3,c=8,h=1,w=1,k=12,fh=1,fw=1,g=2",
};

TEST(ConvSplitTest, TheInnerConvolutionOfThePartsIsTheConvolution) {
  for (const char* text : kShapes) {
    for (const char* direction : {"fwd", "bwd_data", "bwd_weights"}) {
      const Conv conv = ConvOf(std::string("conv@1{dir=") + direction + "," + text + "}");
      const std::vector<OperandValues> operands = OperandsOnHost(conv);
      for (const std::string& name : SplitNames(conv)) {
        const auto split = SplitInLayout(conv, name);
        ASSERT_TRUE(split.ok()) << split.status().message();
        EXPECT_EQ(split->rounds, 1);
        EXPECT_EQ(split->inner.math, MathMode::kTf32);

        EXPECT_EQ(ComputedThrough(*split, operands), ExpectedOfParts(conv, operands))
            << text << ' ' << direction << ' ' << name;
      }
    }
  }
}

TEST(ConvSplitTest, ImagesThatDoNotFitTogetherAreSplitInRounds) {
  for (const char* text : {"n=6,c=8,h=9,w=11,k=4,fh=3,fw=3,ph=1,pw=1",
                           "n=6,c=8,h=9,w=11,k=4,fh=3,fw=3,g=2,layout=nhwc"}) {
    for (const char* direction : {"fwd", "bwd_data"}) {
      const Conv conv = ConvOf(std::string("conv@1{dir=") + direction + "," + text + "}");
      const std::vector<OperandValues> operands = OperandsOnHost(conv);
      for (const std::string& name : SplitNames(conv)) {
        const size_t whole_bytes = SplitInLayout(conv, name)->CopiesBytes();
        const auto limit_bytes = static_cast<int64_t>(whole_bytes * 3 / 5);
        const auto split = SplitInLayout(conv, name, limit_bytes);
        ASSERT_TRUE(split.ok()) << split.status().message();

        EXPECT_GT(split->rounds, 1);
        EXPECT_EQ(split->rounds * split->inner.batch, conv.batch);
        EXPECT_LE(split->CopiesBytes(), static_cast<size_t>(limit_bytes));
        EXPECT_EQ(ComputedThrough(*split, operands), ExpectedOfParts(conv, operands))
            << text << ' ' << direction << ' ' << name;
      }
    }
  }
}

TEST(ConvSplitTest, TheSumOfEachDirectionIsThreeTimesAsLong) {
  const auto inner = [](const std::string& direction) {
    const Conv conv = ConvOf("conv@1{dir=" + direction + ",n=2,c=64,h=9,w=9,k=96,fh=3,fw=3,g=2}");
    return SplitInLayout(conv, "last")->inner;
  };
  EXPECT_EQ(inner("fwd").in_channels, 192);
  EXPECT_EQ(inner("fwd").out_channels, 96);
  EXPECT_EQ(inner("bwd_data").out_channels, 288);
  EXPECT_EQ(inner("bwd_data").in_channels, 64);
  EXPECT_EQ(inner("bwd_weights").batch, 6);
  EXPECT_EQ(inner("bwd_weights").in_channels, 64);
}

TEST(ConvSplitTest, SmallProductsComeFirst) {
  const auto split =
      SplitInLayout(ConvOf("conv@1{dir=fwd,n=2,c=64,h=9,w=9,k=96,fh=3,fw=3}"), "last");
  ASSERT_TRUE(split.ok());
  EXPECT_EQ(split->into[0].low_part, 0);
  EXPECT_EQ(split->into[1].low_part, 1);
}

TEST(ConvSplitTest, OutputsOfRoundsPromiseNoMoreThanTheirAddressKeeps) {
  const Conv conv = ConvOf("conv@1{dir=fwd,n=4,c=8,h=3,w=3,k=7,fh=3,fw=3}");
  // Outputs of one image are 28 bytes.
  EXPECT_EQ(SplitInLayout(conv, "first")->inner.alignment_bytes, 64);
  EXPECT_EQ(SplitInLayout(conv, "first", 0)->rounds, 4);
  EXPECT_EQ(SplitInLayout(conv, "first", 0)->inner.alignment_bytes, 4);
  EXPECT_EQ(SplitInLayout(conv, "padded", 0)->inner.alignment_bytes, 256);
}

TEST(ConvSplitTest, PartsAreLaidOutAsTensorCoresReadThemAndChannelsFirst) {
  const auto names = [](const char* text) { return SplitNames(ConvOf(text)); };
  EXPECT_EQ(names("conv@1{dir=fwd,n=1,c=16,h=9,w=9,k=24,fh=3,fw=3}"), (Names{"last", "first"}));
  EXPECT_EQ(names("conv@1{dir=fwd,n=1,c=16,h=9,w=9,k=24,fh=3,fw=3,layout=nhwc}"),
            (Names{"last", "first"}));
  EXPECT_EQ(names("conv@1{dir=fwd,n=1,c=3,h=9,w=9,k=24,fh=3,fw=3}"), (Names{"padded", "first"}));
  EXPECT_EQ(names("conv@1{dir=fwd,n=1,c=6,h=9,w=9,k=6,fh=3,fw=3,g=2}"), (Names{"last", "first"}));
}

TEST(ConvSplitTest, ConvolutionsOfDetectorsAndBackbonesAreSplit) {
  for (const char* text :
       {"conv@1{dir=fwd,n=1,c=256,h=200,w=304,k=256,fh=3,fw=3,ph=1,pw=1}",
        "conv@1{dir=bwd_data,n=1,c=256,h=200,w=304,k=256,fh=3,fw=3,ph=1,pw=1}",
        "conv@1{dir=fwd,n=128,c=256,h=14,w=14,k=256,fh=3,fw=3,ph=1,pw=1}",
        "conv@1{dir=bwd_weights,n=32,c=128,h=28,w=28,k=128,fh=3,fw=3,ph=1,pw=1}"}) {
    const auto names = PossibleSplits(ConvOf(text));
    ASSERT_TRUE(names.ok()) << text << ": " << names.status().message();
    EXPECT_EQ(*names, (Names{"last", "first"})) << text;
  }
}

struct Refusal {
  const char* text;
  const char* reason;
};

TEST(ConvSplitTest, WhatIsNotSplitIsRefusedWithTheReason) {
  const Refusal refusals[] = {
      {"conv@1{dir=fwd,n=8,c=256,h=28,w=28,k=256,fh=3,fw=3,math=tf32}", "f32 with math 'tf32'"},
      {"conv@1{dir=fwd,n=8,c=256,h=28,w=28,k=256,fh=3,fw=3,type=f16}", "f16 with math 'strict'"},
      {"conv@1{dir=fwd,n=8,c=256,h=28,w=28,k=256,fh=3,fw=3,type=f64}", "f64 with math 'strict'"},
      {"conv@1{dir=fwd,n=8,c=64,h=56,w=56,k=64,fh=1,fw=1}", "24 are the least"},
      {"conv@1{dir=fwd,n=8,c=64,h=56,w=56,k=64,fh=3,fw=3,g=64}", "1.4 products"},
      // 294 MiB for every gradient of weights, which no rounds add up to.
      {"conv@1{dir=bwd_weights,n=32,c=128,h=56,w=56,k=128,fh=3,fw=3}", "is the most"},
      // One image of three times 98 MiB.
      {"conv@1{dir=fwd,n=2,c=256,h=317,w=317,k=256,fh=3,fw=3}", "is the most"},
      // 127 rounds of one.
      {"conv@1{dir=fwd,n=127,c=64,h=400,w=400,k=64,fh=3,fw=3}", "127 rounds of 1 images"},
  };
  for (const Refusal& refusal : refusals) {
    const Status status = PossibleSplits(ConvOf(refusal.text)).status();

    EXPECT_EQ(status.code(), StatusCode::kUnsupported) << refusal.text;
    EXPECT_THAT(status.message(), HasSubstr(refusal.reason)) << refusal.text;
  }
}

TEST(ConvSplitTest, PartsKeepToTheirLimitInEveryLayout) {
  // With a copied output, channels-last takes more.
  const Conv conv = ConvOf("conv@1{dir=fwd,n=1,c=64,h=28,w=28,k=64,fh=3,fw=3}");
  const auto last_bytes = static_cast<int64_t>(SplitInLayout(conv, "last")->CopiesBytes());
  const auto first_bytes = static_cast<int64_t>(SplitInLayout(conv, "first")->CopiesBytes());
  ASSERT_GT(last_bytes, first_bytes);

  EXPECT_EQ(*PossibleSplits(conv, last_bytes), (Names{"last", "first"}));
  EXPECT_EQ(*PossibleSplits(conv, last_bytes - 1), Names{"first"});
  EXPECT_EQ(PossibleSplits(conv, first_bytes - 1).status().code(), StatusCode::kUnsupported);
}

TEST(ConvSplitTest, OnlyGpusWhoseTensorCoresAreMuchFasterPay) {
  Target target;
  for (const char* arch : {"sm_80", "sm_90", "sm_100"}) {
    target.arch = arch;
    EXPECT_TRUE(CheckSplitsPay(target).ok()) << arch;
  }
  for (const char* arch : {"sm_75", "sm_86", "sm_89", "sm_120"}) {
    target.arch = arch;
    EXPECT_EQ(CheckSplitsPay(target).code(), StatusCode::kUnsupported) << arch;
    EXPECT_THAT(CheckSplitsPay(target).message(), HasSubstr(arch));
  }
}

}  // namespace
}  // namespace attune::cuda
