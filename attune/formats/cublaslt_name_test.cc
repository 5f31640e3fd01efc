#include "attune/formats/cublaslt_name.h"

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace attune {
namespace {

constexpr const char* kName =
    "Gemm_Cublaslt_id_66_tile_20_stages_4_splitk_3_red_2_swizzle_1_custom_5_inner_6_cluster_7";
constexpr const char* kText =
    "cuda.cublaslt-gemm@1{cluster=7,custom=5,id=66,inner=6,reduction=2,split_k=3,stages=4,"
    "swizzle=1,tile=20}";

std::string NameOf(const std::string& candidate) {
  return CublasLtNameOf(*ParseCandidate(candidate)).value_or("");
}

TEST(CublasLtNameTest, EachFieldOfACandidateIsItsFieldOfTheNameAndBack) {
  EXPECT_EQ(NameOf(kText), kName);
  ASSERT_TRUE(ParseCublasLtName(kName).has_value());
  EXPECT_EQ(Text(*ParseCublasLtName(kName)), kText);
}

TEST(CublasLtNameTest, EveryNumberOfItsAttributeComesBack) {
  const auto name = [](const char* id, const char* tile, const char* split, const char* cluster) {
    return fmt::format(
        "Gemm_Cublaslt_id_{}_tile_{}_stages_0_splitk_{}_red_0_swizzle_0_custom_0_inner_0_"
        "cluster_{}",
        id, tile, split, cluster);
  };
  for (const std::string& whole :
       {name("0", "0", "0", "0"), name("2147483647", "4294967295", "-1", "65535"),
        name("-2147483648", "1", "-2147483648", "1")}) {
    const auto candidate = ParseCublasLtName(whole);
    ASSERT_TRUE(candidate.has_value()) << whole;
    EXPECT_EQ(CublasLtNameOf(*candidate), whole);
    EXPECT_EQ(*ParseCandidate(Text(*candidate)), *candidate);
  }
  for (const std::string& wrong :
       {name("2147483648", "0", "0", "0"), name("0", "4294967296", "0", "0"),
        name("0", "-1", "0", "0"), name("0", "0", "-2147483649", "0"), name("0", "0", "0", "65536"),
        name("0", "0", "0", "99999999999999999999"), name("-9223372036854775808", "0", "0", "0")}) {
    EXPECT_FALSE(ParseCublasLtName(wrong).has_value()) << wrong;
  }
}

TEST(CublasLtNameTest, WhatANameCannotSayHasNone) {
  EXPECT_EQ(NameOf("cuda.cublaslt-gemm@1{}"), "");
  EXPECT_EQ(NameOf("cuda.cublaslt-gemm@1{id=1}"), "");
  EXPECT_EQ(NameOf("cuda.cublaslt-gemm@1{cluster=7,custom=5,id=66,inner=6,reduction=2,split_k=3,"
                   "stages=4,swizzle=1,file=20}"),
            "");
  EXPECT_EQ(NameOf("cuda.cublaslt-gemm@2{cluster=7,custom=5,id=66,inner=6,reduction=2,split_k=3,"
                   "stages=4,swizzle=1,tile=20}"),
            "");
  EXPECT_EQ(NameOf("cuda.cublaslt-gemm@1{cluster=65536,custom=5,id=66,inner=6,reduction=2,"
                   "split_k=3,stages=4,swizzle=1,tile=20}"),
            "");
  EXPECT_EQ(NameOf("cuda.padded-cublaslt-gemm@1{cluster=7,custom=5,id=66,inner=6,padding=all,"
                   "reduction=2,split_k=3,stages=4,swizzle=1,tile=20}"),
            "");
  EXPECT_EQ(NameOf("host.openblas-gemm@1{threads=2}"), "");
}

TEST(CublasLtNameTest, OtherNamesAreNone) {
  const std::string name = kName;
  for (const std::string& other :
       {std::string(), std::string("Default"), std::string("Gemm_Rocblas_42"),
        std::string("Gemm_Cublaslt_id_999999_tile_1"), name + "_", name + "0x", name + "_more_1",
        "G" + name, "Gemm_Cublaslt_tile_20_id_66" + name.substr(27),
        "Gemm_Cublaslt_id_066" + name.substr(19), "Gemm_Cublaslt_id_+66" + name.substr(19)}) {
    EXPECT_FALSE(ParseCublasLtName(other).has_value()) << other;
  }
}

TEST(CublasLtNameTest, ASolutionIsANameOrAText) {
  EXPECT_EQ(SolutionText(*ParseCandidate(kText)), kName);
  EXPECT_EQ(SolutionText(*ParseCandidate("cuda.cublaslt-gemm@1{}")), "cuda.cublaslt-gemm@1{}");
  EXPECT_EQ(Text(*ParseSolution(kName)), kText);
  EXPECT_EQ(Text(*ParseSolution(kText)), kText);
  EXPECT_FALSE(ParseSolution("Default").ok());
}

}  // namespace
}  // namespace attune
