#include "backends/cuda/conv/conv_relayout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/ops/conv/conv.h"
#include "backends/cuda/layout/tensor_layout_on_host_test.h"
#include "backends/cuda/problem_on_host_test.h"

namespace attune::cuda {
namespace {

using Names = std::vector<std::string>;
using Elements = std::vector<HostElement>;

Elements Copied(Relayout task, const Elements& from, size_t elements) {
  Elements to(elements, -99);
  task.from = from.data();
  task.to = to.data();
  RelayoutOnHost(task);
  return to;
}

// The output of `conv` through the layout `name`.
OperandValues ComputedThrough(const std::string& name, const Conv& conv,
                              const std::vector<OperandValues>& operands) {
  const auto relayout = LayOutAnew(conv, name);
  EXPECT_TRUE(relayout.ok()) << relayout.status().message();
  std::vector<OperandValues> inner = OperandsOnHost(relayout->inner);
  for (size_t i = 0; i < 2; ++i) {
    inner[i] = relayout->is_copied[i]
                   ? Widened(Copied(relayout->into[i], Narrowed(operands[i]), inner[i].size()))
                   : operands[i];
  }
  const OperandValues output = ExpectedOf(relayout->inner, inner);
  if (!relayout->is_copied[2]) return output;
  return Widened(Copied(relayout->back[2], Narrowed(output), operands[2].size()));
}

TEST(ConvRelayoutTest, TheInnerConvolutionOfTheCopiesIsTheConvolution) {
  for (const char* text : {
           "n=2,c=3,h=9,w=11,k=5,fh=3,fw=3,ph=1,pw=1,type=f16",
           "n=2,c=16,h=9,w=11,k=24,fh=3,fw=3,ph=1,pw=1,sh=2,type=f16",
           "n=2,c=3,h=9,w=11,k=5,fh=3,fw=2,ph=1,pw=1,type=f16,layout=nhwc",
           "n=2,c=16,h=9,w=11,k=24,fh=3,fw=3,layout=nhwc,type=f16",
           "n=2,c=6,h=9,w=11,k=4,fh=3,fw=3,g=2,type=f16",
           "n=2,c=6,h=9,w=11,k=6,fh=3,fw=3,g=6,type=f16",
           "n=2,c=6,h=9,w=11,k=4,fh=1,fw=1,type=f16,layout=nhwc,ylayout=nchw",
           "n=2,c=6,h=9,w=11,k=4,fh=3,fw=1,type=f16,wlayout=nhwc",
           "n=2,c=1,h=9,w=11,k=4,fh=3,fw=1,type=f16",
           "n=2,c=5,d=3,h=5,w=4,k=7,fd=2,fh=3,fw=1,sd=2,type=f16",
           "n=2,c=9,h=1,w=1,k=11,fh=1,fw=1,type=f16",
       }) {
    for (const char* direction : {"fwd", "bwd_data", "bwd_weights"}) {
      const Conv conv = ConvOf(std::string("conv@1{dir=") + direction + "," + text + "}");
      const std::vector<OperandValues> operands = OperandsOnHost(conv);
      for (const std::string& name : RelayoutNames(conv)) {
        EXPECT_EQ(ComputedThrough(name, conv, operands), ExpectedOf(conv, operands))
            << text << ' ' << direction << ' ' << name;
      }
    }
  }
}

TEST(ConvRelayoutTest, NamesDependOnLayoutsAndChannels) {
  const auto names = [](const char* text) { return RelayoutNames(ConvOf(text)); };
  EXPECT_EQ(names("conv@1{dir=fwd,n=1,c=16,h=9,w=9,k=24,fh=3,fw=3,type=f16}"), Names{"last"});
  EXPECT_EQ(names("conv@1{dir=fwd,n=1,c=3,h=9,w=9,k=24,fh=3,fw=3,type=f16}"),
            (Names{"padded", "last"}));
  EXPECT_EQ(names("conv@1{dir=fwd,n=1,c=3,h=9,w=9,k=24,fh=3,fw=3}"), Names{"last"});
  EXPECT_EQ(names("conv@1{dir=fwd,n=1,c=6,h=9,w=9,k=24,fh=3,fw=3,math=tf32}"),
            (Names{"padded", "last"}));
  EXPECT_EQ(names("conv@1{dir=fwd,n=1,c=6,h=9,w=9,k=6,fh=3,fw=3,g=2,type=f16}"), Names{"last"});
  EXPECT_EQ(names("conv@1{dir=fwd,n=1,c=16,h=9,w=9,k=24,fh=3,fw=3,layout=nhwc}"), Names{"first"});
  EXPECT_EQ(names("conv@1{dir=fwd,n=1,c=3,h=9,w=9,k=24,fh=3,fw=3,layout=nhwc,type=bf16}"),
            (Names{"padded", "first"}));
  EXPECT_EQ(names("conv@1{dir=fwd,n=1,c=8,h=9,w=9,k=8,fh=3,fw=3,layout=nhwc,ylayout=nchw}"),
            Names{"last"});
}

TEST(ConvRelayoutTest, WhereNothingWouldBeCopiedThereIsNoOtherLayout) {
  EXPECT_TRUE(RelayoutNames(ConvOf("conv@1{dir=fwd,n=9,c=8,h=1,w=1,k=16,fh=1,fw=1}")).empty());
  EXPECT_EQ(RelayoutNames(ConvOf("conv@1{dir=fwd,n=9,c=9,h=1,w=1,k=16,fh=1,fw=1,type=f16}")),
            Names{"padded"});
}

TEST(ConvRelayoutTest, CopiesKeepToTheirLimit) {
  // 12 MB of images with 3 channels, which are 32 MB with 8, and outputs of 4 MB.
  const Conv conv =
      ConvOf("conv@1{dir=fwd,n=64,c=3,h=176,w=176,k=72,fh=3,fw=3,sh=8,sw=8,type=f16}");
  const size_t padded_bytes = LayOutAnew(conv, "padded")->CopiesBytes();
  const size_t last_bytes = LayOutAnew(conv, "last")->CopiesBytes();
  ASSERT_GT(padded_bytes, last_bytes);

  EXPECT_EQ(*PossibleRelayouts(conv, static_cast<int64_t>(padded_bytes)),
            (Names{"padded", "last"}));
  EXPECT_EQ(*PossibleRelayouts(conv, static_cast<int64_t>(padded_bytes) - 1), Names{"last"});
  const Status refused = PossibleRelayouts(conv, static_cast<int64_t>(last_bytes) - 1).status();
  EXPECT_EQ(refused.code(), StatusCode::kUnsupported);
  EXPECT_THAT(refused.message(),
              testing::AllOf(testing::HasSubstr("'last' take " + std::to_string(last_bytes)),
                             testing::HasSubstr(std::to_string(last_bytes - 1) + " is the most")));
}

TEST(ConvRelayoutTest, OnlyWhatLiesOtherwiseInMemoryIsCopied) {
  const auto relayout = LayOutAnew(
      ConvOf("conv@1{dir=bwd_data,n=4,c=16,h=9,w=9,k=24,fh=1,fw=1,type=f16,align=16}"), "last");
  ASSERT_TRUE(relayout.ok()) << relayout.status().message();

  // A filter of one tap is one order.
  EXPECT_EQ(relayout->is_copied, (std::array<bool, 3>{true, false, true}));
  EXPECT_EQ(relayout->bytes[0], 2u * 4 * 24 * 81);
  EXPECT_EQ(relayout->bytes[2], 2u * 4 * 16 * 81);
  EXPECT_EQ(relayout->inner.alignment_bytes, 16);
}

TEST(ConvRelayoutTest, PaddedChannelsAreWholeWords) {
  const auto relayout = LayOutAnew(
      ConvOf("conv@1{dir=fwd,n=4,c=3,h=9,w=9,k=70,fh=3,fw=3,type=bf16,align=2}"), "padded");
  ASSERT_TRUE(relayout.ok()) << relayout.status().message();

  EXPECT_EQ(relayout->inner.in_channels, 8);
  EXPECT_EQ(relayout->inner.out_channels, 72);
  EXPECT_EQ(relayout->inner.in_layout, Layout::kNhwc);
  EXPECT_EQ(relayout->is_copied, (std::array<bool, 3>{true, true, true}));
  EXPECT_EQ(relayout->bytes[1], 2u * 72 * 9 * 8);
  EXPECT_EQ(relayout->inner.alignment_bytes, 256);
}

}  // namespace
}  // namespace attune::cuda
