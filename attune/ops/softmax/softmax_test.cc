#include "attune/ops/softmax/softmax.h"

#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/random.h"
#include "attune/ops/softmax.h"
#include "attune/problem/problem.h"
#include "attune/problem/reference.h"

namespace attune {
namespace {

using ::testing::HasSubstr;

Softmax RandomSoftmax(Random& random) {
  const auto size = [&](uint64_t most) { return 1 + static_cast<int64_t>(random.Below(most)); };
  Softmax softmax;
  softmax.outer = size(6);
  softmax.length = size(9);
  softmax.backward = random.Below(2) == 1;
  softmax.logarithm = random.Below(2) == 1;
  softmax.scaled = random.Below(2) == 1;
  const DataType types[] = {DataType::kF32, DataType::kF16, DataType::kBf16};
  softmax.type = types[random.Below(3)];
  softmax.inner = size(3);
  const auto mask = static_cast<SoftmaxMask>(random.Below(3));
  const bool may_mask = softmax.inner == 1 && !softmax.backward;
  const bool is_infinite = mask == SoftmaxMask::kCausal && softmax.logarithm;
  if (may_mask && !is_infinite && mask != SoftmaxMask::kNone) {
    softmax.mask = mask;
    softmax.queries = softmax.outer;
  }
  return softmax;
}

TEST(SoftmaxTest, ATextReadsBackAsTheSameProblem) {
  Random random(1);
  for (int i = 0; i < 500; ++i) {
    const Problem problem = RandomSoftmax(random);
    ASSERT_TRUE(Validate(problem).ok()) << Text(problem);
    const auto read = ParseProblem(Text(problem));
    ASSERT_TRUE(read.ok()) << Text(problem) << ": " << read.error().message();
    EXPECT_EQ(*read, problem);
  }
}

TEST(SoftmaxTest, WhatIsUsualIsLeftOutOfATextAndWhatDecidesIsNot) {
  EXPECT_EQ(Text(Problem(Softmax{.outer = 8, .length = 128})), "softmax@2{outer=8,length=128}");
  Softmax masked{.outer = 8, .length = 128, .mask = SoftmaxMask::kAdditive, .queries = 4};
  masked.scaled = true;
  EXPECT_EQ(Text(Problem(masked)),
            "softmax@2{outer=8,length=128,mask=additive,queries=4,scaled=1}");
}

TEST(SoftmaxTest, ACommandOfMiopenDriverIsReadAsItEverWas) {
  const auto problem = ParseProblem("softmax@1{capital_m=1,letter_n=4}");
  ASSERT_TRUE(problem.ok()) << problem.error().message();
  EXPECT_FALSE(problem->Is<Softmax>());
  EXPECT_EQ(Text(*problem), "softmax@1{capital_m=1,letter_n=4}");
  EXPECT_THAT(ParseProblem("softmax@3{}").status().message(), HasSubstr("knows version 2"));
}

TEST(SoftmaxTest, AWrongProblemIsNamed) {
  const auto reason = [](const char* text) { return ParseProblem(text).status().message(); };
  EXPECT_THAT(reason("softmax@2{outer=8}"), HasSubstr("needs the key length"));
  EXPECT_THAT(reason("softmax@2{outer=8,length=0}"), HasSubstr("Key length has the value"));
  EXPECT_THAT(reason("softmax@2{outer=8,length=4,type=f64}"), HasSubstr("f32, f16 and bf16"));
  EXPECT_THAT(reason("softmax@2{outer=8,length=4,queries=2}"), HasSubstr("no mask"));
  EXPECT_THAT(reason("softmax@2{outer=8,length=4,mask=causal,queries=3}"),
              HasSubstr("do not divide"));
  EXPECT_THAT(reason("softmax@2{outer=8,length=4,inner=2,mask=causal}"), HasSubstr("needs 1"));
  EXPECT_THAT(reason("softmax@2{outer=8,length=4,dir=bwd,mask=causal}"), HasSubstr("bwd"));
  EXPECT_THAT(reason("softmax@2{outer=8,length=4,mask=causal,log=1,queries=8}"),
              HasSubstr("infinite"));
  EXPECT_THAT(reason("softmax@2{outer=2000000000,length=2000000000}"), HasSubstr("more than"));
}

TEST(SoftmaxTest, ACallOfCIsTheProblemItSays) {
  attune_softmax call = {};
  call.outer = 6;
  call.length = 10;
  call.queries = 3;
  call.mask = ATTUNE_SOFTMAX_ADDITIVE;
  call.scaled = 1;
  call.type = ATTUNE_BF16;
  const auto problem = SoftmaxOperator().ReadCall(&call, {2, 0, 1});
  ASSERT_TRUE(problem.ok()) << problem.error().message();
  EXPECT_EQ(Text(*problem),
            "softmax@2{outer=6,length=10,mask=additive,queries=3,scaled=1,type=bf16}");
  call.mask = 7;
  EXPECT_THAT(SoftmaxOperator().ReadCall(&call, {}).status().message(),
              HasSubstr("'mask' is 7; it has to be from 0 to 2"));
}

// The definition, with no thought of overflow: inputs are small.
std::vector<double> Naive(const Softmax& softmax, const std::vector<OperandValues>& inputs) {
  std::vector<double> out(inputs[0].size());
  const double scale = softmax.scaled ? 0.125 : 1;
  for (int64_t outer = 0; outer < softmax.outer; ++outer) {
    for (int64_t inner = 0; inner < softmax.inner; ++inner) {
      const auto at = [&](int64_t i) {
        return static_cast<size_t>((outer * softmax.length + i) * softmax.inner + inner);
      };
      const int64_t query = outer % softmax.queries;
      double sum = 0;
      std::vector<double> powers;
      for (int64_t i = 0; i < softmax.length; ++i) {
        double power = std::exp(scale * inputs[0][at(i)]);
        if (softmax.mask == SoftmaxMask::kAdditive) {
          power *= std::exp(inputs[1][static_cast<size_t>(query * softmax.length + i)]);
        }
        if (softmax.mask == SoftmaxMask::kCausal && i > query) power = 0;
        if (softmax.backward) {
          power = softmax.logarithm ? inputs[1][at(i)] : inputs[0][at(i)] * inputs[1][at(i)];
        }
        powers.push_back(power);
        sum += power;
      }
      for (int64_t i = 0; i < softmax.length; ++i) {
        const double share = powers[static_cast<size_t>(i)] / sum;
        const double y = inputs[0][at(i)];
        out[at(i)] = !softmax.backward   ? (softmax.logarithm ? std::log(share) : share)
                     : softmax.logarithm ? scale * (inputs[1][at(i)] - std::exp(y) * sum)
                                         : scale * y * (inputs[1][at(i)] - sum);
      }
    }
  }
  return out;
}

TEST(SoftmaxTest, TheReferenceIsTheDefinition) {
  Random random(2);
  for (int i = 0; i < 300; ++i) {
    const Problem problem = RandomSoftmax(random);
    std::vector<OperandValues> inputs;
    for (const Operand& operand : Operands(problem)) {
      if (operand.role != OperandRole::kIn) continue;
      OperandValues values(static_cast<size_t>(ElementCount(operand.tensor)));
      for (double& value : values) value = random.Uniform() * 2 - 1;
      inputs.push_back(std::move(values));
    }
    std::vector<double> results(inputs[0].size(), -7);
    const GoOn always;
    WorkWatch watch(always, 1);
    problem.op().reference()->Compute(problem, inputs, results, watch);
    const std::vector<double> wanted = Naive(problem.Get<Softmax>(), inputs);
    for (size_t k = 0; k < results.size(); ++k) {
      ASSERT_NEAR(results[k], wanted[k], 1e-13) << Text(problem) << " at " << k;
    }
  }
}

TEST(SoftmaxTest, TheSmallestProblemKeepsRowsOfTheMask) {
  const Softmax softmax{.outer = 64, .length = 128, .mask = SoftmaxMask::kCausal, .queries = 16};
  const auto smallest = [&](std::vector<std::string> kept) {
    const Problem problem = SoftmaxOperator().SmallestLike(softmax, [&](std::string_view name) {
      return std::find(kept.begin(), kept.end(), name) != kept.end();
    });
    EXPECT_TRUE(Validate(problem).ok()) << Text(problem);
    return Text(problem);
  };
  EXPECT_EQ(smallest({}), "softmax@2{outer=1,length=1,mask=causal}");
  EXPECT_EQ(smallest({"queries"}), "softmax@2{outer=16,length=1,mask=causal,queries=16}");
  EXPECT_EQ(smallest({"outer", "length"}), "softmax@2{outer=64,length=128,mask=causal}");
}

TEST(SoftmaxTest, NeighboursDifferInSizesAlone) {
  const Problem a = Softmax{.outer = 64, .length = 128};
  const Problem b = Softmax{.outer = 32, .length = 256};
  const Problem c = Softmax{.outer = 64, .length = 128, .logarithm = true};
  EXPECT_EQ(a.op().FamilyOf(a), a.op().FamilyOf(b));
  EXPECT_NE(a.op().FamilyOf(a), a.op().FamilyOf(c));
  EXPECT_NE(a.op().PositionOf(a), a.op().PositionOf(b));
  EXPECT_EQ(a.op().FeatureNames().size(), a.op().FeatureValues(a).size());
  EXPECT_EQ(a.op().LabelOf(b), "softmax outer=32 length=256");
}

}  // namespace
}  // namespace attune
