#include "backends/cuda/gemm/padded_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/ops/gemm/gemm.h"

namespace attune::cuda {
namespace {

using Names = std::vector<std::string>;

Gemm Bf16(int64_t m, int64_t n, int64_t k) { return PackedGemm(m, n, k, DataType::kBf16); }

PaddedLayout Padded(const Gemm& gemm, std::string_view padding) {
  auto layout = LayOut(gemm, padding);
  EXPECT_TRUE(layout.ok()) << layout.status().message();
  return layout.ok() ? *layout : PaddedLayout{};
}

TEST(PaddedLayoutTest, AlignedProductsAreNotPadded) {
  EXPECT_EQ(PaddingNames(Bf16(4096, 4096, 4096)), Names());
  EXPECT_EQ(PaddingNames(PackedGemm(4, 3, 8)), Names());
  EXPECT_EQ(PaddingNames(Bf16(8, 1, 16)), Names());
}

TEST(PaddedLayoutTest, NamesDependOnWhatIsMisaligned) {
  EXPECT_EQ(PaddingNames(Bf16(1111, 1237, 3331)), (Names{"all", "inputs", "filled"}));
  EXPECT_EQ(PaddingNames(Bf16(4096, 64, 1001)), (Names{"all", "filled"}));  // B alone.
  Gemm with_bias = Bf16(1111, 64, 64);
  with_bias.bias = Bias::kPerRow;
  EXPECT_EQ(PaddingNames(with_bias), (Names{"all", "inputs"}));
  Gemm wide_columns = Bf16(64, 64, 64);
  wide_columns.lda = 65;
  EXPECT_EQ(PaddingNames(wide_columns), (Names{"all"}));
}

TEST(PaddedLayoutTest, AllCopiesWhatIsMisalignedAndKeepsTheExtents) {
  const Gemm gemm = Bf16(1111, 1237, 3331);
  const PaddedLayout layout = Padded(gemm, "all");

  EXPECT_EQ(layout.is_copied, (std::array<bool, 3>{true, true, true}));
  EXPECT_EQ(layout.inner.m, 1111);
  EXPECT_EQ(layout.inner.lda, 1112);
  EXPECT_EQ(layout.inner.ldb, 3336);
  EXPECT_EQ(layout.inner.ldc, 1112);
  EXPECT_EQ(layout.CopyBytes(kA), 2u * 1112 * 3331);
  EXPECT_EQ(layout.CopyBytes(kC), 2u * 1112 * 1237);
}

TEST(PaddedLayoutTest, InputsLeavesTheOutputWhereItIs) {
  const PaddedLayout layout = Padded(Bf16(1111, 1237, 3331), "inputs");

  EXPECT_EQ(layout.is_copied, (std::array<bool, 3>{true, true, false}));
  EXPECT_EQ(layout.inner.ldc, 1111);
  EXPECT_EQ(layout.CopyBytes(kC), 0u);
}

TEST(PaddedLayoutTest, FilledCopiesWhatHasGrownToo) {
  Gemm gemm = Bf16(4096, 64, 1001);
  const PaddedLayout layout = Padded(gemm, "filled");

  EXPECT_EQ(layout.inner.k, 1008);
  EXPECT_EQ(layout.is_copied, (std::array<bool, 3>{true, true, false}));
  EXPECT_EQ(layout.inner.lda, 4096);
  EXPECT_EQ(layout.inner.ldb, 1008);
  EXPECT_EQ(layout.CopyBytes(kA), 2u * 4096 * 1008);
}

TEST(PaddedLayoutTest, BatchesAreCopiedEachAndSharedOperandsOnce) {
  Gemm gemm = Bf16(33, 17, 65);
  gemm.batch_count = 5;
  gemm.stride_a = 0;
  gemm.stride_b = kPackedStride;
  gemm.stride_c = 0;
  gemm = Normalized(gemm);
  const PaddedLayout layout = Padded(gemm, "all");

  EXPECT_EQ(layout.CopyBytes(kA), 2u * 40 * 65);
  EXPECT_EQ(layout.CopyBytes(kB), 2u * 72 * 17 * 5);
  EXPECT_EQ(layout.inner.stride_a, 0);
  EXPECT_EQ(layout.inner.stride_b, 72 * 17);
  EXPECT_EQ(layout.inner.stride_c, 40 * 17);
}

TEST(PaddedLayoutTest, TheNarrowerTypeDecidesHowFar) {
  Gemm gemm = PackedGemm(33, 17, 65, DataType::kI8);
  gemm.c_type = DataType::kI32;
  const PaddedLayout layout = Padded(gemm, "all");

  EXPECT_EQ(layout.inner.lda, 48);
  EXPECT_EQ(layout.inner.ldc, 48);
}

TEST(PaddedLayoutTest, OperandsThatStartAnywhereAreAllCopied) {
  Gemm gemm = Bf16(64, 64, 64);
  gemm.alignment_bytes = 2;
  const PaddedLayout layout = Padded(gemm, "all");

  EXPECT_EQ(layout.is_copied, (std::array<bool, 3>{true, true, true}));
  EXPECT_EQ(layout.inner.alignment_bytes, 256);
}

TEST(PaddedLayoutTest, CopiesKeepToTheirLimit) {
  const Gemm gemm = Bf16(1111, 1237, 3331);
  const auto bytes = [&](std::string_view padding) {
    return static_cast<int64_t>(Padded(gemm, padding).CopiesBytes());
  };
  ASSERT_GT(bytes("filled"), bytes("all"));
  ASSERT_GT(bytes("all"), bytes("inputs"));

  EXPECT_EQ(*PossiblePaddings(gemm, bytes("filled")), (Names{"all", "inputs", "filled"}));
  EXPECT_EQ(*PossiblePaddings(gemm, bytes("filled") - 1), (Names{"all", "inputs"}));
  EXPECT_EQ(*PossiblePaddings(gemm, bytes("all") - 1), Names{"inputs"});
  const Status refused = PossiblePaddings(gemm, bytes("inputs") - 1).status();
  EXPECT_EQ(refused.code(), StatusCode::kUnsupported);
  EXPECT_THAT(refused.message(),
              testing::AllOf(
                  testing::HasSubstr("'filled' take " + std::to_string(bytes("filled")) + " bytes"),
                  testing::HasSubstr(std::to_string(bytes("inputs") - 1) + " is the most")));
}

TEST(PaddedLayoutTest, WithoutAWordTheLimitIsAGigabyte) {
  // Copies of A and B of 512 MiB each are within the limit, a copy of C in addition is not.
  EXPECT_EQ(*PossiblePaddings(Bf16(16383, 16383, 16383)), Names{"inputs"});
  EXPECT_THAT(PossiblePaddings(Bf16(4096, 4096, 4096)).status().message(),
              testing::HasSubstr("multiple of 16 bytes already"));
  // Beyond it as a whole.
  EXPECT_EQ(PossiblePaddings(Bf16(32767, 32767, 32767)).status().code(), StatusCode::kUnsupported);
}

}  // namespace
}  // namespace attune::cuda
