#include "extensions/models/seer/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Csv, QuotedFieldsMayHaveCommasAndQuotes) {
  const auto table = ReadCsv("name,kernels\r\na,\"f<0, float>(\"\"x\"\");g\"\r\n\nb,\n");

  ASSERT_TRUE(table.ok()) << table.status().ToString();
  ASSERT_EQ(table->rows.size(), 2u);
  EXPECT_THAT(table->rows[0].fields, ElementsAre("a", "f<0, float>(\"x\");g"));
  EXPECT_THAT(table->rows[1].fields, ElementsAre("b", ""));
  EXPECT_EQ(table->rows[1].line, 4u);
}

TEST(Csv, ErrorsNameTheLine) {
  EXPECT_THAT(ReadCsv("a,b\n1,2\n1,\"2\n").status().message(), HasSubstr("Line 3"));
  EXPECT_THAT(ReadCsv("a,b\n\"1\"2,3\n").status().message(), HasSubstr("Line 2"));
  EXPECT_THAT(ReadCsv("a,b\n1,2,3\n").status().message(), HasSubstr("Line 2: 3 fields"));
  EXPECT_FALSE(ReadCsv("\n\n").ok());
}

TEST(Csv, ColumnsAreFoundByName) {
  const auto table = ReadCsv("n,c,w\n1,2,3\n");
  ASSERT_TRUE(table.ok());

  const auto columns = ColumnsOf(*table, {"w", "n"});
  ASSERT_TRUE(columns.ok());
  EXPECT_THAT(*columns, ElementsAre(2u, 0u));
  EXPECT_THAT(ColumnsOf(*table, {"k"}).status().message(), HasSubstr("'k'"));
}

TEST(Csv, WhatIsNoFiniteNumberIsRefusedWithItsPlace) {
  const auto rows = ReadCsvRows("1,nan\n2,inf\n3,1e400\n4,5x\n5,-1\n");
  ASSERT_TRUE(rows.ok());

  for (size_t i = 0; i < 4; ++i) {
    EXPECT_THAT(NumberIn((*rows)[i], 1).status().message(), HasSubstr("column 2")) << i;
  }
  EXPECT_THAT(NumberIn((*rows)[4], 1, 0).status().message(), HasSubstr("below 0"));
  EXPECT_EQ(*NumberIn((*rows)[3], 0), 4);
}

TEST(Csv, WhatIsNoWholeNumberInItsBoundsIsRefusedWithItsPlace) {
  const auto rows = ReadCsvRows("7,1e30,0.5,-3\n");
  ASSERT_TRUE(rows.ok());
  const CsvRow& row = rows->front();

  EXPECT_EQ(*WholeIn(row, 0, 0, 7), 7);
  EXPECT_THAT(WholeIn(row, 0, 0, 6).status().message(),
              HasSubstr("Line 1: column 1: 7 is no whole number up to 6."));
  EXPECT_THAT(WholeIn(row, 1, 0, 1e9).status().message(), HasSubstr("column 2: 1e+30"));
  EXPECT_THAT(WholeIn(row, 2, 0, 1e9).status().message(), HasSubstr("column 3: 0.5"));
  EXPECT_THAT(WholeIn(row, 3, 0, 1e9).status().message(), HasSubstr("-3 is below 0"));
}

}  // namespace
}  // namespace attune
