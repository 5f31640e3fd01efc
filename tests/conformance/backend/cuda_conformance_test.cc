#include <memory>
#include <string>
#include <vector>

#include "attune/solver/plugin.h"
#include "tests/conformance/backend/backend_suite.h"

namespace attune {
namespace {

constexpr const char* kSmallGradient =
    "conv@1{dir=bwd_weights,n=3,c=13,h=7,w=5,k=11,fh=1,fw=1,type=bf16}";
constexpr const char* kGradient =
    "conv@1{dir=bwd_weights,n=2,c=16,h=9,w=11,k=24,fh=3,fw=3,ph=1,pw=1,type=bf16}";
constexpr const char* kRoundedParts =
    "Engines of cuDNN 9.14 that split the sum round its parts to bf16 and do not say so; what "
    "comes of it differs from run to run.";

std::vector<KnownException> Exceptions() {
  return {
      {"cuda.cudnn-conv",
       "conv@1{dir=bwd_data,n=2,c=16,h=9,w=11,k=24,fh=3,fw=3,ph=1,pw=1,type=bf16}",
       "Algorithm 0 of cuDNN 9 adds into dx in bf16, rounding at every step: off by 76 times the "
       "tolerance."},
      {"cuda.cudnn-conv", kSmallGradient,
       "Algorithm 0 of cuDNN 9 adds into dw in bf16, in the order in which blocks end.", true},
      {"cuda.cudnn-layout-conv", kSmallGradient, kRoundedParts, true},
      {"cuda.cudnn-layout-conv", kGradient, kRoundedParts, true},
      {"cuda.cudnn-graph-conv", kSmallGradient, kRoundedParts, true},
      {"cuda.cudnn-graph-conv", kGradient, kRoundedParts, true}};
}

// The first usable device; none where there is no GPU, and then nothing is run.
std::vector<BackendUnderTest> Subjects() {
  const auto plugin = LoadPlugin("cuda");
  if (!plugin.ok() || (*plugin)->make_backend == nullptr) return {};
  const std::shared_ptr<const Backend> backend = (*plugin)->make_backend();
  for (const DeviceReport& report : backend->Devices()) {
    if (report.reason.empty()) return {{backend, report.spec, 4, Exceptions()}};
  }
  return {};
}

std::vector<ConformanceCase> Cases() {
  const std::vector<BackendUnderTest> subjects = Subjects();
  return subjects.empty() ? std::vector<ConformanceCase>() : CasesOf(subjects.front());
}

TEST(CudaConformance, HasADevice) {
  if (Subjects().empty()) GTEST_SKIP() << "No CUDA device here: the suite was not run.";
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(BackendTest);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SolverTest);
INSTANTIATE_TEST_SUITE_P(Cuda, BackendTest, testing::ValuesIn(Subjects()));
INSTANTIATE_TEST_SUITE_P(Cuda, SolverTest, testing::ValuesIn(Cases()), CaseName);

}  // namespace
}  // namespace attune
