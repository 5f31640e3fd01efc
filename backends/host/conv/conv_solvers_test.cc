// Our own convolutions against a naive computation.
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/ops/conv/conv.h"
#include "attune/ops/gemm/gemm.h"
#include "backends/host/conv/candidate_check.h"
#include "backends/host/conv/conv_cases.h"
#include "backends/host/conv/conv_solvers.h"
#include "backends/host/conv/direct_conv.h"
#include "backends/host/conv/gemm_conv.h"
#include "backends/host/conv/gemm_conv_executable.h"
#include "backends/host/conv/reference_conv.h"
#include "backends/host/cpu.h"
#include "backends/host/host_backend.h"

namespace attune::host {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kF32Error = 2e-6;
constexpr double kBf16Error = 5e-3;
constexpr uint64_t kConfigsPerCase = 6;

void Check(const CandidateCheck& check, const Solver& solver, const Problem& problem,
           const Config& config, double tolerance) {
  const CheckOutcome outcome = check.Run(solver, config);
  EXPECT_THAT(outcome.complaint, IsEmpty()) << Text(problem) << " " << Text(config);
  EXPECT_LT(outcome.worst_error, tolerance) << Text(problem) << " " << Text(config);
}

// The default and some others, the same ones in every run.
void CheckSome(const Solver& solver, const Problem& problem, double tolerance) {
  const auto space = solver.Space(problem, TestTarget(2));
  ASSERT_TRUE(space.ok()) << space.status().ToString();
  Random random(42);
  const CandidateCheck check(problem, 7);
  Check(check, solver, problem, space->At(0), tolerance);
  for (uint64_t i = 1; i < std::min(kConfigsPerCase, space->size()); ++i) {
    Check(check, solver, problem, space->At(space->Sample(random)), tolerance);
  }
}

class DirectConv : public ::testing::TestWithParam<IsaLevel> {
 protected:
  void SetUp() override {
    if (DescribeCpu().level < GetParam()) GTEST_SKIP() << "This processor cannot run it.";
  }
  ThreadPool pool_{2};
};

TEST_P(DirectConv, IsRightInEveryFormForConfigsFromTheWholeSpace) {
  const auto solver = MakeDirectConvSolver(pool_, GetParam());
  for (const ConvCase& test : ConvCasesInAllForms(DataType::kF32)) {
    if (!solver->IsApplicable(test.conv, TestTarget(2)).ok()) continue;
    SCOPED_TRACE(test.name);
    CheckSome(*solver, test.conv, kF32Error);
  }
}

INSTANTIATE_TEST_SUITE_P(EveryLevel, DirectConv,
                         ::testing::Values(IsaLevel::kV2, IsaLevel::kV3, IsaLevel::kV4),
                         [](const auto& level) {
                           return "V" + std::to_string(static_cast<int>(level.param) + 1);
                         });

Conv ResNetLayer(ConvDirection direction) {
  Conv conv;
  conv.direction = direction;
  conv.batch = 4;
  conv.in_channels = conv.out_channels = 128;
  conv.in = {1, 28, 28};
  conv.filter = {1, 3, 3};
  conv.pad = {0, 1, 1};
  return conv;
}

TEST(DirectConvSpace, HasAtLeastOneHundredConfigsOnALayerOfResNet) {
  ThreadPool pool(2);
  for (const IsaLevel level : {IsaLevel::kV2, IsaLevel::kV3, IsaLevel::kV4}) {
    const auto solver = MakeDirectConvSolver(pool, level);
    for (const ConvDirection direction :
         {ConvDirection::kForward, ConvDirection::kBackwardData, ConvDirection::kBackwardWeights}) {
      const auto space = solver->Space(ResNetLayer(direction), TestTarget(2));

      ASSERT_TRUE(space.ok()) << space.status().ToString();
      EXPECT_GE(space->size(), 100u);
    }
  }
}

TEST(DirectConvSpace, DepthwiseIsRefusedWithTheReason) {
  ThreadPool pool(1);
  Conv conv = ResNetLayer(ConvDirection::kForward);
  conv.groups = conv.in_channels;

  const Status status =
      MakeDirectConvSolver(pool, IsaLevel::kV3)->IsApplicable(conv, TestTarget(2));

  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_THAT(status.message(), HasSubstr("too few"));
}

// Solvers of products as the host backend has them.
class GemmConv : public ::testing::Test {
 protected:
  std::vector<const Solver*> Products() {
    std::vector<const Solver*> products;
    for (const auto& solver : backend_->solvers()) {
      if (solver->id().name.ends_with("-gemm")) products.push_back(solver.get());
    }
    return products;
  }

  std::unique_ptr<const Backend> backend_ = MakeHostBackend();
  ThreadPool pool_{2};
};

bool IsGemmConv(const Solver& solver) {
  return solver.id().name.starts_with("host.im2col-") ||
         solver.id().name.starts_with("host.conv1x1-");
}

// All forms through one product, because a form passes the same operands to every product.
TEST_F(GemmConv, IsRightInEveryForm) {
  for (const auto& solver : MakeHostConvSolvers(Products(), pool_, IsaLevel::kV2)) {
    if (!IsGemmConv(*solver) || !solver->id().name.ends_with("-packed")) continue;
    for (const ConvCase& test : ConvCasesInAllForms(DataType::kF32)) {
      if (!solver->IsApplicable(test.conv, TestTarget(2)).ok()) continue;
      SCOPED_TRACE(solver->id().name + " " + test.name);
      CheckSome(*solver, test.conv, kF32Error);
    }
  }
}

TEST_F(GemmConv, IsRightOverEveryProduct) {
  std::vector<ConvCase> cases = ConvCases();
  cases.resize(4);
  for (const auto& solver : MakeHostConvSolvers(Products(), pool_, IsaLevel::kV2)) {
    for (const ConvCase& test : cases) {
      if (!IsGemmConv(*solver) || !solver->IsApplicable(test.conv, TestTarget(2)).ok()) continue;
      SCOPED_TRACE(solver->id().name + " " + test.name);
      CheckSome(*solver, test.conv, kF32Error);
    }
  }
}

TEST_F(GemmConv, DoublePrecisionIsRight) {
  const SolverList solvers = MakeHostConvSolvers(Products(), pool_, IsaLevel::kV2);
  for (const auto& solver : solvers) {
    if (solver->id().name != "host.im2col-reference" &&
        solver->id().name != "host.conv1x1-openblas") {
      continue;
    }
    for (ConvCase test : ConvCases()) {
      test.conv.type = DataType::kF64;
      if (!solver->IsApplicable(test.conv, TestTarget(2)).ok()) continue;
      SCOPED_TRACE(solver->id().name + " " + test.name);
      CheckSome(*solver, test.conv, 1e-13);
    }
  }
}

// A product in 16 bits rounds once for each element, when it is written.
TEST_F(GemmConv, Bfloat16IsRightForwardOverEveryProductThatTakesIt) {
  int gathered = 0;
  for (const auto& solver : MakeHostConvSolvers(Products(), pool_, IsaLevel::kV2)) {
    if (!IsGemmConv(*solver)) continue;
    for (const ConvCase& test : ConvCasesInAllForms(DataType::kBf16)) {
      if (!solver->IsApplicable(test.conv, TestTarget(2)).ok()) continue;
      SCOPED_TRACE(solver->id().name + " " + test.name);
      CheckSome(*solver, test.conv, kBf16Error);
      gathered += solver->id().name.starts_with("host.im2col-") ? 1 : 0;
    }
  }
  EXPECT_GE(gathered, 10);
}

TEST_F(GemmConv, Bfloat16IsRefusedWhereSumsWouldBeRoundedAtEveryStep) {
  for (const auto& solver : MakeHostConvSolvers(Products(), pool_, IsaLevel::kV2)) {
    if (!IsGemmConv(*solver)) continue;
    for (const ConvCase& test : ConvCasesInAllForms(DataType::kBf16)) {
      if (test.conv.direction == ConvDirection::kForward && !test.conv.bias) continue;
      EXPECT_EQ(solver->IsApplicable(test.conv, TestTarget(2)).code(), StatusCode::kUnsupported)
          << solver->id().name << " " << test.name;
    }
  }
}

TEST_F(GemmConv, OneByOneFiltersBelongToOneOfTheTwoFamilies) {
  const auto products = Products();
  ASSERT_FALSE(products.empty());
  const Solver& gemm = *products.back();
  const auto im2col = MakeGemmConvSolver(GemmConvKind::kIm2col, gemm, pool_);
  const auto pointwise = MakeGemmConvSolver(GemmConvKind::kPointwise, gemm, pool_);
  for (const ConvCase& test : ConvCases()) {
    const bool first = im2col->IsApplicable(test.conv, TestTarget(2)).ok();
    const bool second = pointwise->IsApplicable(test.conv, TestTarget(2)).ok();

    EXPECT_NE(first, second) << test.name;
  }
}

// The plan would list all images: 64 GiB for 2^31 of them.
TEST_F(GemmConv, MoreImagesThanAPlanListsAreRefusedBeforeAnythingIsPlanned) {
  Conv conv = ResNetLayer(ConvDirection::kForward);
  conv.in_channels = conv.out_channels = 1;
  conv.in = {1, 8, 8};
  conv.batch = (int64_t{1} << 31) - 1;
  for (const auto& solver : backend_->solvers()) {
    if (!IsGemmConv(*solver)) continue;

    EXPECT_EQ(solver->IsApplicable(conv, TestTarget(2)).code(), StatusCode::kUnsupported)
        << solver->id().name;
  }
}

Conv SmallLayer() {
  Conv conv = ResNetLayer(ConvDirection::kForward);
  conv.batch = 1;
  return conv;
}

TEST_F(GemmConv, ProductsNeverUseMoreThreadsThanTheConfigSays) {
  const Gemm large = PackedGemm(256, 256, 512);
  const Gemm small = PackedGemm(4, 4, 4);
  for (const Solver* gemm : Products()) {
    for (const int threads : {1, 2, 3, 4}) {
      for (const Gemm& product : {large, small}) {
        if (!gemm->IsApplicable(product, TestTarget(4)).ok()) continue;
        const auto config = ProductConfig(*gemm, product, TestTarget(4), threads);

        ASSERT_TRUE(config.ok()) << config.status().ToString();
        ASSERT_TRUE(config->contains("threads")) << gemm->id().name;
        EXPECT_LE(IntegerAt(*config, "threads"), threads) << gemm->id().name;
        EXPECT_TRUE(gemm->Space(product, TestTarget(4))->IndexOf(*config).has_value())
            << Text(*config);
      }
    }
  }
}

// A product that only runs on four threads.
class FourThreadGemm final : public Solver {
 public:
  const SolverId& id() const override { return id_; }
  const SolverTraits& traits() const override { return traits_; }
  Status IsApplicable(const Problem&, const Target&) const override { return Status::Ok(); }
  Result<ConfigSpace> Space(const Problem&, const Target&) const override {
    return ConfigSpace::Create({{"threads", {int64_t{4}}}}, {});
  }
  Result<BuildRecipe> Recipe(const Problem&, const Config&, const Target&) const override {
    return BuildRecipe();
  }
  Result<Artifact> Build(const BuildRecipe&) const override { return Artifact(); }
  Result<std::unique_ptr<Executable>> Load(const Artifact&, const Problem&, const Config&,
                                           Device&) const override {
    return Unsupported("It computes nothing.");
  }

 private:
  const SolverId id_{"host.four-gemm", 1};
  const SolverTraits traits_{.description = "For tests", .operator_name = "gemm"};
};

TEST(GemmConvThreads, AProductThatNeedsMoreThreadsIsAnErrorAndNotADefault) {
  const FourThreadGemm gemm;

  const auto fits = ProductConfig(gemm, PackedGemm(8, 8, 8), TestTarget(4), 4);
  const auto refused = ProductConfig(gemm, PackedGemm(8, 8, 8), TestTarget(4), 2);

  EXPECT_TRUE(fits.ok());
  EXPECT_EQ(refused.status().code(), StatusCode::kUnsupported);
  EXPECT_THAT(refused.status().message(), HasSubstr("host.four-gemm@1"));
  EXPECT_THAT(refused.status().message(), HasSubstr("not on 2"));
}

TEST(GemmConvThreads, NumbersOfThreadsAreThoseOfProducts) {
  const FourThreadGemm gemm;
  ThreadPool pool(6);
  const auto im2col = MakeGemmConvSolver(GemmConvKind::kIm2col, gemm, pool);

  const auto space = im2col->Space(SmallLayer(), TestTarget(6));

  ASSERT_TRUE(space.ok()) << space.status().ToString();
  EXPECT_EQ(space->parameters()[1].values,
            (std::vector<ParameterValue>{int64_t{6}, int64_t{4}, int64_t{2}, int64_t{1}}));
}

std::ptrdiff_t ThreadsOfThisProcess() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

// Threads of a pool start when they are first needed, so one thread starts none.
TEST(GemmConvThreads, OneThreadMeansOneThread) {
  HostBackendOptions options;
  options.plugins.clear();
  const auto backend = MakeHostBackend(options);
  const Solver* packed = FindSolver(backend->solvers(), {"host.packed-gemm", 1});
  ASSERT_NE(packed, nullptr);
  ThreadPool pool(2);
  const auto im2col = MakeGemmConvSolver(GemmConvKind::kIm2col, *packed, pool);
  const CandidateCheck check(SmallLayer(), 7);
  const auto space = im2col->Space(SmallLayer(), TestTarget(2));
  ASSERT_TRUE(space.ok()) << space.status().ToString();
  Config config = space->At(0);
  const auto before = ThreadsOfThisProcess();

  config["threads"] = int64_t{1};
  Check(check, *im2col, SmallLayer(), config, kF32Error);
  const auto after_one = ThreadsOfThisProcess();
  config["threads"] = int64_t{2};
  Check(check, *im2col, SmallLayer(), config, kF32Error);
  const auto after_two = ThreadsOfThisProcess();

  EXPECT_EQ(after_one, before);
  EXPECT_GT(after_two, before);
}

TEST(ReferenceConv, IsRightInEveryForm) {
  ThreadPool pool(2);
  const auto solver = MakeReferenceConvSolver(pool);
  for (const ConvCase& test : ConvCasesInAllForms(DataType::kF32)) {
    SCOPED_TRACE(test.name);
    Check(CandidateCheck(test.conv, 7), *solver, test.conv, {}, 1e-6);
  }
}

TEST(ReferenceConv, IsRightForEveryTypeItTakes) {
  ThreadPool pool(2);
  const auto solver = MakeReferenceConvSolver(pool);
  for (ConvCase test : ConvCases()) {
    SCOPED_TRACE(test.name);
    test.conv.type = DataType::kBf16;
    Check(CandidateCheck(test.conv, 7), *solver, test.conv, {}, kBf16Error);
    test.conv.type = DataType::kF64;
    Check(CandidateCheck(test.conv, 7), *solver, test.conv, {}, 1e-14);
  }
}

}  // namespace
}  // namespace attune::host
