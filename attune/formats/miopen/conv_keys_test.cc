#include "attune/formats/miopen/conv_keys.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/random.h"

namespace attune::miopen {
namespace {

FindKey Key(std::string_view text) {
  const auto key = ReadFindKey(text);
  EXPECT_TRUE(key.has_value()) << text << ": " << (key ? "" : key.error().reason);
  return key.value_or(FindKey());
}

TEST(FindKeyTest, FieldsOfTwoDimensionsAreInMIOpensOrder) {
  const FindKey key = Key("384-8-6-3x1-256-9-7-128-1x0-2x3-4x5-0-NCHW-FP16-W");

  EXPECT_EQ(key.direction, Direction::kBackwardWeights);
  EXPECT_EQ(key.spatial_rank, 2);
  EXPECT_EQ(key.in_channels, 384);
  EXPECT_EQ(key.in, (Spatial{1, 8, 6}));
  EXPECT_EQ(key.filter, (Spatial{1, 3, 1}));
  EXPECT_EQ(key.out_channels, 256);
  EXPECT_EQ(key.out, (Spatial{1, 9, 7}));
  EXPECT_EQ(key.batch, 128);
  EXPECT_EQ(key.pad, (Spatial{0, 1, 0}));
  EXPECT_EQ(key.stride, (Spatial{1, 2, 3}));
  EXPECT_EQ(key.dilation, (Spatial{1, 4, 5}));
  EXPECT_EQ(key.bias, 0);
  EXPECT_THAT(key.layouts, testing::Each(TensorLayout::kNchw));
  EXPECT_THAT(key.types, testing::Each(ElementType::kFp16));
  EXPECT_EQ(key.groups, 1);
}

TEST(FindKeyTest, FieldsOfThreeDimensionsHaveTheDepthFirst) {
  const FindKey key = Key("1024-2-14-15-1x3x5-512-4-7-8-16-0x1x2-1x2x3-4x5x6-0-NCDHW-BF16-B_g32");

  EXPECT_EQ(key.direction, Direction::kBackwardData);
  EXPECT_EQ(key.spatial_rank, 3);
  EXPECT_EQ(key.in, (Spatial{2, 14, 15}));
  EXPECT_EQ(key.filter, (Spatial{1, 3, 5}));
  EXPECT_EQ(key.out_channels, 512);
  EXPECT_EQ(key.out, (Spatial{4, 7, 8}));
  EXPECT_EQ(key.batch, 16);
  EXPECT_EQ(key.pad, (Spatial{0, 1, 2}));
  EXPECT_EQ(key.stride, (Spatial{1, 2, 3}));
  EXPECT_EQ(key.dilation, (Spatial{4, 5, 6}));
  EXPECT_THAT(key.layouts, testing::Each(TensorLayout::kNcdhw));
  EXPECT_EQ(key.groups, 32);
}

TEST(FindKeyTest, EveryKeyThatMIOpenWritesIsReadAndWrittenAgain) {
  const std::vector<std::string> ends = {
      "NCHW-FP32-F",
      "NHWC-NHWC-NHWC-FP16-B",
      "CHWN-CHWN-CHWN-BF16-W",
      "NCHWc-NCHWc-NCHWc-INT8-F",
      "NCHWc-CHWNc-NCHWc-INT8-F",
      "NCDHW-NCDHW-NCDHW-FP64-F",  // In a 2-D key: one name would be NCHW's.
      "UNKNOWN-NHWC-CHWN-INT32-F",
      "NCHW-NCHW-NHWC-INT64-F",
      "NCHW-INT8INT8INT32-F",
      "NCHW-INT8INT8FP32-F",
      "NHWC-NHWC-NHWC-FP8BF8FP16-B",
      "NCHW-FP8-F",
      "NCHW-BF8-F",
      "NCHW-FP16-W_g2",
      "NCHW-FP16-F_ciFP8_cwBF8_coFP8",
      "NCHW-FP16-F_g64_ciFP8_cwFP8_coBF8",
      "NCHW-FP16-F_cwFP8",
      "NCHW-FP16-F_coBF8",
      "NCHW-FP16-F_g3_coBF8"};
  for (const std::string& end : ends) {
    const std::string text = "64-56-57-3x1-64-28-29-32-1x0-2x2-1x1-0-" + end;
    EXPECT_EQ(Text(Key(text)), text);
  }
  for (const std::string end : {"NCDHW-FP32-F", "NDHWC-NDHWC-NDHWC-FP16-B_g8",
                                "NCHW-NCHW-NCHW-FP32-F", "NCDHW-INT8INT8INT32-F_g8_ciINT8"}) {
    const std::string text = "64-7-56-57-2x3x1-64-4-28-29-32-0x1x0-2x2x2-1x1x1-0-" + end;
    EXPECT_EQ(Text(Key(text)), text);
  }
}

TEST(FindKeyTest, EveryTripleOfTypesHasATextOfItsOwn) {
  constexpr int kTypes = 9;
  for (int i = 0; i < kTypes * kTypes * kTypes; ++i) {
    const ElementTypes types = {static_cast<ElementType>(i % kTypes),
                                static_cast<ElementType>(i / kTypes % kTypes),
                                static_cast<ElementType>(i / kTypes / kTypes)};
    EXPECT_EQ(TypesOf(TextOf(types)), types) << TextOf(types);
  }
  for (const char* text : {"", "FP", "FP3", "fp32", "FP32FP32", "FP32FP32FP32FP32", "FP32x"}) {
    EXPECT_EQ(TypesOf(text), std::nullopt) << text;
  }
}

struct BadKey {
  std::string text;
  size_t column;
  std::string reason;
};

TEST(FindKeyTest, WhatIsNoKeyHasTheColumnAndTheReason) {
  const std::vector<BadKey> keys = {
      {"", 1, "Field 'in channels' is ''"},
      {"64", 3, "Field 'in height' is missing"},
      {"64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-FP32", 49, "Field 'direction' is missing"},
      {"64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0", 39, "Field 'layout' is missing"},
      // Without a filter in its place in 2-D keys, it is a 3-D key.
      {"64-56-56-3-64-56-56-32-1x1-1x1-1x1-0-NCHW-FP32-F", 12, "Field 'filter depth' is '64-"},
      {"64--56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-FP32-F", 4, "Field 'in height' is ''"},
      {"+64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-FP32-F", 1, "Field 'in channels' is '+64'"},
      {"64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-FP31-F", 45, "Type 'FP31' is unknown"},
      {"64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHX-FP32-F", 40, "Layout 'NCHX' is unknown"},
      {"64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NHWC-NHWC-NHXC-FP32-F", 50,
       "Layout 'NHXC' is unknown"},
      {"64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-FP32-X", 50,
       "Direction 'X' is none of F, B and W"},
      {"64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-FP32-F_h2", 52, "Option 'h2' is none of"},
      {"64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-FP32-F_g0", 52, "Option 'g0' is none of"},
      {"64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-FP32-F_g2x", 52, "Option 'g2x' is none of"},
      {"64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-FP32-F_g2_g3", 55, "Option 'g3' is none of"},
      {"64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-FP32-F_coFP8_ciFP8", 58,
       "Option 'ciFP8' is none of"},
      {"64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-FP32-F_ciFP7", 52, "Option 'ciFP7' is none of"},
      {"64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-FP32-F_", 52, "Option '' is none of"},
      {"64-56-56-3x3-64-56-56-9223372036854775808-1x1-1x1-1x1-0-NCHW-FP32-F", 23,
       "not a decimal number below 2^63"}};
  for (const BadKey& bad : keys) {
    const auto key = ReadFindKey(bad.text);
    ASSERT_FALSE(key.has_value()) << bad.text;
    EXPECT_EQ(key.error().column, bad.column) << bad.text << ": " << key.error().reason;
    EXPECT_THAT(key.error().reason, testing::HasSubstr(bad.reason));
  }
}

TEST(FindKeyTest, WhatMIOpenWouldSpellInAnotherWayHasAnotherText) {
  for (const std::string text : {"064-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-FP32-F",
                                 "64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-NCHW-NCHW-FP32-F",
                                 "64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NHWC-FP32-F",
                                 "64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-FP32FP32FP32-F",
                                 "64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-FP32-F_g1"}) {
    EXPECT_NE(Text(Key(text)), text);
  }
}

Spatial RandomExtents(Random& random, uint64_t below) {
  Spatial extents;
  for (int64_t& extent : extents) extent = static_cast<int64_t>(random.Below(below));
  return extents;
}

// Any key with a text, whether or not a convolution can have it.
FindKey RandomKey(Random& random) {
  FindKey key;
  key.spatial_rank = 2 + static_cast<int>(random.Below(2));
  key.direction = static_cast<Direction>(random.Below(3));
  for (int64_t* number : {&key.in_channels, &key.out_channels, &key.batch, &key.bias}) {
    *number = static_cast<int64_t>(random.Next() >> (1 + random.Below(63)));
  }
  if (random.Below(2) == 0) key.groups = static_cast<int64_t>(1 + random.Below(999));
  for (Spatial* extents : {&key.in, &key.filter, &key.out, &key.pad, &key.stride, &key.dilation}) {
    *extents = RandomExtents(random, 1000);
    if (key.spatial_rank == 2) (*extents)[0] = extents == &key.pad ? 0 : 1;
  }
  const bool is_of_one_layout = random.Below(2) == 0;
  const auto any_layout = [&random] { return static_cast<TensorLayout>(random.Below(8)); };
  key.layouts.fill(any_layout());
  for (TensorLayout& layout : key.layouts) layout = is_of_one_layout ? layout : any_layout();
  const auto any_type = [&random] { return static_cast<ElementType>(random.Below(9)); };
  for (ElementType& type : key.types) type = any_type();
  for (auto& cast : key.casts) {
    if (random.Below(3) == 0) cast = any_type();
  }
  return key;
}

TEST(FindKeyTest, AnyKeyIsWhatItsTextSays) {
  Random random(3);
  for (int i = 0; i < 5000; ++i) {
    const FindKey key = RandomKey(random);
    ASSERT_EQ(Key(Text(key)), key) << Text(key);
  }
}

TEST(PerfKeyTest, FieldsAreThoseOfTheTableWithTheDepthLast) {
  const std::string text = "3x32x7x8x9x5x4x3x128x64x2x1x0x6x5x4x3x2x1x0x16xNDHWCxFP16xB";

  const auto key = ReadPerfKey(text);

  ASSERT_TRUE(key.has_value()) << key.error().reason;
  EXPECT_EQ(key->spatial_rank, 3);
  EXPECT_EQ(key->in_channels, 32);
  EXPECT_EQ(key->in, (Spatial{9, 7, 8}));
  EXPECT_EQ(key->filter, (Spatial{3, 5, 4}));
  EXPECT_EQ(key->out_channels, 128);
  EXPECT_EQ(key->batch, 64);
  EXPECT_EQ(key->pad, (Spatial{0, 2, 1}));
  EXPECT_EQ(key->stride, (Spatial{4, 6, 5}));
  EXPECT_EQ(key->dilation, (Spatial{1, 3, 2}));
  EXPECT_EQ(key->bias, 0);
  EXPECT_EQ(key->groups, 16);
  EXPECT_EQ(key->layout, TensorLayout::kNdhwc);
  EXPECT_EQ(key->direction, Direction::kBackwardData);
  EXPECT_EQ(Text(*key), text);
}

TEST(PerfKeyTest, WhatAPerfDbHasUnderAKeyOfAFindDb) {
  // As MIOpen's shipped files have both.
  EXPECT_EQ(Text(PerfKeyOf(Key("32-7-7-5x5-128-7-7-128-2x2-1x1-1x1-0-NCHW-FP32-F"))),
            "2x32x7x7x1x5x5x1x128x128x2x2x0x1x1x0x1x1x0x0x1xNCHWxFP32xF");
  EXPECT_EQ(
      Text(PerfKeyOf(Key("1024-1-14-15-1x3x3-512-2-14-15-4-0x1x2-1x2x3-4x5x6-0-NCDHW-FP16-B_g32"))),
      "3x1024x14x15x1x3x3x1x512x4x1x2x0x2x3x1x5x6x4x0x32xNCDHWxFP16xB");
  EXPECT_EQ(Text(PerfKeyOf(Key("8-7-7-1x1-8-7-7-1-0x0-1x1-1x1-0-NHWC-NCHW-NCHW-FP32-W"))),
            "2x8x7x7x1x1x1x1x8x1x0x0x0x1x1x0x1x1x0x0x1xNHWCxFP32xW");
}

TEST(PerfKeyTest, WhatIsNoKeyHasTheColumnAndTheReason) {
  const std::vector<BadKey> keys = {
      {"", 1, "Field 'spatial_dim' is ''"},
      {"4x32x7x7x1x5x5x1x128x128x2x2x0x1x1x0x1x1x0x0x1xNCHWxFP32xF", 1, "4, not 2 or 3"},
      {"2x32x7x7x1x5x5x1x128x128x2x2x0x1x1x0x1x1x0x0x1xNCHWxFP32", 57,
       "Field 'direction' is missing"},
      {"2x32x7x-7x1x5x5x1x128x128x2x2x0x1x1x0x1x1x0x0x1xNCHWxFP32xF", 8, "'in width' is '-7'"},
      {"2x32x7x7x1x5x5x1x128x128x2x2x0x1x1x0x1x1x0x0x1xNCHVxFP32xF", 48, "Layout 'NCHV'"},
      {"2x32x7x7x1x5x5x1x128x128x2x2x0x1x1x0x1x1x0x0x1xNCHWxFP33xF", 53, "Type 'FP33'"},
      {"2x32x7x7x1x5x5x1x128x128x2x2x0x1x1x0x1x1x0x0x1xNCHWxFP32xf", 58, "Direction 'f'"},
      {"2x32x7x7x1x5x5x1x128x128x2x2x0x1x1x0x1x1x0x0x1xNCHWxFP32xFx1", 60, "behind"}};
  for (const BadKey& bad : keys) {
    const auto key = ReadPerfKey(bad.text);
    ASSERT_FALSE(key.has_value()) << bad.text;
    EXPECT_EQ(key.error().column, bad.column) << bad.text << ": " << key.error().reason;
    EXPECT_THAT(key.error().reason, testing::HasSubstr(bad.reason));
  }
}

TEST(PerfKeyTest, AnyKeyOfAFindDbHasAKeyThatReadsBack) {
  Random random(5);
  for (int i = 0; i < 5000; ++i) {
    const PerfKey key = PerfKeyOf(RandomKey(random));
    const auto again = ReadPerfKey(Text(key));
    ASSERT_TRUE(again.has_value()) << Text(key) << ": " << again.error().reason;
    ASSERT_EQ(*again, key) << Text(key);
  }
}

}  // namespace
}  // namespace attune::miopen
