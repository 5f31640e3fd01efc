// References that a GPU computes against those of the processor: label `gpu`.
#include <cmath>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "attune/base/steady_time.h"
#include "attune/verify/problem_data.h"
#include "attune/verify/reference_maker.h"
#include "attune/verify/reference_on_device.h"
#include "backends/cuda/driver/cuda_device_test.h"
#include "backends/cuda/gemm/hostile_references_test.h"
#include "backends/cuda/gemm/reference_solver.h"

namespace attune::cuda {
namespace {

// Computes references on a device of this process.
class DeviceMaker final : public ReferenceMaker {
 public:
  DeviceMaker(const Lazy<Nvrtc>& nvrtc, Device& device)
      : solver_(MakeReferenceSolver(nvrtc)), device_(device) {}

  Status Make(const Problem& problem, int data_fd, const std::function<bool()>&) override {
    ATTUNE_RETURN_IF_ERROR(solver_->IsApplicable(problem, device_.target()));
    ATTUNE_ASSIGN_OR_RETURN(const BuildRecipe recipe,
                            solver_->Recipe(problem, Config(), device_.target()));
    if (cubin_.bytes.empty()) {
      ATTUNE_ASSIGN_OR_RETURN(cubin_, solver_->Build(recipe));
    }
    ATTUNE_ASSIGN_OR_RETURN(const auto executable,
                            solver_->Load(cubin_, problem, Config(), device_));
    ATTUNE_ASSIGN_OR_RETURN(ReferenceDraft draft, ReferenceDraft::Map(problem, data_fd));
    const int64_t begin_ns = SteadyNowNs();
    made_ = ComputeReferenceOn(device_, *executable, problem, draft);
    device_ns_ = SteadyNowNs() - begin_ns;
    return made_;
  }
  void Distrust(const Status& reason) override { made_ = reason; }

  const Status& made() const { return made_; }
  int64_t device_ns() const { return device_ns_; }

 private:
  const std::unique_ptr<const Solver> solver_;
  Device& device_;
  Artifact cubin_;
  Status made_ = Unavailable("Nobody asked the device.");
  int64_t device_ns_ = 0;
};

class ReferenceDeviceTest : public CudaDeviceTest {};

TEST_F(ReferenceDeviceTest, HostileReferencesAreThoseOfTheProcessor) {
  DeviceMaker maker(nvrtc_, *device_);
  for (const std::string& text : HostileReferences()) {
    const Problem problem = *ParseProblem(text);
    const auto right = ProblemData::Create(problem, 3);
    ASSERT_TRUE(right.ok()) << text << right.status().message();

    const auto data = ProblemData::Create(problem, 3, {{}, &maker});

    ASSERT_TRUE(data.ok()) << text << data.status().message();
    ASSERT_TRUE(maker.made().ok()) << text << ": " << maker.made().message();
    for (size_t i = 0; i < data->reference().size(); ++i) {
      const double value = data->reference()[i];
      const double expected = right->reference()[i];
      ASSERT_EQ(std::isnan(value), std::isnan(expected)) << text << " at " << i;
      if (std::isnan(expected)) continue;
      ASSERT_NEAR(value, expected, 1e-12) << text << " at " << i;
    }
  }
}

// Large references are why a device computes them. The processor only spot-checks these.
TEST_F(ReferenceDeviceTest, LargeReferencesPassTheCheckOfTheProcessor) {
  DeviceMaker maker(nvrtc_, *device_);
  for (const char* text :
       {"gemm@1{m=4096,n=4096,k=4096,type=bf16}", "gemm@1{m=4096,n=4096,k=4096,ta=t,type=bf16}",
        "gemm@1{m=4096,n=4096,k=4096,ta=t,tb=t}", "gemm@1{m=2048,n=2048,k=2048,type=f64}",
        "conv@1{dir=fwd,n=64,c=256,h=56,w=56,k=256,fh=3,fw=3,ph=1,pw=1,type=f16}",
        "conv@1{dir=fwd,n=64,c=256,h=56,w=56,k=256,fh=3,fw=3,ph=1,pw=1,layout=nhwc,type=f16}",
        "conv@1{dir=bwd_data,n=64,c=128,h=56,w=56,k=128,fh=3,fw=3,ph=1,pw=1,sh=2,sw=2}",
        "conv@1{dir=bwd_weights,n=64,c=128,h=56,w=56,k=128,fh=3,fw=3,ph=1,pw=1}"}) {
    const auto problem = ParseProblem(text);
    ASSERT_TRUE(problem.ok()) << text << problem.status().message();

    const auto data = ProblemData::Create(*problem, 3, {{}, &maker});

    ASSERT_TRUE(data.ok()) << text << data.status().message();
    EXPECT_TRUE(maker.made().ok()) << text << ": " << maker.made().message();
    RecordProperty(text, fmt::format("{} ms", maker.device_ns() / 1'000'000));
    fmt::print("{}: {} ms on the device, copies included\n", text, maker.device_ns() / 1'000'000);
  }
}

}  // namespace
}  // namespace attune::cuda
