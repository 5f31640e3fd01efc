#include "backends/cuda/tensor_layout.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "backends/cuda/tensor_layout_on_host_test.h"

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
  fold.images = 1 << 20;
  EXPECT_EQ(ShapeOf(fold).grid[0], (1u << 31) / 256);
  EXPECT_EQ(ShapeOf(fold).grid[1], 65535u);
  Relayout relayout = {};
  relayout.to_matrices = 1;
  relayout.to_rows = relayout.to_columns = int64_t{1} << 22;
  EXPECT_EQ(ShapeOf(relayout, DataType::kF32).status().code(), StatusCode::kUnsupported);
}

}  // namespace
}  // namespace attune::cuda
