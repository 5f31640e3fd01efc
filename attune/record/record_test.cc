// Ids, rules and the roofline.
#include <cmath>
#include <limits>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/fingerprint.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/problem/other_op.h"
#include "attune/record/record.h"
#include "attune/record/rules.h"
#include "attune/record/select.h"

namespace attune {
namespace {

using ::testing::HasSubstr;

TEST(NewSetId, IsHexadecimalAndNeverTheSame) {
  std::set<std::string> ids;
  for (int i = 0; i < 1000; ++i) ids.insert(NewSetId());

  EXPECT_EQ(ids.size(), 1000u);
  EXPECT_TRUE(Fingerprint::FromHex(*ids.begin()).has_value());
}

TEST(HighestOf, TakesTheHigherOfEachRate) {
  EXPECT_EQ(HighestOf({3, 1, 5}, {2, 4, 0}), (Peaks{3, 4, 5}));
}

TEST(IsBoundByArithmetic, IsFalseWhereMemoryOrNothingIsTheBound) {
  const Peaks peaks{1e12, 5e11, 1e10};

  EXPECT_TRUE(IsBoundByArithmetic(Normalized(PackedGemm(1000, 1000, 1000)), peaks));
  EXPECT_FALSE(IsBoundByArithmetic(Normalized(PackedGemm(1000, 1, 1000)), peaks));
  EXPECT_FALSE(IsBoundByArithmetic(Normalized(PackedGemm(1000, 1000, 1000)), Peaks()));
}

TEST(RooflineSeconds, IsTheLargerOfArithmeticAndMemory) {
  const Problem square = Normalized(PackedGemm(1000, 1000, 1000));
  const Problem vector = Normalized(PackedGemm(1000, 1, 1000));
  const Peaks peaks{1e12, 5e11, 1e10};

  EXPECT_DOUBLE_EQ(RooflineSeconds(square, peaks), 2e9 / 1e12);
  EXPECT_DOUBLE_EQ(RooflineSeconds(vector, peaks), CompulsoryBytes(vector) / 1e10);
}

TEST(RooflineSeconds, UsesThePeakOfTheType) {
  const Peaks peaks{1e12, 5e11, 1e18};

  EXPECT_DOUBLE_EQ(RooflineSeconds(Normalized(PackedGemm(1000, 1000, 1000, DataType::kF64)), peaks),
                   2e9 / 5e11);
}

TEST(RooflineSeconds, IsTheBandwidthForMemoryBoundOperatorsOfEveryType) {
  for (const char* const text :
       {"batch_norm@1{n=4,c=64,h=56,w=56,type=f16}", "softmax@2{outer=64,length=1000}"}) {
    const Problem problem = *ParseProblem(text);

    EXPECT_DOUBLE_EQ(RooflineSeconds(problem, {0, 0, 1e10}), CompulsoryBytes(problem) / 1e10);
    EXPECT_EQ(RooflineSeconds(problem, {1e3, 1e3, 0}), 0) << text;
    EXPECT_FALSE(IsBoundByArithmetic(problem, {1e3, 1e3, 1e10})) << text;
  }
}

TEST(RatesOf, DividesTheWorkByTheTime) {
  const Problem product = Normalized(PackedGemm(1000, 1000, 1000));

  EXPECT_DOUBLE_EQ(RatesOf(product, 2e6).flops, 2e9 / 2e-3);
  EXPECT_DOUBLE_EQ(RatesOf(product, 2e6).bytes, CompulsoryBytes(product) / 2e-3);
  EXPECT_EQ(RatesOf(product, 0).flops, 0);
  EXPECT_EQ(RatesOf(product, 0).bytes, 0);
}

TEST(RooflineSeconds, IsUnknownWithoutAPeakForTheProblem) {
  Gemm relaxed = PackedGemm(10, 10, 10);
  relaxed.math = MathMode::kBf16;
  const Problem f32 = Normalized(PackedGemm(10, 10, 10));
  const Peaks peaks{1e12, 5e11, 1e10};

  EXPECT_EQ(RooflineSeconds(f32, {}), 0);
  EXPECT_EQ(RooflineSeconds(f32, {1e12, 5e11, 0}), 0);
  EXPECT_EQ(RooflineSeconds(f32, {0, 5e11, 1e10}), 0);
  EXPECT_EQ(RooflineSeconds(Normalized(relaxed), peaks), 0);
  EXPECT_EQ(RooflineSeconds(OtherOp{"pool", {}}, peaks), 0);
}

TEST(Rules, NameTheTrialAndTheField) {
  Trial trial;
  trial.candidate.solver.name = "host.x";
  trial.build_ns = -5;
  const std::vector<Trial> trials = {Trial(), trial};

  const Status status = ValidateTrials(trials);

  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("Trial 2 of 2"));
  EXPECT_THAT(status.message(), HasSubstr("build_ns of host.x@1{} is -5"));
}

TEST(Rules, SetsNeedAnIdAndFinitePeaks) {
  MeasurementSet set;
  set.id = NewSetId();
  EXPECT_EQ(ValidateSet(set), Status::Ok());

  MeasurementSet upper_case = set;
  upper_case.id = std::string(32, 'A');
  MeasurementSet infinite = set;
  infinite.peaks.f64_flops = std::numeric_limits<double>::infinity();

  EXPECT_EQ(ValidateSet(upper_case).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(ValidateSet(infinite).code(), StatusCode::kInvalidArgument);
}

TEST(Storable, LeavesOrdinaryTrialsAlone) {
  Trial trial;
  trial.outcome = Failure{FailureKind::kCrashed, Phase::kRun, std::string(kMaxMessageBytes, 'x')};
  trial.max_error = 0.5;

  EXPECT_EQ(Storable(trial), trial);
}

}  // namespace
}  // namespace attune
