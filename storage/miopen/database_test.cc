#include "storage/miopen/database.h"

#include <bzlib.h>

#include <fstream>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "attune/base/file.h"
#include "tests/miopen/sample_databases.h"

namespace attune::miopen {
namespace {

using testing::ElementsAre;

class ReadDatabaseTest : public DatabaseTest {
 protected:
  // Beside the other files of the test, with its ending behind its name.
  std::filesystem::path PackedCopyOf(const std::filesystem::path& path) const {
    std::string plain = ReadFile(path).value();
    std::string packed(plain.size() + plain.size() / 100 + 600, '\0');
    auto size = static_cast<unsigned int>(packed.size());
    EXPECT_EQ(BZ2_bzBuffToBuffCompress(packed.data(), &size, plain.data(),
                                       static_cast<unsigned int>(plain.size()), 9, 0, 0),
              BZ_OK);
    const auto copy = folder_ / (path.filename().string() + ".bz2");
    std::ofstream(copy, std::ios::binary) << packed.substr(0, size);
    return copy;
  }
};

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

  const Database norms = ReadDatabase(Sample("batchnorm_gfx942130.db.txt")).value();
  EXPECT_EQ(norms.name.target, "gfx942130");
  EXPECT_EQ(norms.perf_tables()->targets.at(0).db.form, PerfKeyForm::kBatchNormKey);
  EXPECT_EQ(norms.perf_tables()->targets.at(0).db.records.size(), 9u);

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

TEST_F(ReadDatabaseTest, WhatBzip2PackedIsTheSameDatabase) {
  const auto same = [this](const std::string& name) {
    const Database plain = ReadDatabase(Sample(name)).value();
    const Database packed = ReadDatabase(PackedCopyOf(Sample(name))).value();
    EXPECT_EQ(packed.name.target, plain.name.target);
    EXPECT_EQ(PlacesOf(packed.findings), PlacesOf(plain.findings));
    return std::pair(plain, packed);
  };

  const auto [find_db, packed_find_db] = same("gfx90878.HIP.fdb.txt");
  EXPECT_EQ(Text(*packed_find_db.find_db()), Text(*find_db.find_db()));
  const auto [tables, packed_tables] = same("gfx906_60.db");
  EXPECT_EQ(Text(packed_tables.perf_tables()->targets.at(0).db),
            Text(tables.perf_tables()->targets.at(0).db));
  const auto [kernels, packed_kernels] = same("gfx906.kdb");
  EXPECT_EQ(packed_kernels.kernels()->size(), kernels.kernels()->size());
}

// A database that MIOpen has written to is in WAL mode; its log may be folded in and gone.
TEST_F(ReadDatabaseTest, APackedDatabaseThatHadALogIsRead) {
  const auto path = CopyOf("gfx906_60.db");
  Run(path, "PRAGMA journal_mode=WAL; UPDATE perf_db SET params = 'new'");

  const auto database = ReadDatabase(PackedCopyOf(path));

  ASSERT_TRUE(database.ok()) << database.status().message();
  EXPECT_EQ(database->perf_tables()->targets.at(0).db.records.at(0).items.at(0).params, "new");
}

TEST_F(ReadDatabaseTest, APackedFileThatIsNoneSaysWhereItStops) {
  const auto packed = PackedCopyOf(Sample("gfx906_60.db"));
  std::filesystem::resize_file(packed, 100);
  EXPECT_EQ(
      ReadDatabase(packed).status().message(),
      fmt::format("Cannot unpack '{}'. It ends too early at byte 100 of 100.", packed.string()));
  std::ofstream(packed, std::ios::trunc) << "plain";
  EXPECT_EQ(ReadDatabase(packed).status().code(), StatusCode::kDataLoss);
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

  EXPECT_EQ(ReadDatabase(folder_ / "gfx906_60.db").status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(ReadDatabase(folder_ / "gfx906.kdb").status().code(), StatusCode::kDataLoss);
}

TEST_F(ReadDatabaseTest, AnEmptyTextIsAnEmptyDatabase) {
  std::ofstream(folder_ / "gfx906_60.HIP.fdb.txt");

  const Database database = ReadDatabase(folder_ / "gfx906_60.HIP.fdb.txt").value();

  EXPECT_TRUE(database.find_db()->records.empty());
  EXPECT_EQ(database.findings.total(), 0u);
}

}  // namespace
}  // namespace attune::miopen
