#include "attune/miopen/find_db.h"
#include <gtest/gtest.h>
TEST(FindDb, Empty) {
  attune::miopen::Findings f;
  EXPECT_TRUE(attune::miopen::ReadFindDb("", f).records.empty());
}
