#include "attune/tunable/validators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune {
namespace {

using testing::HasSubstr;

TunableIdentity Here() {
  return {"0.3.1",
          {"host", "Example CPU", "x86-64-v3", 2, {}},
          {{"library.blis", "0.9.0"}, {"library.openblas", "0.3.21"}, {"host.name", "here"}}};
}

Candidate Of(const char* solver) { return {{solver, 1}, {}}; }

std::vector<Validator> With(const std::string& key, const std::string& value) {
  std::vector<Validator> validators = ValidatorsOf(Here());
  for (Validator& validator : validators) {
    if (validator.first == key) validator.second = value;
  }
  return validators;
}

TEST(ValidatorsTest, OursAreVersionTargetAndEveryFieldOfTheEnvironment) {
  const auto validators = ValidatorsOf(Here());

  EXPECT_EQ(validators, (std::vector<Validator>{{"ATTUNE_RESULTS", "1"},
                                                {"ATTUNE_VERSION", "0.3.1"},
                                                {"ATTUNE_TARGET", "host:Example CPU:x86-64-v3:2{}"},
                                                {"host.name", "here"},
                                                {"library.blis", "0.9.0"},
                                                {"library.openblas", "0.3.21"}}));
  EXPECT_FALSE(JudgeSection(validators, Here()).rejected());
}

TEST(ValidatorsTest, AnotherTargetRejectsTheSectionWithTheReason) {
  const auto verdict = JudgeSection(With("ATTUNE_TARGET", "host:Other CPU:x86-64-v3:2{}"), Here());

  EXPECT_TRUE(verdict.rejected());
  EXPECT_THAT(verdict.rejection, HasSubstr("Other CPU"));
  EXPECT_THAT(verdict.rejection, HasSubstr("Example CPU"));
}

TEST(ValidatorsTest, APatchVersionOfAttuneRejectsNothing) {
  EXPECT_FALSE(JudgeSection(With("ATTUNE_VERSION", "0.9.9"), Here()).rejected());
  EXPECT_TRUE(JudgeSection(With("ATTUNE_VERSION", "1.0.0"), Here()).rejected());
  EXPECT_TRUE(JudgeSection(With("ATTUNE_VERSION", "x"), Here()).rejected());
  EXPECT_TRUE(JudgeSection(With("ATTUNE_RESULTS", "2"), Here()).rejected());
}

TEST(ValidatorsTest, ExportsOfTheFirstReleaseHaveANameBeforeTheirVersion) {
  const auto verdict = JudgeSection({{"ATTUNE_VERSION", "attune 0.1.0"}}, Here());

  EXPECT_FALSE(verdict.rejected());
  EXPECT_EQ(JudgeResult(verdict, Of("host.blis-gemm"), Here()), "");
  EXPECT_TRUE(JudgeSection({{"ATTUNE_VERSION", "attune 1.0.0"}}, Here()).rejected());
  EXPECT_TRUE(JudgeSection({{"ATTUNE_VERSION", "attune attune 0.1.0"}}, Here()).rejected());
}

TEST(ValidatorsTest, ALibraryCostsOnlyTheResultsThatDependOnIt) {
  const auto verdict = JudgeSection(With("library.blis", "0.8.1"), Here());

  EXPECT_FALSE(verdict.rejected());
  EXPECT_THAT(JudgeResult(verdict, Of("host.blis-gemm"), Here()), HasSubstr("0.8.1"));
  EXPECT_EQ(JudgeResult(verdict, Of("host.openblas-gemm"), Here()), "");
}

TEST(ValidatorsTest, ForeignValidatorsInformUnlessTheyContradict) {
  TunableIdentity cuda = Here();
  cuda.target = {"cuda", "NVIDIA H200", "sm_90", 132, {}};
  cuda.environment["library.cublaslt"] = "13.2.0";
  const std::vector<Validator> of_pytorch = {
      {"PT_VERSION", "2.14.0"}, {"CUBLASLT_VERSION", "130100"}, {"CUDA_DEVICE", "9.0:NVIDIA H200"}};
  std::vector<Validator> of_this = of_pytorch;
  of_this[1].second = "130200";

  EXPECT_FALSE(JudgeSection(of_pytorch, Here()).rejected());
  const auto verdict = JudgeSection(of_pytorch, cuda);
  EXPECT_FALSE(verdict.rejected());
  EXPECT_NE(JudgeResult(verdict, Of("cuda.cublaslt-gemm"), cuda), "");
  EXPECT_EQ(JudgeResult(verdict, Of("cuda.own-gemm"), cuda), "");
  const auto same = JudgeSection(of_this, cuda);
  EXPECT_EQ(JudgeResult(same, Of("cuda.cublaslt-gemm"), cuda), "");
  EXPECT_TRUE(same.validators[1].agrees);
  EXPECT_TRUE(JudgeSection({{"CUDA_DEVICE", "8.0:NVIDIA A100"}}, cuda).rejected());
}

TEST(ValidatorsTest, ArchitecturesOfRocmAreComparedWithoutTheirFeatures) {
  TunableIdentity rocm = Here();
  rocm.target.arch = "gfx90a";

  EXPECT_FALSE(JudgeSection({{"GCN_ARCH_NAME", "gfx90a:sramecc+:xnack-"}}, rocm).rejected());
  EXPECT_TRUE(JudgeSection({{"GCN_ARCH_NAME", "gfx942"}}, rocm).rejected());
  EXPECT_FALSE(JudgeSection({{"GCN_ARCH_NAME", "gfx942"}}, Here()).rejected());
}

TEST(ValidatorsTest, TheSetOfKeysMayDiffer) {
  std::vector<Validator> validators = ValidatorsOf(Here());
  validators.emplace_back("SOMETHING_NEW", "1");
  std::erase(validators, Validator("host.name", "here"));

  EXPECT_FALSE(JudgeSection(validators, Here()).rejected());
  EXPECT_FALSE(JudgeSection({}, Here()).rejected());
}

TEST(ValidatorsTest, NewResultsBelongOnlyUnderValidatorsOfThisEnvironment) {
  EXPECT_TRUE(IsSectionOf(ValidatorsOf(Here()), Here()));
  EXPECT_TRUE(IsSectionOf(With("host.name", "there"), Here()));
  EXPECT_FALSE(IsSectionOf(With("library.blis", "0.8.1"), Here()));
  EXPECT_FALSE(IsSectionOf({}, Here()));
  EXPECT_FALSE(IsSectionOf({{"PT_VERSION", "2.14.0"}}, Here()));
}

}  // namespace
}  // namespace attune
