#include "extensions/miopen/databases/merge.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/random.h"
#include "attune/ops/gemm/gemm.h"

namespace attune::miopen {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::string kKey = "64-28-28-3x3-64-14-14-2-1x1-2x2-1x1-0-NCHW-FP16-F";
const std::string kOtherKey = "64-28-28-3x3-64-14-14-4-1x1-2x2-1x1-0-NCHW-FP16-F";
const std::string kPerfKey = "2x64x28x28x1x3x3x1x64x2x1x1x0x2x2x0x1x1x0x0x1xNCHWxFP16xF";

FindDb FindDbOf(const std::string& content) {
  Findings findings;
  return ReadFindDb(content, findings);
}

PerfDb PerfDbOf(const std::string& content) {
  Findings findings;
  return ReadPerfDb(content, findings);
}

std::string Gemm(const std::string& time) {
  return "GemmFwdRest:" + time + ",0,miopenConvolutionFwdAlgoGEMM";
}

std::string Direct(const std::string& time) {
  return "ConvAsm3x3U:" + time + ",8,miopenConvolutionFwdAlgoDirect";
}

MergedFindDb Merged(const std::vector<std::string>& contents,
                    Generation generation = Generation::kSolvers) {
  std::vector<FindDb> databases;
  for (const std::string& content : contents) databases.push_back(FindDbOf(content));
  std::vector<const FindDb*> pointers;
  for (const FindDb& database : databases) pointers.push_back(&database);
  return Merge(pointers, generation);
}

TEST(FindDbMergeTest, TheFastestOfEachSolverWinsWhateverTheOrder) {
  const std::string first = kKey + "=" + Gemm("1") + ";" + Direct("4") + "\n";
  const std::string second =
      kKey + "=" + Gemm("2") + ";" + Direct("3") + "\n" + kOtherKey + "=" + Gemm("5") + "\n";
  const std::string fastest = kKey + "=" + Gemm("1") + ";" + Direct("3") + "\n";

  const MergedFindDb forwards = Merged({first, second});
  const MergedFindDb backwards = Merged({second, first});

  EXPECT_EQ(Text(forwards.db), fastest + kOtherKey + "=" + Gemm("5") + "\n");
  EXPECT_EQ(Text(backwards.db), Text(forwards.db));
  EXPECT_THAT(forwards.sources, ElementsAre(ElementsAre(0u, 1u), ElementsAre(1u)));
  EXPECT_THAT(backwards.sources, ElementsAre(ElementsAre(1u, 0u), ElementsAre(0u)));
}

TEST(FindDbMergeTest, OfEqualTimesTheFirstIsTaken) {
  const MergedFindDb merged =
      Merged({kKey + "=" + Gemm("1") + "\n", kKey + "=" + Gemm("1.0") + "\n"});

  EXPECT_EQ(Text(merged.db), kKey + "=" + Gemm("1") + "\n");
  EXPECT_THAT(merged.sources, ElementsAre(ElementsAre(0u)));
}

TEST(FindDbMergeTest, GenerationsMayMixAndSourcesAreThoseOfTheItemsLeft) {
  const std::string old =
      kKey +
      "=miopenConvolutionFwdAlgoGEMM:GemmFwdRest,3,0,miopenConvolutionFwdAlgoGEMM,x;"
      "miopenConvolutionFwdAlgoDirect:ConvAsm3x3U,1,0,miopenConvolutionFwdAlgoDirect,x\n";
  const std::string recent =
      kKey + "=" + Gemm("2") + ";GemmFwd1x1_0_1:2.5,0,miopenConvolutionFwdAlgoGEMM\n";

  const MergedFindDb solvers = Merged({old, recent}, Generation::kSolvers);
  const MergedFindDb algorithms = Merged({old, recent}, Generation::kAlgorithms);

  ASSERT_EQ(solvers.db.records.at(0).items.size(), 3u);
  EXPECT_THAT(solvers.sources, ElementsAre(ElementsAre(0u, 1u, 1u)));
  ASSERT_EQ(algorithms.db.records.at(0).items.size(), 2u);
  EXPECT_EQ(algorithms.db.records.at(0).items[1].time, "2");
  EXPECT_EQ(algorithms.db.records.at(0).items[1].cache_key, "<unused>");
  EXPECT_THAT(algorithms.sources, ElementsAre(ElementsAre(0u, 1u)));
}

TEST(FindDbMergeTest, AnItemUnderTheHistoricNameHasItsSourceToo) {
  const std::string key = "64-14-14-1x1-64-14-14-2-0x0-1x1-1x1-0-NCHW-FP32-B";
  const MergedFindDb merged = Merged(
      {key + "=ConvOclDirectFwd1x1:1,0,miopenConvolutionBwdDataAlgoDirect\n",
       key + "=miopenTransposeBwdDataAlgoGEMM:GemmBwdRest,3,7,miopenTransposeBwdDataAlgoGEMM,x\n"});

  EXPECT_THAT(merged.sources, ElementsAre(ElementsAre(0u, 1u)));
}

TEST(FindDbMergeTest, OfAnyDatabasesTheFastestIsTakenAndSaidWhoseItIs) {
  Random random(23);
  for (int round = 0; round < 200; ++round) {
    std::vector<FindDb> databases(3);
    for (FindDb& database : databases) {
      for (int batch = 1; batch <= 3; ++batch) {
        std::string line;
        for (const char* solver : {"GemmFwdRest", "ConvAsm3x3U", "ConvOclDirectFwd"}) {
          if (random.Below(3) == 0) continue;
          line += fmt::format("{}{}:{},{},miopenConvolutionFwdAlgo{}", line.empty() ? "" : ";",
                              solver, 1 + random.Below(5), random.Below(3),
                              solver[0] == 'G' ? "GEMM" : "Direct");
        }
        if (line.empty()) continue;
        const auto more = FindDbOf(
            fmt::format("64-28-28-3x3-64-14-14-{}-1x1-2x2-1x1-0-NCHW-FP16-F={}\n", batch, line));
        database.records.push_back(more.records.at(0));
      }
    }
    const std::vector<const FindDb*> pointers = {&databases[0], &databases[1], &databases[2]};

    const MergedFindDb merged = Merge(pointers, Generation::kSolvers);

    ASSERT_EQ(merged.sources.size(), merged.db.records.size());
    size_t items = 0;
    for (size_t i = 0; i < merged.db.records.size(); ++i) {
      const FindRecord& record = merged.db.records[i];
      ASSERT_EQ(merged.sources[i].size(), record.items.size());
      items += record.items.size();
      for (size_t j = 0; j < record.items.size(); ++j) {
        bool source_has_it = false;
        for (size_t source = 0; source < databases.size(); ++source) {
          for (const FindRecord& each : databases[source].records) {
            if (each.key != record.key) continue;
            for (const FindItem& item : each.items) {
              if (item.solver != record.items[j].solver) continue;
              ASSERT_GE(item.time_ms, record.items[j].time_ms);
              source_has_it |= source == merged.sources[i][j] && item == record.items[j];
            }
          }
        }
        ASSERT_TRUE(source_has_it) << round;
      }
    }
    EXPECT_GT(items, 0u);
  }
}

TEST(PerfDbMergeTest, ParametersOfTheFasterTimeWin) {
  const PerfDb first = PerfDbOf(kPerfKey + "=ConvAsm3x3U:1;ConvOclDirectFwd:8\n");
  const PerfDb second = PerfDbOf(kPerfKey + "=ConvAsm3x3U:2;ConvOclDirectFwd:8\n");
  const FindDb slow = FindDbOf(kKey + "=" + Direct("4") + "\n");
  const FindDb fast = FindDbOf(kKey + "=" + Direct("3") + "\n");

  const PerfSource sources[] = {{&first, &slow}, {&second, &fast}};
  const MergedPerfDb merged = Merge(sources);

  EXPECT_EQ(Text(merged.db), kPerfKey + "=ConvAsm3x3U:2;ConvOclDirectFwd:8\n");
  EXPECT_THAT(merged.sources, ElementsAre(ElementsAre(1u, 0u)));
  ASSERT_EQ(merged.conflicts.size(), 1u);
  EXPECT_EQ(merged.conflicts[0].key, kPerfKey);
  EXPECT_EQ(merged.conflicts[0].solver, "ConvAsm3x3U");
  EXPECT_EQ(merged.conflicts[0].taken, 1u);
  EXPECT_EQ(merged.conflicts[0].left, 0u);
  EXPECT_EQ(merged.conflicts[0].reason, PerfReason::kFaster);
}

TEST(PerfDbMergeTest, WithoutTimesTheFirstToNameParametersWins) {
  const PerfDb first = PerfDbOf(kPerfKey + "=ConvAsm3x3U:1\n");
  const PerfDb second = PerfDbOf(kPerfKey + "=ConvAsm3x3U:2;ConvOclDirectFwd:9\n");

  const PerfSource sources[] = {{&first, nullptr}, {&second, nullptr}};
  const MergedPerfDb merged = Merge(sources);

  EXPECT_EQ(Text(merged.db), kPerfKey + "=ConvAsm3x3U:1;ConvOclDirectFwd:9\n");
  EXPECT_THAT(merged.sources, ElementsAre(ElementsAre(0u, 1u)));
  ASSERT_EQ(merged.conflicts.size(), 1u);
  EXPECT_EQ(merged.conflicts[0].taken, 0u);
  EXPECT_EQ(merged.conflicts[0].left, 1u);
  EXPECT_EQ(merged.conflicts[0].reason, PerfReason::kFirst);
}

TEST(PerfDbMergeTest, BatchNormsStayBatchNorms) {
  const std::string key = "2x16x64x7x7x1x1x1x0xNCHWxTrnxFP32x1";
  Findings findings;
  const PerfDb first = ReadBatchNormDb(key + "=BnFwdTrainingSpatial:Variant0-1\n", findings);
  const PerfDb second = ReadBatchNormDb(
      key +
          "=BnCKFwdTraining:DeviceBatchNormFwdImpl<256,M_C1_S1>;BnFwdTrainingSpatial:Variant1-1\n",
      findings);

  const PerfSource sources[] = {{&first, nullptr}, {&second, nullptr}};
  const MergedPerfDb merged = Merge(sources);

  EXPECT_EQ(merged.db.form, PerfKeyForm::kBatchNormKey);
  EXPECT_EQ(Text(merged.db), key +
                                 "=BnFwdTrainingSpatial:Variant0-1;"
                                 "BnCKFwdTraining:DeviceBatchNormFwdImpl<256,M_C1_S1>\n");
  EXPECT_EQ(merged.conflicts.size(), 1u);
}

TEST(PerfDbMergeTest, WhatHasATimeWinsOverWhatHasNoneWhereverItStands) {
  const PerfDb timed = PerfDbOf(kPerfKey + "=ConvAsm3x3U:1\n");
  const PerfDb untimed = PerfDbOf(kPerfKey + "=ConvAsm3x3U:2\n");
  const FindDb times = FindDbOf(kKey + "=" + Direct("3") + "\n");
  const PerfSource orders[][2] = {{{&timed, &times}, {&untimed, nullptr}},
                                  {{&untimed, nullptr}, {&timed, &times}}};
  for (size_t place = 0; place < 2; ++place) {
    const MergedPerfDb merged = Merge(orders[place]);

    EXPECT_EQ(Text(merged.db), kPerfKey + "=ConvAsm3x3U:1\n");
    ASSERT_EQ(merged.conflicts.size(), 1u);
    EXPECT_EQ(merged.conflicts[0].taken, place);
    EXPECT_EQ(merged.conflicts[0].reason, PerfReason::kTimed);
  }
}

TEST(PerfDbMergeTest, AFasterTimeWinsAmongThreeWhateverTheOrder) {
  const std::vector<PerfDb> dbs = {PerfDbOf(kPerfKey + "=ConvAsm3x3U:1\n"),
                                   PerfDbOf(kPerfKey + "=ConvAsm3x3U:2\n"),
                                   PerfDbOf(kPerfKey + "=ConvAsm3x3U:3\n")};
  const std::vector<FindDb> times = {FindDbOf(kKey + "=" + Direct("6") + "\n"),
                                     FindDbOf(kKey + "=" + Direct("4") + "\n"),
                                     FindDbOf(kKey + "=" + Direct("5") + "\n")};
  std::vector<size_t> order = {0, 1, 2};
  do {
    std::vector<PerfSource> sources;
    for (const size_t i : order) sources.push_back({&dbs[i], &times[i]});

    const MergedPerfDb merged = Merge(sources);

    EXPECT_EQ(merged.db.records.at(0).items.at(0).params, "2");
    EXPECT_EQ(order[merged.sources.at(0).at(0)], 1u);
    EXPECT_EQ(merged.conflicts.size(), 2u);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(PerfDbMergeTest, EqualParametersAreNoConflictAndOfTheFirst) {
  const PerfDb db = PerfDbOf(kPerfKey + "=ConvAsm3x3U:1\n");

  const PerfSource sources[] = {{&db, nullptr}, {&db, nullptr}};
  const MergedPerfDb merged = Merge(sources);

  EXPECT_EQ(Text(merged.db), Text(db));
  EXPECT_THAT(merged.conflicts, IsEmpty());
  EXPECT_THAT(merged.sources, ElementsAre(ElementsAre(0u)));
}

TEST(PerfDbMergeTest, ParametersThatSeveralHaveAreOfTheFastestOfThem) {
  // The second has the same parameters as the first, with a lower time than that of the third.
  const PerfDb same = PerfDbOf(kPerfKey + "=ConvAsm3x3U:1\n");
  const PerfDb other = PerfDbOf(kPerfKey + "=ConvAsm3x3U:2\n");
  const FindDb slow = FindDbOf(kKey + "=" + Direct("9") + "\n");
  const FindDb fast = FindDbOf(kKey + "=" + Direct("1") + "\n");
  const FindDb middle = FindDbOf(kKey + "=" + Direct("5") + "\n");

  const PerfSource sources[] = {{&same, &slow}, {&same, &fast}, {&other, &middle}};
  const MergedPerfDb merged = Merge(sources);

  EXPECT_EQ(merged.db.records.at(0).items.at(0).params, "1");
  EXPECT_THAT(merged.sources, ElementsAre(ElementsAre(1u)));
}

}  // namespace
}  // namespace attune::miopen
