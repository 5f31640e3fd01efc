#include "storage/miopen/perf_tables.h"

#include <map>
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

// MIOpen checks these with `PRAGMA table_info` before it uses a database.
const std::vector<std::string> kConfigColumns = {
    "id",          "layout",     "data_type",     "direction",     "spatial_dim",
    "in_channels", "in_h",       "in_w",          "in_d",          "fil_h",
    "fil_w",       "fil_d",      "out_channels",  "batchsize",     "pad_h",
    "pad_w",       "pad_d",      "conv_stride_h", "conv_stride_w", "conv_stride_d",
    "dilation_h",  "dilation_w", "dilation_d",    "bias",          "group_count"};

// Target, key and items: everything but the position of a record.
std::map<std::string, std::vector<PerfItem>> RecordsOf(const PerfTables& tables) {
  std::map<std::string, std::vector<PerfItem>> records;
  for (const TargetPerfDb& target : tables.targets) {
    for (const PerfRecord& record : target.db.records) {
      records[target.target + " " + record.key] = record.items;
    }
  }
  return records;
}

class PerfTablesTest : public DatabaseTest {
 protected:
  struct Reading {
    PerfTables tables;
    Findings findings;
  };
  static Reading Read(const std::filesystem::path& path) {
    Reading reading;
    auto tables = ReadPerfTables(path, reading.findings);
    EXPECT_TRUE(tables.ok()) << tables.status().message();
    if (tables.ok()) reading.tables = std::move(*tables);
    return reading;
  }

  static Status StatusOf(const std::filesystem::path& path) {
    Findings findings;
    return ReadPerfTables(path, findings).status();
  }

  // The findings for a sample after running `sql`.
  std::vector<std::string> PlacesAfter(const std::string& sql,
                                       const std::string& sample = "gfx906_60.db") const {
    const std::filesystem::path path = CopyOf(sample);
    Run(path, sql);
    return PlacesOf(Read(path).findings);
  }
};

TEST_F(PerfTablesTest, TheShippedVersionIsReadWithTheIdsOfItsRows) {
  const Reading reading = Read(Sample("gfx1030_36.db"));

  EXPECT_EQ(reading.tables.schema, PerfSchema::kOneForTarget);
  ASSERT_EQ(reading.tables.targets.size(), 1u);
  EXPECT_EQ(reading.tables.targets[0].target, "");
  EXPECT_EQ(reading.tables.targets[0].db.records.size(), 44u);
  EXPECT_THAT(PlacesOf(reading.findings),
              ElementsAre("1503 unused_config", "3462 unused_config", "3500 unused_config"));
}

TEST_F(PerfTablesTest, TablesAndTextOfOneDatabaseSayTheSame) {
  const Reading reading = Read(Sample("gfx1030_36.db"));

  EXPECT_EQ(Text(reading.tables.targets.at(0).db), ReadFile(Sample("gfx1030_36.db.txt")).value());
}

TEST_F(PerfTablesTest, WhatIsWrittenReadsAsTheSame) {
  for (const std::string name : {"gfx906_60.db", "gfx1030_36.db", "miopen.db"}) {
    const Reading reading = Read(Sample(name));
    const auto path = folder_ / name;

    ASSERT_TRUE(WritePerfTables(path, reading.tables).ok());

    const Reading again = Read(path);
    EXPECT_EQ(again.tables.schema, reading.tables.schema);
    EXPECT_EQ(RecordsOf(again.tables), RecordsOf(reading.tables));
    EXPECT_EQ(again.findings.total(), reading.findings.total());
    EXPECT_THAT(Run(path, "PRAGMA integrity_check"), ElementsAre("ok"));
  }
}

TEST_F(PerfTablesTest, MIOpenFindsTheTablesThatItShips) {
  const auto path = folder_ / "gfx906_60.db";
  ASSERT_TRUE(WritePerfTables(path, Read(Sample("gfx906_60.db")).tables).ok());

  EXPECT_EQ(Run(path, "SELECT name FROM pragma_table_info('config')"), kConfigColumns);
  EXPECT_THAT(Run(path, "SELECT name FROM pragma_table_info('perf_db')"),
              ElementsAre("id", "solver", "config", "params"));
  const std::string schema = "SELECT type, name, sql FROM sqlite_master ORDER BY name";
  EXPECT_EQ(Run(path, schema), Run(Sample("gfx906_60.db"), schema));
  EXPECT_THAT(Run(path, "PRAGMA user_version; PRAGMA journal_mode"), ElementsAre("0", "delete"));
}

TEST_F(PerfTablesTest, AQueryOfMIOpensFindsWhatWasWritten) {
  const auto path = folder_ / "gfx906_60.db";
  ASSERT_TRUE(WritePerfTables(path, Read(Sample("gfx906_60.db")).tables).ok());
  const std::string query =
      "SELECT solver, params FROM perf_db INNER JOIN config ON perf_db.config = config.id WHERE "
      "(layout = 'NCHW' ) AND (data_type = 'FP32') AND (direction = 'F') AND (spatial_dim = 2) AND "
      "(in_channels = 128) AND (in_h = 28) AND (in_w = 28) AND (in_d = 1) AND (fil_h = 3) AND "
      "(fil_w = 3) AND (fil_d = 1) AND (out_channels = 128) AND (batchsize = 128) AND (pad_h = 1) "
      "AND (pad_w = 1) AND (pad_d = 0) AND (conv_stride_h = 1) AND (conv_stride_d = 0) AND "
      "(dilation_h = 1) AND (dilation_d = 0) AND (bias = 0) AND (group_count = 1) ORDER BY solver";

  EXPECT_EQ(Run(path, query), Run(Sample("gfx906_60.db"), query));
  EXPECT_FALSE(Run(path, query).empty());
}

TEST_F(PerfTablesTest, TheOldVersionHasTheGpuInItsRows) {
  const Reading reading = Read(Sample("miopen.db"));

  EXPECT_EQ(reading.tables.schema, PerfSchema::kOneForAll);
  ASSERT_EQ(reading.tables.targets.size(), 2u);
  EXPECT_EQ(reading.tables.targets[0].target, "gfx1030_36");
  EXPECT_EQ(reading.tables.targets[1].target, "gfx906_60");
  EXPECT_THAT(PlacesOf(reading.findings), IsEmpty());

  const auto path = folder_ / "miopen.db";
  ASSERT_TRUE(WritePerfTables(path, reading.tables).ok());
  EXPECT_THAT(Run(path, "SELECT name FROM pragma_table_info('perf_db')"),
              ElementsAre("id", "solver", "config", "arch", "num_cu", "params"));
  EXPECT_THAT(Run(path, "SELECT DISTINCT arch, num_cu FROM perf_db ORDER BY arch"),
              ElementsAre("gfx1030|36", "gfx906|60"));
}

TEST_F(PerfTablesTest, GpusOfManyUnitsAndOfFeaturesComeBack) {
  PerfTables tables{PerfSchema::kOneForAll, {}};
  const PerfDb db{
      PerfKeyForm::kPerfKey,
      {{"2x32x7x7x1x5x5x1x128x128x2x2x0x1x1x0x1x1x0x0x1xNCHWxFP32xF", {{"ConvAsm1x1U", "1"}}, 0}}};
  for (const char* target : {"gfx906_nosramecc_60", "gfx90a68", "gfx90a_xnack68"}) {
    tables.targets.push_back({target, db});
  }
  const auto path = folder_ / "miopen.db";

  ASSERT_TRUE(WritePerfTables(path, tables).ok());

  EXPECT_EQ(RecordsOf(Read(path).tables), RecordsOf(tables));
  EXPECT_THAT(Run(path, "SELECT arch, num_cu FROM perf_db"),
              ElementsAre("gfx906_nosramecc|60", "gfx90a|104", "gfx90a_xnack|104"));
}

TEST_F(PerfTablesTest, SeveralGpusDoNotFitIntoATableForOne) {
  PerfTables tables = Read(Sample("miopen.db")).tables;
  tables.schema = PerfSchema::kOneForTarget;
  const auto path = folder_ / "gfx906_60.db";

  const Status status = WritePerfTables(path, tables);

  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("cannot have 2 targets"));
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(PerfTablesTest, AFailedWriteLeavesWhatWasThere) {
  const auto path = CopyOf("miopen.db");
  PerfTables tables = Read(path).tables;
  tables.targets[1].target = "no GPU";

  EXPECT_EQ(WritePerfTables(path, tables).code(), StatusCode::kInvalidArgument);

  EXPECT_EQ(ReadFile(path).value(), ReadFile(Sample("miopen.db")).value());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(PerfTablesTest, TablesThatLackSomethingAreRefused) {
  for (const std::string& column : kConfigColumns) {
    const auto path = CopyOf("gfx906_60.db");
    Run(path, "DROP INDEX idx_config; ALTER TABLE config RENAME COLUMN " + column + " TO other");
    EXPECT_EQ(StatusOf(path).code(), StatusCode::kDataLoss) << column;
    EXPECT_THAT(StatusOf(path).message(), HasSubstr("has no column '" + column + "'"));
  }
  for (const std::string column : {"id", "solver", "config", "params"}) {
    const auto path = CopyOf("gfx906_60.db");
    Run(path, "ALTER TABLE perf_db RENAME COLUMN " + column + " TO other");
    EXPECT_EQ(StatusOf(path).code(), StatusCode::kDataLoss) << column;
  }
  for (const std::string table : {"config", "perf_db"}) {
    const auto path = CopyOf("gfx906_60.db");
    Run(path, "DROP TABLE " + table);
    EXPECT_EQ(StatusOf(path).code(), StatusCode::kDataLoss) << table;
    EXPECT_THAT(StatusOf(path).message(), HasSubstr("has no table '" + table + "'"));
  }
  const auto half_old = CopyOf("miopen.db");
  Run(half_old, "ALTER TABLE perf_db RENAME COLUMN num_cu TO other");
  EXPECT_EQ(StatusOf(half_old).code(), StatusCode::kDataLoss);
}

TEST_F(PerfTablesTest, WhatOnlyLooksLikeATableIsRefused) {
  const auto view = CopyOf("gfx906_60.db");
  Run(view, "ALTER TABLE perf_db RENAME TO hidden; CREATE VIEW perf_db AS SELECT * FROM hidden");
  EXPECT_EQ(StatusOf(view).code(), StatusCode::kDataLoss);
  const auto generated = CopyOf("gfx906_60.db");
  Run(generated,
      "DROP TABLE perf_db; CREATE TABLE perf_db (id INTEGER PRIMARY KEY, solver TEXT, config "
      "INTEGER, params TEXT AS (printf('%d', id)))");
  EXPECT_EQ(StatusOf(generated).code(), StatusCode::kDataLoss);
}

TEST_F(PerfTablesTest, RowsWithValuesThatTheirColumnsCannotHaveAreLeftOut) {
  // Table perf_db.
  for (const std::string change :
       {"solver = ''", "solver = 'a;b'", "solver = 'a:b'", "solver = 'a,b'", "solver = 'a=b'",
        "solver = X'41'", "solver = 'a' || char(10)", "params = ''", "params = '1;2'",
        "params = 'a=1'", "params = X'31'", "params = char(228)", "config = 99999",
        "config = 'one'", "config = 1.5"}) {
    EXPECT_THAT(PlacesAfter("UPDATE perf_db SET " + change + " WHERE id = 2"),
                ElementsAre("2 bad_row"))
        << change;
  }
  EXPECT_THAT(PlacesAfter("UPDATE perf_db SET id = -2 WHERE id = 2"), ElementsAre("0 bad_row"));
}

TEST_F(PerfTablesTest, ConfigurationsThatAreNoneAreLeftOutWithTheirParameters) {
  const auto rows =
      Run(Sample("gfx906_60.db"), "SELECT id FROM perf_db WHERE config = 1 ORDER BY id");
  for (const std::string change :
       {"spatial_dim = 4", "in_h = -1", "in_h = 'x'", "in_h = 1.5", "in_h = X'31'",
        "layout = 'NCHX'", "layout = 'NCHWxFP32xF'", "data_type = 'FP31'", "data_type = 5",
        "direction = 'f'", "direction = ''", "layout = X'4E434857'"}) {
    std::vector<std::string> expected = {"1 bad_row"};
    for (const std::string& row : rows) expected.push_back(row + " bad_row");
    EXPECT_EQ(PlacesAfter("UPDATE config SET " + change + " WHERE id = 1"), expected) << change;
  }
}

TEST_F(PerfTablesTest, WhatStandsTwiceIsReadOnce) {
  EXPECT_THAT(PlacesAfter("DROP INDEX idx_perf_db; INSERT INTO perf_db SELECT 999999, solver, "
                          "config, '9' FROM perf_db WHERE id = 2"),
              ElementsAre("999999 duplicate_solver"));
  std::string others;
  for (const std::string& column : kConfigColumns) others += column == "id" ? "" : "," + column;
  EXPECT_THAT(PlacesAfter("DROP INDEX idx_config; INSERT INTO config (id" + others +
                          ") SELECT 999999" + others +
                          " FROM config WHERE id = 1; INSERT INTO perf_db VALUES (999999, "
                          "'ConvAsm1x1U', 999999, '1')"),
              ElementsAre("999999 duplicate_key", "999999 bad_row"));
}

TEST_F(PerfTablesTest, RowsOfNoGpuAreLeftOut) {
  for (const std::string change :
       {"arch = ''", "arch = 'sm_90'", "arch = X'31'", "num_cu = 0", "num_cu = -60",
        "num_cu = '60x'", "num_cu = 1000000", "num_cu = 4294967356", "arch = 'gfx906_6'",
        // Has the name of a gfx90a with 104 units.
        "arch = 'gfx90', num_cu = 2664"}) {
    EXPECT_THAT(PlacesAfter("UPDATE perf_db SET " + change + " WHERE id = 2", "miopen.db"),
                ElementsAre("2 bad_row"))
        << change;
  }
}

TEST_F(PerfTablesTest, SolversThatMIOpenDoesNotHaveAreReportedAndKept) {
  EXPECT_THAT(PlacesAfter("UPDATE perf_db SET solver = 'NoSuchSolver' WHERE id = 1; UPDATE perf_db "
                          "SET solver = 'ConvHipImplicitGemmV4Fwd' WHERE id = 2"),
              ElementsAre("1 unknown_solver", "2 removed_solver"));
}

}  // namespace
}  // namespace attune::miopen
