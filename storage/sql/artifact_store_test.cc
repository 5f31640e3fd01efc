#include "attune/session/artifact_store.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/base/base64.h"
#include "attune/base/random.h"
#include "storage/sql/artifact_rows.h"
#include "storage/sql/sql_store.h"
#include "storage/sql/table.h"
#include "tests/servers/database_test.h"

namespace attune {
namespace {

using ::testing::HasSubstr;

// Incompressible bytes, of three chunks.
std::string LargeCode() {
  Random random(7);
  std::string bytes;
  while (bytes.size() < 5 * sql::kChunkBytes / 2) bytes += static_cast<char>(random.Next());
  return bytes;
}

Fingerprint Recipe(const std::string& text) { return FingerprintOf(text); }

class ArtifactStoreTest : public DatabaseTest {
 protected:
  void Begin() override { artifacts_ = ArtifactsIn(Open()); }

  Status Put(std::vector<BuiltKernel> kernels) { return artifacts_->Put(kernels, "me@here"); }
  // Runs a query with one number as its result, over a separate connection.
  std::string Ask(const std::string& sql) { return Connect()->Texts(sql).value().at(0); }
  // Changes one row behind the store's back, with a matching checksum.
  void Rewrite(const sql::Table& table, size_t column, const sql::Cell& cell) {
    const auto connection = Connect();
    auto transaction = *sql::WriteTransaction::Begin(*connection);
    const auto row = sql::ReadRow(
        *connection, {table, "id IN (SELECT min(id) FROM " + std::string(table.name) + ")", {}});
    ASSERT_TRUE(row.ok() && row->has_value()) << row.status().message();
    sql::Row changed = **row;
    changed[column] = cell;
    changed[table.checksum_column] = sql::TextCell(sql::ChecksumOf(table, changed).ToHex());
    ASSERT_EQ(transaction.Update(table, changed), Status::Ok());
    ASSERT_EQ(transaction.Commit(), Status::Ok());
  }
  // Returns the error of reading the artifact stored as "a".
  std::string WhyNot() {
    const auto got = artifacts_->Get(Recipe("a"));
    EXPECT_EQ(got.status().code(), StatusCode::kDataLoss);
    return std::string(got.status().message());
  }

  std::unique_ptr<ArtifactStore> artifacts_;
};

TEST_P(ArtifactStoreTest, WhatIsPutComesBackBitForBit) {
  const std::string code = LargeCode();
  const std::string nothing;
  const std::string zeros("\0\xff'\\\"{}", 7);

  ASSERT_EQ(Put({{Recipe("a"), code}, {Recipe("b"), nothing}, {Recipe("c"), zeros}}), Status::Ok());

  EXPECT_EQ(**artifacts_->Get(Recipe("a")), code);
  EXPECT_EQ(**artifacts_->Get(Recipe("b")), nothing);
  EXPECT_EQ(**artifacts_->Get(Recipe("c")), zeros);
  EXPECT_EQ(*artifacts_->Get(Recipe("d")), std::nullopt);
  EXPECT_EQ(Ask("SELECT count(*) FROM artifact_chunk"), "5");
}

TEST_P(ArtifactStoreTest, ItSaysWhichRecipesAreKept) {
  std::vector<BuiltKernel> kernels;
  std::vector<Fingerprint> asked;
  for (int i = 0; i < 100; ++i) {
    const Fingerprint recipe = Recipe(std::to_string(i));
    asked.push_back(recipe);
    if (i % 2 == 0) kernels.push_back({recipe, "code"});
  }
  ASSERT_EQ(Put(kernels), Status::Ok());

  const auto kept = *artifacts_->Kept(asked);

  EXPECT_EQ(kept.size(), 50u);
  EXPECT_TRUE(kept.contains(Recipe("98")));
  EXPECT_FALSE(kept.contains(Recipe("99")));
  EXPECT_TRUE(artifacts_->Kept({})->empty());
}

TEST_P(ArtifactStoreTest, EqualCodeOfSeveralRecipesIsThereOnce) {
  ASSERT_EQ(Put({{Recipe("a"), "code"}, {Recipe("b"), "code"}}), Status::Ok());
  ASSERT_EQ(Put({{Recipe("c"), "code"}}), Status::Ok());

  EXPECT_EQ(Ask("SELECT count(*) FROM artifact"), "1");
  EXPECT_EQ(**artifacts_->Get(Recipe("b")), "code");
  EXPECT_EQ(**artifacts_->Get(Recipe("c")), "code");
}

TEST_P(ArtifactStoreTest, WhatWasPutFirstStays) {
  ASSERT_EQ(Put({{Recipe("a"), "first"}}), Status::Ok());

  EXPECT_EQ(Put({{Recipe("a"), "second"}}), Status::Ok());

  EXPECT_EQ(**artifacts_->Get(Recipe("a")), "first");
  EXPECT_EQ(Ask("SELECT count(*) FROM artifact"), "1");
}

TEST_P(ArtifactStoreTest, ManyArePutAtOnceAndOfOneRecipeTheFirst) {
  constexpr int kCount = 10'000;
  std::vector<BuiltKernel> kernels;
  for (int i = 0; i < kCount; ++i) {
    kernels.push_back({Recipe(std::to_string(i)), "code " + std::to_string(i / 2)});
  }
  kernels.push_back({Recipe("7"), "another"});

  ASSERT_EQ(Put(kernels), Status::Ok());

  EXPECT_EQ(Ask("SELECT count(*) FROM built_kernel"), "10000");
  EXPECT_EQ(Ask("SELECT count(*) FROM artifact"), "5000");
  EXPECT_EQ(**artifacts_->Get(Recipe("7")), "code 3");
  EXPECT_EQ(**artifacts_->Get(Recipe("9999")), "code 4999");
}

TEST_P(ArtifactStoreTest, WhatIsTooLargeIsRefusedWithTheLimitAndTheOthersAreKept) {
  const Status status =
      Put({{Recipe("a"), std::string(kMostArtifactBytes + 1, 'x')}, {Recipe("b"), "code"}});

  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("67108865 bytes, and 67108864 are the most"));
  EXPECT_EQ(*artifacts_->Get(Recipe("a")), std::nullopt);
  EXPECT_EQ(**artifacts_->Get(Recipe("b")), "code");
}

TEST_P(ArtifactStoreTest, ALostChunkIsNamed) {
  ASSERT_EQ(Put({{Recipe("a"), LargeCode()}}), Status::Ok());
  ASSERT_EQ(Connect()->Execute("DELETE FROM artifact_chunk WHERE number = 1"), Status::Ok());
  EXPECT_THAT(WhyNot(), HasSubstr("Chunk 1 of row"));

  ASSERT_EQ(Connect()->Execute("DELETE FROM artifact_chunk WHERE number = 2"), Status::Ok());
  EXPECT_THAT(WhyNot(), HasSubstr("column chunk_count holds 3, but table artifact_chunk has 1"));
}

TEST_P(ArtifactStoreTest, AChangedChunkIsNamedByItsRow) {
  ASSERT_EQ(Put({{Recipe("a"), LargeCode()}}), Status::Ok());
  ASSERT_EQ(Connect()->Execute("UPDATE artifact_chunk SET content = 'AAAA' WHERE number = 1"),
            Status::Ok());

  EXPECT_THAT(WhyNot(), HasSubstr("of table artifact_chunk: column content holds 'AAAA'"));
}

TEST_P(ArtifactStoreTest, ChunksThatFitTheirRowsAndNotWhatWasBuiltAreFound) {
  ASSERT_EQ(Put({{Recipe("a"), "code"}}), Status::Ok());
  constexpr size_t kContent = 3;
  Rewrite(sql::ArtifactChunkTable(), kContent, sql::TextCell("not base64"));
  EXPECT_THAT(WhyNot(), HasSubstr("which is no base64"));
  std::string text = ToBase64(sql::Pack("evil")->packed);
  Rewrite(sql::ArtifactChunkTable(), kContent, sql::TextCell(text));
  EXPECT_THAT(WhyNot(),
              HasSubstr("but its 4 bytes have the hash " + FingerprintOf("evil").ToHex()));
  text[text.size() - 8] = text[text.size() - 8] == 'A' ? 'B' : 'A';
  Rewrite(sql::ArtifactChunkTable(), kContent, sql::TextCell(text));
  EXPECT_THAT(WhyNot(), HasSubstr("damaged"));
}

TEST_P(ArtifactStoreTest, SizesThatCannotBeAreRefusedBeforeAnythingIsUnpacked) {
  ASSERT_EQ(Put({{Recipe("a"), std::string(100'000, 'x')}}), Status::Ok());
  constexpr size_t kSize = 2;
  constexpr size_t kPacking = 3;
  Rewrite(sql::ArtifactTable(), kSize, sql::IntegerCell(10));
  EXPECT_THAT(WhyNot(), HasSubstr("More than 10 bytes"));
  Rewrite(sql::ArtifactTable(), kSize, sql::IntegerCell(int64_t{1} << 40));
  EXPECT_THAT(WhyNot(), HasSubstr("0 to 67108864 are possible"));
  Rewrite(sql::ArtifactTable(), kPacking, sql::TextCell("zstd"));
  EXPECT_THAT(WhyNot(), HasSubstr("which this attune cannot unpack"));
}

TEST_P(ArtifactStoreTest, ARecipeWhoseCodeIsGoneSaysSo) {
  if (!is_file()) GTEST_SKIP() << "Servers delete nothing that is referred to.";
  ASSERT_EQ(Put({{Recipe("a"), "code"}}), Status::Ok());
  const auto connection = Connect();
  ASSERT_EQ(connection->Execute("PRAGMA foreign_keys = OFF"), Status::Ok());
  ASSERT_EQ(connection->Execute("DELETE FROM artifact"), Status::Ok());

  EXPECT_THAT(WhyNot(), HasSubstr("Table artifact has no row"));
}

INSTANTIATE_TEST_SUITE_P(Over, ArtifactStoreTest, ::testing::ValuesIn(DatabaseKinds()), NameOfKind);

}  // namespace
}  // namespace attune
