#include "extensions/models/seer/training_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/model/seer_variant.h"
#include "extensions/models/seer/synthetic.h"

namespace attune::seer {
namespace {

TEST(SplitByVariant, TiesAreDecidedByResidencyOrLeftOut) {
  const Layer tie = {1, 3, 10, 3, 8, 3, 1, 0};     // 64 positions: a block of either tile.
  const Layer clear = {1, 3, 66, 3, 64, 3, 1, 0};  // 4096 positions.
  std::vector<KernelRecord> records;
  for (const std::string_view name : {"algo0_32x32", "algo0_64x128", "algo0_128x128"}) {
    for (const KernelRecord& x : MakeRecords(*FindVariant(name), {}, {tie, clear}, 0, 1)) {
      records.push_back(x);
    }
  }

  const VariantRecords fixed = SplitByVariant(records, 0, kTitanXpProcessors, Rules::kFixed);
  const VariantRecords published =
      SplitByVariant(records, 0, kTitanXpProcessors, Rules::kAsPublished);

  EXPECT_EQ(fixed.by_variant[0].size(), 2u);
  EXPECT_EQ(fixed.by_variant[1].size(), 1u);  // The tie has the same residency in both.
  EXPECT_EQ(fixed.by_variant[2].size(), 1u);
  EXPECT_EQ(fixed.ambiguous, 2u);
  EXPECT_EQ(published.ambiguous, 1u);
  EXPECT_EQ(published.by_variant[1].size() + published.by_variant[2].size(), 0u);
}

TEST(SplitByTime, SevenOfTenAreLearntAndOnlyThePublishedOneLosesTheQuickest) {
  std::vector<KernelRecord> records(20);
  for (size_t i = 0; i < records.size(); ++i) records[i].time_ms = 20.0 - static_cast<double>(i);

  const RecordSplit fixed = SplitByTime(records, Rules::kFixed);
  const RecordSplit published = SplitByTime(records, Rules::kAsPublished);

  EXPECT_EQ(fixed.learnt.size(), 14u);
  EXPECT_EQ(fixed.held_out.size(), 6u);
  EXPECT_EQ(fixed.learnt[0].time_ms, 1);
  EXPECT_EQ(published.learnt.size() + published.held_out.size(), 19u);
  EXPECT_EQ(published.learnt[0].time_ms, 2);
}

}  // namespace
}  // namespace attune::seer
