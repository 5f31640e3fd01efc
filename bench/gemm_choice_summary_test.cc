#include "bench/gemm_choice_summary.h"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "attune/ops/gemm/gemm.h"

namespace attune {
namespace {

struct Timed {
  const char* library;
  double time_ns;
};

// Ratios are those of the times.
GemmChoiceRow RowOf(int64_t size, double choice_ns, const std::vector<Timed>& libraries) {
  GemmChoiceRow row;
  row.problem = PackedGemm(size, size, size, DataType::kF32);
  row.choice_ns = choice_ns;
  for (const Timed& each : libraries) {
    row.library_ns[each.library] = each.time_ns;
    row.speedup[each.library] = {each.time_ns / choice_ns, 0, 0, 0.99};
  }
  return row;
}

// OpenBLAS is fastest for the first, Eigen for the second, which BLIS does not compute.
std::vector<GemmChoiceRow> TwoProducts() {
  return {RowOf(16, 100,
                {{"host.openblas-gemm", 110}, {"host.blis-gemm", 400}, {"host.eigen-gemm", 200}}),
          RowOf(32, 100, {{"host.openblas-gemm", 600}, {"host.eigen-gemm", 90}})};
}

TEST(GemmChoiceSummaryTest, TheFastestLibraryIsTheOneOfTheVeryProduct) {
  const std::vector<GemmChoiceRow> rows = TwoProducts();

  EXPECT_EQ(FastestLibrary(rows[0]), "host.openblas-gemm");
  EXPECT_EQ(FastestLibrary(rows[1]), "host.eigen-gemm");
}

TEST(GemmChoiceSummaryTest, TheBestLibraryOfEachShapeIsHarderToBeatThanTheBestSingleOne) {
  const GemmChoiceSummary summary = Summarize(TwoProducts());

  EXPECT_DOUBLE_EQ(summary.geomean_over_best_library_of_shape, std::sqrt(1.1 * 0.9));
  EXPECT_EQ(summary.best_single_library, "host.eigen-gemm");
  EXPECT_DOUBLE_EQ(summary.geomean_over_best_single_library, std::sqrt(2.0 * 0.9));
  EXPECT_LT(summary.geomean_over_best_library_of_shape, summary.geomean_over_best_single_library);
}

TEST(GemmChoiceSummaryTest, OpenBlasIsTheBaseline) {
  const std::vector<GemmChoiceRow> rows = TwoProducts();
  const GemmChoiceSummary summary = Summarize(rows);

  EXPECT_DOUBLE_EQ(summary.geomean_over_openblas, std::sqrt(1.1 * 6.0));
  EXPECT_DOUBLE_EQ(summary.worst, 1.1);
  EXPECT_EQ(summary.worst_problem, Text(rows[0].problem));
}

TEST(GemmChoiceSummaryTest, WhereALibraryDoesNotApplyItsCallerFallsBackToTheBaseline) {
  const std::vector<GemmChoiceRow> rows = {
      RowOf(16, 100, {{"host.openblas-gemm", 300}, {"host.blis-gemm", 50}}),
      RowOf(32, 100, {{"host.openblas-gemm", 600}})};

  const GemmChoiceSummary summary = Summarize(rows);

  EXPECT_EQ(summary.best_single_library, "host.blis-gemm");
  EXPECT_DOUBLE_EQ(summary.geomean_over_best_single_library, std::sqrt(0.5 * 6.0));
}

}  // namespace
}  // namespace attune
