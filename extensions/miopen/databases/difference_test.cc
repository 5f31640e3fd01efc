#include "extensions/miopen/databases/difference.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune::miopen {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string Key(int batch) {
  return fmt::format("64-28-28-3x3-64-14-14-{}-1x1-2x2-1x1-0-NCHW-FP16-F", batch);
}

// A record with one solver or several: "GemmFwdRest:1 ConvAsm3x3U:2".
FindRecord Record(int batch, const std::vector<std::pair<std::string, double>>& items) {
  FindRecord record{Key(batch), {}, 0};
  for (const auto& [solver, time_ms] : items) {
    FindItem& item = record.items.emplace_back();
    item.solver = solver;
    item.time_ms = time_ms;
  }
  return record;
}

std::vector<std::string> KeysOf(const std::vector<FindChange>& changes) {
  std::vector<std::string> keys;
  for (const FindChange& change : changes) keys.push_back(change.key);
  return keys;
}

TEST(DifferenceTest, RecordsAreComparedByTheirQuickestSolver) {
  const FindDb before = {{Record(1, {{"a", 4}, {"b", 1}}), Record(2, {{"a", 1}}),
                          Record(3, {{"a", 2}}), Record(4, {{"a", 3}}), Record(5, {{"a", 3}}),
                          Record(6, {{"a", 1}})}};
  const FindDb after = {{Record(1, {{"a", 0.5}, {"b", 1}}), Record(2, {{"a", 2}}),
                         Record(3, {{"b", 2}}), Record(4, {{"a", 3}, {"b", 9}}),
                         Record(7, {{"a", 1}}), Record(5, {{"a", 1}})}};

  const FindDifference difference = Difference(before, after);

  EXPECT_THAT(difference.added, ElementsAre(Key(7)));
  EXPECT_THAT(difference.removed, ElementsAre(Key(6)));
  EXPECT_THAT(KeysOf(difference.faster), ElementsAre(Key(5), Key(1)));  // Three times, then two.
  EXPECT_EQ(difference.faster[1].solver_before, "b");
  EXPECT_EQ(difference.faster[1].solver_after, "a");
  EXPECT_EQ(difference.faster[1].before_ms, 1);
  EXPECT_EQ(difference.faster[1].after_ms, 0.5);
  EXPECT_THAT(KeysOf(difference.slower), ElementsAre(Key(2)));
  EXPECT_THAT(KeysOf(difference.other_solver), ElementsAre(Key(3)));
  EXPECT_EQ(difference.unchanged, 1u);
  EXPECT_NEAR(difference.speedup, std::pow(2 * 0.5 * 1 * 1 * 3, 1 / 5.0), 1e-12);
}

// One item for each named solver, in `ms`, as in MIOpen's databases.
FindRecord Living(int batch, const std::vector<std::pair<std::string, double>>& items) {
  FindRecord record = Record(batch, items);
  for (FindItem& item : record.items) item.algorithm = "miopenConvolutionFwdAlgoGEMM";
  return record;
}

TEST(DifferenceTest, WhatMiopenPassesOverIsNoQuickest) {
  // MIOpen no longer has the first solver.
  const FindDb before = {{Living(1, {{"ConvHipImplicitGemmV4Fwd", 0.1}, {"GemmFwdRest", 1}}),
                          Living(2, {{"ConvHipImplicitGemmV4Fwd", 0.1}}),
                          Living(3, {{"GemmFwdRest", 1}}),
                          Living(4, {{"ConvHipImplicitGemmV4Fwd", 1}})}};
  FindDb after = {{Living(1, {{"GemmFwdRest", 0.5}}), Living(2, {{"GemmFwdRest", 9}}),
                   Living(3, {{"GemmFwdRest", 0.2}}),
                   Living(4, {{"ConvHipImplicitGemmV4Fwd", 2}})}};
  after.records[2].items[0].algorithm = "0,miopenConvolutionFwdAlgoGEMM";

  const FindDifference difference = Difference(before, after);

  EXPECT_THAT(KeysOf(difference.faster), ElementsAre(Key(1)));
  EXPECT_EQ(difference.faster[0].solver_before, "GemmFwdRest");
  EXPECT_THAT(difference.added, ElementsAre(Key(2)));
  EXPECT_THAT(difference.removed, ElementsAre(Key(3)));
  EXPECT_THAT(KeysOf(difference.slower), ElementsAre(Key(4)));
}

TEST(DifferenceTest, TheSameOrNothingInCommonIsNoSpeedup) {
  const FindDb db = {{Record(1, {{"a", 4}})}};

  EXPECT_EQ(Difference(db, db).unchanged, 1u);
  EXPECT_EQ(Difference(db, db).speedup, 1);
  EXPECT_EQ(Difference(db, FindDb()).speedup, 1);
  EXPECT_THAT(Difference(FindDb(), db).added, ElementsAre(Key(1)));
}

TEST(DifferenceTest, ParametersAreComparedSolverForSolver) {
  const PerfDb before = {
      PerfKeyForm::kPerfKey,
      {{"k", {{"a", "1"}, {"b", "2"}, {"c", "3"}}, 0}, {"gone", {{"a", "4"}}, 0}}};
  const PerfDb after = {PerfKeyForm::kPerfKey,
                        {{"new", {{"a", "5"}}, 0}, {"k", {{"d", "7"}, {"b", "2"}, {"a", "6"}}, 0}}};

  const PerfDifference difference = Difference(before, after);

  const auto texts = [](const std::vector<PerfChange>& changes) {
    std::vector<std::string> list;
    for (const PerfChange& change : changes) {
      list.push_back(
          fmt::format("{} {} '{}' '{}'", change.key, change.solver, change.before, change.after));
    }
    return list;
  };
  EXPECT_THAT(texts(difference.added), ElementsAre("new a '' '5'", "k d '' '7'"));
  EXPECT_THAT(texts(difference.removed), ElementsAre("k c '3' ''", "gone a '4' ''"));
  EXPECT_THAT(texts(difference.changed), ElementsAre("k a '1' '6'"));
  EXPECT_EQ(difference.unchanged, 1u);
  EXPECT_THAT(Difference(before, before).changed, IsEmpty());
}

}  // namespace
}  // namespace attune::miopen
