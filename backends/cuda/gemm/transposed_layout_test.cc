#include "backends/cuda/gemm/transposed_layout.h"

#include <gmock/gmock.h>

#include "attune/ops/gemm/gemm.h"
#include "backends/cuda/driver/scratch.h"
#include "backends/cuda/layout/tensor_layout_on_host_test.h"
#include "backends/cuda/problem_on_host_test.h"

namespace attune::cuda {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

const char* const kProblems[] = {
    "gemm@1{m=37,n=29,k=41,type=f16}",
    "gemm@1{m=37,n=29,k=41,ta=t,type=f16}",
    "gemm@1{m=37,n=29,k=41,tb=t,type=f16}",
    "gemm@1{m=37,n=29,k=41,ta=t,tb=t,lda=45,ldb=31,ldc=40,type=f16}",
    "gemm@1{m=70,n=66,k=130,lda=72,type=f16,beta=one}",
    "gemm@1{m=24,n=20,k=31,batch=3,type=f16}",
    "gemm@1{m=24,n=20,k=31,batch=3,sa=0,sb=700,sc=500,type=f16}",
    "gemm@1{m=24,n=20,k=31,batch=3,tb=t,ldb=66,sb=22,type=f16}",
    "gemm@1{m=24,n=20,k=31,type=f16,align=2,alpha=other,beta=other,bias=row}",
    "gemm@1{m=24,n=1,k=31,type=f16}",
    "gemm@1{m=1,n=24,k=31,tb=t,type=f16}",
};

std::vector<std::string> InputsOf(const Gemm& gemm) {
  const auto inputs = TransposableInputs(gemm, kMostScratchBytes);
  EXPECT_TRUE(inputs.ok()) << inputs.status().message();
  return inputs.ok() ? *inputs : std::vector<std::string>();
}

// The solver's steps on the host: the copies by the same kernel, the product by loops.
OperandValues Computed(const TransposedLayout& layout, std::vector<OperandValues> operands) {
  for (size_t i = 0; i < 2; ++i) {
    if (!layout.copies[i].has_value()) continue;
    const std::vector<HostElement> from = Narrowed(operands[i]);
    std::vector<HostElement> to(layout.bytes[i] / sizeof(HostElement), 77);
    Relayout copy = *layout.copies[i];
    copy.from = from.data();
    copy.to = to.data();
    RelayoutOnHost(copy);
    operands[i] = Widened(to);
  }
  MultiplyOnHost(layout.inner, operands);
  return operands.back();
}

TEST(TransposedLayoutTest, TheProductOfTheCopiesIsTheProduct) {
  for (const char* text : kProblems) {
    const Gemm gemm = GemmOf(text);
    const std::vector<OperandValues> operands = OperandsOnHost(gemm);
    for (const std::string& copied : InputsOf(gemm)) {
      const auto layout = TransposeInputs(gemm, copied);

      ASSERT_TRUE(layout.ok()) << text << copied << layout.status().message();
      EXPECT_EQ(Computed(*layout, operands), ExpectedOf(gemm, operands)) << text << copied;
    }
  }
}

TEST(TransposedLayoutTest, ProductsWhoseSumsRunInnermostComeFirst) {
  EXPECT_THAT(InputsOf(GemmOf("gemm@1{m=64,n=64,k=64}")), ElementsAre("a", "ab", "b"));
  EXPECT_THAT(InputsOf(GemmOf("gemm@1{m=64,n=64,k=64,tb=t}")), ElementsAre("ab", "a", "b"));
  EXPECT_THAT(InputsOf(GemmOf("gemm@1{m=64,n=64,k=64,ta=t}")), ElementsAre("a", "b", "ab"));
  EXPECT_THAT(InputsOf(GemmOf("gemm@1{m=64,n=64,k=64,ta=t,tb=t}")), ElementsAre("b", "ab", "a"));
}

TEST(TransposedLayoutTest, ColumnsOfCopiesStartAtMultiplesOf16Bytes) {
  const auto layout = TransposeInputs(GemmOf("gemm@1{m=33,n=17,k=65,batch=5,type=bf16}"), "ab");

  ASSERT_TRUE(layout.ok()) << layout.status().message();
  EXPECT_EQ(layout->inner.trans_a, Transpose::kYes);
  EXPECT_EQ(layout->inner.lda, 72);
  EXPECT_EQ(layout->inner.stride_a, 72 * 33);
  EXPECT_EQ(layout->inner.trans_b, Transpose::kYes);
  EXPECT_EQ(layout->inner.ldb, 24);
  EXPECT_EQ(layout->inner.ldc, 33);
  EXPECT_EQ(layout->bytes[0], 2u * 72 * 33 * 5);
  EXPECT_EQ(layout->bytes[1], 2u * 24 * 65 * 5);
}

TEST(TransposedLayoutTest, ASharedInputIsCopiedOnce) {
  const auto layout = TransposeInputs(GemmOf("gemm@1{m=8,n=8,k=32,batch=5,sa=0}"), "a");

  ASSERT_TRUE(layout.ok()) << layout.status().message();
  EXPECT_EQ(layout->inner.stride_a, 0);
  EXPECT_EQ(layout->bytes[0], 4u * 8 * 32);
  EXPECT_EQ(layout->bytes[1], 0u);
}

TEST(TransposedLayoutTest, VectorsAreNotCopied) {
  EXPECT_THAT(InputsOf(GemmOf("gemm@1{m=64,n=1,k=64}")), ElementsAre("a"));
  EXPECT_THAT(InputsOf(GemmOf("gemm@1{m=1,n=64,k=64}")), ElementsAre("b"));
  const Status status =
      TransposableInputs(GemmOf("gemm@1{m=64,n=64,k=1}"), kMostScratchBytes).status();
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_THAT(status.message(), HasSubstr("storage order"));
}

TEST(TransposedLayoutTest, TypesOfOneByteAreCopiedToTheOneOrderThatTensorCoresTake) {
  for (const char* types : {"type=f8e4m3,ctype=bf16}", "type=i8,ctype=i32}"}) {
    const auto inputs = [&](const std::string& orders) {
      return TransposableInputs(GemmOf("gemm@1{m=64,n=64,k=64," + orders + types),
                                kMostScratchBytes);
    };
    EXPECT_THAT(*inputs(""), ElementsAre("a"));
    EXPECT_THAT(*inputs("tb=t,"), ElementsAre("ab"));
    EXPECT_THAT(*inputs("ta=t,tb=t,"), ElementsAre("b"));
    EXPECT_THAT(inputs("ta=t,").status().message(), HasSubstr("stored as tensor cores take it"));
  }
}

TEST(TransposedLayoutTest, CopiesKeepToTheirLimit) {
  // 256 MiB and 1 MiB.
  const Gemm gemm = GemmOf("gemm@1{m=8192,n=32,k=8192}");
  EXPECT_THAT(InputsOf(gemm), ElementsAre("a", "b"));
  EXPECT_THAT(*TransposableInputs(gemm, 257 << 20), ElementsAre("a", "ab", "b"));

  const Status status = TransposableInputs(gemm, 1000).status();
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("'b' take 1048576 bytes"),
                                      HasSubstr("1000 is the most that they may take")));
}

}  // namespace
}  // namespace attune::cuda
