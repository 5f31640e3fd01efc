#include "attune/verify/output_check.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace attune {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

template <class T>
OutputVerdict Compare(const OutputTolerance& tolerance, const TensorDesc& tensor,
                      const std::vector<T>& expected, const std::vector<T>& actual) {
  const auto verdict = CompareOutputs(tolerance, tensor, std::as_bytes(std::span(expected)),
                                      std::as_bytes(std::span(actual)));
  EXPECT_TRUE(verdict.ok());
  return verdict.ok() ? *verdict : OutputVerdict{};
}

TensorDesc Vector(DataType type, int64_t count) { return {type, {count}, {1}}; }

TEST(OutputCheckTest, NanAgreesWithNanAndInfinityWithItselfOnly) {
  const OutputTolerance loose{1e9, 1e9};
  const TensorDesc five = Vector(DataType::kF64, 5);

  EXPECT_TRUE(
      Compare<double>(loose, five, {kNan, kInf, -kInf, 0, 1}, {kNan, kInf, -kInf, 0, 2}).agrees);
  EXPECT_EQ(Compare<double>(loose, five, {kNan, kInf, -kInf, 0, 1}, {0, -kInf, 1, kNan, kInf})
                .bad_elements,
            5);
}

TEST(OutputCheckTest, DoublesAreComparedAsDoubles) {
  const OutputTolerance check{1e-14, 1e-14};

  const auto verdict = Compare<double>(check, Vector(DataType::kF64, 2), {1, 1}, {1, 1 + 1e-10});

  EXPECT_FALSE(verdict.agrees);
  EXPECT_EQ(verdict.first_bad_element, 1);
}

TEST(OutputCheckTest, TheWholeOfEveryBatchIsCompared) {
  const TensorDesc tensor{DataType::kF32, {2, 2, 2}, {6, 1, 3}};
  std::vector<float> expected(11, 1.0f);
  std::vector<float> actual = expected;
  actual[10] = 2;

  const auto verdict = Compare<float>({1e-3, 1e-3}, tensor, expected, actual);

  EXPECT_EQ(verdict.first_bad_element, 10);
  EXPECT_EQ(verdict.actual, 2);
}

TEST(OutputCheckTest, AWrittenGapIsWrongHoweverLooseTheTolerance) {
  const TensorDesc tensor{DataType::kF32, {1, 2, 2}, {0, 1, 3}};
  std::vector<float> expected(5, 1.0f);
  std::vector<float> actual = expected;
  actual[2] = 1.0001f;

  EXPECT_EQ(Compare<float>({1, 1}, tensor, expected, actual).first_bad_element, 2);
}

TEST(OutputCheckTest, HalfTypesAreDecoded) {
  // 1.0, 2.0 (f16: 3c00, 4000; bf16: 3f80, 4000), infinity, NaN, smallest subnormal of f16.
  const auto half =
      Compare<uint16_t>({0.5, 0.1}, Vector(DataType::kF16, 4), {0x3c00, 0x7c00, 0x7e00, 0x0001},
                        {0x4000, 0x7c00, 0x7e01, 0x0002});
  const auto brain =
      Compare<uint16_t>({0.5, 0.1}, Vector(DataType::kBf16, 2), {0x3f80, 0x4000}, {0x3f80, 0x4040});

  EXPECT_EQ(half.first_bad_element, 0);
  EXPECT_EQ(half.bad_elements, 1);
  EXPECT_EQ(half.expected, 1);
  EXPECT_EQ(half.actual, 2);
  EXPECT_EQ(brain.bad_elements, 1);
  EXPECT_EQ(brain.actual, 3);
}

}  // namespace
}  // namespace attune
