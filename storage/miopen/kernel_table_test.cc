#include "storage/miopen/kernel_table.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "attune/base/file.h"
#include "tests/miopen/sample_databases.h"

namespace attune::miopen {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class KernelTableTest : public DatabaseTest {
 protected:
  static std::vector<KernelRow> Rows(const std::filesystem::path& path, Findings& findings) {
    std::vector<KernelRow> rows;
    const Status status = ReadKernels(path, findings, [&rows](const KernelRow& row) {
      rows.push_back(row);
      return Status::Ok();
    });
    EXPECT_TRUE(status.ok()) << status.message();
    return rows;
  }

  std::vector<std::string> PlacesAfter(const std::string& sql) const {
    const auto path = CopyOf("gfx906.kdb");
    Run(path, sql);
    Findings findings;
    Rows(path, findings);
    return PlacesOf(findings);
  }
};

TEST_F(KernelTableTest, RowsComeAsTheyAreStored) {
  Findings findings;

  const std::vector<KernelRow> rows = Rows(Sample("gfx906.kdb"), findings);

  EXPECT_THAT(PlacesOf(findings), IsEmpty());
  ASSERT_EQ(rows.size(), 6u);
  EXPECT_EQ(rows[0].id, 1);
  EXPECT_EQ(rows[0].name, "conv1x1u.s.o");
  EXPECT_EQ(rows[0].options, " -Wa,-defsym,stride_h=0 -Wa,-defsym,pad_h=0 -mcpu=gfx906");
  EXPECT_EQ(rows[0].code_bytes, 4096);
  EXPECT_EQ(CodeOf(rows[0]).value(), std::string(4096, '\0'));
  EXPECT_EQ(rows[2].code_bytes, 0);
  EXPECT_EQ(rows[2].blob.size(), 300u);
  EXPECT_TRUE(CodeOf(rows[2]).ok());
  EXPECT_THAT(CodeOf(rows[4]).status().message(), HasSubstr("has MD5"));
  EXPECT_THAT(CodeOf(rows[5]).status().message(), HasSubstr("no bzip2"));
}

TEST_F(KernelTableTest, WhatIsWrittenReadsAsTheSameFromTablesLikeMIOpens) {
  Findings findings;
  const std::vector<KernelRow> rows = Rows(Sample("gfx906.kdb"), findings);
  const auto path = folder_ / "gfx906.kdb";
  auto writer = KernelWriter::Create(path).value();

  for (const KernelRow& row : rows) ASSERT_TRUE(writer->Add(row).ok());
  ASSERT_TRUE(writer->Commit().ok());

  EXPECT_EQ(Rows(path, findings), rows);
  const std::string schema = "SELECT type, name, sql FROM sqlite_master ORDER BY name";
  EXPECT_EQ(Run(path, schema), Run(Sample("gfx906.kdb"), schema));
}

TEST_F(KernelTableTest, ARowOfTheSameNameAndOptionsIsReplaced) {
  const auto path = folder_ / "gfx906.kdb";
  auto writer = KernelWriter::Create(path).value();

  for (const char* code : {"first", "second"}) {
    ASSERT_TRUE(writer->Add(RowFor("a.o", "it's -mcpu=gfx906", code).value()).ok());
  }
  ASSERT_TRUE(writer->Add(RowFor("a.o", " -mcpu=gfx908", "third").value()).ok());
  ASSERT_TRUE(writer->Commit().ok());

  Findings findings;
  const std::vector<KernelRow> rows = Rows(path, findings);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(CodeOf(rows[0]).value(), "second");
  EXPECT_EQ(rows[0].options, "it's -mcpu=gfx906");
}

TEST_F(KernelTableTest, WhatIsNotCommittedIsNotThere) {
  const auto path = CopyOf("gfx906.kdb");
  {
    auto writer = KernelWriter::Create(path).value();
    ASSERT_TRUE(writer->Add(RowFor("a.o", "", "code").value()).ok());
  }

  EXPECT_EQ(ReadFile(path).value(), ReadFile(Sample("gfx906.kdb")).value());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(KernelTableTest, RowsWithValuesThatTheirColumnsCannotHaveAreLeftOut) {
  for (const std::string change :
       {"kernel_name = ''", "kernel_name = X'41'", "kernel_args = X'41'", "kernel_blob = 'text'",
        "kernel_blob = X''", "kernel_hash = 'abc'", "kernel_hash = upper(kernel_hash)",
        "kernel_hash = X'41'", "uncompressed_size = -1", "uncompressed_size = 'x'",
        "uncompressed_size = 9000000000"}) {
    EXPECT_THAT(PlacesAfter("UPDATE kern_db SET " + change + " WHERE id = 2"),
                ElementsAre("2 bad_row"))
        << change;
  }
  EXPECT_THAT(PlacesAfter("UPDATE kern_db SET id = -2 WHERE id = 2"), ElementsAre("0 bad_row"));
}

TEST_F(KernelTableTest, WithoutItsIndexATableMayHaveAKernelTwiceAndTheFirstCounts) {
  const auto path = CopyOf("gfx906.kdb");
  Findings before;
  const std::vector<KernelRow> rows = Rows(path, before);
  Run(path,
      "DROP INDEX idx_kern_db; INSERT INTO kern_db (kernel_name, kernel_args, kernel_blob, "
      "kernel_hash, uncompressed_size) SELECT kernel_name, kernel_args, X'41', kernel_hash, 0 FROM "
      "kern_db WHERE id = 1");

  Findings findings;
  EXPECT_EQ(Rows(path, findings), rows);
  EXPECT_EQ(findings.count(FindingKind::kDuplicateKey), 1u);
}

TEST_F(KernelTableTest, OtherTablesAreRefused) {
  for (const std::string sql :
       {"DROP TABLE kern_db", "ALTER TABLE kern_db RENAME COLUMN kernel_hash TO hash",
        "ALTER TABLE kern_db RENAME COLUMN id TO number",
        "ALTER TABLE kern_db RENAME TO k; CREATE VIEW kern_db AS SELECT * FROM k"}) {
    const auto path = CopyOf("gfx906.kdb");
    Run(path, sql);
    Findings findings;
    const Status status =
        ReadKernels(path, findings, [](const KernelRow&) { return Status::Ok(); });
    EXPECT_EQ(status.code(), StatusCode::kDataLoss) << sql;
  }
}

TEST_F(KernelTableTest, AFailureOfTheVisitorEndsTheReading) {
  int visits = 0;
  Findings findings;

  const Status status = ReadKernels(Sample("gfx906.kdb"), findings, [&visits](const KernelRow&) {
    ++visits;
    return Unavailable("No more.");
  });

  EXPECT_EQ(status, Unavailable("No more."));
  EXPECT_EQ(visits, 1);
}

}  // namespace
}  // namespace attune::miopen
