// Own kernels on a GPU, on shapes that hurt: label `gpu`. The conformance suite has small ones.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "attune/base/random.h"
#include "attune/kernel/kernel_library.h"
#include "attune/verify/bound_operands.h"
#include "attune/verify/problem_data.h"
#include "attune/verify/verifier.h"
#include "backends/cuda/driver/cuda_device_test.h"
#include "backends/cuda/kernel/cubin.h"
#include "backends/cuda/kernel/hungry_kernel_test.h"
#include "backends/cuda/kernel/kernel_solver.h"
#include "backends/cuda/kernel/occupancy.h"

namespace attune::cuda {
namespace {

constexpr int kSampledConfigs = 3;

struct HostileCase {
  const char* solver;
  const char* problem;
};

const HostileCase kCases[] = {
    // Columns at every offset in a word, and sizes that no tile divides.
    {"cuda.gemm-tensor",
     "gemm@1{m=257,n=129,k=4099,lda=263,ldb=4101,ldc=259,type=bf16,ctype=bf16,align=2}"},
    {"cuda.gemm-tensor",
     "gemm@1{m=131,n=261,k=2051,lda=2053,ldb=263,ldc=133,ta=t,tb=t,type=bf16,align=2,beta=one}"},
    {"cuda.gemm-tensor",
     "gemm@1{m=95,n=97,k=1027,ta=t,batch=3,type=f16,ctype=f16,align=2,bias=row,act=relu}"},
    {"cuda.gemm-tensor", "gemm@1{m=200,n=333,k=777,tb=t,math=tf32,lda=201,ldb=335,align=4}"},
    {"cuda.gemm-tensor", "gemm@1{m=200,n=333,k=777,ta=t,math=tf32,lda=779,ldb=781,align=4}"},
    // Long in depth, so that it is split.
    {"cuda.gemm-tensor", "gemm@1{m=64,n=48,k=20011,type=f16,ctype=f16}"},
    {"cuda.gemm-group",
     "gemm@1{m=257,n=129,k=4099,lda=263,ldb=4101,ldc=259,type=bf16,ctype=bf16,align=2}"},
    {"cuda.gemm-group",
     "gemm@1{m=131,n=261,k=2051,lda=2053,ldb=263,ldc=133,ta=t,tb=t,type=bf16,align=2,beta=one}"},
    {"cuda.gemm-group",
     "gemm@1{m=95,n=97,k=1027,ta=t,batch=3,type=f16,ctype=f16,align=2,bias=row,act=relu}"},
    {"cuda.gemm-group", "gemm@1{m=333,n=70,k=513,tb=t,lda=338,ldb=74,type=f16,align=4}"},
    {"cuda.gemm-group", "gemm@1{m=64,n=48,k=20011,type=bf16,ctype=bf16}"},
    {"cuda.gemm-few-columns", "gemm@1{m=5003,n=3,k=9001,lda=5005,type=bf16,ctype=bf16,align=2}"},
    {"cuda.gemm-few-columns", "gemm@1{m=5003,n=1,k=9001,ta=t,lda=9003}"},
    {"cuda.gemm-few-columns",
     "gemm@1{m=301,n=8,k=9001,tb=t,type=f64,batch=2,beta=other,alpha=other}"},
    {"cuda.gemm-few-rows", "gemm@1{m=1,n=5003,k=9001,ldb=9003,type=f16,ctype=f16,align=2}"},
    {"cuda.gemm-few-rows", "gemm@1{m=5,n=5003,k=3001,tb=t,ta=t,bias=column,act=gelu}"},
    {"cuda.conv-window",
     "conv@1{dir=fwd,n=5,c=97,h=29,w=31,k=97,fh=3,fw=3,ph=1,pw=1,g=97,type=bf16}"},
    {"cuda.conv-window",
     "conv@1{dir=bwd_data,n=5,c=97,h=29,w=31,k=97,fh=5,fw=5,ph=2,pw=2,sh=2,sw=2,g=97,layout=nhwc}"},
    {"cuda.conv-window",
     "conv@1{dir=bwd_weights,n=5,c=97,h=29,w=31,k=97,fh=3,fw=3,ph=1,pw=1,g=97,layout=nhwc,type="
     "f16}"},
    {"cuda.conv-window", "conv@1{dir=bwd_weights,n=5,c=96,h=29,w=31,k=48,fh=3,fw=3,sh=2,g=24}"},
    {"cuda.conv-window-filter",
     "conv@1{dir=fwd,n=3,c=64,h=17,w=19,k=128,fh=3,fw=3,dh=2,dw=2,g=32}"},
    // Rows that begin with half a word and whole ones, windows at odd offsets, and channels that no
    // chunk divides; few of them, and enough to split the depth.
    {"cuda.conv-tensor",
     "conv@1{dir=fwd,n=3,c=37,h=23,w=29,k=41,fh=3,fw=3,ph=1,pw=1,type=f16,align=2}"},
    {"cuda.conv-tensor",
     "conv@1{dir=fwd,n=5,c=3,h=45,w=46,k=70,fh=7,fw=7,ph=3,pw=3,sh=2,sw=2,type=bf16}"},
    {"cuda.conv-tensor",
     "conv@1{dir=fwd,n=4,c=1,h=41,w=100,k=32,fh=5,fw=20,sh=2,sw=2,type=f16,bias=1}"},
    {"cuda.conv-tensor",
     "conv@1{dir=fwd,n=2,c=256,h=14,w=14,k=96,fh=3,fw=3,ph=1,pw=1,g=2,type=bf16,bias=1}"},
    {"cuda.conv-tensor", "conv@1{dir=fwd,n=3,c=20,h=19,w=17,k=24,fh=3,fw=2,ph=2,dh=2,math=tf32}"},
    {"cuda.conv-tensor", "conv@1{dir=fwd,n=9,c=64,h=7,w=7,k=64,fh=1,fw=1,sh=3,sw=3,math=tf32}"},
    {"cuda.conv-tensor",
     "conv@1{dir=bwd_data,n=3,c=37,h=23,w=30,k=41,fh=3,fw=3,ph=1,pw=1,type=f16}"},
    {"cuda.conv-tensor",
     "conv@1{dir=bwd_data,n=5,c=3,h=45,w=46,k=70,fh=7,fw=7,ph=3,pw=3,sh=2,sw=2,type=bf16}"},
    {"cuda.conv-tensor",
     "conv@1{dir=bwd_data,n=2,c=96,h=31,w=33,k=256,fh=3,fw=5,ph=1,sh=3,sw=2,g=2,type=f16}"},
    {"cuda.conv-tensor",
     "conv@1{dir=bwd_data,n=2,c=16,h=20,w=21,k=24,fh=2,fw=1,sh=3,sw=4,math=tf32}"},
    {"cuda.conv-tensor",
     "conv@1{dir=bwd_data,n=2,c=16,h=20,w=21,k=24,fh=3,fw=3,ph=4,pw=3,dh=2,math=tf32}"},
    // In two tf32 parts, and with all phases of a stride in one window.
    {"cuda.conv-tensor", "conv@1{dir=fwd,n=3,c=20,h=19,w=17,k=24,fh=3,fw=2,ph=2,dh=2}"},
    {"cuda.conv-tensor", "conv@1{dir=bwd_data,n=2,c=33,h=31,w=33,k=96,fh=3,fw=5,ph=1,sh=3,sw=2}"},
    {"cuda.conv-tensor",
     "conv@1{dir=bwd_data,n=4,c=1,h=41,w=100,k=32,fh=5,fw=20,sh=2,sw=2,type=f16}"},
    {"cuda.conv-tensor",
     "conv@1{dir=bwd_data,n=3,c=6,h=31,w=33,k=40,fh=4,fw=6,ph=3,pw=4,sh=3,sw=4,g=2,type=bf16}"},
    {"cuda.conv-tensor",
     "conv@1{dir=bwd_data,n=2,c=7,h=29,w=30,k=24,fh=3,fw=2,ph=2,pw=1,dh=2,sw=2}"},
    // As few as one column, pixels that end inside of a word, and every stride.
    {"cuda.conv-tensor-weights",
     "conv@1{dir=bwd_weights,n=5,c=3,h=45,w=46,k=70,fh=7,fw=7,ph=3,pw=3,sh=2,sw=2,type=bf16}"},
    {"cuda.conv-tensor-weights",
     "conv@1{dir=bwd_weights,n=4,c=1,h=41,w=100,k=32,fh=5,fw=20,sh=2,sw=2,type=f16}"},
    {"cuda.conv-tensor-weights",
     "conv@1{dir=bwd_weights,n=3,c=37,h=23,w=29,k=41,fh=3,fw=3,ph=1,pw=1,type=f16,align=2}"},
    {"cuda.conv-tensor-weights",
     "conv@1{dir=bwd_weights,n=2,c=64,h=14,w=16,k=96,fh=3,fw=3,ph=1,pw=1,g=2,type=bf16}"},
    {"cuda.conv-tensor-weights",
     "conv@1{dir=bwd_weights,n=3,c=9,h=33,w=70,k=18,fh=2,fw=3,ph=1,pw=2,sw=4,dw=3,type=f16}"},
    {"cuda.conv-tensor-weights",
     "conv@1{dir=bwd_weights,n=3,c=20,h=19,w=17,k=24,fh=3,fw=2,ph=2,sh=2,sw=3,dh=2,math=tf32}"},
    {"cuda.conv-tensor-weights",
     "conv@1{dir=bwd_weights,n=5,c=16,h=32,w=34,k=16,fh=3,fw=3,ph=1,pw=1}"},
    {"cuda.conv-tensor-weights", "conv@1{dir=bwd_weights,n=9,c=40,h=7,w=7,k=64,fh=1,fw=1,sw=2}"},
    // Images as rows of all their pixels, in words of four and of one, and omitted rows.
    {"cuda.conv-tensor", "conv@1{dir=fwd,n=3,c=70,h=20,w=21,k=90,fh=1,fw=1,bias=1}"},
    {"cuda.conv-tensor", "conv@1{dir=bwd_data,n=5,c=40,h=7,w=7,k=33,fh=1,fw=1,type=bf16}"},
    {"cuda.conv-tensor", "conv@1{dir=fwd,n=3,c=37,h=23,w=28,k=41,fh=1,fw=3,sh=2,type=f16}"},
    // One phase of a stride with taps, the other phases with zeros.
    {"cuda.conv-tensor",
     "conv@1{dir=bwd_data,n=3,c=40,h=29,w=32,k=48,fh=1,fw=1,sh=2,sw=2,type=f16}"},
    {"cuda.conv-tensor", "conv@1{dir=bwd_data,n=3,c=20,h=29,w=31,k=300,fh=1,fw=1,sh=3,sw=2}"},
    {"cuda.conv-tensor-weights", "conv@1{dir=bwd_weights,n=3,c=70,h=20,w=21,k=90,fh=1,fw=1}"},
    {"cuda.conv-tensor-weights",
     "conv@1{dir=bwd_weights,n=7,c=36,h=15,w=15,k=33,fh=1,fw=1,g=3,type=f16}"},
    {"cuda.conv-tensor-weights",
     "conv@1{dir=bwd_weights,n=3,c=70,h=23,w=24,k=90,fh=1,fw=1,sh=2,sw=2,math=tf32}"},
    // The same without the filter's size.
    {"cuda.conv-tensor-weights-any",
     "conv@1{dir=bwd_weights,n=5,c=3,h=45,w=46,k=70,fh=7,fw=7,ph=3,pw=3,sh=2,sw=2,type=bf16}"},
    {"cuda.conv-tensor-weights-any",
     "conv@1{dir=bwd_weights,n=4,c=1,h=41,w=100,k=32,fh=5,fw=20,sh=2,sw=2,type=f16}"},
    {"cuda.conv-tensor-weights-any",
     "conv@1{dir=bwd_weights,n=3,c=37,h=23,w=29,k=41,fh=3,fw=3,ph=1,pw=1,type=f16,align=2}"},
    {"cuda.conv-tensor-weights-any",
     "conv@1{dir=bwd_weights,n=2,c=64,h=14,w=16,k=96,fh=3,fw=3,ph=1,pw=1,g=2,type=bf16}"},
    {"cuda.conv-tensor-weights-any",
     "conv@1{dir=bwd_weights,n=3,c=9,h=33,w=70,k=18,fh=2,fw=3,ph=1,pw=2,sw=4,dw=3,type=f16}"},
    {"cuda.conv-tensor-weights-any",
     "conv@1{dir=bwd_weights,n=3,c=20,h=19,w=17,k=24,fh=3,fw=2,ph=2,sh=2,sw=3,dh=2,math=tf32}"},
    {"cuda.conv-tensor-weights-any",
     "conv@1{dir=bwd_weights,n=5,c=16,h=32,w=34,k=16,fh=3,fw=3,ph=1,pw=1}"},
    {"cuda.conv-tensor-weights-any",
     "conv@1{dir=bwd_weights,n=9,c=40,h=7,w=7,k=64,fh=1,fw=1,sw=2}"},
    {"cuda.conv-tensor-weights-any", "conv@1{dir=bwd_weights,n=3,c=70,h=20,w=21,k=90,fh=1,fw=1}"},
    {"cuda.conv-tensor-weights-any",
     "conv@1{dir=bwd_weights,n=7,c=36,h=15,w=15,k=33,fh=1,fw=1,g=3,type=f16}"},
    {"cuda.conv-tensor-weights-any",
     "conv@1{dir=bwd_weights,n=3,c=70,h=23,w=24,k=90,fh=1,fw=1,sh=2,sw=2,math=tf32}"},
    {"cuda.gemm-tiled", "gemm@1{m=517,n=263,k=1031,lda=519,ldb=1033,ldc=521,align=4}"},
    {"cuda.conv-implicit-gemm", "conv@1{dir=fwd,n=3,c=37,h=23,w=29,k=41,fh=3,fw=3,ph=1,pw=1,sh=2}"},
};

class CudaKernelTest : public CudaDeviceTest {
 protected:
  std::unique_ptr<const KernelSolver> SolverOf(const std::string& name) const {
    kernel::KernelLibrary library =
        kernel::LoadKernelLibrary(kernel::KernelFolders(), kernel::KernelLanguage::kCuda);
    for (kernel::KernelFile& file : library.files) {
      if (file.solver_name() == name) {
        return std::make_unique<KernelSolver>(nvrtc_, std::move(file));
      }
    }
    return nullptr;
  }

  // The default, random ones, and for kernels that may split the depth one that does.
  static std::vector<Config> ConfigsOf(const ConfigSpace& space) {
    std::vector<Config> configs = {space.At(0)};
    Random random(space.size());
    for (int i = 0; i < kSampledConfigs; ++i) configs.push_back(space.At(space.Sample(random)));
    for (uint64_t i = 0; i < space.size(); ++i) {
      const Config config = space.At(i);
      const auto split = config.find("SPLIT_K");
      if (split == config.end() || split->second == ParameterValue(int64_t{1})) continue;
      configs.push_back(config);
      break;
    }
    return configs;
  }

  Result<std::unique_ptr<Executable>> Load(const KernelSolver& solver, const Problem& problem,
                                           const Config& config) {
    ATTUNE_ASSIGN_OR_RETURN(const auto recipe, solver.Recipe(problem, config, device_->target()));
    ATTUNE_ASSIGN_OR_RETURN(const Artifact artifact, solver.Build(recipe));
    return solver.Load(artifact, problem, config, *device_);
  }

  // The error of the config, as a sentence; empty if its result is right.
  std::string MistakeOf(const KernelSolver& solver, const Problem& problem, const Config& config,
                        const ProblemData& data, BoundOperands& operands) {
    const auto executable = Load(solver, problem, config);
    if (!executable.ok()) return executable.status().ToString();
    const Verdict verdict = Verify(**executable, *device_, operands, data, problem);
    return verdict.failure.has_value() ? verdict.failure->message : "";
  }

  // How many values of a batch norm's y are NaN where those of x are up to 1e30; -1 on an error.
  int64_t NansOfHugeValues(const KernelSolver& solver, const Problem& problem,
                           const Config& config) {
    const auto data = ProblemData::Create(problem, 1);
    if (!data.ok()) return -1;
    auto operands = BoundOperands::Create(*device_, problem, *data);
    const auto executable = Load(solver, problem, config);
    if (!operands.ok() || !executable.ok()) return -1;
    std::vector<float> x(data->input(0).size() / sizeof(float));
    std::memcpy(x.data(), data->input(0).data(), x.size() * sizeof(float));
    for (float& value : x) value *= 1e30f;
    if (!operands->ReserveWorkspace((*executable)->workspace_bytes()).ok()) return -1;
    if (!operands->Reset().ok()) return -1;
    if (!operands->Write(0, 0, std::as_bytes(std::span(x))).ok()) return -1;
    if (!(*executable)->Run(operands->arguments()).ok()) return -1;
    const auto y = operands->DownloadOutput();
    if (!y.ok()) return -1;
    std::memcpy(x.data(), y->data(), y->size());
    return std::count_if(x.begin(), x.end(), [](float value) { return std::isnan(value); });
  }
};

TEST_F(CudaKernelTest, ResultsOfHostileShapesAreRight) {
  for (const HostileCase& each : kCases) {
    const auto solver = SolverOf(each.solver);
    ASSERT_NE(solver, nullptr) << each.solver;
    const auto problem = ParseProblem(each.problem);
    ASSERT_TRUE(problem.ok()) << each.problem << problem.status().ToString();
    const Status applicable = solver->IsApplicable(*problem, device_->target());
    ASSERT_TRUE(applicable.ok()) << each.problem << applicable.ToString();
    const auto space = solver->Space(*problem, device_->target());
    ASSERT_TRUE(space.ok()) << space.status().ToString();
    const auto data = ProblemData::Create(*problem, 1);
    ASSERT_TRUE(data.ok()) << data.status().ToString();
    auto operands = BoundOperands::Create(*device_, *problem, *data);
    ASSERT_TRUE(operands.ok()) << operands.status().ToString();

    for (const Config& config : ConfigsOf(*space)) {
      EXPECT_EQ(MistakeOf(*solver, *problem, config, *data, *operands), "")
          << Text(Candidate{solver->id(), config}) << " for " << each.problem;
    }
  }
}

// Squares of such values overflow, so the variance is infinite and y is beta, as in PyTorch.
TEST_F(CudaKernelTest, HugeValuesOfBatchNormsGiveNoNan) {
  constexpr const char* kProblems[] = {
      "batch_norm@1{n=32,c=8,h=16,w=16}",
      "batch_norm@1{n=32,c=64,h=16,w=16,layout=nhwc}",
      "batch_norm@1{n=96,c=1024,h=8,w=8,layout=nhwc}",
      "batch_norm@1{mode=act,n=64,c=8,h=4,w=4}",
  };
  kernel::KernelLibrary library =
      kernel::LoadKernelLibrary(kernel::KernelFolders(), kernel::KernelLanguage::kCuda);
  int computed = 0;
  for (kernel::KernelFile& file : library.files) {
    if (file.operator_name != "batch_norm") continue;
    const KernelSolver solver(nvrtc_, std::move(file));
    for (const char* text : kProblems) {
      const Problem problem = *ParseProblem(text);
      if (!solver.IsApplicable(problem, device_->target()).ok()) continue;
      const auto space = solver.Space(problem, device_->target());
      ASSERT_TRUE(space.ok()) << space.status().ToString();
      for (const Config& config : ConfigsOf(*space)) {
        const std::string name = Text(Candidate{solver.id(), config}) + " for " + text;
        EXPECT_EQ(NansOfHugeValues(solver, problem, config), 0) << name;
        ++computed;
      }
    }
  }
  EXPECT_GE(computed, 4 * std::ssize(kProblems));
}

TEST_F(CudaKernelTest, MachineCodeAndTheCalculatorSayWhatTheDriverSays) {
  const std::string& arch = device_->target().arch;
  const auto built = BuildCubin(nvrtc_.Get(), *MakeRecipe(nvrtc_.Get(), kHungryKernel, "", arch));
  ASSERT_TRUE(built.ok()) << built.status().ToString();
  const auto module = Module::Load(*device_, *built);
  ASSERT_TRUE(module.ok()) << module.status().ToString();
  const CUfunction function = *(*module)->Function("hungry", 0);
  int registers = 0;
  int most_threads = 0;
  ASSERT_EQ(driver_.cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function),
            CUDA_SUCCESS);
  ASSERT_EQ(
      driver_.cuFuncGetAttribute(&most_threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function),
      CUDA_SUCCESS);
  ASSERT_LT(most_threads, 1024);

  const auto kernel = FindKernel(built->bytes, "hungry");
  ASSERT_TRUE(kernel.has_value());
  EXPECT_EQ(kernel->registers, registers);
  const auto most = OccupancyOf(*kernel, {most_threads}, arch);
  if (!most.ok()) GTEST_SKIP() << most.status().message();
  EXPECT_GE(most->blocks, 1);
  EXPECT_EQ(OccupancyOf(*kernel, {most_threads + 32}, arch)->blocks, 0);
}

}  // namespace
}  // namespace attune::cuda
