// Convolutions and batches by other products, as far as no device is needed: spaces and programs.
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/ops/gemm/gemm.h"
#include "backends/cuda/conv/pointwise_conv.h"
#include "backends/cuda/conv/unfolded_conv.h"
#include "backends/cuda/gemm/folded_batch.h"
#include "backends/cuda/gemm/folded_product_gemm.h"
#include "backends/cuda/gemm/inner_product.h"
#include "backends/cuda/kernel/kernel_building_test.h"
#include "backends/cuda/problem_on_host_test.h"

namespace attune::cuda {
namespace {

using testing::HasSubstr;
using testing::Le;

class ProductConvTest : public KernelBuildingTest {
 protected:
  std::vector<const Solver*> Products() const {
    std::vector<const Solver*> products;
    for (const auto& solver : solvers_) {
      if (solver->traits().operator_name == "gemm") products.push_back(solver.get());
    }
    return products;
  }
  const Target target_ = *TargetOf("sm_90");
};

TEST_F(ProductConvTest, WindowsAreMultipliedOnTensorCoresByFewConfigsOfEachKernel) {
  const auto solver = MakeUnfoldedProductConv(Products(), nvrtc_);
  const Problem problem = ProblemOf("conv@1{dir=fwd,n=3,c=3,h=61,w=59,k=64,fh=7,fw=7,type=bf16}");
  ASSERT_TRUE(solver->IsApplicable(problem, target_).ok());

  const auto space = solver->Space(problem, target_);

  ASSERT_TRUE(space.ok()) << space.status().ToString();
  EXPECT_THAT(space->size(), Le(InnerProducts::kMost));
  std::map<std::string, size_t> counts;
  for (uint64_t i = 0; i < space->size(); ++i) ++counts[StringAt(space->At(i), "gemm")];
  EXPECT_EQ(counts.size(), 2U);
  for (const auto& [name, count] : counts) {
    EXPECT_THAT(name, testing::StartsWith("cuda.gemm-"));
    EXPECT_EQ(count, InnerProducts::kMostOfSolver) << name;
  }
  EXPECT_EQ(solver->DefaultConfig(problem, target_).value(), space->At(0));
}

TEST_F(ProductConvTest, TheKernelsAroundAProductAndItsOwnAreBuiltTogether) {
  const auto solver = MakeUnfoldedProductConv(Products(), nvrtc_);
  const Problem problem = ProblemOf("conv@1{dir=fwd,n=3,c=3,h=61,w=59,k=64,fh=7,fw=7,type=f16}");
  const auto config = solver->DefaultConfig(problem, target_);
  ASSERT_TRUE(config.ok());

  const auto recipe = solver->Recipe(problem, *config, target_);
  ASSERT_TRUE(recipe.ok()) << recipe.status().ToString();
  const auto built = solver->Build(*recipe);

  ASSERT_TRUE(built.ok()) << built.status().ToString();
  const auto parts = Parts(*built);
  ASSERT_TRUE(parts.ok());
  EXPECT_THAT(parts->outer.bytes, HasSubstr("unfold"));
  EXPECT_THAT(parts->inner.bytes, HasSubstr("gemm_"));
}

TEST_F(ProductConvTest, AProductOfItsOperandsAsTheyAreIsBuiltAlone) {
  const auto solver = MakePointwiseProductConv(Products(), nvrtc_);
  const Problem problem = ProblemOf("conv@1{dir=fwd,n=5,c=67,h=7,w=7,k=45,fh=1,fw=1,type=f16}");
  const auto config = solver->DefaultConfig(problem, target_);
  ASSERT_TRUE(config.ok()) << config.status().ToString();

  const auto recipe = solver->Recipe(problem, *config, target_);

  ASSERT_TRUE(recipe.ok()) << recipe.status().ToString();
  EXPECT_TRUE(Parts(*recipe).inner.empty());
  const auto built = solver->Build(*recipe);
  ASSERT_TRUE(built.ok()) << built.status().ToString();
  EXPECT_THAT(built->bytes, HasSubstr("gemm_"));
}

TEST_F(ProductConvTest, ConfigsThatNobodyOfferedAreRefused) {
  const auto solver = MakeUnfoldedProductConv(Products(), nvrtc_);
  const Problem problem = ProblemOf("conv@1{dir=fwd,n=3,c=3,h=61,w=59,k=64,fh=7,fw=7,type=f16}");
  Config config = *solver->DefaultConfig(problem, target_);
  config["fields"] = "TILE_M:48";

  const auto refused = solver->Recipe(problem, config, target_);

  EXPECT_EQ(refused.status().code(), StatusCode::kUnsupported);
  EXPECT_THAT(refused.status().message(), HasSubstr("'TILE_M=48' is no config of cuda.gemm-"));
}

TEST_F(ProductConvTest, SumsOfRoundsAreLeftToCublasLt) {
  const auto solver = MakeUnfoldedProductConv(Products(), nvrtc_);

  const Status refused = solver->IsApplicable(
      ProblemOf("conv@1{dir=bwd_weights,n=12,c=32,h=210,w=210,k=8,fh=3,fw=3,type=bf16}"), target_);

  EXPECT_EQ(refused.code(), StatusCode::kUnsupported);
  EXPECT_THAT(refused.message(), HasSubstr("sum of several rounds"));
}

TEST_F(ProductConvTest, ABatchThatIsOneProductIsThatOfAnyOtherSolver) {
  const auto solver = MakeFoldedProductGemm(Products(), nvrtc_);
  const Gemm batch = GemmOf("gemm@1{m=65,n=33,k=77,batch=8,sa=0,type=bf16}");
  ASSERT_TRUE(solver->IsApplicable(batch, target_).ok());
  const auto config = solver->DefaultConfig(batch, target_);
  ASSERT_TRUE(config.ok()) << config.status().ToString();

  const auto recipe = solver->Recipe(batch, *config, target_);

  ASSERT_TRUE(recipe.ok()) << recipe.status().ToString();
  const InnerProducts products(Products());
  const InnerProduct inner = *products.Named(*config);
  EXPECT_EQ(*recipe, *inner.solver.Recipe(*FoldedBatch(batch), inner.config, target_));
  EXPECT_THAT(solver->Space(batch, target_)->size(), Le(InnerProducts::kMost));
}

TEST_F(ProductConvTest, ProductsThatShareNothingAreNotFolded) {
  const auto solver = MakeFoldedProductGemm(Products(), nvrtc_);

  const Status refused =
      solver->IsApplicable(GemmOf("gemm@1{m=65,n=33,k=77,batch=8,type=bf16}"), target_);

  EXPECT_EQ(refused.code(), StatusCode::kUnsupported);
  EXPECT_THAT(refused.message(), HasSubstr("share neither A nor B"));
}

}  // namespace
}  // namespace attune::cuda
