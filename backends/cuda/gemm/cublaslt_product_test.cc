// Checks of an algorithm before its use, by a stand-in of the library.
#include "backends/cuda/gemm/cublaslt_product.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/cuda/cublaslt/stand_in_cublaslt_test.h"
#include "backends/cuda/problem_on_host_test.h"

namespace attune::cuda {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class CublasLtProductTest : public ::testing::Test {
 protected:
  CublasLtProduct ProductOf(const std::string& text) {
    return *CublasLtProduct::Create(library_.lt, nullptr, GemmOf(text));
  }
  // All fields of algorithm 7, which the library accepts.
  Config Fields() { return *ProductOf(kAligned).FieldsOf(StandInCublasLt::Initialised(7)); }

  static constexpr const char* kAligned = "gemm@1{m=64,n=64,k=64,type=bf16}";
  StandInCublasLt library_;
};

TEST_F(CublasLtProductTest, AnAlgorithmOfBetterAlignedOperandsIsRefused) {
  for (size_t operand = 0; operand < 4; ++operand) {
    MadeAlgorithm made{.id = 7};
    made.alignments_bytes[operand] = 16;
    library_.algorithms = {made};

    const Status refused =
        ProductOf("gemm@1{m=64,n=64,k=64,type=bf16,align=8}").Algorithm(Fields()).status();

    EXPECT_EQ(refused.code(), StatusCode::kUnsupported) << operand;
    EXPECT_THAT(refused.message(),
                AllOf(HasSubstr("multiples of 16 bytes"), HasSubstr("multiples of 8.")));
    EXPECT_TRUE(ProductOf(kAligned).Algorithm(Fields()).ok());
    EXPECT_TRUE(ProductOf("gemm@1{m=64,n=64,k=64,type=bf16,align=16}").Algorithm(Fields()).ok());
  }
}

TEST_F(CublasLtProductTest, AnAlgorithmThatTakesTheAlignmentIsTaken) {
  library_.algorithms = {{.id = 7, .alignments_bytes = {4, 4, 2, 2}}};

  EXPECT_TRUE(ProductOf("gemm@1{m=64,n=64,k=64,type=bf16,align=4}").Algorithm(Fields()).ok());
  EXPECT_FALSE(ProductOf("gemm@1{m=64,n=64,k=64,type=bf16,align=2}").Algorithm(Fields()).ok());
}

TEST_F(CublasLtProductTest, MoreScratchMemoryThanIsGivenIsRefused) {
  library_.algorithms = {{.id = 7}};
  library_.workspace_bytes = kCublasLtWorkspaceBytes;
  EXPECT_TRUE(ProductOf(kAligned).Algorithm(Fields()).ok());

  library_.workspace_bytes = kCublasLtWorkspaceBytes + 1;
  const Status refused = ProductOf(kAligned).Algorithm(Fields()).status();

  EXPECT_EQ(refused.code(), StatusCode::kUnsupported);
  EXPECT_THAT(refused.message(), AllOf(HasSubstr("33554433 bytes"), HasSubstr("33554432")));
}

TEST_F(CublasLtProductTest, WhatTheLibraryDoesNotComputeIsRefused) {
  library_.algorithms = {{.id = 7}};
  Config fields = Fields();
  fields["tile"] = int64_t{3};

  EXPECT_EQ(ProductOf(kAligned).Algorithm(fields).status().code(), StatusCode::kUnsupported);
}

}  // namespace
}  // namespace attune::cuda
