#include "backends/host/gemm/matrix_product.h"

#include <gtest/gtest.h>

namespace attune::host {
namespace {

TEST(MatrixProductTest, PartsCoverEverythingOnceWithBordersOnGranules) {
  for (const int64_t total : {1, 7, 16, 100, 1000}) {
    for (const int64_t granule : {1, 4, 16}) {
      for (const int parts : {1, 2, 3, 8}) {
        int64_t next = 0;
        for (int i = 0; i < parts; ++i) {
          const IndexRange range = PartOf(total, granule, parts, i);
          EXPECT_EQ(range.begin, next);
          EXPECT_TRUE(range.end == total || range.end % granule == 0) << range.end;
          next = range.end;
        }
        EXPECT_EQ(next, total);
      }
    }
  }
}

TEST(MatrixProductTest, SlicesPointAtTheirFirstElements) {
  std::byte memory[1];
  const MatrixProduct product{.m = 10,
                              .n = 8,
                              .k = 6,
                              .transpose_a = true,
                              .transpose_b = false,
                              .a = memory,
                              .lda = 7,
                              .b = memory,
                              .ldb = 9,
                              .c = memory,
                              .ldc = 11,
                              .alpha = 1,
                              .beta = 0};

  const MatrixProduct rows = RowsOf(product, {2, 5}, 4, 4);
  const MatrixProduct columns = ColumnsOf(product, {3, 8}, 4, 4);
  const MatrixProduct depth = DepthOf(product, {1, 6}, 4);

  EXPECT_EQ(rows.m, 3);
  EXPECT_EQ(rows.a - memory, 2 * 7 * 4);
  EXPECT_EQ(rows.c - memory, 2 * 4);
  EXPECT_EQ(columns.n, 5);
  EXPECT_EQ(columns.b - memory, 3 * 9 * 4);
  EXPECT_EQ(columns.c - memory, 3 * 11 * 4);
  EXPECT_EQ(depth.k, 5);
  EXPECT_EQ(depth.a - memory, 1 * 4);
  EXPECT_EQ(depth.b - memory, 1 * 4);
}

}  // namespace
}  // namespace attune::host
