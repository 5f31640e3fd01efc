#include "attune/trial/match_policy.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Target kHere{"host", "AMD EPYC 9654", "x86-64-v4", 2, {{"isa", "avx512"}}};
const MatchPolicy kPolicy = MatchPolicy::Default();

SolverId Solver(std::string name) { return {std::move(name), 1}; }

std::string Mismatch(const Candidate& candidate, const Environment& then, const Environment& now) {
  return kPolicy.Mismatch(candidate, kHere, then, kHere, now);
}

TEST(MatchPolicy, LibrariesMatterToTheSolversThatHaveThemInTheirName) {
  EXPECT_EQ(kPolicy.KindOf("library.onednn", Solver("host.onednn-conv")),
            MatchKind::kCompatibleRange);
  EXPECT_EQ(kPolicy.KindOf("library.onednn.build_id", Solver("host.onednn-conv")),
            MatchKind::kCompatibleRange);
  EXPECT_EQ(kPolicy.KindOf("library.onednn", Solver("host.openblas-gemm")),
            MatchKind::kInformational);
}

TEST(MatchPolicy, ANameInsideOfAnotherIsNotTheLibrary) {
  EXPECT_EQ(kPolicy.KindOf("library.blas", Solver("host.openblas-gemm")),
            MatchKind::kInformational);
  EXPECT_EQ(kPolicy.KindOf("library.", Solver("host.openblas-gemm")), MatchKind::kInformational);
}

TEST(MatchPolicy, OurOwnKernelsMatterToTheirSolversAndToThoseAboveThem) {
  for (const char* solver : {"host.packed-gemm", "host.im2col-packed", "host.conv1x1-packed"}) {
    EXPECT_EQ(kPolicy.KindOf("library.packed.build_id", Solver(solver)),
              MatchKind::kCompatibleRange)
        << solver;
  }
  EXPECT_EQ(kPolicy.KindOf("library.gemv.build_id", Solver("host.gemv-gemm")),
            MatchKind::kCompatibleRange);
  EXPECT_EQ(kPolicy.KindOf("library.direct.build_id", Solver("host.direct-conv")),
            MatchKind::kCompatibleRange);
  EXPECT_EQ(kPolicy.KindOf("library.packed.build_id", Solver("host.openblas-gemm")),
            MatchKind::kInformational);
}

TEST(MatchPolicy, AKernelFileMattersToItsSolverAndToNoOther) {
  EXPECT_EQ(kPolicy.KindOf("library.conv-direct", Solver("opencl.conv-direct")),
            MatchKind::kCompatibleRange);
  EXPECT_EQ(kPolicy.KindOf("library.acme_conv", Solver("opencl.acme_conv")),
            MatchKind::kCompatibleRange);
  EXPECT_EQ(kPolicy.KindOf("library.conv-direct", Solver("opencl.conv-direct-filter")),
            MatchKind::kInformational);
  EXPECT_EQ(kPolicy.KindOf("library.conv-direct", Solver("opencl.clblast-gemm")),
            MatchKind::kInformational);
}

TEST(MatchPolicy, AnEditedKernelFileEndsItsRecords) {
  const Candidate candidate{Solver("opencl.conv-direct"), {}};

  EXPECT_THAT(Mismatch(candidate, {{"library.conv-direct", "aa"}}, {{"library.conv-direct", "bb"}}),
              HasSubstr("library.conv-direct 'aa'"));
}

TEST(MatchPolicy, AnUnknownPolicyIsNoDifference) {
  const Candidate candidate{Solver("host.eigen-gemm"), {}};
  const Environment performance = {{"policy.frequency", "performance"}};

  EXPECT_THAT(Mismatch(candidate, performance, {{"policy.frequency", "unknown"}}), IsEmpty());
  EXPECT_THAT(Mismatch(candidate, {{"policy.frequency", "unknown"}}, performance), IsEmpty());
  EXPECT_THAT(Mismatch(candidate, performance, {{"policy.frequency", "powersave"}}),
              HasSubstr("policy.frequency"));
}

TEST(MatchPolicy, DriversAndPoliciesMatterToEverybodyAndTheRestInforms) {
  const SolverId solver = Solver("host.eigen-gemm");

  EXPECT_EQ(kPolicy.KindOf("driver.pocl", solver), MatchKind::kCompatibleRange);
  EXPECT_EQ(kPolicy.KindOf("policy.omp_wait", solver), MatchKind::kCompatibleRange);
  EXPECT_EQ(kPolicy.KindOf("host.kernel", solver), MatchKind::kInformational);
  EXPECT_EQ(kPolicy.KindOf("driverless", solver), MatchKind::kInformational);
}

TEST(MatchPolicy, TermsOfTheMeasurementDecideNothing) {
  const Environment hurried = {{"tuning.per_problem_ns", "0"}};
  const Environment careful = {{"tuning.per_problem_ns", "60000000000"}};

  EXPECT_THAT(Mismatch({Solver("host.eigen-gemm"), {}}, hurried, careful), IsEmpty());
  EXPECT_THAT(Mismatch({Solver("host.eigen-gemm"), {}}, hurried, {}), IsEmpty());
}

TEST(MatchPolicy, EqualEnvironmentsMatch) {
  const Environment environment = {{"library.eigen", "3.4"}, {"policy.omp_wait", "passive"}};

  EXPECT_THAT(Mismatch({Solver("host.eigen-gemm"), {}}, environment, environment), IsEmpty());
}

TEST(MatchPolicy, AnotherTargetNeverMatches) {
  Target there = kHere;
  there.compute_units = 64;

  const std::string mismatch =
      kPolicy.Mismatch({Solver("host.eigen-gemm"), {}}, there, {}, kHere, {});

  EXPECT_THAT(mismatch, HasSubstr(Text(there)));
  EXPECT_THAT(mismatch, HasSubstr(Text(kHere)));
}

TEST(MatchPolicy, AFieldThatCameOrWentIsADifference) {
  const Environment with = {{"policy.omp_wait", "passive"}};

  EXPECT_THAT(Mismatch({Solver("host.eigen-gemm"), {}}, with, {}), HasSubstr("absent now"));
  EXPECT_THAT(Mismatch({Solver("host.eigen-gemm"), {}}, {}, with),
              HasSubstr("policy.omp_wait absent"));
}

TEST(MatchPolicy, ALibraryThatTheConfigNamesMattersToo) {
  Candidate im2col{Solver("host.im2col-conv"), {}};
  im2col.config["gemm"] = std::string("openblas-gemm");
  const Environment then = {{"library.openblas", "1"}, {"library.onednn", "1"}};

  EXPECT_THAT(Mismatch(im2col, then, {{"library.openblas", "1"}, {"library.onednn", "2"}}),
              IsEmpty());
  EXPECT_THAT(Mismatch(im2col, then, {{"library.openblas", "2"}, {"library.onednn", "1"}}),
              HasSubstr("library.openblas"));
}

TEST(MatchPolicy, AKernelFileThatTheConfigNamesMattersToo) {
  Candidate unfolded{Solver("cuda.unfolded-product-conv"), {}};
  unfolded.config["gemm"] = std::string("cuda.gemm-tensor");
  const Environment then = {{"library.gemm-tensor", "aa"}, {"library.gemm-group", "aa"}};

  EXPECT_THAT(
      Mismatch(unfolded, then, {{"library.gemm-tensor", "aa"}, {"library.gemm-group", "b"}}),
      IsEmpty());
  EXPECT_THAT(
      Mismatch(unfolded, then, {{"library.gemm-tensor", "b"}, {"library.gemm-group", "aa"}}),
      HasSubstr("library.gemm-tensor"));
}

TEST(MatchPolicy, TheKernelsThatALibraryChoseHaveToBeTheSame) {
  EXPECT_EQ(kPolicy.KindOf("library.openblas.core", Solver("host.openblas-gemm")),
            MatchKind::kMustMatch);
}

Validity Judged(const Candidate& candidate, const Environment& then, const Environment& now) {
  return kPolicy.Judge(candidate, kHere, then, kHere, now).validity;
}

TEST(MatchPolicy, APatchOfALibraryIsCompatibleAndAnotherReleaseIsNot) {
  const Candidate candidate{Solver("host.onednn-conv"), {}};
  const Environment then = {{"library.onednn", "2.6.3"}, {"library.onednn.build_id", "aa"}};

  EXPECT_EQ(Judged(candidate, then, then), Validity::kHolds);
  EXPECT_EQ(
      Judged(candidate, then, {{"library.onednn", "2.6.4"}, {"library.onednn.build_id", "bb"}}),
      Validity::kCompatible);
  EXPECT_EQ(
      Judged(candidate, then, {{"library.onednn", "2.6.3"}, {"library.onednn.build_id", "bb"}}),
      Validity::kCompatible);
  EXPECT_EQ(
      Judged(candidate, then, {{"library.onednn", "2.7.0"}, {"library.onednn.build_id", "bb"}}),
      Validity::kInvalid);
  EXPECT_EQ(Judged(candidate, then, {{"library.onednn", "2.6.3"}}), Validity::kCompatible);
  EXPECT_EQ(Judged(candidate, then, {}), Validity::kInvalid);
}

TEST(MatchPolicy, AnotherBuildOfOurOwnKernelsIsNotCompatible) {
  const Candidate candidate{Solver("host.packed-gemm"), {}};

  EXPECT_EQ(
      Judged(candidate, {{"library.packed.build_id", "a"}}, {{"library.packed.build_id", "b"}}),
      Validity::kInvalid);
}

TEST(MatchPolicy, AVersionWithoutTwoNumbersHasNoRange) {
  const Candidate candidate{Solver("host.eigen-gemm"), {}};

  for (const char* version : {"3", "3.", ".4", "new", ""}) {
    EXPECT_EQ(Judged(candidate, {{"library.eigen", version}}, {{"library.eigen", "3.4.1"}}),
              Validity::kInvalid)
        << version;
  }
}

TEST(MatchPolicy, AnotherPolicyIsCompatible) {
  const Candidate candidate{Solver("host.eigen-gemm"), {}};

  EXPECT_EQ(Judged(candidate, {{"policy.omp_wait", "passive"}}, {{"policy.omp_wait", "unset"}}),
            Validity::kCompatible);
}

TEST(MatchPolicy, AnotherDeviceOfOneArchitectureIsCompatibleAndAnotherArchitectureIsNot) {
  const Candidate candidate{Solver("host.eigen-gemm"), {}};
  Target there = kHere;
  there.device = "AMD EPYC 9754";
  there.compute_units = 128;
  EXPECT_EQ(kPolicy.Judge(candidate, there, {}, kHere, {}).validity, Validity::kCompatible);
  there.arch = "x86-64-v3";
  EXPECT_EQ(kPolicy.Judge(candidate, there, {}, kHere, {}).validity, Validity::kInvalid);
}

TEST(MatchPolicy, OneInvalidDifferenceOutweighsCompatibleOnes) {
  const Candidate candidate{Solver("host.onednn-conv"), {}};

  const Judgement judgement =
      kPolicy.Judge(candidate, kHere, {{"library.onednn", "1.8"}, {"policy.omp_wait", "a"}}, kHere,
                    {{"library.onednn", "2.6"}, {"policy.omp_wait", "b"}});
  EXPECT_EQ(judgement.validity, Validity::kInvalid);
  EXPECT_THAT(judgement.reason, HasSubstr("library.onednn"));
}

}  // namespace
}  // namespace attune
