#include "attune/session/withheld_ends.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/ops/gemm/gemm.h"
#include "attune/record/memory_store.h"

namespace attune {
namespace {

using ::testing::ElementsAre;

TEST(WithheldEndsTest, EverythingIsKeptButTheEndOfASet) {
  MemoryStore store;
  std::set<std::string> ends;
  const auto withheld = WithholdEnds(store, ends);
  MeasurementSet set;
  set.id = "0123456789abcdef0123456789abcdef";
  set.problem = Normalized(PackedGemm(8, 8, 8));
  set.started_unix_ns = 1;
  ASSERT_EQ(withheld->BeginSet(set), Status::Ok());

  EXPECT_EQ(withheld->FinishSet(set.id), Status::Ok());

  EXPECT_THAT(ends, ElementsAre(set.id));
  int seen = 0;
  EXPECT_EQ(store.Visit({},
                        [&](const RecordedSet& recorded) {
                          EXPECT_FALSE(recorded.finished);
                          ++seen;
                          return Status::Ok();
                        }),
            Status::Ok());
  EXPECT_EQ(seen, 1);
}

}  // namespace
}  // namespace attune
