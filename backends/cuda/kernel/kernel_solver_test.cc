// Kernel files on CUDA, as far as no device is needed: spaces, programs, launches, arguments.
#include "backends/cuda/kernel/kernel_solver.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <regex>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/random.h"
#include "attune/kernel/covering_problems.h"
#include "attune/kernel/device_limits.h"
#include "attune/kernel/shipped_files_test.h"
#include "attune/ops/gemm/gemm.h"
#include "attune/ops/registry.h"
#include "backends/cuda/driver/module.h"
#include "backends/cuda/kernel/kernel_building_test.h"
#include "backends/cuda/kernel/kernel_executable.h"

namespace attune::cuda {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Le;

constexpr size_t kProblemsOfEachFile = 4;
// Limits of every CUDA device.
constexpr int kMostRegisters = 255;
constexpr int kMostSharedBytes = 48 * 1024;
// Around a call, as of a division; sums that do not fit spill by hundreds.
constexpr int kMostSpilledBytes = 32;

std::vector<Problem> ProblemsOf(const KernelSolver& solver, const Target& target) {
  std::vector<Problem> problems;
  for (const Problem& problem : kernel::CoveringProblems(solver.traits().operator_name)) {
    if (solver.IsApplicable(problem, target).ok()) problems.push_back(problem);
  }
  return problems;
}

TEST_F(KernelBuildingTest, EveryFamilyOfTheOpenClKernelsIsOfferedOnCuda) {
  std::vector<std::string> names;
  for (const auto& solver : solvers_) names.push_back(solver->id().name);

  for (const char* name :
       {"cuda.gemm-tiled", "cuda.conv-direct", "cuda.conv-direct-filter", "cuda.conv-im2col-gemm",
        "cuda.conv-im2col-gemm-backward-data", "cuda.conv-im2col-gemm-backward-weights",
        "cuda.conv-implicit-gemm", "cuda.conv-implicit-gemm-backward-data",
        "cuda.conv-implicit-gemm-backward-weights", "cuda.conv-implicit-gemm-static",
        "cuda.gemm-tensor", "cuda.gemm-group", "cuda.gemm-few-columns", "cuda.gemm-few-rows",
        "cuda.conv-window", "cuda.conv-window-filter", "cuda.conv-tensor",
        "cuda.conv-tensor-weights", "cuda.conv-tensor-weights-any"}) {
    EXPECT_THAT(names, Contains(name));
  }
}

TEST_F(KernelBuildingTest, APlanTellsLaunchesAndMachineCodeTheirRegistersAndRoom) {
  const Target target = *TargetOf("sm_90");
  for (const auto& solver : solvers_) {
    const Problem problem = ProblemsOf(*solver, target).front();
    const Config config = *solver->DefaultConfig(problem, target);
    const auto built = solver->Build(*solver->Recipe(problem, config, target));
    ASSERT_TRUE(built.ok()) << built.status().ToString();

    const Artifact nothing;
    const auto planned = solver->PlanLaunches({nothing, problem, config}, target);
    const auto known = solver->PlanLaunches({*built, problem, config}, target);

    ASSERT_TRUE(planned.ok() && known.ok()) << solver->id().name;
    ASSERT_FALSE(planned->empty()) << solver->id().name;
    ASSERT_EQ(planned->size(), known->size());
    int64_t least = (*known)[0].blocks_per_multiprocessor;
    for (size_t i = 0; i < known->size(); ++i) {
      const ObservedLaunch& plan = (*planned)[i];
      const ObservedLaunch& code = (*known)[i];
      EXPECT_GE(plan.blocks, 1);
      EXPECT_GE(plan.threads, 32);
      EXPECT_EQ(plan.registers, 0);
      EXPECT_EQ(plan.blocks_per_multiprocessor, 0);
      EXPECT_EQ(code.blocks, plan.blocks);
      EXPECT_EQ(code.threads, plan.threads);
      EXPECT_GE(code.registers, 1);
      EXPECT_LE(code.registers, kMostRegisters);
      EXPECT_GE(code.shared_bytes, plan.shared_bytes);
      least = std::min(least, code.blocks_per_multiprocessor);
    }
    EXPECT_EQ(solver->BlocksThatFit({*built, problem, config}, target), std::optional<int>(least));
  }
}

TEST_F(KernelBuildingTest, DefaultsAndSampledConfigsOfEveryFileBuildForNamedArchitectures) {
  Random random(5);
  for (const auto& solver : solvers_) {
    const Target target = *TargetOf("sm_90");
    const std::vector<Problem> problems = ProblemsOf(*solver, target);
    ASSERT_FALSE(problems.empty()) << solver->id().name;

    // Spread over the list, to include types and directions.
    const size_t count = std::min(problems.size(), kProblemsOfEachFile);
    for (size_t i = 0; i < count; ++i) {
      const Problem& problem = problems[i * problems.size() / count];
      const auto space = solver->Space(problem, target);
      ASSERT_TRUE(space.ok()) << space.status().ToString();
      EXPECT_EQ(MistakeOf(*solver, problem, space->At(0), "sm_90"), "");
      if (!solver->IsApplicable(problem, *TargetOf("sm_80")).ok()) continue;
      const auto smaller_space = solver->Space(problem, *TargetOf("sm_80"));
      ASSERT_TRUE(smaller_space.ok()) << smaller_space.status().ToString();
      const Config other = smaller_space->At(smaller_space->Sample(random));
      EXPECT_EQ(MistakeOf(*solver, problem, other, "sm_80"), "");
    }
  }
}

// The assembler's report on each kernel of a program.
struct Usage {
  int registers = 0;
  int shared_bytes = 0;
  int spilled_bytes = 0;
};

std::vector<Usage> UsageOf(const Nvrtc& nvrtc, const BuildRecipe& recipe) {
  nvrtcProgram program = nullptr;
  nvrtc.nvrtcCreateProgram(&program, recipe.source.c_str(), "kernel.cu", 0, nullptr, nullptr);
  const std::string arch = "--gpu-architecture=" + CompilerArch(recipe.target);
  std::vector<const char*> options = {arch.c_str(), "--std=c++17", "--ptxas-options=-v"};
  if (!recipe.options.empty()) options.push_back(recipe.options.c_str());
  nvrtc.nvrtcCompileProgram(program, static_cast<int>(options.size()), options.data());
  size_t size = 0;
  nvrtc.nvrtcGetProgramLogSize(program, &size);
  std::string log(size, '\0');
  nvrtc.nvrtcGetProgramLog(program, log.data());
  nvrtc.nvrtcDestroyProgram(&program);

  const std::regex line(
      "(\\d+) bytes spill stores[^]*?Used (\\d+) registers(?:[^\\n]*?(\\d+) bytes smem)?");
  std::vector<Usage> usages;
  for (std::sregex_iterator it(log.begin(), log.end(), line), end; it != end; ++it) {
    usages.push_back(
        {std::stoi((*it)[2]), (*it)[3].matched ? std::stoi((*it)[3]) : 0, std::stoi((*it)[1])});
  }
  return usages;
}

TEST_F(KernelBuildingTest, DefaultsFitTheRegistersAndTheSharedMemoryOfEveryDevice) {
  for (const auto& solver : solvers_) {
    // The least of them that it is for.
    const bool is_for_all = !ProblemsOf(*solver, *TargetOf("sm_80")).empty();
    const Target target = *TargetOf(is_for_all ? "sm_80" : "sm_90");
    const std::vector<Problem> problems = ProblemsOf(*solver, target);
    ASSERT_FALSE(problems.empty()) << solver->id().name;
    const Problem& problem = problems.front();
    const auto recipe = solver->Recipe(problem, solver->Space(problem, target)->At(0), target);
    ASSERT_TRUE(recipe.ok());

    const std::vector<Usage> usages = UsageOf(nvrtc_.Get(), *recipe);

    ASSERT_FALSE(usages.empty()) << solver->id().name;
    for (const Usage& usage : usages) {
      EXPECT_THAT(usage.registers, Le(kMostRegisters)) << solver->id().name;
      EXPECT_THAT(usage.shared_bytes, Le(kMostSharedBytes)) << solver->id().name;
      EXPECT_THAT(usage.spilled_bytes, Le(kMostSpilledBytes)) << solver->id().name;
    }
  }
}

kernel::KernelFile FileFor(const char* name) {
  return *kernel::LoadKernelFile(kernel::ShippedFile(name), kernel::KernelLanguage::kCuda);
}

TEST(CudaKernelPlans, TilesBecomeBlocksAndGrid) {
  Gemm gemm = PackedGemm(100, 70, 30);
  gemm.batch_count = 3;
  const Config config = {{"WG_U", int64_t{16}}, {"WG_V", int64_t{8}}, {"REG_U", int64_t{1}},
                         {"REG_V", int64_t{4}}, {"VEC", int64_t{4}},  {"TILE_K", int64_t{16}}};

  const auto plan = kernel::MakePlan(FileFor("gemm_tiled.json"), Normalized(gemm), config);

  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  ASSERT_EQ(plan->launches.size(), 1u);
  const LaunchShape shape = ShapeOf(plan->launches[0]);
  EXPECT_THAT(shape.block, testing::ElementsAre(16, 8, 1));
  EXPECT_THAT(shape.grid, testing::ElementsAre(2, 3, 3));
  EXPECT_EQ(shape.shared_bytes, 0u);
}

TEST(CudaKernelPlans, AGridThatNoDeviceHasIsUnsupportedWithItsSize) {
  Gemm gemm = PackedGemm(1, 1, 1);
  gemm.batch_count = 65536;
  const Config config = {{"WG_U", int64_t{16}}, {"WG_V", int64_t{8}}, {"REG_U", int64_t{1}},
                         {"REG_V", int64_t{4}}, {"VEC", int64_t{4}},  {"TILE_K", int64_t{16}}};

  const Status status =
      kernel::MakePlan(FileFor("gemm_tiled.json"), Normalized(gemm), config).status();

  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_THAT(status.message(), HasSubstr("65536"));
}

Config TensorConfig(int64_t split_k, int64_t cluster = 0) {
  return {{"TILE_M", int64_t{128}}, {"TILE_N", int64_t{64}}, {"TILE_K", int64_t{32}},
          {"WARPS_M", int64_t{4}},  {"WARPS_N", int64_t{2}}, {"STAGES", int64_t{3}},
          {"SPLIT_K", split_k},     {"CLUSTER", cluster}};
}

TEST(CudaKernelPlans, StagesOfTensorCoresLieInDynamicSharedMemory) {
  const Gemm gemm = PackedGemm(300, 65, 5000, DataType::kBf16);

  const auto plan = kernel::MakePlan(FileFor("gemm_tensor.json"), gemm, TensorConfig(1));

  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  ASSERT_EQ(plan->launches.size(), 1u);
  const LaunchShape shape = ShapeOf(plan->launches[0]);
  EXPECT_THAT(shape.block, testing::ElementsAre(256, 1, 1));
  EXPECT_THAT(shape.grid, testing::ElementsAre(3, 2, 1));
  // 32 columns of A, 64 of B, of 2-byte elements; a word after each, and after each eight.
  EXPECT_EQ(shape.shared_bytes, 3u * (32 * (2 * 128 + 18) + 64 * (2 * 32 + 18)));
  EXPECT_EQ(plan->workspace_bytes, 0);
}

TEST(CudaKernelPlans, PartsOfASplitProductAreAddedByASecondLaunch) {
  const Gemm gemm = PackedGemm(300, 65, 5000, DataType::kBf16);

  const auto plan = kernel::MakePlan(FileFor("gemm_tensor.json"), gemm, TensorConfig(4));

  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  ASSERT_EQ(plan->launches.size(), 2u);
  EXPECT_THAT(ShapeOf(plan->launches[0]).grid, testing::ElementsAre(3, 2, 4));
  EXPECT_EQ(plan->launches[1].function, "gemm_sum");
  EXPECT_THAT(ShapeOf(plan->launches[1]).grid, testing::ElementsAre(77, 1, 1));
  EXPECT_EQ(plan->workspace_bytes, 4 * 300 * 65 * 4);
}

TEST(CudaKernelPlans, BlocksOfAClusterAddTheirPartsThemselves) {
  const Gemm gemm = PackedGemm(300, 65, 5000, DataType::kBf16);

  const auto plan = kernel::MakePlan(FileFor("gemm_tensor.json"), gemm, TensorConfig(4, 1));

  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  ASSERT_EQ(plan->launches.size(), 1u);
  EXPECT_THAT(ShapeOf(plan->launches[0]).grid, testing::ElementsAre(3, 2, 4));
  EXPECT_EQ(plan->workspace_bytes, 0);
}

TEST_F(KernelBuildingTest, ClustersAreForDevicesThatHaveThem) {
  const kernel::KernelFile file = FileFor("gemm_tensor.json");
  const Problem problem = PackedGemm(300, 65, 5000, DataType::kBf16);
  const auto clusters_on = [&](const char* arch) {
    const Config limits = *kernel::DeviceLimitsOf(*TargetOf(arch), kernel::KernelLanguage::kCuda);
    const ConfigSpace space = *kernel::MakeSpace(file, problem, limits);
    int count = 0;
    for (uint64_t i = 0; i < space.size(); ++i) {
      if (IntegerAt(space.At(i), "CLUSTER") == 1) ++count;
    }
    return count;
  };

  EXPECT_EQ(clusters_on("sm_80"), 0);
  EXPECT_GT(clusters_on("sm_90"), 100);
}

TEST(CudaKernelPlans, ADepthwiseConvolutionHasOneLaunchForItsDirection) {
  const Config config = {{"BLOCK", int64_t{64}}, {"PIXELS", int64_t{4}}};
  const kernel::KernelFile file = FileFor("conv_window.json");
  const auto grid = [&](const char* text, const char* function) {
    const auto plan = kernel::MakePlan(file, *ParseProblem(text), config);
    EXPECT_TRUE(plan.ok()) << plan.status().ToString();
    EXPECT_EQ(plan->launches.size(), 1u);
    EXPECT_EQ(plan->launches[0].function, function);
    const LaunchShape shape = ShapeOf(plan->launches[0]);
    return std::vector<unsigned>(std::begin(shape.grid), std::end(shape.grid));
  };

  // 28 columns are 7 threads: 7 * 28 of them for each channel, in blocks of 64.
  EXPECT_THAT(
      grid("conv@1{dir=fwd,n=8,c=96,h=28,w=28,k=96,fh=3,fw=3,ph=1,pw=1,g=96}", "conv_window"),
      testing::ElementsAre(4, 96, 8));
  // Two blocks of 64 channels for each of them.
  EXPECT_THAT(grid("conv@1{dir=bwd_data,n=8,c=96,h=28,w=28,k=96,fh=3,fw=3,ph=1,pw=1,g=96,"
                   "layout=nhwc}",
                   "conv_window"),
              testing::ElementsAre(392, 1, 8));
  EXPECT_THAT(grid("conv@1{dir=bwd_weights,n=8,c=96,h=28,w=28,k=96,fh=3,fw=3,ph=1,pw=1,g=96}",
                   "conv_window_weights"),
              testing::ElementsAre(864, 1, 1));
}

TEST_F(KernelBuildingTest, EveryConfigAsksForNoMoreSharedMemoryThanTheDeviceHas) {
  for (const char* text :
       {"gemm@1{m=500,n=600,k=7000,type=bf16}", "gemm@1{m=500,n=600,k=7000,type=f16,ta=t,tb=t}",
        "gemm@1{m=500,n=600,k=7000,math=tf32}", "gemm@1{m=500,n=600,k=7000,math=tf32,ta=t}"}) {
    const kernel::KernelFile file = FileFor("gemm_tensor.json");
    const Problem problem = *ParseProblem(text);
    const Config limits =
        *kernel::DeviceLimitsOf(*TargetOf("sm_80"), kernel::KernelLanguage::kCuda);
    const auto space = kernel::MakeSpace(file, problem, limits);
    ASSERT_TRUE(space.ok()) << space.status().ToString();

    for (uint64_t i = 0; i < space->size(); ++i) {
      const auto plan = kernel::MakePlan(file, problem, space->At(i));
      ASSERT_TRUE(plan.ok()) << plan.status().ToString();
      EXPECT_THAT(plan->launches[0].shared_bytes,
                  Le(std::get<int64_t>(limits.at("dynamic_shared_bytes"))))
          << Text(space->At(i));
    }
  }
}

TEST(CudaKernelPlans, ArgumentsAreTheBitsThatTheKernelTakes) {
  using Kind = kernel::KernelArgument::Kind;
  const kernel::CallOperands operands({"a", "c"});
  double memory[8] = {};
  const std::vector<BufferView> views = {{memory, 0}, {memory, 16}};
  const Arguments call{.operands = views, .workspace = {memory, 8}, .alpha = 1.5, .beta = -2};
  const auto bits = [&](const kernel::PlannedArgument& argument) {
    return ArgumentBits(argument, operands, call);
  };
  const auto address = reinterpret_cast<uint64_t>(&memory[0]);

  EXPECT_EQ(bits({Kind::kOperand, "a", int64_t{0}}), address);
  EXPECT_EQ(bits({Kind::kOperand, "c", int64_t{0}}), address + 16);
  EXPECT_EQ(bits({Kind::kOperand, "bias", int64_t{0}}), 0u);
  EXPECT_EQ(bits({Kind::kOperand, "workspace", int64_t{0}}), address + 8);
  EXPECT_EQ(bits({Kind::kOffset, "c", int64_t{0}}), 0u);
  EXPECT_EQ(bits({Kind::kInt, "", int64_t{-1}}), 0xffffffffu);
  EXPECT_EQ(bits({Kind::kLong, "", int64_t{-1}}), ~uint64_t{0});
  EXPECT_EQ(bits({Kind::kFloat, "", kernel::CallScalar::kAlpha}), 0x3fc00000u);
  EXPECT_EQ(bits({Kind::kDouble, "", kernel::CallScalar::kBeta}), 0xc000000000000000u);
}

TEST_F(KernelBuildingTest, EveryKernelOfAnySizeHasAProblemThatProgramsAskForMost) {
  const std::vector<Problem> problems = EverydayProblems();
  for (const Problem& problem : problems) {
    EXPECT_TRUE(Validate(problem).ok()) << Text(problem);
    EXPECT_EQ(std::count(problems.begin(), problems.end(), problem), 1) << Text(problem);
  }

  for (const auto& solver : solvers_) {
    if (!solver->traits().dynamic) continue;
    const auto takes = [&](const Problem& problem) {
      return solver->IsApplicable(problem, *TargetOf("sm_90")).ok();
    };
    EXPECT_TRUE(std::any_of(problems.begin(), problems.end(), takes)) << Text(solver->id());
  }
}

TEST_F(KernelBuildingTest, WhatAKernelWithCompiledSizesTakesOneOfAnySizeTakesToo) {
  const Target target = *TargetOf("sm_90");
  for (const auto& compiled : solvers_) {
    if (compiled->traits().dynamic) continue;
    for (const Problem& problem : ProblemsOf(*compiled, target)) {
      const auto takes = [&](const auto& solver) {
        return solver->traits().dynamic && solver->IsApplicable(problem, target).ok() &&
               solver->DefaultConfig(problem, target).ok();
      };
      EXPECT_TRUE(std::any_of(solvers_.begin(), solvers_.end(), takes))
          << Text(compiled->id()) << " is alone with " << Text(problem);
    }
  }
}

TEST_F(KernelBuildingTest, CodeWithVariablesOfItsOwnIsToldFromCodeWithout) {
  const auto compiled = [&](const char* source) {
    return *BuildCubin(nvrtc_.Get(), *MakeRecipe(nvrtc_.Get(), source, "", "sm_90"));
  };

  EXPECT_TRUE(HasVariables(compiled(
      "__device__ unsigned done; extern \"C\" __global__ void f() { atomicInc(&done, 7u); }")));
  EXPECT_TRUE(HasVariables(compiled(
      "__device__ int next = 3; extern \"C\" __global__ void f(int* x) { *x = next++; }")));
  EXPECT_FALSE(HasVariables(
      compiled("extern \"C\" __global__ void f(int* x) { __shared__ int y; y = 1; *x = y; }")));
}

TEST_F(KernelBuildingTest, AUsersOwnKernelInCudaIsOneMoreSolver) {
  const KernelSolver solver = Example();
  const Target target = *TargetOf("sm_80");
  const Problem problem = PackedGemm(500, 3, 800);

  EXPECT_EQ(Text(solver.id()), "cuda.acme-naive-gemm@1");
  ASSERT_TRUE(solver.IsApplicable(problem, target).ok());
  const auto space = solver.Space(problem, target);
  ASSERT_TRUE(space.ok()) << space.status().ToString();
  EXPECT_EQ(space->size(), 4u);
  EXPECT_TRUE(solver.traits().dynamic);
  for (uint64_t i = 0; i < space->size(); ++i) {
    EXPECT_EQ(MistakeOf(solver, problem, space->At(i), "sm_80"), "");
  }
}

TEST_F(KernelBuildingTest, ASolverIsNotForOtherBackendsAndSaysSo) {
  Target elsewhere = *TargetOf("sm_90");
  elsewhere.backend = "opencl";

  for (const auto& solver : solvers_) {
    const Status status = solver->IsApplicable(PackedGemm(8, 8, 8), elsewhere);
    EXPECT_EQ(status.code(), StatusCode::kUnsupported);
    EXPECT_THAT(status.message(), HasSubstr("'opencl'"));
  }
}

}  // namespace
}  // namespace attune::cuda
