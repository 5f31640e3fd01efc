#include "extensions/miopen/databases/consistency.h"

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/formats/miopen/solver_catalogue.h"
#include "attune/formats/miopen/test_findings.h"
#include "extensions/miopen/databases/kernel_source.h"

namespace attune::miopen {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kKey = "64-28-28-3x3-64-14-14-2-1x1-2x2-1x1-0-NCHW-FP16-F";
const std::string kPerfKey = "2x64x28x28x1x3x3x1x64x2x1x1x0x2x2x0x1x1x0x0x1xNCHWxFP16xF";
// A tunable and a non-tunable solver.
const std::string kRecord = kKey +
                            "=ConvAsm3x3U:1,0,miopenConvolutionFwdAlgoDirect;GemmFwdRest:2,0,"
                            "miopenConvolutionFwdAlgoGEMM\n";

struct Checked {
  Findings of_find_db;
  Findings of_perf_db;
};

Checked Check(const std::string& find_db, const std::string& perf_db) {
  Findings ignored;
  Checked checked;
  const FindDb records = ReadFindDb(find_db, ignored);
  const PerfDb parameters = ReadPerfDb(perf_db, ignored);
  const CheckedFindDb find_dbs[] = {{records, checked.of_find_db}};
  const CheckedPerfDb perf_dbs[] = {{parameters, checked.of_perf_db}};
  CheckParameters(find_dbs, perf_dbs);
  return checked;
}

TEST(ConsistencyTest, TunableSolversHaveParametersAndOthersNeedNone) {
  const Checked checked = Check(kRecord, kPerfKey + "=ConvAsm3x3U:1\n");

  EXPECT_THAT(PlacesOf(checked.of_find_db), IsEmpty());
  EXPECT_THAT(PlacesOf(checked.of_perf_db), IsEmpty());
}

TEST(ConsistencyTest, ParametersOfSolversThatDidNotGetIntoTheRecordAreFine) {
  const Checked checked = Check(kRecord, kPerfKey + "=ConvAsm3x3U:1;ConvBinWinogradRxSf3x2:72\n");

  EXPECT_THAT(PlacesOf(checked.of_perf_db), IsEmpty());
}

TEST(ConsistencyTest, ATunableSolverWithoutParametersIsAFindingOfTheFindDb) {
  const Checked checked = Check("\n" + kRecord, kPerfKey + "=ConvOclDirectFwd:1\n");

  EXPECT_THAT(PlacesOf(checked.of_find_db), ElementsAre("2 no_perf_row"));
  EXPECT_EQ(checked.of_find_db.kept()[0].reason, "ConvAsm3x3U of '" + kKey + "'.");
  EXPECT_THAT(PlacesOf(checked.of_perf_db), IsEmpty());
}

TEST(ConsistencyTest, ParametersOfAProblemThatTheFindDbDoesNotHaveAreAFindingOfThePerfDb) {
  const std::string other = "3" + kPerfKey.substr(1);
  const Checked checked =
      Check(kRecord, kPerfKey + "=ConvAsm3x3U:1\n" + other + "=ConvAsm3x3U:1;ConvOclDirectFwd:1\n");

  EXPECT_THAT(PlacesOf(checked.of_find_db), IsEmpty());
  EXPECT_THAT(PlacesOf(checked.of_perf_db), ElementsAre("2 no_find_record", "2 no_find_record"));
  EXPECT_THAT(checked.of_perf_db.kept()[0].reason, HasSubstr(other));
}

TEST(ConsistencyTest, TheOldestTextIsComparedByItsOwnKeys) {
  // A problem that differs in its output only.
  const std::string other = "64-28-28-3x3-64-15-14-2-1x1-2x2-1x1-0-NCHW-FP16-F";
  const Checked checked = Check(kRecord, other + "=ConvAsm3x3U:1\n");

  EXPECT_THAT(PlacesOf(checked.of_find_db), ElementsAre("1 no_perf_row"));
  EXPECT_THAT(PlacesOf(checked.of_perf_db), ElementsAre("1 no_find_record"));
}

TEST(ConsistencyTest, WhatIsInOneOfSeveralDatabasesOfAKindIsThere) {
  Findings ignored;
  const std::string other = "3-28-28-3x3-64-28-28-2-1x1-1x1-1x1-0-NCHW-FP16-F";
  const FindDb first = ReadFindDb(kRecord, ignored);
  const FindDb second =
      ReadFindDb(other +
                     "=ConvOclDirectFwd:1,0,miopenConvolutionFwdAlgoDirect;ConvAsm3x3U:2,0,"
                     "miopenConvolutionFwdAlgoDirect\n",
                 ignored);
  const PerfDb tuned = ReadPerfDb(kPerfKey + "=ConvAsm3x3U:1\n", ignored);
  // For the problem of the second find-db, and for one that neither has.
  const PerfDb more =
      ReadPerfDb(other + "=ConvOclDirectFwd:1\n" + kKey.substr(1) + "=ConvAsm3x3U:1\n", ignored);
  Findings of_first;
  Findings of_second;
  Findings of_tuned;
  Findings of_more;
  const CheckedFindDb find_dbs[] = {{first, of_first}, {second, of_second}};
  const CheckedPerfDb perf_dbs[] = {{tuned, of_tuned}, {more, of_more}};

  CheckParameters(find_dbs, perf_dbs);

  EXPECT_THAT(PlacesOf(of_first), IsEmpty());
  EXPECT_THAT(PlacesOf(of_second), ElementsAre("1 no_perf_row"));
  EXPECT_EQ(of_second.kept()[0].reason, "ConvAsm3x3U of '" + other + "'.");
  EXPECT_THAT(PlacesOf(of_tuned), IsEmpty());
  EXPECT_THAT(PlacesOf(of_more), ElementsAre("2 no_find_record"));
}

TEST(ConsistencyTest, WhereThereIsNothingToCompareNothingIsFound) {
  Findings ignored;
  Findings findings;
  const FindDb records = ReadFindDb(kRecord, ignored);
  const PerfDb parameters = ReadPerfDb(kPerfKey + "=ConvAsm3x3U:1\n", ignored);
  const CheckedFindDb find_dbs[] = {{records, findings}};
  const CheckedPerfDb perf_dbs[] = {{parameters, findings}};

  CheckParameters(find_dbs, {});
  CheckParameters({}, perf_dbs);

  EXPECT_THAT(PlacesOf(findings), IsEmpty());
}

// Findings for kernels with these names, in rows 1, 2 and so on, and for a find-db.
struct CheckedKernels {
  Findings of_find_db;
  Findings of_kernels;
};

CheckedKernels CheckNames(const std::string& find_db, const std::vector<std::string>& names) {
  Findings ignored;
  const FindDb db = ReadFindDb(find_db, ignored);
  std::vector<NamedKernel> kernels;
  for (const std::string& name : names) kernels.push_back({name, kernels.size() + 1});
  CheckedKernels checked;
  const CheckedFindDb find_dbs[] = {{db, checked.of_find_db}};
  CheckKernels(find_dbs, kernels, checked.of_kernels);
  return checked;
}

TEST(ConsistencyTest, AKernelOfTheQuickestSolverIsEnough) {
  const CheckedKernels checked = CheckNames(kRecord, {"conv3x3.s.o", "MIOpenUtilKernels3.cl.o"});

  EXPECT_THAT(PlacesOf(checked.of_find_db), IsEmpty());
  EXPECT_THAT(PlacesOf(checked.of_kernels), IsEmpty());
}

TEST(ConsistencyTest, AQuickestSolverWithoutAKernelIsAFindingOfTheFindDb) {
  const CheckedKernels checked = CheckNames("\n" + kRecord, {"conv3x3wrw.s", "naive_conv.cpp.o"});

  EXPECT_THAT(PlacesOf(checked.of_find_db), ElementsAre("2 no_kernel"));
  EXPECT_EQ(checked.of_find_db.kept()[0].reason,
            "ConvAsm3x3U of '" + kKey + "' needs one of conv3x3.s.");
}

TEST(ConsistencyTest, SlowerSolversNeedNoKernelAndKeepTheirs) {
  const std::string record = kKey +
                             "=GemmFwdRest:1,0,miopenConvolutionFwdAlgoGEMM;"
                             "ConvAsm3x3U:2,0,miopenConvolutionFwdAlgoDirect\n";

  EXPECT_THAT(PlacesOf(CheckNames(record, {}).of_find_db), IsEmpty());
  EXPECT_THAT(PlacesOf(CheckNames(record, {"conv3x3.s.o"}).of_kernels), IsEmpty());
}

TEST(ConsistencyTest, WhatMiopenPassesOverIsNotTheQuickest) {
  const std::string record = kKey +
                             "=ConvHipImplicitGemmV4Fwd:0.5,0,miopenConvolutionFwdAlgoImplicitGEMM;"
                             "ConvAsm3x3U:2,0,miopenConvolutionFwdAlgoDirect\n";

  EXPECT_THAT(PlacesOf(CheckNames(record, {}).of_find_db), ElementsAre("1 no_kernel"));
}

TEST(ConsistencyTest, AKernelWhoseSolverNoRecordNamesIsAFindingOfTheKernelDb) {
  const CheckedKernels checked = CheckNames(kRecord, {"conv3x3.s.o", "conv1x1u.s.o"});

  EXPECT_THAT(PlacesOf(checked.of_kernels), ElementsAre("2 orphaned_kernel"));
  EXPECT_EQ(checked.of_kernels.kept()[0].reason, "'conv1x1u.s.o' is of ConvAsm1x1U.");
}

TEST(ConsistencyTest, KernelsOfWhomIsNotCertainAreNobodysFinding) {
  const CheckedKernels checked = CheckNames(
      kRecord, {"conv3x3.s.o", "Conv_Winograd_v21_1_3.s.o", "conv1x1u_bias_activ.s.o", ".o", ""});

  EXPECT_THAT(PlacesOf(checked.of_kernels), IsEmpty());
}

TEST(KernelSourceTest, EverySolverIsOneOfMiopensAndHasASourceOfItsOwn) {
  std::set<std::string_view> files;
  for (const KernelSource& known : KnownKernelSources()) {
    const SolverFacts* const solver = FindSolver(known.solver);
    ASSERT_NE(solver, nullptr) << known.solver;
    EXPECT_FALSE(solver->is_removed) << known.solver;
    EXPECT_TRUE(files.insert(known.file).second) << known.file;
    EXPECT_EQ(KernelSourceOf(known.solver), known.file);
  }
  EXPECT_EQ(KernelSourceOf("ConvBinWinogradRxSf2x3"), "");
}

}  // namespace
}  // namespace attune::miopen
