#include "storage/miopen/database.h"

#include <fstream>
#include <string>

#include <gmock/gmock.h>

#include "tests/miopen/sample_databases.h"

namespace attune::miopen {
namespace {

using testing::ElementsAre;

class ReadDatabaseTest : public DatabaseTest {};

TEST_F(ReadDatabaseTest, TheNameTellsWhatIsInAFile) {
  const Database find_db = ReadDatabase(Sample("gfx90878.HIP.fdb.txt")).value();
  EXPECT_EQ(find_db.name.target, "gfx90878");
  ASSERT_NE(find_db.find_db(), nullptr);
  EXPECT_EQ(find_db.find_db()->records.size(), 44u);
  EXPECT_EQ(find_db.findings.count(FindingKind::kImpossibleTime), 6u);

  const Database text = ReadDatabase(Sample("gfx1030_36.db.txt")).value();
  ASSERT_NE(text.perf_tables(), nullptr);
  ASSERT_EQ(text.perf_tables()->targets.size(), 1u);
  EXPECT_EQ(text.perf_tables()->targets[0].db.records.size(), 41u);

  const Database oldest = ReadDatabase(Sample("gfx906_60.cd.pdb.txt")).value();
  EXPECT_EQ(oldest.perf_tables()->targets.at(0).db.form, PerfKeyForm::kFindKey);

  const Database tables = ReadDatabase(Sample("miopen.db")).value();
  EXPECT_EQ(tables.perf_tables()->targets.size(), 2u);
}

TEST_F(ReadDatabaseTest, EachKernelIsUnpackedToSeeWhetherItIsOne) {
  const Database database = ReadDatabase(Sample("gfx906.kdb")).value();

  ASSERT_NE(database.kernels(), nullptr);
  EXPECT_EQ(database.kernels()->size(), 4u);
  EXPECT_EQ(database.kernels()->at(3).name, "naive_conv.cpp.o");
  EXPECT_EQ(database.kernels()->at(3).id, 4u);
  EXPECT_THAT(PlacesOf(database.findings), ElementsAre("5 hash_mismatch", "6 bad_kernel"));
}

TEST_F(ReadDatabaseTest, WhatCannotBeReadIsAnErrorWithItsPath) {
  for (const char* name : {"gfx906_60.HIP.fdb.txt", "gfx906_60.db.txt", "gfx906_60.db", "a.kdb"}) {
    const auto database = ReadDatabase(folder_ / name);
    EXPECT_EQ(database.status().code(), StatusCode::kNotFound) << name;
    EXPECT_THAT(database.status().message(), testing::HasSubstr(name));
    std::filesystem::create_directory(folder_ / name);
    EXPECT_FALSE(ReadDatabase(folder_ / name).ok()) << name;
  }
  EXPECT_EQ(ReadDatabase(folder_ / "a.csv").status().code(), StatusCode::kInvalidArgument);
}

TEST_F(ReadDatabaseTest, TablesOfAnotherKindAreRefused) {
  std::filesystem::copy_file(Sample("gfx906.kdb"), folder_ / "gfx906_60.db");
  std::filesystem::copy_file(Sample("gfx906_60.db"), folder_ / "gfx906.kdb");

  EXPECT_EQ(ReadDatabase(folder_ / "gfx906_60.db").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(ReadDatabase(folder_ / "gfx906.kdb").status().code(), StatusCode::kInvalidArgument);
}

TEST_F(ReadDatabaseTest, AnEmptyTextIsAnEmptyDatabase) {
  std::ofstream(folder_ / "gfx906_60.HIP.fdb.txt");

  const Database database = ReadDatabase(folder_ / "gfx906_60.HIP.fdb.txt").value();

  EXPECT_TRUE(database.find_db()->records.empty());
  EXPECT_EQ(database.findings.total(), 0u);
}

}  // namespace
}  // namespace attune::miopen
