// The checksum of rows.
#include "storage/sql/table.h"

#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/sql/statement.h"

namespace attune::sql {
namespace {

using ::testing::HasSubstr;

Row SampleRow() {
  return RowWriter(MeasurementSetTable())
      .Integer(7)
      .Text("0123")
      .Integer(1)
      .Integer(2)
      .Integer(3)
      .Real(1e9)
      .Real(0)
      .Real(2.5)
      .Text("warm")
      .Text("42")
      .Text("")
      .Text("me@here")
      .Text("0.1")
      .Integer(-5)
      .Checksum()
      .Take();
}

void Change(Cell& cell) {
  switch (cell.type) {
    case CellType::kInteger:
      cell.integer ^= 1;
      return;
    case CellType::kReal:
      cell.real += 1e-6;
      return;
    case CellType::kText:
      cell.text += 'x';
      return;
  }
}

TEST(RowChecksum, IsTheDocumentedOne) {
  const Row row = RowWriter(CounterTable()).Integer(1).Integer(2).Checksum().Take();

  EXPECT_EQ(row.back().text, "a4e4f1a234f138176a646ad9944e2885");
}

TEST(RowChecksum, AcceptsWhatWasWritten) {
  EXPECT_EQ(CheckRow(MeasurementSetTable(), SampleRow()), Status::Ok());
}

TEST(RowChecksum, NamesTheChangedColumn) {
  const Table& table = MeasurementSetTable();
  for (size_t column = 0; column < table.checksum_column; ++column) {
    Row row = SampleRow();
    Change(row[column]);

    const Status status = CheckRow(table, row);

    EXPECT_EQ(status.code(), StatusCode::kDataLoss);
    EXPECT_THAT(status.message(), HasSubstr(std::string(table.columns[column].name) + " holds"));
  }
}

TEST(RowChecksum, NamesItselfWhenItWasChanged) {
  for (size_t digit = 0; digit < 32; ++digit) {
    Row row = SampleRow();
    char& c = row.back().text[digit];
    c = c == '0' ? '1' : '0';
    EXPECT_THAT(CheckRow(MeasurementSetTable(), row).message(), HasSubstr("checksum holds"));
  }
  Row row = SampleRow();
  row.back().text = "no hex";
  EXPECT_THAT(CheckRow(MeasurementSetTable(), row).message(),
              HasSubstr("not 32 hexadecimal digits"));
}

TEST(RowChecksum, FindsSeveralChanges) {
  Row row = SampleRow();
  std::swap(row[2].integer, row[3].integer);

  EXPECT_THAT(CheckRow(MeasurementSetTable(), row).message(), HasSubstr("several columns"));
}

TEST(RowChecksum, ANullWhereAValueMustStandIsNamed) {
  Row row = SampleRow();
  row[4].is_null = true;

  EXPECT_THAT(CheckRow(MeasurementSetTable(), row).message(),
              HasSubstr("environment_id holds NULL"));
}

TEST(RowChecksum, DiffersBetweenTablesOfTheSameShape) {
  const auto checksum = [](const Table& table) {
    return RowWriter(table).Integer(1).Text("k").Text("c").Checksum().Take().back().text;
  };

  const std::set<std::string> checksums = {checksum(TargetTable()), checksum(EnvironmentTable()),
                                           checksum(CandidateTable())};

  EXPECT_EQ(checksums.size(), 3u);
}

TEST(RowChecksum, ASignOfZeroDoesNotMatterBecauseSqliteDropsIt) {
  Row row = SampleRow();
  row[6].real = -0.0;

  EXPECT_EQ(CheckRow(MeasurementSetTable(), row), Status::Ok());
}

}  // namespace
}  // namespace attune::sql
