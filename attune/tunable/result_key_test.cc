#include "attune/tunable/result_key.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/random.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/tunable/dynamic_dims.h"

namespace attune {
namespace {

Gemm MakeGemm(std::string_view text) {
  const auto problem = ParseProblem(text);
  EXPECT_TRUE(problem.ok()) << text;
  return problem.ok() ? problem->Get<Gemm>() : Gemm();
}

std::string ParamsOf(std::string_view problem, unsigned mask, Reach reach = Reach::kAnySize) {
  const auto key = WildcardOf(MakeGemm(problem), {mask, reach});
  return key ? key->names.params : "none";
}

TEST(ResultKeyTest, EveryProblemHasNamesThatReadBack) {
  for (const char* text :
       {"gemm@1{m=4,n=5,k=6,ta=t}", "gemm@1{m=4,n=5,k=6,beta=one}",
        "gemm@1{m=4,n=5,k=6,type=i8,ctype=i32}", "gemm@1{m=4,n=5,k=6,batch=3}",
        "conv@1{dir=fwd,n=1,c=1,h=3,w=3,k=1,fh=1,fw=1}",
        "scaled_gemm@1{params=tn_5_6_7_ld_7_7_5_rw_1_bias_None,tunableop=ScaledGemmTunableOp,"
        "types=Float8_e4m3fn_Float8_e4m3fn_BFloat16}"}) {
    const Problem problem = *ParseProblem(text);
    const TunableOpKey names = NamesOf(problem);
    const auto read = ProblemOfNames(names);
    ASSERT_TRUE(read.has_value()) << names.op << ',' << names.params;
    EXPECT_EQ(NamesOf(*read), names);
    EXPECT_EQ(names.params.find(','), std::string::npos);
    EXPECT_EQ(SaysEverything(names, problem), *read == problem);
  }
}

TEST(ResultKeyTest, TunableOpsNamesSayLessThanProblems) {
  const Problem plain = *ParseProblem("gemm@1{m=4,n=5,k=6}");
  const Problem beta = *ParseProblem("gemm@1{m=4,n=5,k=6,beta=one}");

  EXPECT_EQ(NamesOf(plain), NamesOf(beta));
  EXPECT_TRUE(SaysEverything(NamesOf(plain), plain));
  EXPECT_FALSE(SaysEverything(NamesOf(beta), beta));
}

TEST(WildcardTest, LeadingDimensionsFollowTheirDimensionInEveryTranspose) {
  EXPECT_EQ(ParamsOf("gemm@1{m=4,n=5,k=6}", kDynamicM), "nn_*_5_6_ld_*_6_*");
  EXPECT_EQ(ParamsOf("gemm@1{m=4,n=5,k=6}", kDynamicN), "nn_4_*_6_ld_4_6_4");
  EXPECT_EQ(ParamsOf("gemm@1{m=4,n=5,k=6}", kDynamicK), "nn_4_5_*_ld_4_*_4");
  EXPECT_EQ(ParamsOf("gemm@1{m=4,n=5,k=6,ta=t}", kDynamicM), "tn_*_5_6_ld_6_6_*");
  EXPECT_EQ(ParamsOf("gemm@1{m=4,n=5,k=6,ta=t}", kDynamicK), "tn_4_5_*_ld_*_*_4");
  EXPECT_EQ(ParamsOf("gemm@1{m=4,n=5,k=6,tb=t}", kDynamicN), "nt_4_*_6_ld_4_*_4");
  EXPECT_EQ(ParamsOf("gemm@1{m=4,n=5,k=6,batch=7}", kDynamicBatch), "nn_4_5_6_B_*_ld_4_6_4");
  EXPECT_EQ(ParamsOf("gemm@1{m=4,n=5,k=6}", kDynamicBatch), "none");
}

TEST(WildcardTest, BucketsReachToTheNextPowerOfTwo) {
  EXPECT_EQ(ParamsOf("gemm@1{m=100,n=5,k=6}", kDynamicM, Reach::kPowerOfTwo),
            "nn_*65-128_5_6_ld_*_6_*");
  EXPECT_EQ(ParamsOf("gemm@1{m=128,n=5,k=6}", kDynamicM, Reach::kPowerOfTwo),
            "nn_*65-128_5_6_ld_*_6_*");
  EXPECT_EQ(ParamsOf("gemm@1{m=1,n=5,k=6}", kDynamicM, Reach::kPowerOfTwo), "none");
}

TEST(WildcardTest, ARowMajorMaskChangesMAndN) {
  EXPECT_EQ(InBlasFrame({kDynamicM | kDynamicK}).mask, kDynamicN | kDynamicK);
  EXPECT_EQ(InBlasFrame({kDynamicN | kDynamicBatch}).mask, kDynamicM | kDynamicBatch);
  EXPECT_EQ(InBlasFrame({kDynamicM | kDynamicN}).mask, kDynamicM | kDynamicN);
}

TEST(WildcardTest, KeysReadBackAndMatchWhatTheyWereMadeOf) {
  Random random(11);
  for (int i = 0; i < 2000; ++i) {
    Gemm gemm;
    gemm.m = static_cast<int64_t>(1 + random.Below(300));
    gemm.n = static_cast<int64_t>(1 + random.Below(300));
    gemm.k = static_cast<int64_t>(1 + random.Below(300));
    gemm.trans_a = static_cast<Transpose>(random.Below(2));
    gemm.trans_b = static_cast<Transpose>(random.Below(2));
    gemm.batch_count = static_cast<int64_t>(1 + random.Below(3));
    gemm.stride_a = gemm.stride_b = kPackedStride;
    gemm = Normalized(gemm);
    const DynamicDims dims{static_cast<unsigned>(1 + random.Below(15)),
                           static_cast<Reach>(random.Below(2))};
    const auto key = WildcardOf(gemm, dims);
    if (!key) continue;
    const auto read = ParseWildcard(key->names);
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(*read, *key);
    EXPECT_TRUE(Matches(*read, gemm)) << key->names.params;
  }
}

TEST(WildcardTest, MatchingIsTokenByToken) {
  const auto pattern = ParseWildcard({"GemmTunableOp_float_TN", "tn_*_128_4096_ld_4096_4096_*"});
  ASSERT_TRUE(pattern.ok());

  EXPECT_TRUE(Matches(*pattern, MakeGemm("gemm@1{m=7,n=128,k=4096,ta=t}")));
  EXPECT_TRUE(Matches(*pattern, MakeGemm("gemm@1{m=7,n=128,k=4096,ta=t,ldc=9}")));
  EXPECT_FALSE(Matches(*pattern, MakeGemm("gemm@1{m=7,n=129,k=4096,ta=t}")));
  EXPECT_FALSE(Matches(*pattern, MakeGemm("gemm@1{m=7,n=128,k=4096,ta=t,lda=5000}")));
  EXPECT_FALSE(Matches(*pattern, MakeGemm("gemm@1{m=7,n=128,k=4096}")));
  EXPECT_FALSE(Matches(*pattern, MakeGemm("gemm@1{m=7,n=128,k=4096,ta=t,type=f64}")));
  EXPECT_FALSE(Matches(*pattern, MakeGemm("gemm@1{m=7,n=128,k=4096,ta=t,batch=2}")));
}

TEST(WildcardTest, MalformedKeysAreRefusedWithTheReason) {
  for (const char* params :
       {"tn_5_6_7", "xx_*_6_7", "tn_*_6", "tn_*_6_7_ld_1_2", "tn_*5-_6_7", "tn_*9-5_6_7",
        "tn_*_6_7_B_2", "tn_*_6_7_ld_1_2_3_4", "tn_**_6_7", "*", "tn_*_0_7"}) {
    EXPECT_FALSE(ParseWildcard({"GemmTunableOp_float_TN", params}).ok()) << params;
  }
}

TEST(WildcardTest, FewerAndNarrowerStarsAreMoreSpecific) {
  const auto key = [](const char* params) {
    return *ParseWildcard({"GemmTunableOp_float_NN", params});
  };

  EXPECT_TRUE(IsMoreSpecific(key("nn_*_5_6"), key("nn_*_*_6")));
  EXPECT_TRUE(IsMoreSpecific(key("nn_*65-128_5_6"), key("nn_*_5_6")));
  EXPECT_TRUE(IsMoreSpecific(key("nn_*65-128_5_6"), key("nn_*1-128_5_6")));
  EXPECT_FALSE(IsMoreSpecific(key("nn_*_5_6"), key("nn_*_5_6")));
}

TEST(DynamicDimsGuardTest, GuardsNestAndBelongToTheirThread) {
  EXPECT_TRUE(CurrentDynamicDims().empty());
  {
    const DynamicDimsGuard outer({kDynamicM});
    {
      const DynamicDimsGuard inner({kDynamicK});
      EXPECT_EQ(CurrentDynamicDims().mask, kDynamicK);
      std::jthread([] { EXPECT_TRUE(CurrentDynamicDims().empty()); });
    }
    EXPECT_EQ(CurrentDynamicDims().mask, kDynamicM);
  }
  EXPECT_TRUE(CurrentDynamicDims().empty());
  EXPECT_FALSE(PopDynamicDims());
}

TEST(DynamicDimsGuardTest, NestingBeyondTheLimitComesBackInOrder) {
  for (size_t i = 0; i < kMaxDynamicDimsDepth; ++i) EXPECT_TRUE(PushDynamicDims({kDynamicM}));
  {
    const DynamicDimsGuard one_too_many({kDynamicK});
    EXPECT_FALSE(PushDynamicDims({kDynamicN}));
    EXPECT_EQ(CurrentDynamicDims().mask, kDynamicM);
  }
  for (size_t i = 0; i < kMaxDynamicDimsDepth; ++i) EXPECT_TRUE(PopDynamicDims());
  EXPECT_FALSE(PopDynamicDims());
}

}  // namespace
}  // namespace attune
