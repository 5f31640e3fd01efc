// Keys as problems and problems as keys.

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/random.h"
#include "attune/formats/miopen/conv_keys.h"
#include "attune/ops/conv/conv.h"

namespace attune::miopen {
namespace {

Result<Conv> ProblemOfText(std::string_view text) {
  const auto key = ReadFindKey(text);
  if (!key) return ToStatus(key.error());
  return ProblemOf(*key);
}

std::string KeyTextOf(const Conv& conv) {
  const auto key = FindKeyOf(conv);
  return key.ok() ? Text(*key) : key.error().message();
}

// The first layer of ResNet-50.
Conv FirstLayer(ConvDirection direction) {
  Conv conv;
  conv.direction = direction;
  conv.batch = 32;
  conv.in_channels = 3;
  conv.in = {1, 224, 220};
  conv.out_channels = 64;
  conv.filter = {1, 7, 5};
  conv.pad = {0, 3, 2};
  conv.stride = {1, 2, 2};
  return conv;
}

TEST(KeyProblemTest, BackwardKeysSeeTheConvolutionFromItsOutput) {
  const std::string forward = "3-224-220-7x5-64-112-110-32-3x2-2x2-1x1-0-NCHW-FP32-F";
  const std::string data = "64-112-110-7x5-3-224-220-32-3x2-2x2-1x1-0-NCHW-FP32-B";
  const std::string weights = "64-112-110-7x5-3-224-220-32-3x2-2x2-1x1-0-NCHW-FP32-W";

  EXPECT_EQ(ProblemOfText(forward).value(), FirstLayer(ConvDirection::kForward));
  EXPECT_EQ(ProblemOfText(data).value(), FirstLayer(ConvDirection::kBackwardData));
  EXPECT_EQ(ProblemOfText(weights).value(), FirstLayer(ConvDirection::kBackwardWeights));
  EXPECT_EQ(KeyTextOf(FirstLayer(ConvDirection::kForward)), forward);
  EXPECT_EQ(KeyTextOf(FirstLayer(ConvDirection::kBackwardData)), data);
  EXPECT_EQ(KeyTextOf(FirstLayer(ConvDirection::kBackwardWeights)), weights);
}

TEST(KeyProblemTest, LayoutsGoWithTheirTensorsWhenKeysTurnAround) {
  Conv conv = FirstLayer(ConvDirection::kBackwardData);
  conv.in_layout = Layout::kNhwc;

  // "out" is dx, which has the layout of x.
  EXPECT_THAT(KeyTextOf(conv), testing::HasSubstr("-NCHW-NCHW-NHWC-FP32-B"));
  conv.direction = ConvDirection::kForward;
  EXPECT_THAT(KeyTextOf(conv), testing::HasSubstr("-NHWC-NCHW-NCHW-FP32-F"));
}

TEST(KeyProblemTest, ATransposedConvolutionHasTheKeyOfThePlainOneThatDoesTheSame) {
  Conv conv;
  conv.mode = ConvMode::kTransposed;
  conv.batch = 8;
  conv.in_channels = 64;
  conv.in = {1, 14, 14};
  conv.out_channels = 32;
  conv.filter = {1, 3, 3};
  conv.stride = {1, 2, 2};
  conv.pad = {0, 1, 1};
  conv.output_pad = {0, 1, 1};

  EXPECT_EQ(KeyTextOf(conv), "64-14-14-3x3-32-28-28-8-1x1-2x2-1x1-0-NCHW-FP32-B");
  conv.direction = ConvDirection::kBackwardData;
  EXPECT_EQ(KeyTextOf(conv), "32-28-28-3x3-64-14-14-8-1x1-2x2-1x1-0-NCHW-FP32-F");
  conv.direction = ConvDirection::kBackwardWeights;
  EXPECT_EQ(KeyTextOf(conv), "64-14-14-3x3-32-28-28-8-1x1-2x2-1x1-0-NCHW-FP32-W");
  conv.in_layout = Layout::kNhwc;  // Layout of the tensor with 64 channels: dy of the plain one.
  EXPECT_THAT(KeyTextOf(conv), testing::HasSubstr("-NHWC-NCHW-NCHW-FP32-W"));
}

TEST(KeyProblemTest, AKeyWhoseOutputDoesNotFollowIsNoProblem) {
  const auto conv = ProblemOfText("3-224-224-7x7-64-111-112-32-3x3-2x2-1x1-0-NCHW-FP32-F");

  EXPECT_EQ(conv.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(conv.status().message(),
              testing::HasSubstr("An input of 224x224 gives an output of 112x112, not of 111x112"));
}

TEST(KeyProblemTest, NumbersThatNoConvolutionHasAreNoProblem) {
  for (const char* key : {"0-224-224-7x7-64-112-112-32-3x3-2x2-1x1-0-NCHW-FP32-F",
                          "3-224-224-7x7-64-112-112-32-3x3-0x2-1x1-0-NCHW-FP32-F",
                          "3-4-4-7x7-64-0-0-32-0x0-1x1-1x1-0-NCHW-FP32-F",
                          "3-224-224-7x7-64-112-112-32-3x3-2x2-1x1-0-NCHW-FP32-F_g2",
                          "3-224-224-7x7-64-112-112-32-3x3-2x2-1x1-0-NCDHW-NCDHW-NCDHW-FP32-F",
                          "9223372036854775807-224-224-7x7-64-112-112-32-3x3-2x2-1x1-0-NCHW-FP32-F",
                          "3-224-224-7x7-64-112-112-32-9223372036854775807x3-2x2-1x1-0-NCHW-FP32-F",
                          "3-224-224-9223372036854775807x7-64-112-112-32-3x3-2x2-"
                          "9223372036854775807x1-0-NCHW-FP32-F"}) {
    EXPECT_EQ(ProblemOfText(key).status().code(), StatusCode::kInvalidArgument) << key;
  }
}

// A key holds how tensors lie, and those of one channel or one point lie in both ways.
TEST(KeyProblemTest, TensorsThatLieTheSameInTwoLayoutsAreCalledAsMiopenCallsThem) {
  Conv conv;
  conv.batch = 16;
  conv.in_channels = 960;
  conv.out_channels = 240;
  conv.in = {1, 1, 1};
  conv.filter = {1, 1, 1};
  conv.in_layout = conv.weights_layout = conv.out_layout = Layout::kNhwc;
  EXPECT_EQ(KeyTextOf(conv), "960-1-1-1x1-240-1-1-16-0x0-1x1-1x1-0-NCHW-FP32-F");
  conv.direction = ConvDirection::kBackwardData;
  EXPECT_EQ(KeyTextOf(conv), "240-1-1-1x1-960-1-1-16-0x0-1x1-1x1-0-NCHW-FP32-B");

  // One tensor with a unique layout decides for all.
  conv.in = {1, 7, 7};
  EXPECT_THAT(KeyTextOf(conv), testing::HasSubstr("-0-NHWC-NHWC-NHWC-FP32-B"));
  conv.weights_layout = Layout::kNchw;
  EXPECT_THAT(KeyTextOf(conv), testing::HasSubstr("-0-NHWC-NHWC-NHWC-FP32-B"));
  conv.filter = {1, 3, 3};
  EXPECT_THAT(KeyTextOf(conv), testing::HasSubstr("-0-NHWC-NCHW-NHWC-FP32-B"));

  Conv one_channel = FirstLayer(ConvDirection::kBackwardWeights);
  one_channel.in_channels = one_channel.out_channels = 1;
  one_channel.in_layout = one_channel.weights_layout = one_channel.out_layout = Layout::kNhwc;
  EXPECT_THAT(KeyTextOf(one_channel), testing::HasSubstr("-0-NCHW-FP32-W"));

  // A filter with one channel for each group; the images have several.
  Conv depthwise = one_channel;
  depthwise.in_channels = depthwise.out_channels = depthwise.groups = 8;
  depthwise.weights_layout = Layout::kNchw;
  EXPECT_THAT(KeyTextOf(depthwise), testing::HasSubstr("-0-NHWC-NHWC-NHWC-FP32-W_g8"));

  // In 3-D MIOpen tries one layout alone.
  conv = FirstLayer(ConvDirection::kForward);
  conv.spatial_rank = 3;
  conv.in_layout = conv.weights_layout = conv.out_layout = Layout::kNdhwc;
  EXPECT_THAT(KeyTextOf(conv), testing::HasSubstr("-0-NDHWC-NDHWC-NDHWC-FP32-F"));
  conv.in = conv.filter = conv.stride = {1, 1, 1};
  conv.pad = {0, 0, 0};
  EXPECT_THAT(KeyTextOf(conv), testing::HasSubstr("-0-NCDHW-FP32-F"));
}

TEST(KeyProblemTest, WhatAProblemCannotExpressIsUnsupportedAndNamed) {
  const std::string begin = "3-224-224-7x7-64-112-112-32-3x3-2x2-1x1-";
  for (const auto& [end, reason] : std::initializer_list<std::pair<const char*, const char*>>{
           {"0-NCHW-INT8INT8INT32-F", "mixed types like INT8INT8INT32"},
           {"0-NCHW-FP16-F_ciFP8", "casts"},
           {"1-NCHW-FP32-F", "bias of 1"},
           {"0-NCHW-FP8-F", "type FP8"},
           {"0-NCHW-INT64-F", "type INT64"},
           {"0-CHWN-CHWN-CHWN-FP32-F", "layout CHWN"},
           {"0-UNKNOWN-UNKNOWN-UNKNOWN-FP32-F", "layout UNKNOWN"}}) {
    const auto conv = ProblemOfText(begin + end);
    EXPECT_EQ(conv.status().code(), StatusCode::kUnsupported) << end;
    EXPECT_THAT(conv.status().message(), testing::HasSubstr(reason));
  }
}

TEST(KeyProblemTest, WhatAKeyCannotTellIsUnsupportedAndNamed) {
  const auto expect = [](const Conv& conv, const char* reason) {
    const auto key = FindKeyOf(conv);
    EXPECT_EQ(key.status().code(), StatusCode::kUnsupported) << reason;
    EXPECT_THAT(key.status().message(), testing::HasSubstr(reason));
  };
  Conv conv = FirstLayer(ConvDirection::kForward);
  conv.bias = true;
  expect(conv, "bias");
  conv = FirstLayer(ConvDirection::kForward);
  conv.deterministic = true;
  expect(conv, "repeat");
  conv = FirstLayer(ConvDirection::kForward);
  conv.math = MathMode::kTf32;
  expect(conv, "math mode");
  conv = FirstLayer(ConvDirection::kForward);
  conv.alignment_bytes = 16;
  expect(conv, "alignment of 16 bytes");
  conv = FirstLayer(ConvDirection::kForward);
  conv.groups = 2;
  EXPECT_EQ(FindKeyOf(conv).status().code(), StatusCode::kInvalidArgument);
}

class RandomConv {
 public:
  explicit RandomConv(uint64_t seed) : random_(seed) {}

  Conv Next() {
    Conv conv;
    conv.direction = static_cast<ConvDirection>(random_.Below(3));
    conv.spatial_rank = 2 + static_cast<int>(random_.Below(2));
    conv.groups = UpTo(4);
    conv.batch = UpTo(64);
    conv.in_channels = conv.groups * UpTo(64);
    conv.out_channels = conv.groups * UpTo(64);
    for (size_t axis = conv.spatial_rank == 3 ? 0 : 1; axis < 3; ++axis) {
      conv.filter[axis] = UpTo(5);
      conv.dilation[axis] = UpTo(3);
      conv.pad[axis] = UpTo(4) - 1;
      conv.stride[axis] = UpTo(3);
      // As large as the filter at least.
      conv.in[axis] = conv.dilation[axis] * (conv.filter[axis] - 1) + UpTo(30);
    }
    for (Layout* layout : {&conv.in_layout, &conv.weights_layout, &conv.out_layout}) {
      *layout = static_cast<Layout>(random_.Below(2) + (conv.spatial_rank == 3 ? 2 : 0));
    }
    constexpr DataType kTypes[] = {DataType::kF32, DataType::kF16, DataType::kBf16, DataType::kF64,
                                   DataType::kI8};
    conv.type = kTypes[random_.Below(std::size(kTypes))];
    return conv;
  }

 private:
  int64_t UpTo(uint64_t most) { return static_cast<int64_t>(1 + random_.Below(most)); }

  Random random_;
};

TEST(KeyProblemTest, AnyPlainProblemComesBackFromItsKey) {
  RandomConv convs(17);
  int renamed = 0;  // Layouts, where tensors lie in several.
  for (int i = 0; i < 3000; ++i) {
    const Conv conv = convs.Next();
    const auto key = FindKeyOf(conv);
    ASSERT_TRUE(key.ok()) << key.status().message();
    Conv meant = ProblemOf(*key).value();
    EXPECT_EQ(meant, MeantByKeyOf(conv));
    EXPECT_EQ(meant, MeantByKeyOf(meant));
    renamed += meant == conv ? 0 : 1;
    meant.in_layout = conv.in_layout;
    meant.weights_layout = conv.weights_layout;
    meant.out_layout = conv.out_layout;
    ASSERT_EQ(meant, conv) << Text(*key);
    ASSERT_EQ(FindKeyOf(*ProblemOf(*key)).value(), *key) << Text(*key);
    ASSERT_EQ(*ReadFindKey(Text(*key)), *key) << Text(*key);
  }
  EXPECT_GT(renamed, 0);
  EXPECT_LT(renamed, 300);
}

TEST(KeyProblemTest, AnyTransposedProblemHasTheKeyOfAPlainOneOfTheSameTensors) {
  RandomConv convs(19);
  int seen = 0;
  for (int i = 0; i < 3000; ++i) {
    Conv conv = convs.Next();
    conv.mode = ConvMode::kTransposed;
    if (!Validate(conv).ok()) continue;  // An output of nothing.
    ++seen;
    const auto key = FindKeyOf(conv);
    ASSERT_TRUE(key.ok()) << key.status().message();
    const Conv plain = ProblemOf(*key).value();
    EXPECT_EQ(plain.mode, ConvMode::kConvolution);
    EXPECT_EQ(plain.in_channels, conv.out_channels);
    EXPECT_EQ(plain.out_channels, conv.in_channels);
    EXPECT_EQ(plain.in, OutputExtent(conv));
    EXPECT_EQ(OutputExtent(plain), conv.in);
    const bool lies_in_both = plain.in_channels == 1 || plain.in == Spatial{1, 1, 1};
    EXPECT_TRUE(lies_in_both || plain.in_layout == conv.out_layout) << Text(*key);
  }
  EXPECT_GT(seen, 1000);
}

}  // namespace
}  // namespace attune::miopen
