#include "runtime/host_fallback.h"

#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/ops/conv/conv.h"
#include "attune/ops/gemm/gemm.h"
#include "backends/host/host_backend.h"

namespace attune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The processor stands in for itself, so that addresses are what its buffers have.
class HostFallbackTest : public ::testing::Test {
 protected:
  std::vector<float> Run(const Problem& problem, std::vector<std::vector<float>> operands,
                         double alpha, double beta) {
    const auto candidate = fallback_.For(problem);
    auto executable = fallback_.Load(problem, candidate.value());
    EXPECT_TRUE(executable.ok()) << executable.status().message();
    std::vector<BufferView> views;
    for (auto& operand : operands) views.push_back({operand.data(), 0});
    EXPECT_EQ((*executable)->workspace_bytes(), 0U);
    EXPECT_TRUE((*executable)->Run({views, {}, alpha, beta}).ok());
    return operands.back();
  }

  const std::unique_ptr<const Backend> host_ = MakeHostBackend({});
  const std::unique_ptr<Device> device_ = host_->Open("cpu").value();
  HostFallback fallback_{*host_, *device_};
};

TEST_F(HostFallbackTest, ComputesAProductAndKeepsWhatIsBetweenItsColumns) {
  Gemm gemm = PackedGemm(2, 2, 2);
  gemm.ldc = 3;
  gemm.alpha = ScalarClass::kOther;
  gemm.beta = ScalarClass::kOther;

  const auto c = Run(Normalized(gemm), {{1, 2, 3, 4}, {1, 0, 0, 1}, {10, 20, 77, 30, 40}}, 2, 3);

  EXPECT_THAT(c, ElementsAre(32, 64, 77, 96, 128));
}

TEST_F(HostFallbackTest, ComputesAConvolution) {
  Conv conv;
  conv.batch = conv.in_channels = conv.out_channels = 1;
  conv.in = {1, 3, 3};
  conv.filter = {1, 2, 2};

  const auto y = Run(conv, {{1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 0, 0, 1}, {0, 0, 0, 0}}, 1, 0);

  EXPECT_THAT(y, ElementsAre(6, 8, 12, 14));
}

TEST_F(HostFallbackTest, SaysWhoComputesOnWhat) {
  EXPECT_THAT(fallback_.because(), HasSubstr("the processor does, on copies of the operands"));
}

}  // namespace
}  // namespace attune
