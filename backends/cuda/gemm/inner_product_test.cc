// Candidates inside of candidates: their text, their number, and their builds.
#include "backends/cuda/gemm/inner_product.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/ops/gemm/gemm.h"
#include "backends/cuda/cuda_backend.h"
#include "backends/cuda/problem_on_host_test.h"

namespace attune::cuda {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Takes products of up to `most_m` rows; its parameter W counts from 0.
class CountingSolver final : public Solver {
 public:
  CountingSolver(std::string name, int configs, int64_t most_m = 1 << 20)
      : id_{std::move(name), 2}, configs_(configs), most_m_(most_m) {}

  const SolverId& id() const override { return id_; }
  const SolverTraits& traits() const override { return traits_; }
  Status IsApplicable(const Problem& problem, const Target&) const override {
    const int64_t m = problem.Get<Gemm>().m;
    return m <= most_m_ ? Status::Ok() : Unsupported("Too many rows for " + id_.name + ".");
  }
  Result<ConfigSpace> Space(const Problem&, const Target&) const override {
    Parameter width{"W", {}};
    for (int64_t i = 0; i < configs_; ++i) width.values.emplace_back(i);
    return ConfigSpace::Create({std::move(width)}, {});
  }
  Result<BuildRecipe> Recipe(const Problem&, const Config&, const Target&) const override {
    return BuildRecipe();
  }
  Result<Artifact> Build(const BuildRecipe&) const override { return Artifact(); }
  Result<std::unique_ptr<Executable>> Load(const Artifact&, const Problem&, const Config&,
                                           Device&) const override {
    return Unsupported("Nothing is loaded here.");
  }

 private:
  const SolverId id_;
  const SolverTraits traits_{.description = "For tests", .operator_name = "gemm"};
  const int configs_;
  const int64_t most_m_;
};

const Target kTarget = {"cuda", "", "", 0, {}};
const Gemm kSquare = GemmOf("gemm@1{m=64,n=64,k=64}");

std::vector<std::string> TextsOf(const Result<std::vector<Config>>& configs) {
  std::vector<std::string> texts;
  EXPECT_TRUE(configs.ok()) << configs.status().ToString();
  if (!configs.ok()) return texts;
  for (const Config& config : *configs) texts.push_back(Text(config));
  return texts;
}

TEST(InnerProductsTest, AConfigIsFoundAgainByItsWords) {
  const CountingSolver solver("cuda.gemm-tensor", 1);
  const InnerProducts products({&solver});
  const Config kConfigs[] = {{},
                             {{"TILE_M", int64_t{64}}},
                             {{"TILE_M", int64_t{-64}}, {"padding", "all"}, {"id", int64_t{66}}}};
  for (const Config& config : kConfigs) {
    const auto named = ConfigNaming(solver.id(), config);
    ASSERT_TRUE(named.ok()) << named.status().ToString();
    EXPECT_TRUE(ParseConfig(Text(*named)).ok()) << Text(*named);

    const auto inner = products.Named(*named);

    ASSERT_TRUE(inner.ok()) << inner.status().ToString();
    EXPECT_EQ(inner->config, config);
    EXPECT_EQ(&inner->solver, &solver);
  }
}

// The plain name without a version: an edited kernel file invalidates the record by that name.
TEST(InnerProductsTest, AConfigHasTheNameOfItsSolver) {
  const Config config = *ConfigNaming({"cuda.gemm-tensor", 3}, {{"TILE_M", int64_t{64}}});

  EXPECT_EQ(Text(config), "fields=TILE_M:64,gemm=cuda.gemm-tensor,gemm_version=3");
}

TEST(InnerProductsTest, WhatCannotBeToldApartIsNoPartOfAConfig) {
  EXPECT_EQ(ConfigNaming({"a.b", 1}, {{"x", 0.5}}).status().code(), StatusCode::kUnsupported);
  EXPECT_EQ(ConfigNaming({"a.b", 1}, {{"x", "jit:avx"}}).status().code(), StatusCode::kUnsupported);
  EXPECT_EQ(ConfigNaming({"a.b", 1}, {{"x", "v1.2"}}).status().code(), StatusCode::kUnsupported);
}

TEST(InnerProductsTest, WordsOfForeignRecordsAreRefusedWithTheirText) {
  const CountingSolver solver("cuda.gemm-tensor", 1);
  const InnerProducts products({&solver});
  const auto refusal = [&](const Config& config) {
    const auto named = products.Named(config);
    EXPECT_EQ(named.status().code(), StatusCode::kUnsupported);
    return named.status().message();
  };

  const Config whole = *ConfigNaming(solver.id(), {});
  const auto with = [&](const char* name, const ParameterValue& value) {
    Config config = whole;
    config[name] = value;
    return config;
  };

  EXPECT_THAT(refusal({}), HasSubstr("'gemm' and 'fields' have to be words"));
  EXPECT_THAT(refusal(with("gemm", int64_t{3})), HasSubstr("have to be words"));
  EXPECT_THAT(refusal(with("gemm_version", "2")), HasSubstr("'gemm_version' an integer"));
  EXPECT_THAT(refusal({{"gemm", "cuda.gemm-tensor"}, {"fields", "none"}}),
              HasSubstr("have to be words"));
  EXPECT_THAT(refusal(with("gemm_version", int64_t{1})),
              HasSubstr("no 'cuda.gemm-tensor' of version 1 here"));
  EXPECT_THAT(refusal(with("gemm", "cuda.absent")), HasSubstr("no 'cuda.absent' of version 2"));
  for (const char* fields : {"TILE_M", "TILE_M:", ":4", "A:1..B:2", "A-B:1"}) {
    EXPECT_THAT(refusal(with("fields", fields)), HasSubstr("no name and value")) << fields;
  }
}

TEST(InnerProductsTest, DefaultsOfAllComeFirstAndNobodyHasMoreThanItsShare) {
  const CountingSolver large("cuda.large", 1000);
  const CountingSolver refusing("cuda.refusing", 9, 1);
  const CountingSolver small("cuda.small", 2);
  const InnerProducts products({&refusing, &large, &small});

  EXPECT_THAT(TextsOf(products.Configs(kSquare, kTarget)),
              ElementsAre("fields=W:0,gemm=cuda.large,gemm_version=2",
                          "fields=W:0,gemm=cuda.small,gemm_version=2",
                          "fields=W:1,gemm=cuda.large,gemm_version=2",
                          "fields=W:1,gemm=cuda.small,gemm_version=2",
                          "fields=W:2,gemm=cuda.large,gemm_version=2",
                          "fields=W:3,gemm=cuda.large,gemm_version=2"));
  const auto first = products.DefaultConfig(kSquare, kTarget);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(Text(*first), "fields=W:0,gemm=cuda.large,gemm_version=2");
}

TEST(InnerProductsTest, ManySolversMakeNoLargerSpaceThanIsSaid) {
  std::vector<std::unique_ptr<const CountingSolver>> solvers;
  std::vector<const Solver*> borrowed;
  for (int i = 0; i < 40; ++i) {
    solvers.push_back(std::make_unique<CountingSolver>("cuda.user" + std::to_string(i), 7));
    borrowed.push_back(solvers.back().get());
  }

  const auto configs = InnerProducts(borrowed).Configs(kSquare, kTarget);

  ASSERT_TRUE(configs.ok());
  EXPECT_EQ(configs->size(), InnerProducts::kMost);
}

TEST(InnerProductsTest, AProductThatNobodyTakesIsRefusedWithAReason) {
  const CountingSolver refusing("cuda.refusing", 9, 1);

  const Status refused = InnerProducts({&refusing}).IsApplicable(kSquare, kTarget);

  EXPECT_EQ(refused.code(), StatusCode::kUnsupported);
  EXPECT_THAT(refused.message(), HasSubstr("Too many rows for cuda.refusing."));
  EXPECT_EQ(InnerProducts({}).IsApplicable(kSquare, kTarget).code(), StatusCode::kUnsupported);
  EXPECT_FALSE(InnerProducts({&refusing}).Configs(kSquare, kTarget).ok());
  EXPECT_FALSE(InnerProducts({&refusing}).DefaultConfig(kSquare, kTarget).ok());
}

TEST(InnerProductsTest, TwoProgramsAreOneRecipeAndComeApartAgain) {
  const BuildRecipe outer{"__global__ void f() {}\n", "-DN=4", "nvrtc 13", "sm_90"};
  const BuildRecipe inner{"", "", "nvrtc 13", "sm_90"};
  const BuildRecipe other{"attune-two-programs 9999\n", "", "nvrtc 13", "sm_90"};

  EXPECT_EQ(Together(outer, inner), outer);
  EXPECT_EQ(Together(BuildRecipe(), outer), outer);
  for (const auto& [first, second] : {std::pair(outer, other), std::pair(other, outer)}) {
    const TwoRecipes parts = Parts(Together(first, second));
    EXPECT_EQ(parts.outer, first);
    EXPECT_EQ(parts.inner, second);
  }
  EXPECT_EQ(Parts(outer).outer, outer);
  EXPECT_TRUE(Parts(outer).inner.empty());
}

TEST(InnerProductsTest, DamagedCodeOfTwoProgramsIsRefused) {
  const Artifact both = Together(Artifact{std::string("\0elf", 4)}, Artifact{"other"});

  const auto parts = Parts(both);

  ASSERT_TRUE(parts.ok());
  EXPECT_EQ(parts->outer.bytes, std::string("\0elf", 4));
  EXPECT_EQ(parts->inner.bytes, "other");
  for (const char* damaged :
       {"", "other", "attune-two-programs", "attune-two-programs \n",
        "attune-two-programs 99\nshort", "attune-two-programs -1\nshort",
        "attune-two-programs 1x\nshort", "attune-two-programs 99999999999999999999\nshort"}) {
    EXPECT_EQ(Parts(Artifact{damaged}).status().code(), StatusCode::kInvalidArgument) << damaged;
  }
}

}  // namespace
}  // namespace attune::cuda
