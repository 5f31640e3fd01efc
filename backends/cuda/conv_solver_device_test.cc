// Convolutions as products, and in another layout, on a GPU and on shapes that hurt: label `gpu`.
// The conformance suite has small ones for every solver.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "attune/base/random.h"
#include "attune/verify/bound_operands.h"
#include "attune/verify/problem_data.h"
#include "attune/verify/verifier.h"
#include "backends/cuda/cublaslt.h"
#include "backends/cuda/cuda_device_test.h"
#include "backends/cuda/cudnn.h"
#include "backends/cuda/cudnn_layout_conv.h"
#include "backends/cuda/pointwise_conv.h"
#include "backends/cuda/unfolded_conv.h"

namespace attune::cuda {
namespace {

constexpr int kSampledConfigs = 4;

constexpr const char* kPointwise = "cuda.cublaslt-pointwise-conv";
constexpr const char* kPointwiseWeights = "cuda.cublaslt-pointwise-weights-conv";
constexpr const char* kIm2col = "cuda.cublaslt-im2col-conv";
constexpr const char* kLayout = "cuda.cudnn-layout-conv";

struct HostileCase {
  const char* solver;
  const char* problem;
};

const HostileCase kCases[] = {
    // Maps of 7 x 7 and odd channels: no column of a channels-first matrix is aligned.
    {kPointwise, "conv@1{dir=fwd,n=5,c=67,h=7,w=7,k=45,fh=1,fw=1,type=f16,align=2}"},
    {kPointwise, "conv@1{dir=bwd_data,n=5,c=67,h=7,w=7,k=45,fh=1,fw=1,type=bf16,align=2}"},
    {kPointwise, "conv@1{dir=fwd,n=5,c=64,h=28,w=28,k=96,fh=1,fw=1,math=tf32}"},
    {kPointwise, "conv@1{dir=bwd_weights,n=5,c=64,h=28,w=28,k=96,fh=1,fw=1,layout=nhwc,type=bf16}"},
    {kPointwise, "conv@1{dir=bwd_weights,n=5,c=67,h=7,w=9,k=45,fh=1,fw=1,layout=nhwc,align=4}"},
    {kPointwise, "conv@1{dir=bwd_data,n=5,c=64,h=7,w=9,k=96,fh=1,fw=1,layout=nhwc,type=f64}"},
    {kPointwise, "conv@1{dir=fwd,n=5,c=64,h=9,w=9,k=48,fh=1,fw=1,layout=nhwc,bias=1,type=f16}"},
    {kPointwise, "conv@1{dir=fwd,n=5,c=60,h=9,w=9,k=36,fh=1,fw=1,g=3}"},
    {kPointwise, "conv@1{dir=bwd_data,n=2,c=60,h=9,w=9,k=36,fh=1,fw=1,g=3,type=f16}"},
    {kPointwise, "conv@1{dir=fwd,n=5,c=96,h=9,w=9,k=48,fh=1,fw=1,g=3,layout=nhwc,type=bf16}"},
    {kPointwise, "conv@1{dir=bwd_weights,n=5,c=60,h=9,w=9,k=36,fh=1,fw=1,g=3,layout=nhwc}"},
    {kPointwise, "conv@1{dir=fwd,n=5,c=40,h=9,w=9,k=48,fh=1,fw=1,layout=nhwc,ylayout=nchw}"},
    {kPointwise, "conv@1{dir=fwd,n=5,c=40,h=9,w=9,k=48,fh=1,fw=1,ylayout=nhwc,bias=1}"},
    {kPointwise, "conv@1{dir=fwd,mode=trans,n=5,c=40,h=9,w=9,k=48,fh=1,fw=1}"},
    {kPointwise, "conv@1{dir=fwd,n=3,c=40,d=4,h=9,w=9,k=48,fd=1,fh=1,fw=1}"},
    {kPointwiseWeights,
     "conv@1{dir=bwd_weights,n=37,c=67,h=7,w=7,k=45,fh=1,fw=1,type=bf16,align=2}"},
    {kPointwiseWeights, "conv@1{dir=bwd_weights,n=37,c=64,h=28,w=28,k=96,fh=1,fw=1,type=f16}"},
    {kPointwiseWeights, "conv@1{dir=bwd_weights,n=9,c=64,h=14,w=14,k=96,fh=1,fw=1,math=tf32}"},
    {kPointwiseWeights, "conv@1{dir=bwd_weights,n=9,c=60,h=9,w=9,k=36,fh=1,fw=1,g=3}"},
    {kPointwiseWeights, "conv@1{dir=bwd_weights,n=9,c=33,h=9,w=9,k=36,fh=1,fw=1,ylayout=nhwc}"},
    {kPointwiseWeights, "conv@1{dir=bwd_weights,n=9,c=33,h=9,w=9,k=36,fh=1,fw=1,type=f64}"},
    // A first layer, in every direction.
    {kIm2col, "conv@1{dir=fwd,n=3,c=3,h=61,w=59,k=64,fh=7,fw=7,ph=3,pw=3,sh=2,sw=2,type=bf16}"},
    {kIm2col,
     "conv@1{dir=bwd_data,n=3,c=3,h=61,w=59,k=64,fh=7,fw=7,ph=3,pw=3,sh=2,sw=2,type=bf16}"},
    {kIm2col,
     "conv@1{dir=bwd_weights,n=3,c=3,h=61,w=59,k=64,fh=7,fw=7,ph=3,pw=3,sh=2,sw=2,type=bf16}"},
    {kIm2col,
     "conv@1{dir=fwd,n=3,c=3,h=61,w=59,k=64,fh=7,fw=7,ph=3,pw=3,sh=2,sw=2,layout=nhwc,type=f16}"},
    {kIm2col,
     "conv@1{dir=fwd,n=3,c=32,h=29,w=31,k=47,fh=3,fw=3,ph=2,pw=2,dh=2,dw=2,layout=nhwc,type=f16}"},
    {kIm2col,
     "conv@1{dir=bwd_data,n=3,c=32,h=29,w=31,k=47,fh=3,fw=3,ph=1,pw=1,layout=nhwc,type=f16,align="
     "2}"},
    {kIm2col,
     "conv@1{dir=bwd_weights,n=3,c=33,h=29,w=31,k=47,fh=3,fw=3,ph=1,pw=1,layout=nhwc,type=f16}"},
    {kIm2col, "conv@1{dir=bwd_weights,n=3,c=33,h=29,w=31,k=47,fh=3,fw=3,ph=1,pw=1,math=tf32}"},
    {kIm2col, "conv@1{dir=fwd,n=3,c=33,h=29,w=31,k=47,fh=3,fw=3,ph=1,pw=1,type=f64}"},
    {kIm2col, "conv@1{dir=bwd_data,n=3,c=33,h=29,w=31,k=47,fh=1,fw=1,sh=2,sw=2,type=f64}"},
    {kIm2col, "conv@1{dir=fwd,n=3,c=33,h=29,w=31,k=47,fh=3,fw=3,layout=nhwc,wlayout=nchw,bias=1}"},
    {kIm2col,
     "conv@1{dir=fwd,mode=trans,n=2,c=24,h=9,w=8,k=20,fh=4,fw=3,sh=2,sw=3,ph=1,bias=1,type=f16}"},
    {kIm2col,
     "conv@1{dir=bwd_data,n=2,c=12,d=7,h=9,w=8,k=20,fd=3,fh=3,fw=3,sd=2,sh=2,sw=2,pd=1,type=bf16}"},
    {kIm2col, "conv@1{dir=bwd_weights,n=9,c=67,h=7,w=7,k=45,fh=1,fw=1,type=bf16}"},
    // Rounds: four of 12 images of 48 MiB at a time.
    {kIm2col, "conv@1{dir=fwd,n=12,c=32,h=210,w=210,k=8,fh=3,fw=3,ph=1,pw=1,type=f32}"},
    {kIm2col, "conv@1{dir=bwd_weights,n=12,c=32,h=210,w=210,k=8,fh=3,fw=3,ph=1,pw=1,type=bf16}"},
    {kIm2col, "conv@1{dir=bwd_data,n=12,c=32,h=210,w=210,k=8,fh=3,fw=3,ph=1,pw=1,type=f16}"},
    {kLayout, "conv@1{dir=fwd,n=3,c=3,h=61,w=59,k=64,fh=7,fw=7,ph=3,pw=3,sh=2,sw=2,type=bf16}"},
    {kLayout, "conv@1{dir=bwd_data,n=3,c=37,h=29,w=31,k=45,fh=3,fw=3,ph=1,pw=1,type=f16,align=2}"},
    {kLayout, "conv@1{dir=bwd_weights,n=3,c=37,h=29,w=31,k=45,fh=3,fw=3,ph=1,pw=1,type=f16}"},
    {kLayout, "conv@1{dir=bwd_weights,n=3,c=64,h=28,w=28,k=64,fh=3,fw=3,ph=1,pw=1,type=bf16}"},
    {kLayout, "conv@1{dir=fwd,n=3,c=64,h=27,w=25,k=64,fh=3,fw=3,ph=1,pw=1,type=f16,g=4}"},
    {kLayout, "conv@1{dir=fwd,n=3,c=64,h=28,w=28,k=64,fh=3,fw=3,ph=1,pw=1,math=tf32}"},
    {kLayout, "conv@1{dir=fwd,n=3,c=37,h=29,w=31,k=45,fh=3,fw=3,layout=nhwc,type=f16}"},
    {kLayout, "conv@1{dir=fwd,n=3,c=12,d=7,h=9,w=8,k=20,fd=3,fh=3,fw=3,type=bf16}"},
};

class ConvSolverDeviceTest : public CudaDeviceTest {
 protected:
  void SetUp() override {
    CudaDeviceTest::SetUp();
    Keep(MakePointwiseConv(lt_));
    Keep(MakePointwiseWeightsConv(lt_, nvrtc_));
    Keep(MakeUnfoldedConv(lt_, nvrtc_));
    Keep(MakeCudnnLayoutConv(cudnn_, nvrtc_));
  }

  // All that the space names, the first that is listed, and others from all over the list.
  Result<std::vector<Config>> ConfigsOf(const Solver& solver, const Problem& problem) {
    ATTUNE_ASSIGN_OR_RETURN(const ConfigSpace space, solver.Space(problem, device_->target()));
    ATTUNE_ASSIGN_OR_RETURN(const std::vector<Config> listed, solver.ListOn(*device_, problem));
    std::vector<Config> configs;
    for (uint64_t i = 0; i < space.size(); ++i) configs.push_back(space.At(i));
    if (listed.empty()) return configs;
    configs.push_back(listed.front());
    Random random(listed.size());
    for (int i = 0; i < kSampledConfigs; ++i) {
      configs.push_back(listed[random.Below(listed.size())]);
    }
    return configs;
  }

  Result<std::unique_ptr<Executable>> Load(const Solver& solver, const Problem& problem,
                                           const Config& config) {
    ATTUNE_ASSIGN_OR_RETURN(const BuildRecipe recipe,
                            solver.Recipe(problem, config, device_->target()));
    Artifact artifact;
    if (!recipe.empty()) {
      ATTUNE_ASSIGN_OR_RETURN(artifact, solver.Build(recipe));
    }
    return solver.Load(artifact, problem, config, *device_);
  }

  // Some of cuDNN's engines that split a gradient of weights along its sum (47 with a split by 2,
  // of 9.14) round the parts to the narrow type and do not say so: tuning finds them wrong.
  static bool MayRoundPartialSums(const Solver& solver, const Problem& problem) {
    const Conv& conv = std::get<Conv>(problem);
    return solver.id().name == "cuda.cudnn-layout-conv" && SizeBytes(conv.type) < sizeof(float) &&
           conv.direction == ConvDirection::kBackwardWeights;
  }

  // How many configs of the solver computed the problem; what is wrong with any is a failure of the
  // test. A library that does not compute the inner problem with its own answer is not.
  int RightConfigs(const Solver& solver, const Problem& problem) {
    const auto configs = ConfigsOf(solver, problem);
    EXPECT_TRUE(configs.ok()) << configs.status().ToString();
    const auto data = ProblemData::Create(problem, 1);
    EXPECT_TRUE(data.ok()) << data.status().ToString();
    if (!configs.ok() || !data.ok()) return 0;
    auto operands = BoundOperands::Create(*device_, problem, *data);
    EXPECT_TRUE(operands.ok()) << operands.status().ToString();
    if (!operands.ok()) return 0;
    int right = 0;
    for (const Config& config : *configs) {
      const std::string name = Text(Candidate{solver.id(), config}) + " for " + Text(problem);
      const auto executable = Load(solver, problem, config);
      EXPECT_TRUE(executable.ok() || executable.status().code() == StatusCode::kUnsupported)
          << name << ": " << executable.status().ToString();
      if (!executable.ok()) continue;
      const Verdict verdict = Verify(**executable, *device_, *operands, *data, problem);
      if (!verdict.failure.has_value()) {
        ++right;
      } else {
        EXPECT_TRUE(MayRoundPartialSums(solver, problem))
            << name << ": " << verdict.failure->message;
      }
    }
    return right;
  }

  const Lazy<CublasLt> lt_;
  const Lazy<Cudnn> cudnn_;
  std::map<std::string, std::unique_ptr<const Solver>> solvers_;

 private:
  void Keep(std::unique_ptr<const Solver> solver) {
    const std::string name = solver->id().name;
    solvers_[name] = std::move(solver);
  }
};

TEST_F(ConvSolverDeviceTest, ResultsOfHostileShapesAreRight) {
  for (const HostileCase& each : kCases) {
    const Solver& solver = *solvers_.at(each.solver);
    const auto problem = ParseProblem(each.problem);
    ASSERT_TRUE(problem.ok()) << each.problem << problem.status().ToString();
    const Status applicable = solver.IsApplicable(*problem, device_->target());
    ASSERT_TRUE(applicable.ok()) << each.problem << applicable.ToString();

    EXPECT_GT(RightConfigs(solver, *problem), 0) << each.solver << " for " << each.problem;
  }
}

}  // namespace
}  // namespace attune::cuda
