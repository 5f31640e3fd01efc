#include "backends/cuda/layout/tensor_layout.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "backends/cuda/layout/tensor_layout_on_host_test.h"

namespace attune::cuda {
namespace {

using Elements = std::vector<HostElement>;

constexpr HostElement kUntouched = -7;

// 1, 2, 3, ...
Elements Counted(int64_t count) {
  Elements elements(static_cast<size_t>(count));
  std::iota(elements.begin(), elements.end(), HostElement{1});
  return elements;
}

struct RelayoutCase {
  int64_t matrices, rows, columns;
  int64_t to_matrices, to_rows, to_columns;
  bool is_transposed;
};

TEST(TensorLayoutTest, MatricesAreTransposedPaddedAndCropped) {
  const RelayoutCase cases[] = {
      {1, 1, 1, 1, 1, 1, true},        {2, 3, 49, 2, 8, 49, true},
      {2, 49, 3, 2, 49, 8, true},      {2, 64, 64, 2, 64, 64, true},
      {3, 65, 67, 3, 65, 67, true},    {3, 130, 33, 4, 136, 33, true},
      {2, 8, 49, 2, 3, 49, true},      {2, 49, 8, 1, 49, 3, true},
      {2, 5, 7, 3, 8, 9, false},       {2, 70, 66, 2, 69, 64, false},
      {2, 64, 128, 2, 72, 128, false},
  };
  for (const RelayoutCase& each : cases) {
    const Elements from = Counted(each.matrices * each.rows * each.columns);
    const int64_t to_line = each.is_transposed ? each.to_rows : each.to_columns;
    Elements to(static_cast<size_t>(each.to_matrices * each.to_rows * each.to_columns + 1),
                kUntouched);
    Relayout task = {};
    task.from = from.data();
    task.to = to.data();
    task.from_matrix = each.rows * each.columns;
    task.from_row = each.columns;
    task.to_matrix = each.to_rows * each.to_columns;
    task.to_line = to_line;
    task.matrices = each.matrices;
    task.rows = each.rows;
    task.columns = each.columns;
    task.to_matrices = each.to_matrices;
    task.to_rows = each.to_rows;
    task.to_columns = each.to_columns;
    task.is_transposed = each.is_transposed;

    RelayoutOnHost(task);

    Elements expected(to.size(), kUntouched);
    for (int64_t m = 0; m < each.to_matrices; ++m) {
      for (int64_t r = 0; r < each.to_rows; ++r) {
        for (int64_t c = 0; c < each.to_columns; ++c) {
          const bool is_there = m < each.matrices && r < each.rows && c < each.columns;
          const int64_t at =
              m * task.to_matrix + (each.is_transposed ? c * to_line + r : r * to_line + c);
          expected[static_cast<size_t>(at)] =
              is_there ? from[static_cast<size_t>((m * each.rows + r) * each.columns + c)] : 0;
        }
      }
    }
    EXPECT_EQ(to, expected) << each.rows << " x " << each.columns << " to " << each.to_rows << " x "
                            << each.to_columns;
  }
}

// An f32 as a tensor core reads it, if it truncates the bits that it does not hold.
float CutOff(float value) {
  return std::bit_cast<float>(std::bit_cast<uint32_t>(value) & ~0x1fffu);
}

// Some of every sign and exponent.
std::vector<float> FiniteNumbers() {
  std::vector<float> numbers = {0.0F, -0.0F, std::numeric_limits<float>::max(),
                                std::numeric_limits<float>::denorm_min()};
  uint32_t state = 1;
  for (int i = 0; i < 100000; ++i) {
    state = state * 1664525u + 1013904223u;
    const float number = std::bit_cast<float>(state ^ state << 13);
    if (std::isfinite(number)) numbers.push_back(number);
  }
  return numbers;
}

TEST(TensorLayoutTest, TwoPartsThatTensorCoresReadMakeANumber) {
  for (const float number : FiniteNumbers()) {
    const float high = HighOfF32(number);
    const float low = LowOfF32(number);

    EXPECT_EQ(CutOff(high), high) << number;
    EXPECT_EQ(CutOff(low), low) << number;
    EXPECT_EQ(std::signbit(high), std::signbit(number)) << number;
    int exponent = 0;
    std::frexp(number, &exponent);
    exponent = std::max(exponent, std::numeric_limits<float>::min_exponent);
    const double unit = std::ldexp(1.0, exponent - std::numeric_limits<float>::digits);
    const double error = static_cast<double>(high) + low - number;
    // Below the smallest normal number, parts have as many bits fewer.
    const double rest = std::ldexp(1.0, -126 - 11);
    EXPECT_LE(std::abs(error), std::max(unit * (std::abs(number) > 0x1.ffep127F ? 2 : 1), rest))
        << number;
  }
}

TEST(TensorLayoutTest, HighPartsAreTheNearestAndNeverInfinite) {
  EXPECT_EQ(HighOfF32(0x1.0017fep0F), 0x1.0p0F);
  EXPECT_EQ(HighOfF32(0x1.002p0F), 0x1.004p0F);
  EXPECT_EQ(LowOfF32(0x1.003p0F), -0x1p-12F);
  EXPECT_EQ(HighOfF32(0x1.ffep127F), 0x1.ffcp127F);
  EXPECT_EQ(LowOfF32(0x1.ffep127F), 0x1p116F);
}

TEST(TensorLayoutTest, OfWhatIsNotFiniteNothingIsLeft) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float number : {infinity, -infinity}) {
    EXPECT_EQ(HighOfF32(number), number);
    EXPECT_EQ(LowOfF32(number), 0);
  }
  // Truncating the first would leave an infinity.
  for (const uint32_t bits : {0x7f800001u, 0xff801fffu, 0x7fffffffu}) {
    const float number = std::bit_cast<float>(bits);
    EXPECT_TRUE(std::isnan(CutOff(HighOfF32(number)))) << bits;
    EXPECT_EQ(LowOfF32(number), 0) << bits;
  }
}

TEST(TensorLayoutTest, ThreeProductsOfPartsAreTheProduct) {
  uint32_t state = 7;
  const auto next = [&state] {
    state = state * 1664525u + 1013904223u;
    return static_cast<float>(static_cast<int32_t>(state)) * 0x1p-31F;
  };
  for (int i = 0; i < 100000; ++i) {
    const float a = next();
    const float b = next();
    const double a_high = HighOfF32(a);
    const double b_high = HighOfF32(b);

    const double product = LowOfF32(a) * b_high + a_high * LowOfF32(b) + a_high * b_high;

    const double exact = static_cast<double>(a) * b;
    EXPECT_LE(std::abs(product - exact), 0x1p-21 * std::abs(exact)) << a << " * " << b;
  }
}

TEST(TensorLayoutTest, PartsLieBehindOneAnotherInEveryRun) {
  // Two images of two groups of two channels of three pixels, to channels-last.
  const Elements from = Counted(24);
  Elements to(73, kUntouched);
  Split task = {};
  task.copy.from = from.data();
  task.copy.to = to.data();
  task.copy.from_row = task.copy.columns = task.copy.to_columns = 3;
  task.copy.rows = task.copy.to_rows = 2;
  task.copy.matrices = task.copy.to_matrices = 4;
  task.copy.is_transposed = 1;
  task.copy.to_line = 12;
  task.copy.from_matrix = 6;
  task.run = 2;
  task.from_run = 12;
  task.copy.to_matrix = 6;
  task.to_run = 36;
  task.to_part = 2;
  task.low_part = 1;

  SplitOnHost(task);

  Elements expected(73, kUntouched);
  for (size_t image = 0; image < 2; ++image) {
    for (size_t channel = 0; channel < 4; ++channel) {
      for (size_t pixel = 0; pixel < 3; ++pixel) {
        const HostElement element = from[image * 12 + channel * 3 + pixel];
        const size_t at = image * 36 + pixel * 12 + channel / 2 * 6 + channel % 2;
        expected[at] = expected[at + 4] = HighOf(element);
        expected[at + 2] = LowOf(element);
      }
    }
  }
  EXPECT_EQ(to, expected);
}

TEST(TensorLayoutTest, PartsMoveInPairsOnlyWhereEveryRunIsEven) {
  Split task = {};
  task.copy.from_row = task.copy.to_line = 64;
  task.from_run = task.to_run = task.to_part = 64;
  EXPECT_TRUE(WithEvenLines(task, DataType::kF16).copy.is_from_even);
  EXPECT_TRUE(WithEvenLines(task, DataType::kF16).copy.is_to_even);
  task.from_run = task.to_part = 49;
  EXPECT_FALSE(WithEvenLines(task, DataType::kF16).copy.is_from_even);
  EXPECT_FALSE(WithEvenLines(task, DataType::kF16).copy.is_to_even);
  EXPECT_TRUE(WithEvenLines(task, DataType::kF32).copy.is_to_even);
}

TEST(TensorLayoutTest, PairsMoveOnlyBetweenEvenLines) {
  Relayout task = {};
  task.from = reinterpret_cast<const void*>(256);
  task.to = reinterpret_cast<void*>(258);
  task.from_row = 64;
  task.to_line = 64;
  EXPECT_TRUE(WithEvenLines(task, DataType::kBf16).is_from_even);
  EXPECT_FALSE(WithEvenLines(task, DataType::kBf16).is_to_even);
  task.from_row = 49;
  EXPECT_FALSE(WithEvenLines(task, DataType::kBf16).is_from_even);
  EXPECT_TRUE(WithEvenLines(task, DataType::kF32).is_from_even);
}

TEST(TensorLayoutTest, PartsAreAddedInTheirOrder) {
  const std::vector<HostSum> from = {1, 2, 3, 99, 4, 5, 6, 99, 10, 20, 30, 99, 40, 50, 60, 99};
  Elements to(7, kUntouched);
  PartialSums task = {};
  task.from = from.data();
  task.to = to.data();
  task.parts = 2;
  task.from_part = 8;
  task.rows = 3;
  task.columns = 2;
  task.from_leading = 4;
  task.to_leading = 3;

  AddPartsOnHost(task);

  EXPECT_EQ(to, (Elements{11, 22, 33, 44, 55, 66, kUntouched}));
}

TEST(TensorLayoutTest, SumsAreFinishedAndWhatIsNotReadMayBeAnything) {
  const std::vector<HostSum> from = {1, -2, 3, 4, 10, -20, 30, 40};
  const Elements bias = {100, 200};
  Elements to = {5, 6, 7, 8};
  PartialSums task = {};
  task.from = from.data();
  task.to = to.data();
  task.parts = 2;
  task.from_part = 4;
  task.rows = task.columns = task.from_leading = task.to_leading = 2;
  task.alpha = 2;
  task.beta = -10;
  task.bias = bias.data();
  task.activation = kSumRelu;

  AddPartsOnHost(task);
  EXPECT_EQ(to, (Elements{122, 156, 166, 288}));

  task.reads_to = 1;
  task.is_bias_of_columns = 1;
  to = {5, 6, 7, 8};
  AddPartsOnHost(task);
  EXPECT_EQ(to, (Elements{72, 0, 196, 208}));
}

TEST(TensorLayoutTest, ReluKeepsSumsThatAreNan) {
  const HostSum nan = std::numeric_limits<HostSum>::quiet_NaN();
  const std::vector<HostSum> from = {1, nan, -3, 4};
  Elements to(4);
  PartialSums task = {};
  task.from = from.data();
  task.to = to.data();
  task.parts = 1;
  task.rows = task.columns = task.from_leading = task.to_leading = 2;
  task.alpha = 1;
  task.activation = kSumRelu;

  AddPartsOnHost(task);

  EXPECT_EQ(to, (Elements{1, kHostNan, 0, 4}));
}

TEST(TensorLayoutTest, SumsOfFewRowsShareABlock) {
  PartialSums task = {};
  task.rows = 40;
  task.columns = 1000;
  EXPECT_EQ(ShapeOf(task).block[0], 64u);
  EXPECT_EQ(ShapeOf(task).block[1], 4u);
  EXPECT_EQ(ShapeOf(task).grid[0], 1u);
  EXPECT_EQ(ShapeOf(task).grid[1], 250u);
}

TEST(TensorLayoutTest, ColumnsBeginAtMultiplesOfAWord) {
  EXPECT_EQ(RoundUpToWords(147, DataType::kF16), 152);
  EXPECT_EQ(RoundUpToWords(147, DataType::kF32), 148);
  EXPECT_EQ(RoundUpToWords(147, DataType::kF64), 148);
  EXPECT_EQ(RoundUpToWords(152, DataType::kBf16), 152);
}

TEST(TensorLayoutTest, HugeGridsStayWithinWhatDevicesTake) {
  Fold fold = {};
  fold.elements = 1u << 31;
  fold.images = 1 << 22;
  EXPECT_EQ(ShapeOf(fold).grid[0], (1u << 31) / 256);
  EXPECT_EQ(ShapeOf(fold).grid[1], 65535u);
  Relayout relayout = {};
  relayout.to_matrices = 1;
  relayout.to_rows = relayout.to_columns = int64_t{1} << 22;
  EXPECT_EQ(ShapeOf(relayout, DataType::kF32).status().code(), StatusCode::kUnsupported);
}

}  // namespace
}  // namespace attune::cuda
