#include "attune/formats/miopen/find_db.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/file.h"
#include "attune/formats/miopen/test_findings.h"

namespace attune::miopen {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kKey = "192-14-14-1x1-576-14-14-256-0x0-1x1-1x1-0-NCHW-FP16-B";
const std::string kForwardKey = "576-14-14-1x1-192-14-14-256-0x0-1x1-1x1-0-NCHW-FP16-F";

struct Reading {
  FindDb db;
  Findings findings;
};

Reading Read(const std::string& content) {
  Reading reading;
  reading.db = ReadFindDb(content, reading.findings);
  return reading;
}

// Reads one record with these items.
Reading ReadItems(const std::string& items) { return Read(kKey + "=" + items + "\n"); }

std::vector<std::string> SolversOf(const FindDb& db) {
  std::vector<std::string> solvers;
  for (const FindRecord& record : db.records) {
    for (const FindItem& item : record.items) solvers.push_back(item.solver);
  }
  return solvers;
}

// An item of the form of today.
std::string Item(const std::string& solver, const std::string& time,
                 const std::string& workspace = "0") {
  return fmt::format("{}:{},{},miopenConvolutionBwdDataAlgoGEMM", solver, time, workspace);
}

TEST(FindDbTest, AnItemOfTodayHasASolverItsTimeWorkspaceAndAlgorithm) {
  const Reading reading = ReadItems(
      "GemmBwd1x1_stride1:0.224481,192675840,miopenConvolutionBwdDataAlgoGEMM;"
      "ConvMlirIgemmBwdXdlops:2.5e+03,0,miopenConvolutionBwdDataAlgoImplicitGEMM");

  EXPECT_THAT(PlacesOf(reading.findings), IsEmpty());
  ASSERT_EQ(reading.db.records.size(), 1u);
  EXPECT_EQ(reading.db.records[0].key, kKey);
  EXPECT_EQ(reading.db.records[0].line, 1u);
  EXPECT_THAT(reading.db.records[0].items,
              ElementsAre(FindItem{Generation::kSolvers, "GemmBwd1x1_stride1", "0.224481", 0.224481,
                                   192675840, "miopenConvolutionBwdDataAlgoGEMM", "", ""},
                          FindItem{Generation::kSolvers, "ConvMlirIgemmBwdXdlops", "2.5e+03", 2500,
                                   0, "miopenConvolutionBwdDataAlgoImplicitGEMM", "", ""}));
}

TEST(FindDbTest, AnItemUntil2023HasAnAlgorithmAndItsBestSolver) {
  const Reading reading = ReadItems(
      "miopenConvolutionBwdDataAlgoDirect:ConvOclDirectFwd,97.5263,8,miopenConvolutionBwdDataAlgo"
      "Direct,384x13x13x3x3x192x13x13x1024xNCHWxFP32x1x1x1x1x1x1x1x0;"
      "miopenTransposeBwdDataAlgoGEMM:GemmBwdRest,98,0,miopenTransposeBwdDataAlgoGEMM,not used");

  EXPECT_THAT(PlacesOf(reading.findings), IsEmpty());
  ASSERT_EQ(reading.db.records.size(), 1u);
  EXPECT_THAT(reading.db.records[0].items,
              ElementsAre(FindItem{Generation::kAlgorithms, "ConvOclDirectFwd", "97.5263", 97.5263,
                                   8, "miopenConvolutionBwdDataAlgoDirect",
                                   "miopenConvolutionBwdDataAlgoDirect",
                                   "384x13x13x3x3x192x13x13x1024xNCHWxFP32x1x1x1x1x1x1x1x0"},
                          FindItem{Generation::kAlgorithms, "GemmBwdRest", "98", 98, 0,
                                   "miopenTransposeBwdDataAlgoGEMM",
                                   "miopenTransposeBwdDataAlgoGEMM", "not used"}));
}

TEST(FindDbTest, BothFormsMayStandInOneRecord) {
  const Reading reading = ReadItems(
      "miopenConvolutionBwdDataAlgoGEMM:GemmBwdRest,1.5,0,miopenConvolutionBwdDataAlgo"
      "GEMM,<unused>;" +
      Item("GemmBwd1x1_stride1", "2"));

  EXPECT_THAT(PlacesOf(reading.findings), IsEmpty());
  EXPECT_THAT(SolversOf(reading.db), ElementsAre("GemmBwdRest", "GemmBwd1x1_stride1"));
}

TEST(FindDbTest, ATimeThatNothingCanTakeIsNeverTheFastest) {
  for (const std::string time :
       {"0",     "0.0",    "-0.4",  "-0",     "inf",   "-inf",   "nan",      "NAN",
        "1e999", "1e-999", "1e300", "1e-320", "9e-7",  "1.1e-6", "0.000099", "",
        "abc",   "0.5ms",  " 0.5",  "0x1p3",  "1.2.3", "+1",     "--1"}) {
    const Reading reading =
        ReadItems(Item("GemmBwdRest", time) + ";" + Item("GemmBwd1x1_stride1", "0.224481"));
    EXPECT_THAT(PlacesOf(reading.findings), ElementsAre("1 impossible_time")) << time;
    EXPECT_THAT(SolversOf(reading.db), ElementsAre("GemmBwd1x1_stride1")) << time;
    EXPECT_THAT(reading.findings.kept()[0].reason, HasSubstr("'GemmBwdRest' of '" + kKey));
  }
}

TEST(FindDbTest, WhatIsWrongWithATimeIsSaid) {
  const auto reason = [](const std::string& time) {
    return ReadItems(Item("GemmBwdRest", time)).findings.kept()[0].reason;
  };
  EXPECT_THAT(reason("0.0"), HasSubstr("0.0 ms is zero"));
  EXPECT_THAT(reason("-0.4"), HasSubstr("-0.4 ms is negative"));
  EXPECT_THAT(reason("-inf"), HasSubstr("-inf ms is negative"));
  EXPECT_THAT(reason("nan"), HasSubstr("nan ms is not finite"));
  EXPECT_THAT(reason("1e300"), HasSubstr("1e300 ms is not finite"));
  EXPECT_THAT(reason("1e-320"), HasSubstr("1e-320 ms is less than the 0.0001 ms that no"));
  EXPECT_THAT(reason("x"), HasSubstr("'x' is no number"));
}

TEST(FindDbTest, ATimeInWhichNoDeviceComputesThatMuchIsNone) {
  // 947 GFLOP.
  const std::string key = "512-14-14-3x3-512-14-14-1024-1x1-1x1-1x1-0-NCHW-FP16-F";
  const auto read = [&](const std::string& time) {
    return Read(key + "=ConvBinWinogradRxSf2x3g1:" + time +
                ",0,miopenConvolutionFwdAlgoWinograd\n");
  };

  const Reading too_quick = read("0.0094");

  EXPECT_THAT(PlacesOf(too_quick.findings), ElementsAre("1 impossible_time"));
  EXPECT_THAT(too_quick.findings.kept()[0].reason,
              HasSubstr("0.0094 ms would be 101 PFLOP/s, and no GPU does more than 100"));
  EXPECT_TRUE(too_quick.db.records.empty());
  EXPECT_EQ(read("0.0096").findings.total(), 0);
  // A key without a problem in attune, here a convolution of 64-bit integers, has no such bound.
  EXPECT_EQ(Read("512-14-14-3x3-512-14-14-1024-1x1-1x1-1x1-0-NCHW-INT64-F="
                 "ConvDirectNaiveConvFwd:0.0094,0,miopenConvolutionFwdAlgoDirect\n")
                .findings.count(FindingKind::kImpossibleTime),
            0);
}

TEST(FindDbTest, TheShortestTimesThatADeviceMayTakeAreKept) {
  // Thirty times quicker than anything that MIOpen ships.
  EXPECT_EQ(Read("1-5-5-3x3-1-7-7-64-0x0-1x1-1x1-0-NCHW-FP32-B="
                 "ConvOclDirectFwd:0.0001,0,miopenConvolutionBwdDataAlgoDirect\n")
                .findings.total(),
            0);
}

TEST(FindDbTest, AWorkspaceIsANumberOfBytes) {
  for (const std::string workspace :
       {"", "-1", "-0", "07", "1.5", "x", "1e3", "99999999999999999999", " 1"}) {
    const Reading reading = ReadItems(Item("GemmBwdRest", "1", workspace));
    EXPECT_THAT(PlacesOf(reading.findings), ElementsAre("1 bad_workspace")) << workspace;
    EXPECT_THAT(reading.db.records, IsEmpty());
  }
  const Reading largest = ReadItems(Item("GemmBwdRest", "1", "9223372036854775807"));
  EXPECT_EQ(largest.db.records.at(0).items.at(0).workspace_bytes, 9223372036854775807);
}

TEST(FindDbTest, AnItemThatLacksFieldsIsLeftOut) {
  for (const std::string item :
       {"GemmBwdRest:", "GemmBwdRest:1", "GemmBwdRest:1,0",
        "miopenConvolutionBwdDataAlgoGEMM:GemmBwdRest,1,0,miopenConvolutionBwdDataAlgoGEMM",
        "miopenConvolutionBwdDataAlgoGEMM:a:b,1,0,miopenConvolutionBwdDataAlgoGEMM,<unused>",
        "miopenConvolutionBwdDataAlgoGEMM:a=b,1,0,miopenConvolutionBwdDataAlgoGEMM,<unused>",
        // A solver without a name: MIOpen would look for one called "".
        "miopenConvolutionBwdDataAlgoGEMM:,1,0,miopenConvolutionBwdDataAlgoGEMM,<unused>"}) {
    const Reading reading = ReadItems(item + ";" + Item("GemmBwd1x1_stride1", "2"));
    EXPECT_THAT(PlacesOf(reading.findings), ElementsAre("1 bad_item")) << item;
    EXPECT_THAT(SolversOf(reading.db), ElementsAre("GemmBwd1x1_stride1")) << item;
  }
}

TEST(FindDbTest, WhatStandsBehindTheAlgorithmIsReportedAndNotLost) {
  const Reading reading = ReadItems(Item("GemmBwdRest", "1") + ",more,fields");

  EXPECT_THAT(PlacesOf(reading.findings), ElementsAre("1 wrong_algorithm"));
  EXPECT_EQ(Text(reading.db), kKey + "=" + Item("GemmBwdRest", "1") + ",more,fields\n");
}

TEST(FindDbTest, OfAKeyTheFirstRecordCountsAsInMIOpen) {
  const Reading reading = Read(kKey + "=" + Item("GemmBwdRest", "2") + "\n" + kKey + "=" +
                               Item("GemmBwd1x1_stride1", "1") + "\n");

  EXPECT_THAT(PlacesOf(reading.findings), ElementsAre("2 duplicate_key"));
  EXPECT_THAT(SolversOf(reading.db), ElementsAre("GemmBwdRest"));
}

TEST(FindDbTest, OfASolverTheFirstItemCountsAsInMIOpen) {
  const Reading reading = ReadItems(Item("GemmBwdRest", "2") + ";" + Item("GemmBwdRest", "1"));

  EXPECT_THAT(PlacesOf(reading.findings), ElementsAre("1 duplicate_solver"));
  EXPECT_EQ(reading.db.records.at(0).items.at(0).time, "2");
}

TEST(FindDbTest, ASolverMayStandUnderOneAlgorithmOnly) {
  // MIOpen makes one item of both, under the name of the solver.
  const Reading reading = ReadItems(
      "miopenConvolutionBwdDataAlgoGEMM:GemmBwdRest,2,0,miopenConvolutionBwdDataAlgoGEMM,x;"
      "miopenConvolutionBwdDataAlgoDirect:GemmBwdRest,3,0,miopenConvolutionBwdDataAlgoDirect,x;" +
      Item("GemmBwdRest", "4"));

  EXPECT_THAT(PlacesOf(reading.findings), ElementsAre("1 duplicate_solver", "1 duplicate_solver"));
  EXPECT_THAT(SolversOf(reading.db), ElementsAre("GemmBwdRest"));
}

TEST(FindDbTest, AKeyThatIsNoneIsReportedWithItsPlace) {
  const Reading reading = Read("64-56=" + Item("GemmBwdRest", "2") + "\n0" + kKey + "=" +
                               Item("GemmBwdRest", "2") + "\n");

  ASSERT_THAT(PlacesOf(reading.findings), ElementsAre("1 bad_key", "2 unsorted_keys", "2 bad_key"));
  EXPECT_THAT(reading.findings.kept()[0].reason,
              HasSubstr("Column 6: Field 'in width' is missing"));
  EXPECT_THAT(reading.findings.kept()[2].reason, HasSubstr("MIOpen spells it '" + kKey + "'"));
  EXPECT_THAT(reading.db.records, IsEmpty());
}

TEST(FindDbTest, AProblemThatCannotBeIsReportedAndKept) {
  const std::string key = "192-15-14-1x1-576-14-14-256-0x0-1x1-1x1-0-NCHW-FP16-B";
  const Reading reading = Read(key + "=" + Item("GemmBwdRest", "2") + "\n");

  EXPECT_THAT(PlacesOf(reading.findings), ElementsAre("1 impossible_problem"));
  EXPECT_EQ(reading.db.records.size(), 1u);
}

TEST(FindDbTest, AProblemThatOnlyMIOpenCanExpressIsNoFinding) {
  const std::string key = "192-14-14-1x1-576-14-14-256-0x0-1x1-1x1-0-NCHW-INT8INT8INT32-F";
  const Reading reading =
      Read(key + "=ConvMlirIgemmFwd:1,0,miopenConvolutionFwdAlgoImplicitGEMM\n");

  EXPECT_THAT(PlacesOf(reading.findings), IsEmpty());
}

TEST(FindDbTest, NamesThatMIOpenDoesNotHaveAreReportedAndKept) {
  const Reading reading = ReadItems(
      "NoSuchSolver:1,0,miopenConvolutionBwdDataAlgoGEMM;"
      "gemm:2,0,miopenConvolutionBwdDataAlgoGEMM;"
      "GemmBwdRest:3,0,miopenConvolutionFwdAlgoGEMM;GemmBwd1x1_stride1:4,0,57802752");

  EXPECT_THAT(PlacesOf(reading.findings), ElementsAre("1 unknown_solver", "1 removed_solver",
                                                      "1 wrong_algorithm", "1 wrong_algorithm"));
  EXPECT_EQ(SolversOf(reading.db).size(), 4u);
}

TEST(FindDbTest, FilesNotInMIOpensOrderAreReportedAndReadAsTheyStand) {
  const Reading reading = Read(kForwardKey +
                               "=GemmFwdRest:2,0,miopenConvolutionFwdAlgoGEMM;"
                               "ConvAsm1x1U:1,0,miopenConvolutionFwdAlgoDirect\n" +
                               kKey + "=" + Item("GemmBwdRest", "2") + "\n");

  EXPECT_THAT(PlacesOf(reading.findings), ElementsAre("1 unsorted_items", "2 unsorted_keys"));
  EXPECT_EQ(reading.db.records.at(0).key, kForwardKey);
  EXPECT_THAT(SolversOf(reading.db), ElementsAre("GemmFwdRest", "ConvAsm1x1U", "GemmBwdRest"));
}

TEST(FindDbTest, LinesOfWindowsAndEmptyOnesAreFine) {
  const Reading reading = Read("\r\n" + kKey + "=" + Item("GemmBwdRest", "2") + "\r\n\n");

  EXPECT_THAT(PlacesOf(reading.findings), IsEmpty());
  EXPECT_EQ(reading.db.records.at(0).items.at(0).algorithm, "miopenConvolutionBwdDataAlgoGEMM");
}

TEST(FindDbTest, ConvertingToAlgorithmsLeavesTheBestOfEach) {
  const Reading reading = ReadItems(
      "GemmBwdRest:3,7,miopenConvolutionBwdDataAlgoGEMM;"
      "GemmBwd1x1_stride1:2,8,miopenConvolutionBwdDataAlgoGEMM;"
      "ConvOclDirectFwd1x1:1,0,miopenConvolutionBwdDataAlgoDirect");
  std::string text;

  AppendText(Converted(reading.db.records.at(0), Generation::kAlgorithms), text);

  EXPECT_EQ(text, kKey +
                      "=miopenConvolutionBwdDataAlgoDirect:ConvOclDirectFwd1x1,1,0,"
                      "miopenConvolutionBwdDataAlgoDirect,<unused>;"
                      "miopenConvolutionBwdDataAlgoGEMM:GemmBwd1x1_stride1,2,8,"
                      "miopenConvolutionBwdDataAlgoGEMM,<unused>\n");
}

TEST(FindDbTest, ConvertingToAlgorithmsKeepsWhatMiopenHas) {
  const Reading reading = ReadItems(
      "ConvHipImplicitGemmV4R1Fwd:3,0,miopenConvolutionBwdDataAlgoDirect;"
      "ConvHipImplicitGemmV4Fwd:1,0,miopenConvolutionBwdDataAlgoDirect;"
      "ConvHipImplicitGemmV4_1x1:2,0,miopenConvolutionBwdDataAlgoGEMM");

  const FindRecord converted = Converted(reading.db.records.at(0), Generation::kAlgorithms);

  // Without any other, passed-over items stay, and the quickest stands first.
  ASSERT_EQ(converted.items.size(), 2);
  EXPECT_EQ(converted.items[0].solver, "ConvHipImplicitGemmV4_1x1");
  EXPECT_EQ(converted.items[1].solver, "ConvHipImplicitGemmV4R1Fwd");
}

TEST(FindDbTest, MiopenPassesOverSolversThatItLacksAndAlgorithmsThatAreNone) {
  const auto why = [](const std::string& solver, const std::string& algorithm) {
    FindItem item;
    item.solver = solver;
    item.algorithm = algorithm;
    return WhyPassedOver(item, Direction::kForward);
  };

  EXPECT_EQ(why("GemmFwdRest", "miopenConvolutionFwdAlgoGEMM"), "");
  EXPECT_EQ(why("ConvHipImplicitGemmV4Fwd", "miopenConvolutionFwdAlgoImplicitGEMM"),
            "MIOpen has it no more");
  EXPECT_EQ(why("Nobody", "miopenConvolutionFwdAlgoGEMM"), "MIOpen never had it for convolutions");
  for (const char* algorithm :
       {"", "bogus", "0,miopenConvolutionFwdAlgoGEMM", "miopenConvolutionBwdDataAlgoGEMM"}) {
    EXPECT_THAT(why("GemmFwdRest", algorithm), HasSubstr("is no algorithm of this direction"));
  }
}

TEST(FindDbTest, ConvertingToSolversForgetsTheKernelCacheAlone) {
  const Reading reading = ReadItems(
      "miopenConvolutionBwdDataAlgoDirect:ConvOclDirectFwd,9,8,miopenConvolutionBwdDataAlgoDirect,"
      "384x13;miopenConvolutionBwdDataAlgoGEMM:GemmBwdRest,3.50,7,MIOpenGEMM,0_1_784");
  std::string text;

  AppendText(Converted(reading.db.records.at(0), Generation::kSolvers), text);

  EXPECT_EQ(text, kKey +
                      "=GemmBwdRest:3.50,7,miopenConvolutionBwdDataAlgoGEMM;"
                      "ConvOclDirectFwd:9,8,miopenConvolutionBwdDataAlgoDirect\n");
}

TEST(FindDbTest, TheHistoricNameOfAnAlgorithmBecomesTheOneOfToday) {
  const Reading reading = ReadItems(
      "miopenTransposeBwdDataAlgoGEMM:GemmBwdRest,3,7,miopenTransposeBwdDataAlgoGEMM,not used");
  std::string text;

  // MIOpen of today knows it as the name of an item only.
  AppendText(Converted(reading.db.records.at(0), Generation::kSolvers), text);

  EXPECT_EQ(text, kKey + "=GemmBwdRest:3,7,miopenConvolutionBwdDataAlgoGEMM\n");
}

TEST(FindDbTest, AnItemWhoseAlgorithmIsNoneStaysWhatItIs) {
  const Reading reading = ReadItems("GemmBwdRest:3,7,57802752");

  const FindRecord converted = Converted(reading.db.records.at(0), Generation::kAlgorithms);

  // "57802752:GemmBwdRest,3,..." would be a solver of that name.
  EXPECT_EQ(converted.items, reading.db.records.at(0).items);
}

TEST(FindDbTest, WhatWasConvertedTwiceHasTheSameBestSolvers) {
  for (const std::string name :
       {"gfx906_60.HIP", "gfx1030_36.HIP", "gfx90878.HIP", "gfx803_36.OpenCL"}) {
    const Reading reading =
        Read(ReadFile(ATTUNE_TEST_DATA_DIR "/miopen/" + name + ".fdb.txt").value());
    ASSERT_GT(reading.db.records.size(), 40u);
    for (const FindRecord& record : reading.db.records) {
      const FindRecord old = Converted(record, Generation::kAlgorithms);
      const FindRecord again =
          Converted(Converted(old, Generation::kSolvers), Generation::kAlgorithms);
      ASSERT_EQ(again.items.size(), old.items.size());
      for (size_t i = 0; i < old.items.size(); ++i) {
        EXPECT_EQ(again.items[i].solver, old.items[i].solver);
        EXPECT_EQ(again.items[i].time, old.items[i].time);
        EXPECT_EQ(again.items[i].workspace_bytes, old.items[i].workspace_bytes);
        EXPECT_EQ(again.items[i].algorithm, old.items[i].algorithm);
      }
    }
  }
}

TEST(FindDbTest, AFileInMIOpensOrderIsWrittenByteForByte) {
  const std::string content =
      ReadFile(ATTUNE_TEST_DATA_DIR "/miopen/gfx906_60.HIP.fdb.txt").value();

  const Reading reading = Read(content);

  EXPECT_EQ(reading.findings.total(), 0u);
  EXPECT_EQ(Text(reading.db), content);
}

TEST(FindDbTest, WhatIsWrittenReadsAsTheSameInMIOpensOrder) {
  for (const std::string name : {"gfx1030_36.HIP", "gfx90878.HIP", "gfx803_36.OpenCL"}) {
    Reading reading = Read(ReadFile(ATTUNE_TEST_DATA_DIR "/miopen/" + name + ".fdb.txt").value());

    Reading again = Read(Text(reading.db));

    EXPECT_EQ(again.findings.count(FindingKind::kUnsortedKeys), 0u);
    EXPECT_EQ(again.findings.count(FindingKind::kUnsortedItems), 0u);
    EXPECT_EQ(again.findings.count(FindingKind::kImpossibleTime), 0u);
    const auto by_key = [](const FindRecord& a, const FindRecord& b) { return a.key < b.key; };
    std::sort(reading.db.records.begin(), reading.db.records.end(), by_key);
    ASSERT_EQ(again.db.records.size(), reading.db.records.size());
    for (size_t i = 0; i < again.db.records.size(); ++i) {
      EXPECT_EQ(again.db.records[i].key, reading.db.records[i].key);
      EXPECT_THAT(again.db.records[i].items,
                  testing::UnorderedElementsAreArray(reading.db.records[i].items));
    }
  }
}

}  // namespace
}  // namespace attune::miopen
