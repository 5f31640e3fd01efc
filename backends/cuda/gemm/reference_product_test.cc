#include "backends/cuda/gemm/reference_product.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "attune/base/element.h"
#include "attune/verify/problem_data.h"
#include "attune/verify/reference_sample.h"
#include "backends/cuda/gemm/hostile_references_test.h"
#include "backends/cuda/gemm/reference_product_on_host_test.h"
#include "backends/cuda/problem_on_host_test.h"

namespace attune::cuda {
namespace {

// The reference of `data` as the kernels compute it: each of `blocks` blocks loops over some tiles.
std::vector<double> Computed(const Problem& problem, const ProblemData& data, unsigned blocks) {
  std::vector<double> reference(data.reference().size(), std::numeric_limits<double>::quiet_NaN());
  std::vector<BufferView> views;
  for (size_t i = 0; i < Operands(problem).size(); ++i) {
    // Operands other than inputs are not read.
    views.push_back({const_cast<std::byte*>(data.input(i).data()), 0});
  }
  views.push_back({reference.data(), 0});
  Arguments arguments;
  arguments.operands = views;
  arguments.alpha = data.alpha();
  arguments.beta = data.beta();
  const auto plan = PlanOf(problem);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  if (plan.ok()) MultiplyOnHost(BoundTo(*plan, arguments), IsExact(problem), blocks);
  return reference;
}

TEST(ReferenceProductTest, IsTheReferenceOfTheProcessorEverywhereAndLeavesGapsAlone) {
  for (const std::string& text : HostileReferences()) {
    const Problem problem = ProblemOf(text);
    const auto data = ProblemData::Create(problem, 3);
    ASSERT_TRUE(data.ok()) << text << data.status().message();

    const std::vector<double> computed = Computed(problem, *data, 3);

    for (size_t i = 0; i < computed.size(); ++i) {
      const double right = data->reference()[i];
      ASSERT_EQ(std::isnan(computed[i]), std::isnan(right)) << text << " at " << i;
      if (std::isnan(right)) continue;
      ASSERT_NEAR(computed[i], right, 1e-12) << text << " at " << i;
    }
    std::vector<std::span<const std::byte>> inputs;
    for (size_t i = 0; i < Operands(problem).size(); ++i) inputs.push_back(data->input(i));
    const Status checked = CheckReference(problem, inputs, computed, 7);
    EXPECT_TRUE(checked.ok()) << text << ": " << checked.message();
  }
}

TEST(ReferenceProductTest, SumsOfF64KeepWhatDoublesLose) {
  const Problem problem = ProblemOf("gemm@1{m=1,n=1,k=3,type=f64}");
  double a[] = {1e17, 1, -1e17};
  double b[] = {1, 1, 1};
  double reference = 0;
  const BufferView views[] = {{a, 0}, {b, 0}, {}, {&reference, 0}};
  Arguments arguments;
  arguments.operands = views;

  MultiplyOnHost(BoundTo(*PlanOf(problem), arguments), IsExact(problem), 1);

  EXPECT_EQ(reference, 1);
}

TEST(ReferenceProductTest, EveryElementOfEveryNarrowTypeIsDecodedExactly) {
  const auto expect_same = [](double decoded, double right, unsigned bits) {
    if (std::isnan(right)) {
      EXPECT_TRUE(std::isnan(decoded)) << bits;
    } else {
      EXPECT_EQ(std::bit_cast<uint64_t>(decoded), std::bit_cast<uint64_t>(right)) << bits;
    }
  };
  for (unsigned bits = 0; bits < 1u << 16; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    expect_same(DecodedOnHost(&half, kReferenceF16, 0), FloatFromF16(half), bits);
    expect_same(DecodedOnHost(&half, kReferenceBf16, 0), FloatFromBf16(half), bits);
  }
  for (unsigned bits = 0; bits < 1u << 8; ++bits) {
    const auto byte = static_cast<uint8_t>(bits);
    expect_same(DecodedOnHost(&byte, kReferenceF8E4M3, 0), FloatFromF8E4M3(byte), bits);
    expect_same(DecodedOnHost(&byte, kReferenceF8E5M2, 0), FloatFromF8E5M2(byte), bits);
    expect_same(DecodedOnHost(&byte, kReferenceI8, 0), static_cast<int8_t>(byte), bits);
  }
  for (const int32_t integer : {-2147483647 - 1, -1, 0, 1, 2147483647}) {
    expect_same(DecodedOnHost(&integer, kReferenceI32, 0), integer, 0);
  }
  const float single = -0.1f;
  expect_same(DecodedOnHost(&single, kReferenceF32, 0), single, 0);
}

TEST(ReferenceProductTest, WhatCannotBeCountedIsRefused) {
  EXPECT_EQ(
      PlanOf(ProblemOf("conv@1{dir=fwd,n=1,c=1,h=1,w=400000000,k=1,fh=1,fw=1}")).status().code(),
      StatusCode::kUnsupported);
}

TEST(ReferenceProductTest, AGridIsLimitedAndHasABlockForEveryTileBelow) {
  ReferenceProduct product = {};
  product.count = 3;
  product.m = 65;
  product.n = 64;
  EXPECT_EQ(ShapeOf(product).grid[0], 6u);
  product.count = int64_t{1} << 33;
  EXPECT_EQ(ShapeOf(product).grid[0], 1u << 20);
}

}  // namespace
}  // namespace attune::cuda
