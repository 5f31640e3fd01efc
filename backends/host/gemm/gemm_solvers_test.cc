// Every product of this backend against a naive one in double precision, in every form.
#include "backends/host/gemm/gemm_solvers.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/ops/conv/conv.h"
#include "attune/ops/gemm/gemm.h"
#include "backends/host/conv/candidate_check.h"
#include "backends/host/cpu.h"
#include "backends/host/host_backend.h"
#include "backends/host/kernels/kernel_choice.h"

namespace attune::host {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Rounding errors in units of the sum of absolute products.
constexpr double kF32Error = 3e-6;
constexpr double kF64Error = 1e-14;

struct GemmCase {
  std::string name;
  Gemm gemm;
};

// Every transposition with every way to be stored, scaled and finished, at sizes that leave borders
// in every direction and in every register tile.
std::vector<GemmCase> CasesInAllForms(DataType type) {
  std::vector<GemmCase> cases;
  const auto add = [&](std::string name, Gemm gemm, const auto& change) {
    gemm.type = gemm.c_type = type;
    change(gemm);
    cases.push_back({std::move(name), Normalized(gemm)});
  };
  const auto as_is = [](Gemm&) {};
  for (const Transpose trans_a : {Transpose::kNo, Transpose::kYes}) {
    for (const Transpose trans_b : {Transpose::kNo, Transpose::kYes}) {
      const std::string form = std::string(trans_a == Transpose::kNo ? "n" : "t") +
                               (trans_b == Transpose::kNo ? "n" : "t");
      const auto transpose = [&](Gemm& gemm) {
        gemm.trans_a = trans_a;
        gemm.trans_b = trans_b;
      };
      add(form + " odd", {.m = 67, .n = 29, .k = 31}, transpose);
      add(form + " deep", {.m = 33, .n = 9, .k = 300}, transpose);
      add(form + " column", {.m = 131, .n = 1, .k = 77}, transpose);
      add(form + " row", {.m = 1, .n = 131, .k = 77}, transpose);
      add(form + " few rows", {.m = 7, .n = 65, .k = 40}, transpose);
      add(form + " padded", {.m = 35, .n = 13, .k = 21, .lda = 41, .ldb = 43, .ldc = 40},
          transpose);
      add(form + " batch", {.m = 17, .n = 12, .k = 9, .batch_count = 5}, transpose);
      add(form + " row, scaled", {.m = 1, .n = 40, .k = 33, .ldc = 3}, [&](Gemm& gemm) {
        transpose(gemm);
        gemm.alpha = gemm.beta = ScalarClass::kOther;
      });
    }
  }
  for (const ScalarClass alpha : {ScalarClass::kZero, ScalarClass::kOne, ScalarClass::kOther}) {
    for (const ScalarClass beta : {ScalarClass::kZero, ScalarClass::kOne, ScalarClass::kOther}) {
      add("alpha and beta", {.m = 35, .n = 10, .k = 261}, [&](Gemm& gemm) {
        gemm.alpha = alpha;
        gemm.beta = beta;
      });
    }
  }
  for (const Bias bias : {Bias::kPerRow, Bias::kPerColumn}) {
    for (const Activation activation : {Activation::kNone, Activation::kRelu, Activation::kGelu,
                                        Activation::kTanh, Activation::kSigmoid}) {
      add("epilogue", {.m = 34, .n = 11, .k = 260}, [&](Gemm& gemm) {
        gemm.bias = bias;
        gemm.activation = activation;
      });
    }
  }
  add("one matrix for a whole batch", {.m = 8, .n = 8, .k = 8, .batch_count = 7}, [](Gemm& gemm) {
    gemm.stride_b = 64;
    gemm.stride_c = 64;
  });
  add("interleaved batch", {.m = 5, .n = 6, .k = 4, .ldc = 15, .batch_count = 3},
      [](Gemm& gemm) { gemm.stride_c = 5; });
  add("one element", {.m = 1, .n = 1, .k = 1}, as_is);
  add("one product", {.m = 1, .n = 1, .k = 300}, as_is);
  return cases;
}

// Runs every `step`-th config of `solver` on every case that it accepts; how many it ran.
int CheckCases(const Solver& solver, DataType type, uint64_t step) {
  const Target target = TestTarget(2);
  const double tolerance = type == DataType::kF64 ? kF64Error : kF32Error;
  int checked = 0;
  for (const GemmCase& test : CasesInAllForms(type)) {
    SCOPED_TRACE(test.name + ": " + Text(Problem(test.gemm)));
    if (!solver.IsApplicable(test.gemm, target).ok()) continue;
    const auto space = solver.Space(test.gemm, target);
    EXPECT_TRUE(space.ok()) << space.status().ToString();
    if (!space.ok()) continue;
    const CandidateCheck check(test.gemm, 1);
    for (uint64_t i = 0; i < space->size(); i += i == 0 ? 1 : step) {
      const Config config = space->At(i);
      const CheckOutcome outcome = check.Run(solver, config);
      EXPECT_THAT(outcome.complaint, IsEmpty()) << Text(config);
      EXPECT_LT(outcome.worst_error, tolerance) << Text(config);
      ++checked;
    }
  }
  return checked;
}

class GemmSolversTest : public ::testing::Test {
 protected:
  HostResources ResourcesFor(IsaLevel level) { return {&pool_, &KernelsFor(level)}; }
  std::vector<IsaLevel> LevelsHere() const {
    std::vector<IsaLevel> levels;
    for (const IsaLevel level :
         {IsaLevel::kBaseline, IsaLevel::kV2, IsaLevel::kV3, IsaLevel::kV4}) {
      if (level <= cpu_.level) levels.push_back(level);
    }
    return levels;
  }

  const CpuDescription cpu_ = DescribeCpu();
  ThreadPool pool_{2};
};

constexpr uint64_t kEveryConfig = 1;
// Coprime to the sizes of the parameters, so that all their values occur.
constexpr uint64_t kSomeConfigs = 31;

TEST_F(GemmSolversTest, PackedProductIsRightInEveryFormAtEveryLevel) {
  for (const IsaLevel level : LevelsHere()) {
    SCOPED_TRACE(Name(level));
    const auto solver = MakePackedGemm(ResourcesFor(level));

    EXPECT_GT(CheckCases(*solver, DataType::kF32, kSomeConfigs), 100);
    EXPECT_GT(CheckCases(*solver, DataType::kF64, kSomeConfigs), 100);
  }
}

TEST_F(GemmSolversTest, SkinnyProductIsRightInEveryFormAtEveryLevel) {
  for (const IsaLevel level : LevelsHere()) {
    SCOPED_TRACE(Name(level));
    const auto solver = MakeSkinnyGemm(ResourcesFor(level));

    EXPECT_GT(CheckCases(*solver, DataType::kF32, kSomeConfigs), 50);
    EXPECT_GT(CheckCases(*solver, DataType::kF64, kSomeConfigs), 50);
  }
}

TEST_F(GemmSolversTest, EigenIsRightInEveryFormAtEveryLevel) {
  for (const IsaLevel level : LevelsHere()) {
    SCOPED_TRACE(Name(level));
    const auto solver = MakeEigenGemm(level, ResourcesFor(level));
    if (solver == nullptr) GTEST_SKIP() << ReportEigen(level).missing;
    if (level == IsaLevel::kBaseline) continue;

    EXPECT_GT(CheckCases(*solver, DataType::kF32, kEveryConfig), 50);
    EXPECT_GT(CheckCases(*solver, DataType::kF64, kEveryConfig), 50);
  }
}

TEST_F(GemmSolversTest, LibxsmmIsRightInEveryFormThatItAccepts) {
  const auto solver = MakeXsmmGemm(ResourcesFor(cpu_.level));
  if (solver == nullptr) GTEST_SKIP() << ReportXsmm().missing;

  EXPECT_GT(CheckCases(*solver, DataType::kF32, kEveryConfig), 50);
  EXPECT_GT(CheckCases(*solver, DataType::kF64, kEveryConfig), 50);
}

TEST_F(GemmSolversTest, BlasLibrariesAreRightInEveryForm) {
  for (const BlasDialect& dialect : {OpenBlasDialect(), BlisDialect()}) {
    SCOPED_TRACE(dialect.name);
    const LazyBlas blas(dialect);
    if (!blas.Get().ok()) GTEST_SKIP() << blas.Get().error().message();
    const auto solver = MakeBlasGemm(blas, ResourcesFor(cpu_.level));

    EXPECT_GT(CheckCases(*solver, DataType::kF32, kEveryConfig), 50);
    EXPECT_GT(CheckCases(*solver, DataType::kF64, kEveryConfig), 50);
  }
}

TEST_F(GemmSolversTest, ReferenceIsRightInEveryForm) {
  const auto solver = MakeReferenceGemm(ResourcesFor(cpu_.level));

  EXPECT_GT(CheckCases(*solver, DataType::kF32, kEveryConfig), 50);
  EXPECT_GT(CheckCases(*solver, DataType::kF64, kEveryConfig), 50);
}

TEST_F(GemmSolversTest, ReferenceComputesNarrowTypes) {
  const auto solver = MakeReferenceGemm(ResourcesFor(cpu_.level));
  struct NarrowCase {
    DataType type, c_type;
    double tolerance;
  };
  for (const NarrowCase& test : {NarrowCase{DataType::kBf16, DataType::kF32, 1e-6},
                                 NarrowCase{DataType::kBf16, DataType::kBf16, 4e-3},
                                 NarrowCase{DataType::kI8, DataType::kI32, 0}}) {
    Gemm gemm{.m = 9, .n = 7, .k = 33, .type = test.type, .c_type = test.c_type};
    const Problem problem = Normalized(gemm);
    SCOPED_TRACE(Text(problem));
    ASSERT_TRUE(solver->IsApplicable(problem, TestTarget(2)).ok());

    const CheckOutcome outcome = CandidateCheck(problem, 1).Run(*solver, {{"threads", int64_t{2}}});

    EXPECT_THAT(outcome.complaint, IsEmpty());
    EXPECT_LE(outcome.worst_error, test.tolerance);
  }
}

TEST_F(GemmSolversTest, OwnSpacesHaveAtLeastAHundredConfigsAndStartAtAllThreads) {
  const auto packed = MakePackedGemm(ResourcesFor(cpu_.level));
  const auto skinny = MakeSkinnyGemm(ResourcesFor(cpu_.level));

  const auto packed_space = packed->Space(PackedGemm(512, 512, 512), TestTarget(2));
  const auto skinny_space = skinny->Space(PackedGemm(4096, 1, 4096), TestTarget(2));

  ASSERT_TRUE(packed_space.ok() && skinny_space.ok());
  EXPECT_GE(packed_space->size(), 100u);
  EXPECT_GE(skinny_space->size(), 100u);
  EXPECT_EQ(IntegerAt(packed_space->At(0), "threads"), 2);
  EXPECT_EQ(IntegerAt(skinny_space->At(0), "threads"), 2);
}

TEST_F(GemmSolversTest, DefaultOfABlasIsItsOwnGemmOnAllItsThreads) {
  const LazyBlas blas(OpenBlasDialect());
  if (!blas.Get().ok()) GTEST_SKIP() << blas.Get().error().message();
  const auto solver = MakeBlasGemm(blas, ResourcesFor(cpu_.level));

  const auto space = solver->Space(PackedGemm(64, 1, 64), TestTarget(4));

  ASSERT_TRUE(space.ok()) << space.status().ToString();
  EXPECT_EQ(attune::Text(space->At(0)), "routine=gemm,split=library,threads=4");
}

TEST_F(GemmSolversTest, RefusalsNameSolverAndReason) {
  const auto packed = MakePackedGemm(ResourcesFor(cpu_.level));
  const auto skinny = MakeSkinnyGemm(ResourcesFor(cpu_.level));
  Gemm half = PackedGemm(8, 8, 8, DataType::kF16);
  Target elsewhere = TestTarget(2);
  elsewhere.backend = "opencl";

  EXPECT_THAT(packed->IsApplicable(half, TestTarget(2)).message(),
              HasSubstr("host.packed-gemm@1 computes f32 and f64"));
  EXPECT_THAT(packed->IsApplicable(PackedGemm(8, 8, 8), elsewhere).message(), HasSubstr("opencl"));
  EXPECT_THAT(packed->IsApplicable(Conv{}, TestTarget(2)).message(), HasSubstr("not conv"));
  EXPECT_THAT(skinny->IsApplicable(PackedGemm(9, 9, 9), TestTarget(2)).message(),
              HasSubstr("at most 8"));
}

Config DefaultOfPacked(const Gemm& gemm) {
  const auto backend = MakeHostBackend({.openblas_path = "", .blis_path = "", .plugins = {}});
  const Solver* packed = FindSolver(backend->solvers(), {"host.packed-gemm", 1});
  const auto space = packed->Space(gemm, TestTarget(2));
  EXPECT_TRUE(space.ok()) << space.status().ToString();
  return space.ok() ? space->At(0) : Config();
}

TEST(PackedGemmDefault, SmallProductsStayOnOneThreadAndAreNotCopied) {
  const Config config = DefaultOfPacked(PackedGemm(16, 16, 16));

  EXPECT_EQ(IntegerAt(config, "threads"), 1);
  EXPECT_EQ(StringAt(config, "split"), "none");
  EXPECT_EQ(StringAt(config, "pack"), "none");
}

TEST(PackedGemmDefault, LargeProductsUseEveryThreadAndCopyA) {
  const Config config = DefaultOfPacked(PackedGemm(1024, 1024, 1024));

  EXPECT_EQ(IntegerAt(config, "threads"), 2);
  EXPECT_EQ(StringAt(config, "pack"), "a");
}

TEST(PackedGemmDefault, FewColumnsDoNotPayForACopyOfA) {
  EXPECT_EQ(StringAt(DefaultOfPacked(PackedGemm(2048, 16, 2048)), "pack"), "none");
}

TEST(PackedGemmDefault, ASumThatFitsOneBlockIsTakenAtOnce) {
  EXPECT_EQ(IntegerAt(DefaultOfPacked(PackedGemm(64, 64, 400)), "depth_block"), 512);
  EXPECT_EQ(IntegerAt(DefaultOfPacked(PackedGemm(64, 64, 4000)), "depth_block"), 256);
}

}  // namespace
}  // namespace attune::host
