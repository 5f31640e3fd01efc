#include "attune/formats/miopen/perf_db.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/file.h"
#include "attune/formats/miopen/test_findings.h"

namespace attune::miopen {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// As MIOpen's files have them.
const std::string kKey = "2x32x7x7x1x5x5x1x128x128x2x2x0x1x1x0x1x1x0x0x1xNCHWxFP32xF";
const std::string kOldestKey = "16-55-55-3x3-64-55-55-2-1x1-1x1-1x1-0-NCHW-FP16-B";
const std::string kOtherOldestKey = "384-8-8-3x1-384-8-8-256-1x0-1x1-1x1-0-NCHW-FP16-W";

struct Reading {
  PerfDb db;
  Findings findings;
};

Reading Read(const std::string& content) {
  Reading reading;
  reading.db = ReadPerfDb(content, reading.findings);
  return reading;
}

TEST(PerfDbTest, ARecordHasTheParametersOfEachSolver) {
  const Reading reading =
      Read(kKey +
           "=ConvOclDirectFwd:8,8,8,8,1,1,2,1,2;ConvBinWinogradRxSf3x2:72;"
           "ConvHipImplicitGemmGroupFwdXdlops:DeviceGroupedConv<64, 4, Default>+128\n");

  EXPECT_THAT(PlacesOf(reading.findings), IsEmpty());
  EXPECT_EQ(reading.db.form, PerfKeyForm::kPerfKey);
  ASSERT_EQ(reading.db.records.size(), 1u);
  EXPECT_EQ(reading.db.records[0].key, kKey);
  EXPECT_EQ(reading.db.records[0].line, 1u);
  EXPECT_THAT(reading.db.records[0].items,
              ElementsAre(PerfItem{"ConvOclDirectFwd", "8,8,8,8,1,1,2,1,2"},
                          PerfItem{"ConvBinWinogradRxSf3x2", "72"},
                          PerfItem{"ConvHipImplicitGemmGroupFwdXdlops",
                                   "DeviceGroupedConv<64, 4, Default>+128"}));
}

TEST(PerfDbTest, TheOldestTextHasTheKeysOfAFindDb) {
  const std::string content = kOldestKey + "=ConvOclDirectFwd:16,16,16,16,1,1,2,4,2\n" +
                              kOtherOldestKey +
                              "=ConvOclBwdWrW2<4>:1,6,3,8,3;ConvOclBwdWrW2<8>:1,8,1,8,9\n";

  const Reading reading = Read(content);

  EXPECT_THAT(PlacesOf(reading.findings), IsEmpty());
  EXPECT_EQ(reading.db.form, PerfKeyForm::kFindKey);
  EXPECT_EQ(Text(reading.db), content);
}

TEST(PerfDbTest, KeysThatNoConvolutionHasAreFoundAndKept) {
  for (const char* key : {"2x32x7x7x9x5x5x1x128x128x2x2x0x1x1x0x1x1x0x0x1xNCHWxFP32xF",
                          "2x32x7x7x1x5x5x1x128x128x2x2x3x1x1x0x1x1x0x0x1xNCHWxFP32xF",
                          "2x32x7x7x1x5x5x1x128x128x2x2x0x0x1x0x1x1x0x0x1xNCHWxFP32xF",
                          "2x32x7x7x1x5x5x1x128x0x2x2x0x1x1x0x1x1x0x0x1xNCHWxFP32xF",
                          "2x32x7x7x1x5x5x1x128x128x2x2x0x1x1x0x1x1x0x0x5xNCHWxFP32xF",
                          "2x32x7x7x1x5x5x1x128x128x2x2x0x1x1x0x1x1x0x0x1xNCDHWxFP32xF",
                          "2x32x7x0x1x5x5x1x128x128x2x2x0x1x1x0x1x1x0x0x1xNCHWxFP32xF"}) {
    const Reading reading = Read(std::string(key) + "=ConvOclDirectFwd:1\n");

    EXPECT_EQ(reading.findings.count(FindingKind::kImpossibleProblem), 1u) << key;
    EXPECT_EQ(reading.db.records.size(), 1u) << key;
  }
}

TEST(PerfDbTest, TheFirstKeyThatIsOneTellsTheForm) {
  const Reading reading = Read("a-b=ConvAsm1x1U:1\n" + kKey + "=ConvBinWinogradRxSf3x2:72\n" +
                               kOldestKey + "=ConvOclDirectFwd:1\n");

  EXPECT_EQ(reading.db.form, PerfKeyForm::kPerfKey);
  EXPECT_THAT(PlacesOf(reading.findings),
              ElementsAre("1 bad_key", "2 unsorted_keys", "3 unsorted_keys", "3 bad_key"));
  EXPECT_EQ(reading.db.records.size(), 1u);
}

TEST(PerfDbTest, ParametersThatAreNoneAreLeftOut) {
  const Reading reading =
      Read(kKey + "=ConvAsm1x1U:;ConvOclDirectFwd:a=1;ConvBinWinogradRxSf3x2:72\n");

  // MIOpen ignores them, and its tables do not hold them.
  EXPECT_THAT(PlacesOf(reading.findings), ElementsAre("1 bad_item", "1 bad_item"));
  EXPECT_THAT(reading.db.records.at(0).items,
              ElementsAre(PerfItem{"ConvBinWinogradRxSf3x2", "72"}));
}

TEST(PerfDbTest, ARecordOfWhichNothingIsLeftIsNone) {
  const Reading reading = Read(kKey + "=ConvAsm1x1U:\n");

  EXPECT_THAT(PlacesOf(reading.findings), ElementsAre("1 bad_item"));
  EXPECT_THAT(reading.db.records, IsEmpty());
}

TEST(PerfDbTest, OfAKeyAndOfASolverTheFirstCountsAsInMIOpen) {
  const Reading reading = Read(kKey + "=ConvAsm1x1U:1;ConvAsm1x1U:2\n" + kKey + "=ConvAsm1x1U:3\n");

  EXPECT_THAT(PlacesOf(reading.findings), ElementsAre("1 duplicate_solver", "2 duplicate_key"));
  EXPECT_THAT(reading.db.records.at(0).items, ElementsAre(PerfItem{"ConvAsm1x1U", "1"}));
}

TEST(PerfDbTest, SolversThatMIOpenDoesNotHaveAreReportedAndKept) {
  const Reading reading = Read(kKey + "=NoSuchSolver:1;ConvHipImplicitGemmV4Fwd:2\n");

  EXPECT_THAT(PlacesOf(reading.findings), ElementsAre("1 unknown_solver", "1 removed_solver"));
  EXPECT_EQ(reading.db.records.at(0).items.size(), 2u);
}

TEST(PerfDbTest, KeysThatAreNoneHaveTheirPlaceAndReason) {
  const Reading reading = Read("2x32=ConvAsm1x1U:1\n0" + kKey + "=ConvAsm1x1U:1\n");

  EXPECT_THAT(PlacesOf(reading.findings), ElementsAre("1 bad_key", "2 unsorted_keys", "2 bad_key"));
  EXPECT_THAT(reading.findings.kept()[0].reason,
              HasSubstr("Column 5: Field 'in height' is missing"));
  EXPECT_THAT(reading.findings.kept()[2].reason, HasSubstr("MIOpen spells it '" + kKey));
}

TEST(PerfDbTest, KeysOfAFindDbBecomeThoseOfTables) {
  // The same except for the extents of the output, which the other key lacks.
  const std::string strided = "64-28-28-3x3-64-14-14-2-1x1-2x2-1x1-0-NCHW-FP16-F";
  const std::string other = "64-28-28-3x3-64-15-14-2-1x1-2x2-1x1-0-NCHW-FP16-F";
  const Reading reading = Read(strided + "=ConvAsm3x3U:1;ConvOclDirectFwd:2\n" + other +
                               "=ConvAsm3x3U:3;ConvBinWinogradRxSf3x2:4\n");

  const ConvertedPerfDb result = Converted(reading.db, PerfKeyForm::kPerfKey).value();

  const PerfDb& converted = result.db;
  EXPECT_EQ(result.other_parameters, 1) << "Those of ConvAsm3x3U for the other problem.";
  EXPECT_EQ(converted.form, PerfKeyForm::kPerfKey);
  ASSERT_EQ(converted.records.size(), 1u);
  EXPECT_EQ(converted.records[0].key, "2x64x28x28x1x3x3x1x64x2x1x1x0x2x2x0x1x1x0x0x1xNCHWxFP16xF");
  EXPECT_THAT(converted.records[0].items,
              ElementsAre(PerfItem{"ConvAsm3x3U", "1"}, PerfItem{"ConvOclDirectFwd", "2"},
                          PerfItem{"ConvBinWinogradRxSf3x2", "4"}));
}

TEST(PerfDbTest, EqualParametersOfProblemsThatShareAKeyAreNoLoss) {
  const Reading reading = Read(
      "64-28-28-3x3-64-14-14-2-1x1-2x2-1x1-0-NCHW-FP16-F=ConvAsm3x3U:1\n"
      "64-28-28-3x3-64-15-14-2-1x1-2x2-1x1-0-NCHW-FP16-F=ConvAsm3x3U:1\n");

  EXPECT_EQ(Converted(reading.db, PerfKeyForm::kPerfKey)->other_parameters, 0);
  EXPECT_EQ(Converted(reading.db, PerfKeyForm::kFindKey)->db.records.size(), 2u);
}

TEST(PerfDbTest, KeysOfTablesCannotBecomeThoseOfAFindDb) {
  const Reading reading = Read(kKey + "=ConvAsm1x1U:1\n");

  EXPECT_EQ(Converted(reading.db, PerfKeyForm::kFindKey).status().code(), StatusCode::kUnsupported);
  EXPECT_EQ(Converted(reading.db, PerfKeyForm::kPerfKey)->db.records[0].key, kKey);
}

TEST(PerfDbTest, TextsInMIOpensOrderAreWrittenByteForByte) {
  for (const std::string name : {"gfx1030_36.db.txt", "gfx906_60.cd.pdb.txt"}) {
    const std::string content = ReadFile(ATTUNE_TEST_DATA_DIR "/miopen/" + name).value();

    const Reading reading = Read(content);

    EXPECT_THAT(PlacesOf(reading.findings), IsEmpty());
    EXPECT_EQ(Text(reading.db), content) << name;
  }
}

TEST(BatchNormDbTest, ATextInMIOpensOrderIsWrittenByteForByte) {
  const std::string content =
      ReadFile(ATTUNE_TEST_DATA_DIR "/miopen/batchnorm_gfx942130.db.txt").value();
  Findings findings;

  const PerfDb db = ReadBatchNormDb(content, findings);

  EXPECT_THAT(PlacesOf(findings), IsEmpty());
  EXPECT_EQ(db.form, PerfKeyForm::kBatchNormKey);
  EXPECT_EQ(db.records.size(), 9u);
  EXPECT_EQ(Text(db), content);
}

TEST(BatchNormDbTest, WhatIsWrongHasItsLineAndReason) {
  Findings findings;

  const PerfDb db = ReadBatchNormDb(
      "2x16x64x112x112x1x1x1x0xNCHWxTrxFP32x1=BnFwdTrainingSpatial:Variant1-4\n" + kKey +
          "=ConvBinWinogradRxSf3x2:72\n" +
          "2x16x64x7x7x1x1x1x0xNCHWxTrnxFP32x1=BnFwdTrainingSpatial:;ConvAsm1x1U:1\n"
          "2x16x64x7x7x1x1x1x0xNCHWxTrnxFP32x1=BnCKFwdTraining:1\n"
          "2x16x64x7x7x2x1x1x0xNCHWxTrnxFP32x1=BnFwdTrainingSpatial:Variant0-1\n"
          "2x16x64x7x07x2x1x1x0xNCHWxTrnxFP32x1=BnFwdTrainingSpatial:Variant0-1\n",
      findings);

  EXPECT_THAT(
      PlacesOf(findings),
      ElementsAre("1 bad_key", "2 bad_key", "3 unsorted_keys", "3 bad_item", "3 unknown_solver",
                  "4 duplicate_key", "5 impossible_problem", "6 unsorted_keys", "6 bad_key"));
  EXPECT_THAT(findings.kept()[0].reason, HasSubstr("Column 30: Field 'direction' is 'Tr'"));
  EXPECT_EQ(db.records.size(), 2u);
}

TEST(BatchNormDbTest, BatchNormsAndConvolutionsHaveNoKeyInCommon) {
  Findings findings;
  const PerfDb norms = ReadBatchNormDb(
      "2x16x64x7x7x1x1x1x0xNCHWxTrnxFP32x1=BnFwdTrainingSpatial:Variant0-1\n", findings);
  const Reading convolutions = Read(kKey + "=ConvBinWinogradRxSf3x2:72\n");

  EXPECT_EQ(Converted(norms, PerfKeyForm::kBatchNormKey)->db.records.size(), 1u);
  for (const PerfKeyForm form : {PerfKeyForm::kPerfKey, PerfKeyForm::kFindKey}) {
    EXPECT_EQ(Converted(norms, form).status().code(), StatusCode::kUnsupported);
  }
  EXPECT_EQ(Converted(convolutions.db, PerfKeyForm::kBatchNormKey).status().code(),
            StatusCode::kUnsupported);
}

TEST(PerfDbTest, ARecordWithoutItemsHasNoLine) {
  EXPECT_EQ(Text(PerfDb{PerfKeyForm::kPerfKey, {{kKey, {}, 1}}}), "");
}

}  // namespace
}  // namespace attune::miopen
