// One random value of a SQLite database replaced, a thousand times over: reported with the id of
// its row, or read in its new form. No other row changes.

#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "attune/base/random.h"
#include "attune/formats/miopen/file_name.h"
#include "storage/miopen/database.h"
#include "storage/miopen/kernel_table.h"
#include "tests/miopen/sample_databases.h"

namespace attune::miopen {
namespace {

constexpr int kMutations = 1000;

// The content of the tables, in SQL: the key of each configuration with its solvers and parameters,
// by id.
constexpr const char* kKeys =
    "SELECT id, spatial_dim||'x'||in_channels||'x'||in_h||'x'||in_w||'x'||in_d||'x'||fil_h||'x'||"
    "fil_w||'x'||fil_d||'x'||out_channels||'x'||batchsize||'x'||pad_h||'x'||pad_w||'x'||pad_d||'x'|"
    "|"
    "conv_stride_h||'x'||conv_stride_w||'x'||conv_stride_d||'x'||dilation_h||'x'||dilation_w||'x'||"
    "dilation_d||'x'||bias||'x'||group_count||'x'||layout||'x'||data_type||'x'||direction FROM "
    "config ORDER BY id";
constexpr const char* kItems = "SELECT id, config||'='||solver||':'||params FROM perf_db";
// Version 1.0.0, in which each row names the GPU.
constexpr const char* kItemsOfGpus =
    "SELECT id, arch||' '||num_cu||' '||config||'='||solver||':'||params FROM perf_db";

class TableMutationTest : public DatabaseTest {
 protected:
  // "UPDATE config SET in_h = 'abc' WHERE id = 7", for an existing row and column.
  static std::string RandomChange(const std::map<std::string, std::vector<std::string>>& columns,
                                  const std::map<std::string, std::vector<std::string>>& ids,
                                  Random& random) {
    const char* const values[] = {"''",
                                  "0",
                                  "-1",
                                  "'abc'",
                                  "7",
                                  "1.5",
                                  "'7'",
                                  "'07'",
                                  "X'31'",
                                  "X''",
                                  "1e30",
                                  "'1;2'",
                                  "'a:b'",
                                  "'F'",
                                  "'NHWC'",
                                  "'FP16'",
                                  "'a=b'",
                                  "9223372036854775807",
                                  "'x'",
                                  "char(10)",
                                  "'1,2,3'",
                                  "300",
                                  "'ConvAsm1x1U'",
                                  "'gfx908'",
                                  "'gfx90a'",
                                  "104",
                                  "'gfx906:xnack-'"};
    auto table = columns.begin();
    std::advance(table, random.Below(columns.size()));
    const auto any = [&random](const std::vector<std::string>& of) {
      return of[random.Below(of.size())];
    };
    return "UPDATE OR IGNORE " + table->first + " SET " + any(table->second) + " = " +
           values[random.Below(std::size(values))] + " WHERE id = " + any(ids.at(table->first));
  }

  static std::map<uint64_t, std::string> ById(const std::vector<std::string>& rows) {
    std::map<uint64_t, std::string> by_id;
    for (const std::string& row : rows) {
      by_id[std::stoull(row)] = row.substr(row.find('|') + 1);
    }
    return by_id;
  }

  // Rows with a finding whose reason contains `about`.
  static std::set<uint64_t> ReportedIds(const Findings& findings, std::string_view about) {
    std::set<uint64_t> ids;
    for (const Finding& finding : findings.kept()) {
      if (finding.reason.find(about) != std::string::npos) ids.insert(finding.line);
    }
    return ids;
  }

  std::map<std::string, std::vector<std::string>> Columns(
      const std::string& sample, const std::vector<std::string>& tables) const {
    std::map<std::string, std::vector<std::string>> columns;
    for (const std::string& table : tables) {
      columns[table] = Run(
          Sample(sample), "SELECT name FROM pragma_table_info('" + table + "') WHERE name <> 'id'");
    }
    return columns;
  }

  std::map<std::string, std::vector<std::string>> Ids(
      const std::string& sample, const std::vector<std::string>& tables) const {
    std::map<std::string, std::vector<std::string>> ids;
    for (const std::string& table : tables)
      ids[table] = Run(Sample(sample), "SELECT id FROM " + table);
    return ids;
  }
};

// The content of `tables`, as the statements above print it. Only version 1.0.0 prints the GPU.
struct Contents {
  std::map<uint64_t, std::string> keys;  // By the id of the row.
  std::multiset<std::string> items;
};

Contents ContentsOf(const PerfTables& tables) {
  Contents contents;
  for (const TargetPerfDb& target : tables.targets) {
    std::string gpu_text;
    if (tables.schema == PerfSchema::kOneForAll) {
      const auto gpu = ParseTargetName(target.target);
      EXPECT_TRUE(gpu.ok()) << target.target;
      if (gpu.ok())
        gpu_text = fmt::format("{}{} {} ", gpu->arch, gpu->features, gpu->compute_units);
    }
    for (const PerfRecord& record : target.db.records) {
      contents.keys[record.line] = record.key;
      for (const PerfItem& item : record.items) {
        contents.items.insert(
            fmt::format("{}{}={}:{}", gpu_text, record.line, item.solver, item.params));
      }
    }
  }
  return contents;
}

// For a sample with the items that `items_sql` lists.
class PerfMutationTest : public TableMutationTest {
 protected:
  void CheckMutations(const std::string& sample, const char* items_sql, uint64_t seed) {
    const std::vector<std::string> tables = {"config", "perf_db"};
    const auto columns = Columns(sample, tables);
    const auto ids = Ids(sample, tables);
    Random random(seed);
    int reported = 0;
    for (int i = 0; i < kMutations; ++i) {
      const auto path = CopyOf(sample);
      const std::string change = RandomChange(columns, ids, random);
      SCOPED_TRACE(change);
      Run(path, change);
      reported += CheckReading(path, items_sql) ? 1 : 0;
      if (HasFatalFailure() || HasNonfatalFailure()) return;
    }
    EXPECT_GT(reported, 400);
    EXPECT_LT(reported, 950);
  }

 private:
  // Returns true if any row has a finding.
  static bool CheckReading(const std::filesystem::path& path, const char* items_sql) {
    Findings findings;
    const auto read = ReadPerfTables(path, findings);
    EXPECT_TRUE(read.ok()) << read.status().message();
    if (!read.ok()) return false;
    std::set<uint64_t> bad_keys = ReportedIds(findings, "table config");
    // Configurations that lost all their parameters.
    for (const Finding& finding : findings.kept()) {
      if (finding.kind == FindingKind::kUnusedConfig) bad_keys.insert(finding.line);
    }
    const std::set<uint64_t> bad_items = ReportedIds(findings, "table perf_db");
    Contents contents = ContentsOf(*read);
    const auto keys = ById(Run(path, kKeys));
    for (const auto& [id, key] : contents.keys) EXPECT_EQ(key, keys.at(id));
    for (const auto& [id, key] : keys) {
      EXPECT_TRUE(contents.keys.contains(id) || bad_keys.contains(id)) << key;
    }
    const auto items = ById(Run(path, items_sql));
    for (const auto& [id, item] : items) {
      const auto found = contents.items.find(item);
      // An item with a finding may be kept nevertheless: one of a solver that MIOpen does not have.
      EXPECT_TRUE(found != contents.items.end() || bad_items.contains(id)) << item;
      if (found != contents.items.end()) contents.items.erase(found);
    }
    EXPECT_THAT(contents.items, testing::IsEmpty());
    return !bad_keys.empty() || !bad_items.empty();
  }
};

TEST_F(PerfMutationTest, EveryCorruptedValueOfVersion11IsReportedOrStandsAsItCameOut) {
  CheckMutations("gfx906_60.db", kItems, 71);
}

TEST_F(PerfMutationTest, EveryCorruptedValueOfVersion10IsReportedOrStandsAsItCameOut) {
  CheckMutations("miopen.db", kItemsOfGpus, 79);
}

TEST_F(TableMutationTest, EveryCorruptedValueOfAKernelDbIsReportedOrStandsAsItCameOut) {
  Random random(73);
  int reported = 0;
  const auto columns = Columns("gfx906.kdb", {"kern_db"});
  const std::map<std::string, std::vector<std::string>> ids = {{"kern_db", {"1", "2", "3", "4"}}};
  for (int i = 0; i < kMutations; ++i) {
    const auto path = CopyOf("gfx906.kdb");
    const std::string change = RandomChange(columns, ids, random);
    SCOPED_TRACE(change);
    Run(path, change);

    const Database database = ReadDatabase(path).value();

    const std::set<uint64_t> found = ReportedIds(database.findings, "");
    reported += found.size() > 2 ? 1 : 0;  // Two of the sample are damaged.
    const auto rows = ById(Run(path, "SELECT id, kernel_name||'|'||kernel_args FROM kern_db"));
    std::set<uint64_t> read;
    for (const KernelEntry& kernel : *database.kernels()) {
      ASSERT_EQ(kernel.name + "|" + kernel.options, rows.at(kernel.id));
      read.insert(kernel.id);
    }
    for (const auto& [id, row] : rows) ASSERT_TRUE(read.contains(id) || found.contains(id)) << row;
    if (change.find("kernel_name") == std::string::npos &&
        change.find("kernel_args") == std::string::npos) {
      // The blob, the hash and the number of bytes belong together.
      const bool is_changed =
          Run(path, "SELECT kernel_blob, kernel_hash, uncompressed_size FROM kern_db") !=
          Run(Sample("gfx906.kdb"),
              "SELECT kernel_blob, kernel_hash, uncompressed_size FROM kern_db");
      ASSERT_EQ(found.size() > 2, is_changed);
    }
  }
  EXPECT_GT(reported, 400);
}

}  // namespace
}  // namespace attune::miopen
