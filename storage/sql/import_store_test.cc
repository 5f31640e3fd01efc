#include "attune/record/import_store.h"

#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/sql/sql_store.h"
#include "tests/servers/database_test.h"

namespace attune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ImportedFile File(const std::string& target, const std::string& name = "gfx906_60.HIP.fdb.txt") {
  ImportedFile file;
  file.kind = "miopen.find-db";
  file.target = target;
  file.name = name;
  file.content = FingerprintOf(target + name);
  file.imported_by = "somebody@somewhere";
  file.imported_unix_ns = 42;
  return file;
}

ImportedLine Line(std::string_view key, int64_t number) {
  return {FingerprintOf(key), number, std::string(key) + "=line " + std::to_string(number)};
}

class ImportStoreTest : public DatabaseTest {
 protected:
  void Begin() override {
    database_ = Open();
    store_ = ImportsIn(database_);
  }

  // A file with `lines`, finished.
  int64_t Import(const ImportedFile& file, const std::vector<ImportedLine>& lines) {
    const auto id = store_->Begin(file);
    EXPECT_TRUE(id.ok()) << id.status().message();
    EXPECT_EQ(store_->Append(*id, lines), Status::Ok());
    EXPECT_EQ(store_->Finish(*id).status(), Status::Ok());
    return *id;
  }

  std::vector<ImportedLine> Visited(int64_t id) {
    std::vector<ImportedLine> lines;
    EXPECT_EQ(store_->Visit(id,
                            [&](const ImportedLine& line) {
                              lines.push_back(line);
                              return Status::Ok();
                            }),
              Status::Ok());
    return lines;
  }

  // Rows of a table, finished or not.
  int64_t Rows(const std::string& table) {
    const auto connection = Connect();
    return std::stoll(connection->Texts("SELECT count(*) FROM " + table)->at(0));
  }

  std::shared_ptr<SqlDatabase> database_;
  std::unique_ptr<ImportStore> store_;
};

TEST_P(ImportStoreTest, AFileIsReadBackInOrderAndAfterItWasOpenedAgain) {
  const std::vector<ImportedLine> lines = {Line("b", 7), Line("a", 8), Line("b", 9)};
  const int64_t id = Import(File("gfx906_60"), lines);

  ImportedFile expected = File("gfx906_60");
  expected.id = id;
  expected.line_count = 3;
  expected.revision = id + 4;
  EXPECT_THAT(*store_->Files(), ElementsAre(expected));
  EXPECT_EQ(Visited(id), lines);
  store_ = ImportsIn(Open());
  EXPECT_THAT(*store_->Files(), ElementsAre(expected));
  EXPECT_EQ(Visited(id), lines);
  EXPECT_EQ(CheckSqlStore(url(), OptionsForServers()), Status::Ok());
}

TEST_P(ImportStoreTest, TheNewestFileIsFoundFirstAndItsLinesInOrder) {
  Import(File("old"), {Line("a", 1), Line("b", 2)});
  Import(File("new"), {Line("a", 3), Line("c", 4), Line("a", 5)});

  const auto found = store_->Find(FingerprintOf("a"));

  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->size(), 3);
  EXPECT_EQ((*found)[0].first.target, "new");
  EXPECT_EQ((*found)[0].second.number, 3);
  EXPECT_EQ((*found)[1].second.number, 5);
  EXPECT_EQ((*found)[2].first.target, "old");
  EXPECT_TRUE(store_->Find(FingerprintOf("d"))->empty());
}

TEST_P(ImportStoreTest, AnOlderFileBecomesTheNewestAgain) {
  const int64_t first = Import(File("gfx906_60", "a.fdb.txt"), {Line("x", 1)});
  const int64_t second = Import(File("gfx906_60", "b.fdb.txt"), {Line("x", 7)});
  const int64_t other = Import(File("gfx90878", "c.fdb.txt"), {Line("x", 9)});

  EXPECT_FALSE(*store_->Renew(second)) << "That of another GPU is no newer one.";
  EXPECT_TRUE(*store_->Renew(first));
  EXPECT_FALSE(*store_->Renew(first));

  const auto found = *store_->Find(FingerprintOf("x"));
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].first.id, first);
  EXPECT_EQ(found[1].first.id, other);
  EXPECT_EQ(found[2].first.id, second);
  EXPECT_EQ(store_->Files()->back().id, first);
  EXPECT_EQ(store_->Renew(other + 1).status().code(), StatusCode::kNotFound);
}

TEST_P(ImportStoreTest, WhatIsNotFinishedIsSeenByNobody) {
  const auto id = store_->Begin(File("gfx906_60"));
  ASSERT_TRUE(id.ok());
  const ImportedLine line = Line("a", 1);
  ASSERT_EQ(store_->Append(*id, {&line, 1}), Status::Ok());

  EXPECT_TRUE(store_->Files()->empty());
  EXPECT_TRUE(store_->Find(line.key)->empty());
  // The state after a process was killed.
  store_ = ImportsIn(Open());
  EXPECT_TRUE(store_->Files()->empty());
  EXPECT_EQ(CheckSqlStore(url(), OptionsForServers()), Status::Ok());
}

TEST_P(ImportStoreTest, OfTwoThatImportTheSameAtTheSameTimeOneIsKept) {
  const auto other = ImportsIn(Open());
  const ImportedLine lines[] = {Line("a", 1), Line("b", 2)};
  const int64_t first = *store_->Begin(File("gfx906_60"));
  const int64_t second = *other->Begin(File("gfx906_60"));
  ASSERT_EQ(store_->Append(first, lines), Status::Ok());
  ASSERT_EQ(other->Append(second, lines), Status::Ok());

  const auto second_end = other->Finish(second);
  const auto first_end = store_->Finish(first);

  EXPECT_EQ(second_end.value(), ImportEnd::kKept);
  EXPECT_EQ(first_end.value(), ImportEnd::kKnown);
  ASSERT_EQ(store_->Files()->size(), 1);
  EXPECT_EQ(store_->Files()->front().id, second);
  EXPECT_EQ(store_->Find(FingerprintOf("a"))->size(), 1);
  EXPECT_EQ(Rows("imported_file"), 1);
  EXPECT_EQ(Rows("imported_line"), 2) << "Of what was not kept nothing is left.";
  EXPECT_EQ(CheckSqlStore(url(), OptionsForServers()), Status::Ok());
}

TEST_P(ImportStoreTest, TheSameForAnotherGpuOrInAnotherFormIsAnotherFile) {
  Import(File("gfx906_60"), {Line("a", 1)});
  ImportedFile other_gpu = File("gfx906_60");
  other_gpu.target = "gfx906_64";
  ImportedFile other_kind = File("gfx906_60");
  other_kind.kind = "miopen.perf-db";

  Import(other_gpu, {Line("a", 1)});
  Import(other_kind, {Line("a", 1)});

  EXPECT_EQ(store_->Files()->size(), 3);
}

TEST_P(ImportStoreTest, WhatNobodyImportsAnyMoreIsRemovedAndNothingElse) {
  const int64_t finished = Import(File("gfx906_60"), {Line("a", 1)});
  // More than one step removes.
  const std::vector<ImportedLine> lines(5000, Line("a", 1));
  auto killed = ImportsIn(Open());
  ASSERT_EQ(killed->Append(*killed->Begin(File("gfx906_64")), lines), Status::Ok());
  killed.reset();
  const auto living = ImportsIn(Open());
  const int64_t being_imported = *living->Begin(File("gfx90878"));
  ASSERT_EQ(living->Append(being_imported, lines), Status::Ok());
  const int64_t own = *store_->Begin(File("gfx1030_36"));

  EXPECT_EQ(store_->RemoveAbandoned(), Status::Ok());

  EXPECT_EQ(Rows("imported_file"), 3);
  EXPECT_EQ(Rows("imported_line"), 5001);
  EXPECT_EQ(living->Finish(being_imported).value(), ImportEnd::kKept);
  EXPECT_EQ(store_->Finish(own).value(), ImportEnd::kKept);
  EXPECT_EQ(Visited(finished).size(), 1);
  EXPECT_EQ(Visited(being_imported).size(), 5000);
  EXPECT_EQ(CheckSqlStore(url(), OptionsForServers()), Status::Ok());
}

TEST_P(ImportStoreTest, WhoCannotTellThatItLivesImportsNothing) {
  if (!is_file()) GTEST_SKIP() << "A server tells by itself who is connected.";
  std::filesystem::remove(url() + "-turns");
  std::filesystem::create_symlink(folder_.path() / "elsewhere", url() + "-turns");

  const Status begun = store_->Begin(File("gfx906_60")).status();

  EXPECT_EQ(begun.code(), StatusCode::kUnavailable);
  EXPECT_THAT(begun.message(), HasSubstr("attune.db-turns"));
  EXPECT_EQ(Rows("imported_file"), 0);
}

TEST_P(ImportStoreTest, AFinishedFileTakesNothingMore) {
  const int64_t id = Import(File("gfx906_60"), {Line("a", 1)});
  const ImportedLine line = Line("b", 2);

  EXPECT_EQ(store_->Append(id, {&line, 1}).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(store_->Finish(id).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(store_->Append(id + 1000, {&line, 1}).code(), StatusCode::kNotFound);
  EXPECT_EQ(Visited(id).size(), 1);
}

TEST_P(ImportStoreTest, ImpossibleNamesAndLinesAreRefusedWithTheReason) {
  EXPECT_THAT(store_->Begin(File("")).status().message(), HasSubstr("target"));
  EXPECT_THAT(store_->Begin(File("gfx906_60", "")).status().message(), HasSubstr("name"));
  EXPECT_THAT(store_->Begin(File(std::string(256, 'x'))).status().message(),
              HasSubstr("256 bytes"));
  const auto id = store_->Begin(File("gfx906_60"));
  const ImportedLine newline = {FingerprintOf("a"), 1, "a\nb"};
  const ImportedLine umlaut = {FingerprintOf("a"), 1, "\xc3\xa4"};
  const ImportedLine nowhere = {FingerprintOf("a"), 0, "a"};
  for (const ImportedLine& line : {newline, umlaut, nowhere}) {
    const ImportedLine lines[] = {Line("good", 1), line};
    EXPECT_EQ(store_->Append(*id, lines).code(), StatusCode::kInvalidArgument);
  }
  ASSERT_EQ(store_->Finish(*id).status(), Status::Ok());
  EXPECT_TRUE(Visited(*id).empty()) << "All or nothing.";
}

TEST_P(ImportStoreTest, NamesOfAnyBytesAreKept) {
  const ImportedFile strange = File("gfx906_60", "gr\xc3\xbc\xc3\x9f' \"e\n%.fdb.txt");
  Import(strange, {});

  EXPECT_EQ(store_->Files()->front().name, strange.name);
}

TEST_P(ImportStoreTest, ThreadsThatImportAtTheSameTimeLoseNothing) {
  const std::vector<ImportedLine> lines(100, Line("a", 1));
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] { Import(File("gfx906_" + std::to_string(i + 1)), lines); });
    }
  }

  const auto files = store_->Files();
  ASSERT_EQ(files->size(), 4);
  for (const ImportedFile& file : *files) EXPECT_EQ(Visited(file.id).size(), 100);
  EXPECT_EQ(store_->Find(FingerprintOf("a"))->size(), 400);
}

TEST_P(ImportStoreTest, ALineThatIsGoneOrChangedIsDamage) {
  const int64_t id = Import(File("gfx906_60"), {Line("a", 1), Line("b", 2)});
  const auto ignore = [](const ImportedLine&) { return Status::Ok(); };
  {
    const auto connection = Connect();
    ASSERT_EQ(connection->Execute("UPDATE imported_line SET content = 'a=line 9' WHERE number = 1"),
              Status::Ok());
  }
  EXPECT_EQ(store_->Visit(id, ignore).code(), StatusCode::kDataLoss);
  EXPECT_EQ(store_->Find(FingerprintOf("a")).status().code(), StatusCode::kDataLoss);
  {
    const auto connection = Connect();
    ASSERT_EQ(connection->Execute("DELETE FROM imported_line WHERE number = 1"), Status::Ok());
  }
  const Status gone = ImportsIn(Open())->Visit(id, ignore);
  EXPECT_EQ(gone.code(), StatusCode::kDataLoss);
  EXPECT_THAT(gone.message(), HasSubstr("has 1 lines of file"));
}

TEST_P(ImportStoreTest, ADatabaseThatIsOnlyReadTakesNothing) {
  Import(File("gfx906_60"), {Line("a", 1)});
  SqlStoreOptions options = OptionsForServers();
  options.use = StoreUse::kRead;
  store_ = ImportsIn(*OpenSqlDatabase(url(), options));

  EXPECT_EQ(store_->Files()->size(), 1);
  EXPECT_EQ(store_->Begin(File("gfx906_60")).status().code(), StatusCode::kFailedPrecondition);
}

INSTANTIATE_TEST_SUITE_P(Databases, ImportStoreTest, ::testing::ValuesIn(DatabaseKinds()),
                         NameOfKind);

}  // namespace
}  // namespace attune
