// The perf-dbs that MIOpen ships, if available: read, and written again.

#include <cstdlib>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "storage/miopen/perf_tables.h"
#include "tests/miopen/sample_databases.h"

namespace attune::miopen {
namespace {

using testing::ElementsAre;

class ShippedPerfDbTest : public DatabaseTest {
 protected:
  struct Expected {
    std::string name;
    size_t configs;
    size_t rows;
    uint64_t unused;
    // Configurations with an image height of -5; included in the above, and left out.
    uint64_t bad_configs;
    uint64_t bad_rows;
  };

  void Check(const Expected& expected) const {
    const std::string packed =
        std::string(ATTUNE_SHARED_DATA_DIR "/miopen/") + expected.name + ".bz2";
    if (!std::filesystem::exists(packed)) GTEST_SKIP() << "What MIOpen ships is not at hand.";
    const auto path = folder_ / expected.name;
    ASSERT_EQ(std::system(fmt::format("bunzip2 -c '{}' > '{}'", packed, path.string()).c_str()), 0);
    Findings findings;

    const auto tables = ReadPerfTables(path, findings);

    ASSERT_TRUE(tables.ok()) << tables.status().message();
    EXPECT_EQ(findings.total(), expected.unused + expected.bad_configs + expected.bad_rows);
    EXPECT_EQ(findings.count(FindingKind::kBadRow), expected.bad_configs + expected.bad_rows);
    EXPECT_EQ(findings.count(FindingKind::kUnusedConfig), expected.unused);
    const PerfDb& db = tables->targets.at(0).db;
    const size_t configs = expected.configs - expected.bad_configs;
    EXPECT_EQ(db.records.size(), configs);
    size_t rows = 0;
    for (const PerfRecord& record : db.records) rows += record.items.size();
    EXPECT_EQ(rows, expected.rows - expected.bad_rows);

    const auto again = folder_ / ("again_" + expected.name);
    ASSERT_TRUE(WritePerfTables(again, *tables).ok());
    // Both have the same rows, except for those.
    const std::string join =
        "SELECT solver, params, layout, data_type, direction, spatial_dim, in_channels, in_h, "
        "in_w, "
        "in_d, fil_h, fil_w, fil_d, out_channels, batchsize, pad_h, pad_w, pad_d, conv_stride_h, "
        "conv_stride_w, conv_stride_d, dilation_h, dilation_w, dilation_d, bias, group_count FROM "
        "{0}.perf_db INNER JOIN {0}.config ON {0}.perf_db.config = {0}.config.id";
    const std::string here = fmt::format(fmt::runtime(join), "main");
    const std::string there = fmt::format(fmt::runtime(join), "other");
    EXPECT_THAT(
        Run(again, fmt::format("ATTACH '{0}' AS other; SELECT count(*) FROM ({1} EXCEPT {2}); "
                               "SELECT count(*) FROM ({2} EXCEPT {1})",
                               path.string(), here, there)),
        ElementsAre("0", std::to_string(expected.bad_rows)));
    EXPECT_THAT(Run(again, "SELECT count(*) FROM config; SELECT count(*) FROM perf_db"),
                ElementsAre(std::to_string(configs), std::to_string(rows)));

    Findings of_text;
    const std::string text = Text(db);
    const PerfDb from_text = ReadPerfDb(text, of_text);
    EXPECT_EQ(of_text.total(), 0u);
    EXPECT_EQ(from_text.records.size(), configs - expected.unused);
    EXPECT_EQ(Text(from_text), text);
  }
};

TEST_F(ShippedPerfDbTest, OneOfRdnaIsWrittenRowByRow) {
  Check({"gfx1030_36.db", 5217, 9872, 26, 3, 4});
}

TEST_F(ShippedPerfDbTest, TheLargestIsWrittenRowByRow) {
  Check({"gfx906_60.db", 99'522, 148'096, 0, 0, 0});
}

}  // namespace
}  // namespace attune::miopen
