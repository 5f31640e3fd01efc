#include "storage/sql/transaction.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/random.h"
#include "storage/sql/sql_store.h"
#include "storage/sql/table.h"
#include "tests/conformance/store/sample_records.h"
#include "tests/servers/database_test.h"

namespace attune::sql {
namespace {

using ::testing::HasSubstr;

class TransactionTest : public DatabaseTest {
 protected:
  void Begin() override {
    database_ = Open();
    connection_ = Connect();
  }

  std::vector<Row> All(const Table& table) {
    std::vector<Row> rows;
    const Status read = ReadRows(*connection_, {table, "id IS NOT NULL ORDER BY id", {}},
                                 [&](std::span<const Cell> row) {
                                   rows.emplace_back(row.begin(), row.end());
                                   return Status::Ok();
                                 });
    EXPECT_EQ(read, Status::Ok());
    return rows;
  }
  Status Write(const std::function<Status(WriteTransaction&)>& body) {
    ATTUNE_ASSIGN_OR_RETURN(WriteTransaction transaction, WriteTransaction::Begin(*connection_));
    ATTUNE_RETURN_IF_ERROR(body(transaction));
    return transaction.Commit();
  }

  std::shared_ptr<SqlDatabase> database_;
  std::unique_ptr<Connection> connection_;
};

Row CandidateRow(int64_t id, const std::string& content) {
  return RowWriter(CandidateTable())
      .Integer(id)
      .Text(FingerprintOf(content + std::to_string(id)).ToHex())
      .Text(content)
      .Checksum()
      .Take();
}

bool SameText(const std::vector<Row>& rows, const std::vector<Row>& others) {
  if (rows.size() != others.size()) return false;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i][0].integer != others[i][0].integer || rows[i][2].text != others[i][2].text) {
      return false;
    }
  }
  return true;
}

TEST_P(TransactionTest, ManyRowsAreWrittenAtOnceWhateverTheirTextsAre) {
  const std::vector<std::string> texts = {"",         "NULL",   "{}",   "{a,b}",      "\"quoted\"",
                                          "it's",     "\\",     "\\\"", "line\nfeed", " blanks ",
                                          "a,b",      ":p0 $1", "%41",  "\\N",        "'; --",
                                          "\t\x01~#", "?",      "`key`"};
  std::vector<Row> rows;
  for (int64_t id = 1; id <= 5000; ++id) {
    rows.push_back(CandidateRow(id, texts[static_cast<size_t>(id) % texts.size()]));
  }

  ASSERT_EQ(Write([&](WriteTransaction& transaction) {
              return transaction.InsertAll(CandidateTable(), rows);
            }),
            Status::Ok());

  EXPECT_TRUE(SameText(All(CandidateTable()), rows));
}

TEST_P(TransactionTest, RowsThatTogetherExceedAMessageOfAServerAreWrittenInSeveral) {
  std::vector<Row> rows;
  for (int64_t id = 1; id <= 20; ++id) {
    rows.push_back(CandidateRow(id, std::string(size_t{1} << 20, static_cast<char>('a' + id))));
  }

  ASSERT_EQ(Write([&](WriteTransaction& transaction) {
              return transaction.InsertAll(CandidateTable(), rows);
            }),
            Status::Ok());

  EXPECT_TRUE(SameText(All(CandidateTable()), rows));
}

// Conditions of a set that has begun.
Row ConditionsOf(Row row, double power_w) {
  constexpr size_t kPower = 3;
  constexpr size_t kLimit = 4;
  RowWriter writer(SetConditionsTable());
  for (size_t i = 0; i < SetConditionsTable().checksum_column; ++i) {
    if (i == 0) {
      writer.Integer(row[0].integer);
    } else if (i == kPower) {
      writer.Real(power_w);
    } else if (i == kLimit) {
      writer.Real(-power_w);
    } else {
      writer.Null();
    }
  }
  return writer.Checksum().Take();
}

TEST_P(TransactionTest, ManyRowsAreReplacedAtOnceToTheLastBitOfTheirNumbers) {
  const auto records = RecordsIn(database_);
  Random random(5);
  const std::vector<double> numbers = {0.1,     1.0 / 3,          5e-324, 1.7976931348623157e308,
                                       1e-300,  123456789.125,    1e22,   9007199254740993.0,
                                       2.5e-10, 0.30000000000004, 42};
  for (size_t i = 0; i < numbers.size(); ++i) {
    ASSERT_EQ(records->BeginSet(SampleSet(1, static_cast<int64_t>(i) + 1, random)), Status::Ok());
  }
  std::vector<Row> rows = All(SetConditionsTable());
  ASSERT_EQ(rows.size(), numbers.size());
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = ConditionsOf(rows[i], numbers[i]);

  ASSERT_EQ(Write([&](WriteTransaction& transaction) {
              return transaction.UpdateAll(SetConditionsTable(), rows);
            }),
            Status::Ok());

  // Their checksums cover every bit.
  const std::vector<Row> read = All(SetConditionsTable());
  ASSERT_EQ(read.size(), rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(read[i][3].real, numbers[i]);
    EXPECT_TRUE(read[i][1].is_null);
  }
}

TEST_P(TransactionTest, ARowWhoseIdIsThereIsNoNewOneAndNothingOfItsTransactionIsKept) {
  ASSERT_EQ(Write([&](WriteTransaction& transaction) {
              return transaction.Insert(CandidateTable(), CandidateRow(3, "old"));
            }),
            Status::Ok());

  const Status status = Write([&](WriteTransaction& transaction) {
    const std::vector<Row> rows = {CandidateRow(2, "new"), CandidateRow(3, "new")};
    return transaction.InsertAll(CandidateTable(), rows);
  });

  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("candidate"));
  connection_ = Connect();
  EXPECT_EQ(All(CandidateTable()).size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Over, TransactionTest, ::testing::ValuesIn(DatabaseKinds()), NameOfKind);

}  // namespace
}  // namespace attune::sql
