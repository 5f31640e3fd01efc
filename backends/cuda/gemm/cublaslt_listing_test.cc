// The space of cuBLASLt's algorithms, by a stand-in of the library.
#include "backends/cuda/gemm/cublaslt_listing.h"

#include <set>
#include <string>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/cuda/cublaslt/stand_in_cublaslt_test.h"
#include "backends/cuda/problem_on_host_test.h"

namespace attune::cuda {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::UnorderedElementsAre;

constexpr uint32_t kInPlace = CUBLASLT_REDUCTION_SCHEME_INPLACE;
constexpr uint32_t kInComputeType = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
constexpr uint32_t kInOutputType = CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE;

class CublasLtListingTest : public ::testing::Test {
 protected:
  std::vector<Config> List(const std::string& text) {
    const auto product = CublasLtProduct::Create(library_.lt, nullptr, GemmOf(text));
    const auto listed = ListAlgorithms(library_.lt, *product);
    EXPECT_TRUE(listed.ok()) << listed.status().message();
    return listed.ok() ? *listed : std::vector<Config>();
  }
  // The library always answers with algorithm 1 first.
  void Know(const MadeAlgorithm& made) {
    library_.algorithms = {made};
    cublasLtMatmulAlgo_t answer = StandInCublasLt::Initialised(made.id);
    const auto set = [&](auto which, const std::vector<uint32_t>& values) {
      if (!values.empty()) answer = StandInCublasLt::With(answer, which, values.back());
    };
    set(CUBLASLT_ALGO_CONFIG_TILE_ID, made.tiles);
    set(CUBLASLT_ALGO_CONFIG_STAGES_ID, made.stages);
    library_.answers = {answer};
  }
  // The values of one field, each once.
  static std::set<int64_t> ValuesOf(const std::vector<Config>& configs, const char* field) {
    std::set<int64_t> values;
    for (const Config& config : configs) values.insert(IntegerAt(config, field));
    return values;
  }

  static constexpr const char* kSmall = "gemm@1{m=64,n=64,k=512,type=bf16}";
  StandInCublasLt library_;
};

TEST_F(CublasLtListingTest, TheLibrarysAnswersAreFirstAndNothingComesTwice) {
  Know({.id = 1, .tiles = {5, 6, 7}, .stages = {2, 3}});

  const std::vector<Config> listed = List(kSmall);

  EXPECT_EQ(IntegerAt(listed.front(), "tile"), 7);
  EXPECT_EQ(IntegerAt(listed.front(), "stages"), 3);
  EXPECT_EQ(listed.size(), 6u);
  EXPECT_EQ(std::set<Config>(listed.begin(), listed.end()).size(), listed.size());
}

TEST_F(CublasLtListingTest, EveryFieldThatTheCapabilitiesNameIsVaried) {
  Know({.id = 1,
        .tiles = {5, 6},
        .stages = {2, 3},
        .last_custom = 2,
        .swizzles = true,
        .last_cluster = 4});

  const std::vector<Config> listed = List(kSmall);

  EXPECT_EQ(listed.size(), 2u * 2 * 3 * 2 * 4);
  EXPECT_THAT(ValuesOf(listed, "custom"), ElementsAre(0, 1, 2));
  // 1 is the name of no shape.
  EXPECT_THAT(ValuesOf(listed, "cluster"), ElementsAre(0, 2, 3, 4));
  EXPECT_THAT(ValuesOf(listed, "inner"), ElementsAre(0));
  EXPECT_THAT(ValuesOf(listed, "split_k"), ElementsAre(1));
}

TEST_F(CublasLtListingTest, WhatAnAlgorithmListsNoneOfIsLeftAtItsDefault) {
  Know({.id = 1});

  const std::vector<Config> listed = List(kSmall);

  EXPECT_EQ(listed.size(), 1u);
}

TEST_F(CublasLtListingTest, EveryTileIsSplitInEveryWayThatMayBeWorthSomething) {
  Know({.id = 1,
        .tiles = {5, 6, 7},
        .splits = true,
        .reductions = kInPlace | kInComputeType | kInOutputType});

  const std::vector<Config> listed = List("gemm@1{m=64,n=64,k=512,type=f32}");

  // Parts of k have 64 terms at least.
  EXPECT_THAT(ValuesOf(listed, "split_k"), IsSupersetOf({1, 2, 3, 4, 5, 6, 8}));
  std::set<std::tuple<int64_t, int64_t, int64_t>> found;
  for (const Config& config : listed) {
    found.insert(
        {IntegerAt(config, "tile"), IntegerAt(config, "split_k"), IntegerAt(config, "reduction")});
  }
  for (const int64_t tile : {5, 6, 7}) {
    for (const int64_t split : {2, 3, 4, 5, 6, 8}) {
      for (const uint32_t reduction : {kInPlace, kInComputeType, kInOutputType}) {
        EXPECT_TRUE(found.contains({tile, split, reduction}))
            << tile << " " << split << " " << reduction;
      }
    }
    // Only the answer has these.
    EXPECT_EQ(found.contains({tile, 16, kInPlace}), tile == 7);
  }
}

TEST_F(CublasLtListingTest, SumsAreAddedAsTheProblemAllows) {
  Know({.id = 1,
        .tiles = {5, 6},
        .splits = true,
        .reductions = kInPlace | kInComputeType | kInOutputType});

  EXPECT_THAT(ValuesOf(List("gemm@1{m=64,n=64,k=512,type=bf16}"), "reduction"),
              ElementsAre(0, kInComputeType));
  EXPECT_THAT(ValuesOf(List("gemm@1{m=64,n=64,k=512,det=1}"), "reduction"),
              ElementsAre(0, kInComputeType, kInOutputType));
}

TEST_F(CublasLtListingTest, AProductThatKeepsTheDeviceBusyIsSplitAsItsAnswersAlone) {
  Know({.id = 1, .tiles = {5, 6}, .splits = true, .reductions = kInComputeType});

  std::set<int64_t> split_tiles;
  for (const Config& config : List("gemm@1{m=4096,n=4096,k=4096,type=bf16}")) {
    if (IntegerAt(config, "split_k") > 1) split_tiles.insert(IntegerAt(config, "tile"));
  }

  EXPECT_THAT(split_tiles, ElementsAre(6));
}

TEST_F(CublasLtListingTest, AnAlgorithmThatCannotBeSplitIsNot) {
  Know({.id = 1, .tiles = {5, 6}, .reductions = kInComputeType});

  EXPECT_THAT(ValuesOf(List(kSmall), "split_k"), ElementsAre(1));
}

TEST_F(CublasLtListingTest, InnerShapesAreVariedWhereTheyMeanSomething) {
  Know({.id = 1, .tiles = {5, 6}, .last_inner = 2});
  EXPECT_THAT(ValuesOf(List(kSmall), "inner"), UnorderedElementsAre(0, 1, 2));
  EXPECT_EQ(List(kSmall).size(), 2u * 3);

  Know({.id = 1, .tiles = {5, 6}});
  EXPECT_THAT(ValuesOf(List(kSmall), "inner"), ElementsAre(0));
}

TEST_F(CublasLtListingTest, WhatIsVariedIsLimitedAndComesFromAllOverTheTiles) {
  MadeAlgorithm made{.id = 1, .splits = true, .reductions = kInPlace | kInComputeType};
  for (uint32_t tile = 1; tile <= 3000; ++tile) made.tiles.push_back(tile);
  Know(made);

  std::set<int64_t> split_tiles;
  int64_t split_count = 0;
  for (const Config& config : List("gemm@1{m=64,n=64,k=65536}")) {
    if (IntegerAt(config, "split_k") == 1) continue;
    ++split_count;
    split_tiles.insert(IntegerAt(config, "tile"));
  }

  // Plus the answer's own splits.
  EXPECT_GT(split_count, kMaxVariantsPerId / 2);
  EXPECT_LE(split_count, kMaxVariantsPerId + 2 * 10);
  EXPECT_GT(split_tiles.size(), 200u);
  EXPECT_LT(*split_tiles.begin(), 100);
  EXPECT_GT(*split_tiles.rbegin(), 2900);
}

TEST_F(CublasLtListingTest, WhatReadsBeyondTheAlignmentIsNotListed) {
  Know({.id = 1, .tiles = {5}, .alignments_bytes = {16, 16, 16, 16}});

  EXPECT_THAT(List("gemm@1{m=64,n=64,k=512,type=bf16,align=2}"), IsEmpty());
  EXPECT_EQ(List(kSmall).size(), 1u);
}

}  // namespace
}  // namespace attune::cuda
