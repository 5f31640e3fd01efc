#include "attune/space/tuple_table.h"

#include <map>

#include <gtest/gtest.h>

#include "attune/base/random.h"
#include "attune/space/mask_pool.h"

namespace attune {
namespace {

TEST(TupleTableTest, EqualTuplesHaveOneNumber) {
  TupleTable table(2);
  std::map<std::pair<uint64_t, uint64_t>, uint32_t> expected;
  Random random(3);
  for (int i = 0; i < 5000; ++i) {
    const uint64_t tuple[] = {random.Below(40), random.Below(40) << 60};
    const auto number = static_cast<uint32_t>(expected.size());
    const auto known = expected.emplace(std::pair(tuple[0], tuple[1]), number).first;

    const uint32_t id = table.Intern(tuple);

    ASSERT_EQ(id, known->second);
    EXPECT_EQ(table.At(id)[0], tuple[0]);
    EXPECT_EQ(table.At(id)[1], tuple[1]);
  }
  EXPECT_EQ(table.size(), expected.size());
}

TEST(TupleTableTest, TheEmptyTupleIsOne) {
  TupleTable table;

  EXPECT_EQ(table.Intern(nullptr), 0u);
  EXPECT_EQ(table.Intern(nullptr), 0u);
  EXPECT_EQ(table.size(), 1u);
}

TEST(MaskPoolTest, MasksAreIntersectedAndListed) {
  MaskPool pool(70);
  std::vector<uint64_t> low = pool.Blank();
  std::vector<uint64_t> odd = pool.Blank();
  for (size_t i = 0; i < 70; ++i) {
    if (i < 66) MaskPool::Set(low, i);
    if (i % 2 == 1) MaskPool::Set(odd, i);
  }
  const MaskId both = pool.And(pool.Intern(low), pool.Intern(odd));

  std::vector<uint32_t> values;
  pool.ForEach(both, [&values](uint32_t value) { values.push_back(value); });

  ASSERT_EQ(values.size(), 33u);
  EXPECT_EQ(values.front(), 1u);
  EXPECT_EQ(values.back(), 65u);
  EXPECT_EQ(pool.And(both, MaskPool::kFull), both);
  EXPECT_EQ(pool.And(both, MaskPool::kEmpty), MaskPool::kEmpty);
}

}  // namespace
}  // namespace attune
