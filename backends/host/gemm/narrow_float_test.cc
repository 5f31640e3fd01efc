#include "backends/host/gemm/narrow_float.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

namespace attune::host {
namespace {

double ReadBits(DataType type, uint16_t bits) {
  std::byte memory[2];
  std::memcpy(memory, &bits, sizeof(bits));
  return ReadElement(type, memory);
}

uint16_t WrittenBits(DataType type, double value) {
  std::byte memory[2];
  WriteElement(type, value, memory);
  uint16_t bits = 0;
  std::memcpy(&bits, memory, sizeof(bits));
  return bits;
}

TEST(NarrowFloatTest, KnownValuesAreRead) {
  EXPECT_EQ(ReadBits(DataType::kF16, 0x3C00), 1.0);
  EXPECT_EQ(ReadBits(DataType::kF16, 0xC000), -2.0);
  EXPECT_EQ(ReadBits(DataType::kF16, 0x0001), std::ldexp(1.0, -24));
  EXPECT_EQ(ReadBits(DataType::kF16, 0x7BFF), 65504.0);
  EXPECT_EQ(ReadBits(DataType::kBf16, 0x3F80), 1.0);
  EXPECT_EQ(ReadBits(DataType::kF8E4M3, 0x7E), 448.0);
  EXPECT_EQ(ReadBits(DataType::kF8E5M2, 0x7B), 57344.0);
  EXPECT_TRUE(std::isnan(ReadBits(DataType::kF8E4M3, 0x7F)));
  EXPECT_TRUE(std::isinf(ReadBits(DataType::kF8E5M2, 0x7C)));
}

TEST(NarrowFloatTest, EveryValueSurvivesARoundTrip) {
  for (const DataType type : {DataType::kF16, DataType::kBf16}) {
    for (uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
      const double value = ReadBits(type, static_cast<uint16_t>(bits));
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(ReadBits(type, WrittenBits(type, value))));
      } else {
        ASSERT_EQ(WrittenBits(type, value), bits) << value;
      }
    }
  }
}

TEST(NarrowFloatTest, RoundsToTheNearestAndTiesToEven) {
  EXPECT_EQ(WrittenBits(DataType::kF16, 1 + std::ldexp(1.0, -11)), 0x3C00);
  EXPECT_EQ(WrittenBits(DataType::kF16, 1 + 3 * std::ldexp(1.0, -11)), 0x3C02);
  EXPECT_EQ(WrittenBits(DataType::kF16, 65520.0), 0x7C00);
  EXPECT_EQ(WrittenBits(DataType::kF16, 65519.0), 0x7BFF);
  // The bits of a float cut in half, for everything but rounding.
  EXPECT_EQ(WrittenBits(DataType::kBf16, 3.0),
            static_cast<uint16_t>(std::bit_cast<uint32_t>(3.0f) >> 16));
}

TEST(NarrowFloatTest, IntegersSaturate) {
  int32_t wide = 0;
  int8_t narrow = 0;

  WriteElement(DataType::kI32, 1e12, reinterpret_cast<std::byte*>(&wide));
  WriteElement(DataType::kI8, -1000, reinterpret_cast<std::byte*>(&narrow));

  EXPECT_EQ(wide, std::numeric_limits<int32_t>::max());
  EXPECT_EQ(narrow, -128);
}

}  // namespace
}  // namespace attune::host
