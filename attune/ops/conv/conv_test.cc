#include "attune/ops/conv/conv.h"

#include <string>

#include <gtest/gtest.h>

#include "attune/base/random.h"

namespace attune {
namespace {

Conv Square(int64_t size, int64_t filter, int64_t pad, int64_t stride) {
  Conv conv;
  conv.in = {1, size, size};
  conv.filter = {1, filter, filter};
  conv.pad = {0, pad, pad};
  conv.stride = {1, stride, stride};
  return conv;
}

TEST(ConvTest, OutputExtentFollowsTheFormula) {
  EXPECT_EQ(OutputExtent(Square(224, 7, 3, 2)), (Spatial{1, 112, 112}));
  EXPECT_EQ(OutputExtent(Square(14, 1, 0, 2)), (Spatial{1, 7, 7}));
  Conv dilated = Square(32, 3, 2, 1);
  dilated.dilation = {1, 2, 4};
  EXPECT_EQ(OutputExtent(dilated), (Spatial{1, 32, 28}));
}

TEST(ConvTest, TransposedOutputIsAnInputOfThePlainConvolution) {
  Random random(5);
  for (int i = 0; i < 2000; ++i) {
    Conv transposed = Square(
        1 + static_cast<int64_t>(random.Below(20)), 1 + static_cast<int64_t>(random.Below(5)),
        static_cast<int64_t>(random.Below(3)), 1 + static_cast<int64_t>(random.Below(4)));
    transposed.mode = ConvMode::kTransposed;
    transposed.dilation = {1, 1 + static_cast<int64_t>(random.Below(3)), 1};
    transposed.output_pad[1] =
        static_cast<int64_t>(random.Below(static_cast<uint64_t>(transposed.stride[1])));
    if (!Validate(transposed).ok()) continue;

    Conv plain = transposed;
    plain.mode = ConvMode::kConvolution;
    plain.in = OutputExtent(transposed);

    EXPECT_EQ(OutputExtent(plain), transposed.in);
  }
}

TEST(ConvTest, FilterLargerThanThePaddedInputHasNoOutput) {
  EXPECT_NE(Validate(Square(4, 7, 1, 2)).message().find("height 0, outside of [1"),
            std::string::npos)
      << Validate(Square(4, 7, 1, 2)).message();
  EXPECT_TRUE(Validate(Square(5, 7, 1, 2)).ok());
}

TEST(ConvTest, ErrorsNameFieldAndValue) {
  Conv conv = Square(8, 3, 1, 1);
  conv.in_channels = 6;
  conv.out_channels = 4;
  conv.groups = 4;
  EXPECT_EQ(Validate(conv).message(),
            "4 groups of the conv do not divide 6 input and 4 output channels.");
  conv.groups = 2;
  EXPECT_TRUE(Validate(conv).ok());
  conv.stride[2] = 0;
  EXPECT_EQ(Validate(conv).message(),
            "stride (width) of the conv is 0, outside of [1, 2147483647].");
}

TEST(ConvTest, PropertiesThatContradictEachOtherAreRefused) {
  const Conv good = Square(8, 3, 1, 1);
  Conv conv = good;
  conv.in_layout = Layout::kNcdhw;
  EXPECT_FALSE(Validate(conv).ok());
  conv = good;
  conv.pad[0] = 1;
  EXPECT_FALSE(Validate(conv).ok());
  conv = good;
  conv.bias = true;
  EXPECT_TRUE(Validate(conv).ok());
  conv.direction = ConvDirection::kBackwardData;
  EXPECT_FALSE(Validate(conv).ok());
  conv = good;
  conv.output_pad[1] = 1;
  EXPECT_FALSE(Validate(conv).ok());
  conv = good;
  conv.spatial_rank = 1;
  EXPECT_FALSE(Validate(conv).ok());
}

TEST(ConvTest, HugeOperandsAreReportedAndNeverOverflow) {
  const int64_t huge = (int64_t{1} << 31) - 1;
  Conv conv;
  conv.batch = conv.in_channels = conv.out_channels = huge;
  conv.in = {1, huge, huge};
  EXPECT_NE(Validate(conv).message().find("more than"), std::string::npos);
  conv.mode = ConvMode::kTransposed;
  conv.stride = conv.dilation = conv.filter = {1, huge, huge};
  conv.output_pad = {0, huge - 1, huge - 1};
  EXPECT_NE(Validate(conv).message().find("outside of"), std::string::npos);
}

}  // namespace
}  // namespace attune
