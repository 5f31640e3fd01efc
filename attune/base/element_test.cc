#include "attune/base/element.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace attune {
namespace {

constexpr DataType kTypes[] = {DataType::kF64,  DataType::kF32,    DataType::kF16,
                               DataType::kBf16, DataType::kF8E4M3, DataType::kF8E5M2};

TEST(ElementTest, EveryHalfSurvivesTheWayToFloatAndBack) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float value = FloatFromF16(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(FloatFromF16(F16FromFloat(value))));
    } else {
      EXPECT_EQ(F16FromFloat(value), half);
    }
    const float wide = FloatFromBf16(half);
    if (!std::isnan(wide)) {
      EXPECT_EQ(Bf16FromFloat(wide), half);
    }
  }
}

TEST(ElementTest, EveryByteSurvivesTheWayToFloatAndBack) {
  int numbers = 0;
  for (uint32_t bits = 0; bits < 0x100; ++bits) {
    const auto byte = static_cast<uint8_t>(bits);
    const float e4m3 = FloatFromF8E4M3(byte);
    if (std::isnan(e4m3)) {
      EXPECT_EQ(byte & 0x7f, 0x7f);
    } else {
      EXPECT_EQ(F8E4M3FromFloat(e4m3), byte);
      ++numbers;
    }
    const float e5m2 = FloatFromF8E5M2(byte);
    if (std::isfinite(e5m2)) {
      EXPECT_EQ(F8E5M2FromFloat(e5m2), byte);
      ++numbers;
    }
  }
  EXPECT_EQ(numbers, 254 + 248);
}

TEST(ElementTest, BytesHaveTheValuesOfTheStandard) {
  EXPECT_EQ(FloatFromF8E4M3(0x38), 1.0f);
  EXPECT_EQ(FloatFromF8E4M3(0xc0), -2.0f);
  EXPECT_EQ(FloatFromF8E4M3(0x7e), 448.0f);
  EXPECT_EQ(FloatFromF8E4M3(0x78), 256.0f);
  EXPECT_EQ(FloatFromF8E4M3(0x08), 0x1p-6f);
  EXPECT_EQ(FloatFromF8E4M3(0x01), 0x1p-9f);
  EXPECT_EQ(FloatFromF8E5M2(0x3c), 1.0f);
  EXPECT_EQ(FloatFromF8E5M2(0x7b), 57344.0f);
  EXPECT_EQ(FloatFromF8E5M2(0x04), 0x1p-14f);
  EXPECT_EQ(FloatFromF8E5M2(0x81), -0x1p-16f);
  EXPECT_EQ(FloatFromF8E5M2(0x7c), std::numeric_limits<float>::infinity());
}

TEST(ElementTest, BytesRoundToTheNearestTiesToEvenAndSaturate) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(F8E4M3FromFloat(1 + 0x1p-4f), 0x38);
  EXPECT_EQ(F8E4M3FromFloat(1 + 3 * 0x1p-4f), 0x3a);
  EXPECT_EQ(F8E4M3FromFloat(1 + 0x1.01p-4f), 0x39);
  EXPECT_EQ(F8E4M3FromFloat(0x1p-10f), 0);
  EXPECT_EQ(F8E4M3FromFloat(0x1.8p-10f), 1);
  EXPECT_EQ(F8E4M3FromFloat(0x1.fp-7f), 0x08);  // Up to the smallest normal number.
  EXPECT_EQ(F8E4M3FromFloat(-0x1p-30f), 0x80);
  for (const float large : {448.0f, 464.0f, 480.0f, 1e30f, kInfinity}) {
    EXPECT_EQ(F8E4M3FromFloat(large), 0x7e) << large;
    EXPECT_EQ(F8E4M3FromFloat(-large), 0xfe) << large;
  }
  EXPECT_EQ(F8E5M2FromFloat(1 + 0x1p-3f), 0x3c);
  EXPECT_EQ(F8E5M2FromFloat(1 + 3 * 0x1p-3f), 0x3e);
  EXPECT_EQ(F8E5M2FromFloat(65536), 0x7b);
  EXPECT_EQ(F8E5M2FromFloat(-kInfinity), 0xfb);
  EXPECT_EQ(F8E4M3FromFloat(std::numeric_limits<float>::quiet_NaN()), 0x7f);
  EXPECT_TRUE(std::isnan(FloatFromF8E5M2(0x7f)));
}

TEST(ElementTest, HalvesHaveTheValuesOfTheStandard) {
  EXPECT_EQ(FloatFromF16(0x3c00), 1.0f);
  EXPECT_EQ(FloatFromF16(0xc000), -2.0f);
  EXPECT_EQ(FloatFromF16(0x7bff), 65504.0f);
  EXPECT_EQ(FloatFromF16(0x0001), 0x1p-24f);
  EXPECT_EQ(FloatFromF16(0x03ff), 0x1p-14f - 0x1p-24f);
  EXPECT_EQ(FloatFromF16(0x7c00), std::numeric_limits<float>::infinity());
  EXPECT_EQ(FloatFromBf16(0x3f80), 1.0f);
}

TEST(ElementTest, RoundingGoesToTheNearestAndTiesToEven) {
  EXPECT_EQ(F16FromFloat(1 + 0x1p-11f), 0x3c00);
  EXPECT_EQ(F16FromFloat(1 + 3 * 0x1p-11f), 0x3c02);
  EXPECT_EQ(F16FromFloat(65519.0f), 0x7bff);
  EXPECT_EQ(F16FromFloat(65520.0f), 0x7c00);
  EXPECT_EQ(F16FromFloat(0x1p-25f), 0);
  EXPECT_EQ(F16FromFloat(0x1.8p-25f), 1);
  EXPECT_EQ(Bf16FromFloat(1 + 0x1p-8f), 0x3f80);
  EXPECT_EQ(Bf16FromFloat(1 + 3 * 0x1p-8f), 0x3f82);
}

TEST(ElementTest, GeneratedNumbersAreSignedNeverZeroAndWithinOne) {
  for (const DataType type : kTypes) {
    constexpr size_t kCount = 20'000;
    std::vector<std::byte> bytes(kCount * SizeBytes(type));
    std::vector<double> values(kCount);

    GenerateElements(type, 3, 0, kCount, bytes.data());
    Decode(type, bytes, values);

    double sum = 0, square = 0;
    for (const double value : values) {
      EXPECT_NE(value, 0);
      EXPECT_LE(std::abs(value), 1);
      sum += value;
      square += value * value;
    }
    // Uniform in [-1, 1]: mean 0, mean square 1/3; four standard deviations of 20,000.
    EXPECT_NEAR(sum / kCount, 0, 0.0164) << Name(type);
    EXPECT_NEAR(square / kCount, 1.0 / 3, 0.0085) << Name(type);
    const size_t distinct = std::set<double>(values.begin(), values.end()).size();
    // For e4m3, 6 binades of 8 numbers, and 1; for e5m2 some of 14 binades of 4.
    const size_t least = type == DataType::kF8E4M3 ? 98 : type == DataType::kF8E5M2 ? 80 : 251;
    EXPECT_GE(distinct, least) << Name(type);
  }
}

TEST(ElementTest, GeneratedIntegersAreSignedAndNeverZero) {
  for (const auto& [type, most] :
       {std::pair(DataType::kI8, 128.0), std::pair(DataType::kI32, 0x1p21)}) {
    constexpr size_t kCount = 20'000;
    std::vector<std::byte> bytes(kCount * SizeBytes(type));
    std::vector<double> values(kCount);

    GenerateElements(type, 3, 0, kCount, bytes.data());
    Decode(type, bytes, values);

    double sum = 0, square = 0;
    for (const double value : values) {
      EXPECT_NE(value, 0);
      EXPECT_LE(std::abs(value), most);
      sum += value / most;
      square += value * value / most / most;
    }
    EXPECT_NEAR(sum / kCount, 0, 0.0164) << Name(type);
    EXPECT_NEAR(square / kCount, 1.0 / 3, 0.0085) << Name(type);
  }
}

TEST(ElementTest, IntegersAreEncodedAndDecodedExactly) {
  for (const auto& [type, value] :
       {std::pair(DataType::kI8, -128.0), std::pair(DataType::kI8, 127.0),
        std::pair(DataType::kI32, -2147483648.0), std::pair(DataType::kI32, 2147483647.0)}) {
    std::byte bytes[4] = {};

    Encode(type, value, bytes);

    EXPECT_EQ(DecodeElement(type, bytes, 0), value) << Name(type);
  }
}

TEST(ElementTest, ElementDependsOnSeedAndPositionAlone) {
  std::vector<std::byte> whole(64 * 4), parts(64 * 4), other(64 * 4);

  GenerateElements(DataType::kF32, 9, 0, 64, whole.data());
  GenerateElements(DataType::kF32, 9, 40, 24, parts.data());
  GenerateElements(DataType::kF32, 9, 0, 40, parts.data());
  GenerateElements(DataType::kF32, 10, 0, 64, other.data());

  EXPECT_EQ(whole, parts);
  EXPECT_NE(whole, other);
}

TEST(ElementTest, EncodeRoundsToTheTypeAndDecodeIsItsInverse) {
  for (const DataType type : kTypes) {
    std::byte bytes[8] = {};
    double value = 0;

    Encode(type, 0.7, bytes);
    Decode(type, {bytes, SizeBytes(type)}, {&value, 1});

    EXPECT_NEAR(value, 0.7, 0.7 * UnitRoundoff(type)) << Name(type);
  }
}

}  // namespace
}  // namespace attune
