// PyTorch's DynamicTunableOpsTest: with and without tuning, dynamic dimensions and a result.
#include <algorithm>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "attune/ops/gemm/gemm.h"
#include "tests/tunable/fake_tunable.h"

namespace attune {
namespace {

using testing::Contains;
using testing::Not;

// addmm, mm, bmm, baddbmm as they reach BLAS.
struct Operation {
  const char* name;
  const char* op;
  const char* fields;    // In the problem, after m, n and k.
  const char* wildcard;  // With M dynamic in the caller's row-major frame: N in that of BLAS.
};
constexpr Operation kOperations[] = {
    {"Addmm", "GemmAndBiasTunableOp_float_NN", ",bias=row", "nn_4_*_6_ld_4_6_4"},
    {"Mm", "GemmTunableOp_float_NN", "", "nn_4_*_6_ld_4_6_4"},
    {"Bmm", "GemmStridedBatchedTunableOp_float_NN", ",batch=2", "nn_4_*_6_B_2_ld_4_6_4"},
    {"Baddbmm", "GemmStridedBatchedTunableOp_float_NN", ",batch=2,beta=one",
     "nn_4_*_6_B_2_ld_4_6_4"},
};

class DynamicTunableOps : public testing::TestWithParam<Operation> {
 protected:
  Problem At(int n) const {
    return ProblemOf(fmt::format("gemm@1{{m=4,n={},k=6{}}}", n, GetParam().fields));
  }
  std::string Wildcard() const { return fmt::format("{},{}", GetParam().op, GetParam().wildcard); }
  std::vector<std::string> Keys() const { return KeysOf(folder_.Read("results0.csv")); }

  const TemporaryFolder folder_;
  const DynamicDims dynamic_ = InBlasFrame({kDynamicM});
};

TEST_P(DynamicTunableOps, AMissWithoutAMaskAddsTheConcreteEntryOnly) {
  FakeTunable tunable(VariablesIn(folder_));

  ASSERT_TRUE(tunable.context().TuneMiss(At(5)).ok());

  EXPECT_EQ(Keys().size(), 1u);
}

TEST_P(DynamicTunableOps, AMissWithAMaskAddsTheWildcardToo) {
  FakeTunable tunable(VariablesIn(folder_));

  ASSERT_TRUE(tunable.context().TuneMiss(At(5), dynamic_).ok());

  EXPECT_EQ(Keys().size(), 2u);
  EXPECT_THAT(Keys(), Contains(Wildcard()));
}

TEST_P(DynamicTunableOps, AHitWithoutAMaskAddsNothing) {
  FakeTunable tunable(VariablesIn(folder_));
  ASSERT_TRUE(tunable.context().TuneMiss(At(5)).ok());

  EXPECT_TRUE(tunable.context().Lookup(At(5)));

  EXPECT_EQ(Keys().size(), 1u);
}

TEST_P(DynamicTunableOps, AHitWithAMaskAddsTheWildcardOnce) {
  FakeTunable tunable(VariablesIn(folder_));
  ASSERT_TRUE(tunable.context().TuneMiss(At(5)).ok());

  EXPECT_TRUE(tunable.context().Lookup(At(5), dynamic_));
  EXPECT_TRUE(tunable.context().Lookup(At(5), dynamic_));

  EXPECT_EQ(Keys().size(), 2u);
  EXPECT_THAT(Keys(), Contains(Wildcard()));
}

TEST_P(DynamicTunableOps, WithTuningOffAConcreteHitAWildcardHitAndAMissAddNothing) {
  {
    FakeTunable tunable(VariablesIn(folder_));
    ASSERT_TRUE(tunable.context().TuneMiss(At(5), dynamic_).ok());
  }
  FakeTunable tunable(VariablesIn(
      folder_, {{"ATTUNE_TUNABLE_TUNING", "0"}, {"ATTUNE_TUNABLE_WILDCARD_FALLBACK", "1"}}));
  TunableContext& context = tunable.context();

  const auto concrete = context.Lookup(At(5));
  const auto wildcard = context.Lookup(At(77), dynamic_);
  const auto neither = context.Lookup(ProblemOf("gemm@1{m=8,n=8,k=8}"), dynamic_);

  ASSERT_TRUE(concrete && wildcard);
  EXPECT_EQ(concrete->matched_by, MatchedBy::kProblem);
  EXPECT_EQ(wildcard->matched_by, MatchedBy::kWildcard);
  EXPECT_FALSE(neither);
  EXPECT_EQ(context.counters().hits_by_wildcard, 1);
  EXPECT_EQ(context.counters().misses, 1);
  EXPECT_EQ(Keys().size(), 2u);
  const Problem problem = At(77);
  EXPECT_TRUE(IsClose(FakeTunable::Expected(problem.Get<Gemm>()),
                      tunable.Run(problem, wildcard->candidate)));
}

TEST_P(DynamicTunableOps, TheFallbackIsOptIn) {
  {
    FakeTunable tunable(VariablesIn(folder_));
    ASSERT_TRUE(tunable.context().TuneMiss(At(5), dynamic_).ok());
  }
  FakeTunable tunable(VariablesIn(folder_, {{"ATTUNE_TUNABLE_TUNING", "0"}}));

  EXPECT_FALSE(tunable.context().Lookup(At(77), dynamic_));

  ASSERT_TRUE(tunable.context().Set(TunableVariable::kWildcardFallback, "1").ok());
  EXPECT_TRUE(tunable.context().Lookup(At(77), dynamic_));
}

TEST_P(DynamicTunableOps, AMissIsTunedEvenIfAWildcardWouldServeIt) {
  FakeTunable tunable(VariablesIn(folder_));
  ASSERT_TRUE(tunable.context().TuneMiss(At(5), dynamic_).ok());

  EXPECT_EQ(*tunable.context().TuneMiss(At(6), dynamic_), TuneOutcome::kTuned);
}

INSTANTIATE_TEST_SUITE_P(All, DynamicTunableOps, testing::ValuesIn(kOperations),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(DynamicTunableOpsTest, BucketsServeTheirSizesAndNoOthers) {
  const TemporaryFolder folder;
  FakeTunable tunable(VariablesIn(folder, {{"ATTUNE_TUNABLE_WILDCARD_FALLBACK", "1"}}));
  const DynamicDims buckets{kDynamicM, Reach::kPowerOfTwo};
  ASSERT_TRUE(tunable.context().TuneMiss(ProblemOf("gemm@1{m=12,n=5,k=6}"), buckets).ok());

  EXPECT_TRUE(tunable.context().Lookup(ProblemOf("gemm@1{m=9,n=5,k=6}")));
  EXPECT_TRUE(tunable.context().Lookup(ProblemOf("gemm@1{m=16,n=5,k=6}")));
  EXPECT_FALSE(tunable.context().Lookup(ProblemOf("gemm@1{m=8,n=5,k=6}")));
  EXPECT_FALSE(tunable.context().Lookup(ProblemOf("gemm@1{m=17,n=5,k=6}")));
}

}  // namespace
}  // namespace attune
