#include "attune/miopen/consistency.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/miopen/test_findings.h"

namespace attune::miopen {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kKey = "64-28-28-3x3-64-14-14-2-1x1-2x2-1x1-0-NCHW-FP16-F";
const std::string kPerfKey = "2x64x28x28x1x3x3x1x64x2x1x1x0x2x2x0x1x1x0x0x1xNCHWxFP16xF";
// A tunable solver and one that is not.
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
  CheckParameters(ReadFindDb(find_db, ignored), ReadPerfDb(perf_db, ignored),
                  {checked.of_find_db, checked.of_perf_db});
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
  // A problem of the same parameters but for its output.
  const std::string other = "64-28-28-3x3-64-15-14-2-1x1-2x2-1x1-0-NCHW-FP16-F";
  const Checked checked = Check(kRecord, other + "=ConvAsm3x3U:1\n");

  EXPECT_THAT(PlacesOf(checked.of_find_db), ElementsAre("1 no_perf_row"));
  EXPECT_THAT(PlacesOf(checked.of_perf_db), ElementsAre("1 no_find_record"));
}

}  // namespace
}  // namespace attune::miopen
