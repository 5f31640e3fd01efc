// Every kernel file on a real device, against the definition in double precision.
#include <cmath>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/random.h"
#include "attune/compile/builder.h"
#include "attune/kernel/kernel_library.h"
#include "attune/ops/conv/conv.h"
#include "attune/ops/gemm/gemm.h"
#include "backends/opencl/opencl_backend.h"
#include "backends/opencl/result_error.h"

namespace attune::opencl {
namespace {

Conv SmallConv(ConvDirection direction) {
  Conv conv;
  conv.direction = direction;
  conv.batch = 2;
  conv.in_channels = 5;
  conv.out_channels = 7;
  conv.in = {1, 9, 13};
  conv.filter = {1, 3, 3};
  conv.pad = {0, 1, 1};
  return conv;
}

Conv WithLayout(Conv conv, Layout layout) {
  conv.in_layout = conv.weights_layout = conv.out_layout = layout;
  return conv;
}

// Forms that test the likely errors of a kernel: stride, dilation, padding, groups, depth, layout.
std::vector<Problem> ConvProblems(ConvDirection direction) {
  const Conv plain = SmallConv(direction);
  Conv strided = plain;
  strided.stride = {1, 2, 3};
  strided.filter = {1, 5, 2};
  strided.pad = {0, 2, 0};
  Conv dilated = plain;
  dilated.dilation = {1, 2, 3};
  dilated.pad = {0, 3, 1};
  Conv grouped = plain;
  grouped.in_channels = 6;
  grouped.out_channels = 9;
  grouped.groups = 3;
  Conv depthwise = plain;
  depthwise.in_channels = depthwise.out_channels = depthwise.groups = 4;
  Conv pointwise = plain;
  pointwise.filter = {1, 1, 1};
  pointwise.pad = {0, 0, 0};
  pointwise.in_channels = 33;
  pointwise.out_channels = 70;
  Conv wide = plain;
  wide.in = {1, 4, 150};
  wide.out_channels = 65;
  Conv deep = plain;
  deep.spatial_rank = 3;
  deep.in = {5, 6, 7};
  deep.filter = {2, 3, 1};
  deep.pad = {1, 0, 2};
  deep.stride = {2, 1, 2};
  deep.dilation = {1, 2, 1};
  deep = WithLayout(deep, Layout::kNcdhw);
  Conv mixed = plain;
  mixed.in_layout = Layout::kNhwc;
  std::vector<Problem> problems = {plain,     strided, dilated, grouped, depthwise,
                                   pointwise, wide,    deep,    mixed};
  problems.emplace_back(WithLayout(strided, Layout::kNhwc));
  problems.emplace_back(WithLayout(deep, Layout::kNdhwc));
  if (direction == ConvDirection::kForward) {
    Conv biased = grouped;
    biased.bias = true;
    problems.emplace_back(biased);
  }
  return problems;
}

std::vector<Problem> OddGemms() {
  std::vector<Problem> problems;
  const int64_t sizes[][3] = {{1, 1, 1},    {17, 1, 40},   {1, 33, 5},
                              {70, 45, 33}, {129, 66, 65}, {64, 64, 64}};
  for (const auto& [m, n, k] : sizes) problems.emplace_back(PackedGemm(m, n, k));
  Gemm batched = PackedGemm(20, 30, 10);
  batched.batch_count = 3;
  batched.stride_a = 0;
  batched.stride_b = 320;
  batched.stride_c = 700;
  problems.emplace_back(batched);
  return problems;
}

// Each of these is another program.
std::vector<Problem> GemmForms() {
  std::vector<Problem> problems;
  for (Transpose a : {Transpose::kNo, Transpose::kYes}) {
    for (Transpose b : {Transpose::kNo, Transpose::kYes}) {
      Gemm gemm = PackedGemm(37, 21, 50);
      gemm.trans_a = a;
      gemm.trans_b = b;
      gemm.lda = 60;
      gemm.ldb = 55;
      gemm.ldc = 41;
      gemm.alpha = gemm.beta = ScalarClass::kOther;
      problems.emplace_back(Normalized(gemm));
    }
  }
  Gemm epilogue = PackedGemm(20, 30, 10);
  epilogue.bias = Bias::kPerRow;
  epilogue.activation = Activation::kGelu;
  problems.emplace_back(epilogue);
  epilogue.bias = Bias::kPerColumn;
  epilogue.activation = Activation::kRelu;
  problems.emplace_back(epilogue);
  problems.emplace_back(PackedGemm(50, 40, 30, DataType::kF64));
  return problems;
}

class OpenClKernelsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    backend_ = OpenClBackend(kernel::KernelFolders()).release();
    cache_ = new MemoryKernelCache();
    if (backend_->Devices().empty()) return;
    auto device = backend_->Open(backend_->Devices()[0].spec);
    ASSERT_TRUE(device.ok()) << device.status().ToString();
    device_ = device->release();
  }
  static void TearDownTestSuite() {
    delete device_;
    delete cache_;
    delete backend_;
    device_ = nullptr;
  }
  void SetUp() override {
    if (device_ == nullptr) GTEST_SKIP() << backend_->Libraries()[0].missing;
  }

  static const Solver& SolverCalled(const std::string& name) {
    for (const auto& solver : backend_->solvers()) {
      if (solver->id().name == name) return *solver;
    }
    ADD_FAILURE() << "There is no solver " << name;
    return *backend_->solvers()[0];
  }

  // ErrorOf the candidate, infinite if it cannot be built, loaded or run.
  static double WorstError(const Solver& solver, const Problem& problem, const Config& config);

  // Checks the default and `samples` more configs on every problem that the solver computes, and
  // that there are at least `least` of those.
  static void CheckSolver(const std::string& name, const std::vector<Problem>& problems,
                          size_t least, int samples);

  // Pointers, because GoogleTest calls for static state and these must go before main ends.
  static const Backend* backend_;
  static Device* device_;
  static MemoryKernelCache* cache_;
};

const Backend* OpenClKernelsTest::backend_ = nullptr;
Device* OpenClKernelsTest::device_ = nullptr;
MemoryKernelCache* OpenClKernelsTest::cache_ = nullptr;

double OpenClKernelsTest::WorstError(const Solver& solver, const Problem& problem,
                                     const Config& config) {
  const BuildOutcome built = Builder(*cache_).Build({&solver, problem, config}, device_->target());
  if (built.failure() != nullptr) {
    ADD_FAILURE() << built.failure()->message;
    return INFINITY;
  }
  auto executable = solver.Load(*built.artifact(), problem, config, *device_);
  EXPECT_TRUE(executable.ok()) << executable.status().ToString();
  if (!executable.ok()) return INFINITY;
  const Result<double> error = ErrorOf(**executable, *device_, problem, 11);
  EXPECT_TRUE(error.ok()) << error.status().ToString();
  return error.ok() ? *error : INFINITY;
}

void OpenClKernelsTest::CheckSolver(const std::string& name, const std::vector<Problem>& problems,
                                    size_t least, int samples) {
  const Solver& solver = SolverCalled(name);
  Random random(5);
  size_t computed = 0;
  for (const Problem& problem : problems) {
    const Status applicable = solver.IsApplicable(problem, device_->target());
    if (!applicable.ok()) {
      EXPECT_NE(applicable.code(), StatusCode::kInternal) << applicable.ToString();
      continue;
    }
    ++computed;
    const auto space = solver.Space(problem, device_->target());
    ASSERT_TRUE(space.ok()) << name << " " << Text(problem) << ": " << space.status().ToString();
    EXPECT_LT(WorstError(solver, problem, space->At(0)), 1) << name << " " << Text(problem);
    // The same configs for every problem, so that a dynamic kernel is compiled for each once.
    Random same(5);
    for (int i = 0; i < samples; ++i) {
      const Config config = space->At(space->Sample(same));
      EXPECT_LT(WorstError(solver, problem, config), 1)
          << name << " {" << Text(config) << "} " << Text(problem);
    }
  }
  EXPECT_GE(computed, least);
}

TEST_F(OpenClKernelsTest, TiledGemmIsRightForOddSizesAndSharedOperands) {
  CheckSolver("opencl.gemm-tiled", OddGemms(), 7, 2);
}

TEST_F(OpenClKernelsTest, TiledGemmIsRightInEveryForm) {
  CheckSolver("opencl.gemm-tiled", GemmForms(), 7, 0);
}

TEST_F(OpenClKernelsTest, ClblastGemmIsRightWhereItIsInstalled) {
  if (!FindSolver(backend_->solvers(), {"opencl.clblast-gemm", 1}))
    GTEST_SKIP() << "Built without CLBlast.";
  const Gemm small = PackedGemm(33, 20, 17);
  const Solver& solver = SolverCalled("opencl.clblast-gemm");
  EXPECT_TRUE(solver.traits().compiles_when_loaded);
  const Status applicable = solver.IsApplicable(small, device_->target());
  if (applicable.code() == StatusCode::kUnavailable) GTEST_SKIP() << applicable.message();

  EXPECT_LT(WorstError(solver, small, Config{}), 1);
}

TEST_F(OpenClKernelsTest, ClblastConvgemmIsRightWhereItIsInstalled) {
  if (!FindSolver(backend_->solvers(), {"opencl.clblast-convgemm", 1}))
    GTEST_SKIP() << "Built without CLBlast.";
  const Conv small = SmallConv(ConvDirection::kForward);
  const Solver& solver = SolverCalled("opencl.clblast-convgemm");
  const Status applicable = solver.IsApplicable(small, device_->target());
  if (applicable.code() == StatusCode::kUnavailable) GTEST_SKIP() << applicable.message();

  EXPECT_LT(WorstError(solver, small, Config{}), 1);
}

TEST_F(OpenClKernelsTest, DirectConvolutionIsRight) {
  CheckSolver("opencl.conv-direct", ConvProblems(ConvDirection::kForward), 12, 2);
}

TEST_F(OpenClKernelsTest, DirectConvolutionWithAFixedFilterIsRight) {
  std::vector<Problem> problems = ConvProblems(ConvDirection::kForward);
  problems.resize(3);
  CheckSolver("opencl.conv-direct-filter", problems, 3, 0);
}

TEST_F(OpenClKernelsTest, ImplicitGemmForwardIsRight) {
  CheckSolver("opencl.conv-implicit-gemm", ConvProblems(ConvDirection::kForward), 12, 2);
}

TEST_F(OpenClKernelsTest, ImplicitGemmWithFixedSizesIsRight) {
  std::vector<Problem> problems = ConvProblems(ConvDirection::kForward);
  problems = {problems[1], problems[7]};
  CheckSolver("opencl.conv-implicit-gemm-static", problems, 2, 0);
}

TEST_F(OpenClKernelsTest, ImplicitGemmBackwardDataIsRight) {
  CheckSolver("opencl.conv-implicit-gemm-backward-data", ConvProblems(ConvDirection::kBackwardData),
              11, 1);
}

TEST_F(OpenClKernelsTest, ImplicitGemmBackwardWeightsIsRight) {
  CheckSolver("opencl.conv-implicit-gemm-backward-weights",
              ConvProblems(ConvDirection::kBackwardWeights), 11, 1);
}

TEST_F(OpenClKernelsTest, UnfoldedConvolutionForwardIsRight) {
  CheckSolver("opencl.conv-im2col-gemm", ConvProblems(ConvDirection::kForward), 10, 1);
}

TEST_F(OpenClKernelsTest, UnfoldedConvolutionBackwardDataIsRight) {
  CheckSolver("opencl.conv-im2col-gemm-backward-data", ConvProblems(ConvDirection::kBackwardData),
              9, 1);
}

TEST_F(OpenClKernelsTest, UnfoldedConvolutionBackwardWeightsIsRight) {
  CheckSolver("opencl.conv-im2col-gemm-backward-weights",
              ConvProblems(ConvDirection::kBackwardWeights), 9, 1);
}

TEST_F(OpenClKernelsTest, EveryFamilyHasADynamicKernelWithAHundredConfigs) {
  std::map<std::string, Problem> families;
  families.emplace("gemm", PackedGemm(64, 64, 64));
  families.emplace("forward", SmallConv(ConvDirection::kForward));
  families.emplace("backward data", SmallConv(ConvDirection::kBackwardData));
  families.emplace("backward weights", SmallConv(ConvDirection::kBackwardWeights));

  for (const auto& [family, problem] : families) {
    bool found = false;
    for (const auto& solver : backend_->solvers()) {
      if (!solver->traits().compiles || !solver->traits().dynamic) continue;
      if (!solver->IsApplicable(problem, device_->target()).ok()) continue;
      const auto space = solver->Space(problem, device_->target());
      ASSERT_TRUE(space.ok()) << space.status().ToString();
      found = found || space->size() >= 100;
    }
    EXPECT_TRUE(found) << family;
  }
}

}  // namespace
}  // namespace attune::opencl
