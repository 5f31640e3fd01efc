#include "extensions/miopen/databases/measured_db.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/formats/miopen/conv_keys.h"
#include "attune/formats/miopen/solver_candidate.h"
#include "attune/formats/miopen/test_findings.h"
#include "attune/ops/conv/conv.h"
#include "attune/ops/gemm/gemm.h"

namespace attune::miopen {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

const std::string kKey = "64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-FP32-F";

Problem ProblemFor(const std::string& key) { return *ProblemOf(*ReadFindKey(key)); }

MeasuredResult Measured(const std::string& key, const SolverChoice& choice, double median_ns,
                        int64_t workspace_bytes = 0) {
  return {ProblemFor(key), CandidateOf(choice), median_ns, workspace_bytes};
}

TEST(MeasuredDbTest, WhatWasMeasuredReadsBackAsARecordWithItsSolversFromTheQuickestOn) {
  LeftOut left_out;
  const FindDb db =
      FindDbOf(std::vector{Measured(kKey, {"GemmFwdRest", ""}, 1'119'000'000, 7225344),
                           Measured(kKey, {"ConvAsm3x3U", "7,8,4"}, 250'123.4567)},
               left_out);

  const std::string text = Text(db);
  EXPECT_THAT(left_out, IsEmpty());
  EXPECT_EQ(text, kKey +
                      "=ConvAsm3x3U:0.250123,0,miopenConvolutionFwdAlgoDirect;"
                      "GemmFwdRest:1119,7225344,miopenConvolutionFwdAlgoGEMM\n");
  Findings findings;
  EXPECT_EQ(Text(ReadFindDb(text, findings)), text);
  EXPECT_THAT(PlacesOf(findings), IsEmpty());
}

TEST(MeasuredDbTest, OfSeveralConfigsOfASolverTheQuickestCounts) {
  const std::vector results = {Measured(kKey, {"ConvAsm3x3U", "7,8,4"}, 3e5),
                               Measured(kKey, {"ConvAsm3x3U", "1,8,4"}, 2e5),
                               Measured(kKey, {"ConvAsm3x3U", ""}, 4e5)};
  LeftOut left_out;

  const FindDb times = FindDbOf(results, left_out);
  const PerfDb parameters = PerfDbOf(results, left_out);

  EXPECT_THAT(left_out, IsEmpty());
  ASSERT_EQ(times.records.size(), 1u);
  ASSERT_EQ(times.records[0].items.size(), 1u);
  EXPECT_EQ(times.records[0].items[0].time, "0.2");
  const std::string text = Text(parameters);
  EXPECT_EQ(text, "2x64x56x56x1x3x3x1x64x32x1x1x0x1x1x0x1x1x0x0x1xNCHWxFP32xF=ConvAsm3x3U:1,8,4\n");
  Findings findings;
  EXPECT_EQ(Text(ReadPerfDb(text, findings)), text);
  EXPECT_THAT(PlacesOf(findings), IsEmpty());
}

TEST(MeasuredDbTest, ParametersByDefaultAreNoRowAndNoLoss) {
  LeftOut left_out;
  const PerfDb db = PerfDbOf(std::vector{Measured(kKey, {"ConvAsm3x3U", ""}, 1e5)}, left_out);

  EXPECT_THAT(db.records, IsEmpty());
  EXPECT_THAT(left_out, IsEmpty());
}

TEST(MeasuredDbTest, WhatCannotBeWrittenIsCountedByItsReason) {
  MeasuredResult with_bias = Measured(kKey, {"ConvAsm3x3U", ""}, 1e5);
  Conv conv = with_bias.problem.Get<Conv>();
  conv.bias = true;
  with_bias.problem = conv;
  MeasuredResult other = Measured(kKey, {"ConvAsm3x3U", ""}, 1e5);
  other.candidate.solver = {"host.onednn-conv", 1};
  MeasuredResult product = other;
  product.problem = Gemm{};
  LeftOut left_out;

  const FindDb db = FindDbOf(
      std::vector{with_bias, other, other, product, Measured(kKey, {"ConvOfTomorrow", ""}, 1e5),
                  Measured(kKey, {"ConvHipImplicitGemmV4Fwd", ""}, 1e5),
                  Measured(kKey, {"ConvAsm3x3U", "7;8"}, 1e5),
                  Measured(kKey, {"ConvAsm3x3U", ""}, 0)},
      left_out);

  EXPECT_THAT(db.records, IsEmpty());
  EXPECT_THAT(
      left_out,
      ElementsAre(Pair("Keys of MIOpen's databases do not tell of a bias.", 1),
                  Pair("MIOpen has no more ConvHipImplicitGemmV4Fwd for convolutions.", 1),
                  Pair("MIOpen has no solver ConvOfTomorrow for convolutions.", 1),
                  Pair("The problem is no convolution.", 1), Pair("The time is impossible.", 1),
                  Pair("What ConvAsm3x3U has for parameters is none.", 1),
                  Pair("host.onednn-conv is no solver of MIOpen's.", 2)));
}

// With a stride of 2, images of 55 and of 56 give an output of 28, the only extent in a perf-db's
// key for the gradient of the data.
TEST(MeasuredDbTest, ProblemsThatShareAKeyOfAPerfDbCannotHaveTwoParameters) {
  const std::string smaller = "64-28-28-3x3-64-55-55-32-1x1-2x2-1x1-0-NCHW-FP32-B";
  const std::string larger = "64-28-28-3x3-64-56-56-32-1x1-2x2-1x1-0-NCHW-FP32-B";
  const std::vector results = {Measured(larger, {"ConvOclDirectFwd", "8"}, 1e5),
                               Measured(smaller, {"ConvOclDirectFwd", "16"}, 2e5),
                               Measured(smaller, {"ConvAsm3x3U", "1"}, 3e5)};
  LeftOut left_out;

  const PerfDb db = PerfDbOf(results, left_out);

  ASSERT_EQ(db.records.size(), 1u);
  EXPECT_THAT(db.records[0].items,
              ElementsAre(PerfItem{"ConvAsm3x3U", "1"}, PerfItem{"ConvOclDirectFwd", "16"}));
  EXPECT_THAT(left_out, ElementsAre(Pair(
                            "A problem with the same key in a perf-db has other parameters.", 1)));
}

}  // namespace
}  // namespace attune::miopen
