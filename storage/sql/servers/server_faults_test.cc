// Server failures, and the messages and actions that follow.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/sql/servers/database_servers.h"
#include "storage/sql/sql_store.h"
#include "tests/conformance/store/sample_records.h"
#include "tests/servers/database_test.h"
#include "tests/servers/test_server.h"

namespace attune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ServerFaultsTest : public DatabaseTest {
 protected:
  // The kind of server for code that kills it.
  static ServerKind KindOfServer() {
    return GetParam() == DatabaseKind::kPostgres ? ServerKind::kPostgres : ServerKind::kMaria;
  }
  static TestServer& Server() { return **SharedServer(KindOfServer()); }
};

TEST_P(ServerFaultsTest, AWrongPasswordSaysWhereTheRightOneBelongsAndIsNotTriedAgain) {
  ::setenv("ATTUNE_DB_PASSWORD", "wrong", 1);

  const Status refused = OpenSqlDatabase(url(), OptionsForServers()).status();

  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused.message(), HasSubstr("ATTUNE_DB_PASSWORD_FILE"));
  EXPECT_THAT(refused.message(), Not(HasSubstr("'wrong'")));
}

TEST_P(ServerFaultsTest, ADatabaseThatDoesNotExistIsSaid) {
  const Status none = OpenSqlDatabase(url() + "_of_nobody", OptionsForServers()).status();

  EXPECT_EQ(none.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(none.message(), HasSubstr("_of_nobody"));
}

TEST_P(ServerFaultsTest, AServerThatIsNotThereIsSaidAtOnce) {
  const std::string scheme = url().substr(0, url().find(':'));

  const Status none = OpenSqlDatabase(scheme + "://me@127.0.0.1:1/d", OptionsForServers()).status();

  EXPECT_EQ(none.code(), StatusCode::kUnavailable);
  EXPECT_THAT(none.message(), HasSubstr("cannot be reached"));
}

TEST_P(ServerFaultsTest, AnOptionOfTheUrlThatIsNoneIsNotTakenForAServerThatIsAway) {
  if (GetParam() != DatabaseKind::kPostgres) GTEST_SKIP() << "Options of PostgreSQL's library.";
  for (const char* option :
       {"?sslmode=bogus", "?bogus=1", "?sslrootcert=/nowhere&sslmode=verify-full"}) {
    const Status refused = OpenSqlDatabase(url() + option, OptionsForServers()).status();

    EXPECT_THAT(refused.message(), Not(HasSubstr("host and the port"))) << option;
    EXPECT_THAT(refused.message(), HasSubstr("URL")) << option;
  }
}

TEST_P(ServerFaultsTest, AnEmptyDatabaseThatIsToBeReadIsSaidToBeEmpty) {
  SqlStoreOptions options = OptionsForServers();
  options.use = StoreUse::kRead;

  const Status empty = OpenSqlDatabase(url(), options).status();

  EXPECT_EQ(empty.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(empty.message(), HasSubstr("is empty"));
  EXPECT_THAT(empty.message(), HasSubstr("attune import"));
}

TEST_P(ServerFaultsTest, ANewerSchemaIsRefused) {
  Open();
  ASSERT_EQ(Connect()->Execute("INSERT INTO migration (version, name, applied_unix_ns) VALUES "
                               "((SELECT * FROM (SELECT MAX(version) + 1 FROM migration) AS t), "
                               "'later', 1)"),
            Status::Ok());

  const Status newer = OpenSqlDatabase(url(), OptionsForServers()).status();

  EXPECT_EQ(newer.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(newer.message(), HasSubstr("later"));
}

TEST_P(ServerFaultsTest, AColumnThatIsGoneIsSaid) {
  Open();
  ASSERT_EQ(Connect()->Execute("ALTER TABLE job DROP COLUMN lost"), Status::Ok());

  const Status changed = OpenSqlDatabase(url(), OptionsForServers()).status();

  EXPECT_EQ(changed.code(), StatusCode::kDataLoss);
  EXPECT_THAT(changed.message(), HasSubstr("job.lost"));
}

TEST_P(ServerFaultsTest, TextsThatDifferInCaseOrInBlanksAtTheirEndAreTwo) {
  const auto records = RecordsIn(Open());
  for (const char* tag : {"net", "Net", "net ", "net  "}) {
    ASSERT_EQ(records->AddProblems(tag, SampleProblems(1)), Status::Ok());
  }

  EXPECT_EQ(records->Tags()->size(), 4u);
  EXPECT_TRUE(records->Problems("NET")->empty());
}

TEST_P(ServerFaultsTest, AWriterWaitsForAServerThatComesBack) {
  const auto records = RecordsIn(Open());
  ASSERT_EQ(records->AddProblems("before", SampleProblems(3)), Status::Ok());
  Server().Kill();
  std::atomic<bool> is_back = false;
  Status written;
  std::thread writer([&] {
    written = records->AddProblems("after", SampleProblems(2));
    EXPECT_TRUE(is_back);
  });

  is_back = true;
  ASSERT_EQ(Server().Run(), Status::Ok());
  writer.join();

  EXPECT_EQ(written, Status::Ok());
  EXPECT_EQ(records->Problems("before")->size(), 3u);
  EXPECT_EQ(records->Problems("after")->size(), 2u);
}

TEST_P(ServerFaultsTest, AServerThatStaysAwayEndsTheWriteAfterThePatience) {
  SqlStoreOptions options = OptionsForServers();
  options.reconnecting = std::chrono::milliseconds(200);
  const auto records = RecordsIn(*OpenSqlDatabase(url(), options));
  Server().Kill();

  const Status gone = records->AddProblems("t", SampleProblems(1));

  EXPECT_EQ(gone.code(), StatusCode::kUnavailable);
  ASSERT_EQ(Server().Run(), Status::Ok());
  EXPECT_EQ(records->AddProblems("t", SampleProblems(1)), Status::Ok());
}

TEST_P(ServerFaultsTest, AStatementThatTheServerEndsIsNoDamage) {
  const bool is_postgres = GetParam() == DatabaseKind::kPostgres;
  Open();
  const auto connection = Connect();
  ASSERT_EQ(connection->Execute(is_postgres ? "SET statement_timeout = 20"
                                            : "SET SESSION max_statement_time = 0.02"),
            Status::Ok());

  // With many rows: a function that is ended in the middle may still return a value.
  const auto ended = connection->Texts(
      is_postgres ? "SELECT CAST(pg_sleep(5) AS TEXT)"
                  : "SELECT CAST(COUNT(*) AS CHAR) FROM information_schema.columns AS a, "
                    "information_schema.columns AS b, information_schema.columns AS c");

  EXPECT_EQ(ended.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(ended.status().message(), HasSubstr("ended a statement"));
}

TEST_P(ServerFaultsTest, OnlyWhatIsOfTheTablesIsDamage) {
  const bool is_postgres = GetParam() == DatabaseKind::kPostgres;
  Open();

  const Status unknown =
      Connect()->Execute(is_postgres ? "SELECT 1 / 0" : "SIGNAL SQLSTATE '45000'");
  const Status no_table = Connect()->Execute("SELECT id FROM never_made");

  EXPECT_EQ(unknown.code(), StatusCode::kInternal) << unknown.message();
  EXPECT_THAT(unknown.message(), HasSubstr(is_postgres ? "22012" : "error 1644"));
  EXPECT_EQ(no_table.code(), StatusCode::kDataLoss) << no_table.message();
}

TEST_P(ServerFaultsTest, AUserWithTooManyConnectionsMayGetOneLater) {
  const bool is_postgres = GetParam() == DatabaseKind::kPostgres;
  const std::string database = url().substr(url().rfind('/') + 1);
  const std::vector<std::string> making =
      is_postgres
          ? std::vector<std::string>{"CREATE ROLE few LOGIN CONNECTION LIMIT 1 PASSWORD 'it''s "
                                     "\"pass\\word\" %41 & more'"}
          : std::vector<std::string>{"CREATE USER 'few'@'%' IDENTIFIED BY 'it\\'s "
                                     "\"pass\\\\word\" %41 & more' WITH MAX_USER_CONNECTIONS 1",
                                     "GRANT SELECT ON " + database + ".* TO 'few'@'%'"};
  for (const std::string& sql : making) ASSERT_EQ(Server().Administer(sql), Status::Ok());
  std::string as_few = url();
  as_few.replace(as_few.find("//") + 2, std::string(TestServer::kUser).size(), "few");
  const auto server = DatabaseServerAt(as_few, {}).value();
  const auto first = sql::Connection::Open(server->NewEngine());
  ASSERT_EQ(first.status(), Status::Ok());

  const auto second = sql::Connection::Open(server->NewEngine());

  EXPECT_EQ(second.status().code(), StatusCode::kUnavailable) << second.status().message();
}

TEST_P(ServerFaultsTest, ManyConnectionsOpenANewDatabaseAtOnce) {
  constexpr int kThreads = 4;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        const auto records = RecordsIn(Open());
        EXPECT_EQ(records->AddProblems(std::to_string(i), SampleProblems(1)), Status::Ok());
      });
    }
  }

  EXPECT_EQ(RecordsIn(Open())->Tags()->size(), size_t{kThreads});
  EXPECT_EQ(CheckSqlStore(url(), OptionsForServers()), Status::Ok());
}

TEST_P(ServerFaultsTest, ARoleThatMayNotDeleteRecordsAndIsToldWhatItMayNot) {
  if (GetParam() != DatabaseKind::kPostgres) GTEST_SKIP() << "Granted to PostgreSQL's roles here.";
  Open();
  const std::string database = url().substr(url().rfind('/') + 1);
  for (const char* sql :
       {"CREATE ROLE worker LOGIN PASSWORD 'it''s \"pass\\word\" %41 & more'",
        "GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA public TO worker"}) {
    ASSERT_EQ(Server().Administer(sql, database), Status::Ok());
  }
  std::string as_worker = url();
  as_worker.replace(as_worker.find("//") + 2, std::string(TestServer::kUser).size(), "worker");
  const auto opened = *OpenSqlDatabase(as_worker, OptionsForServers());

  EXPECT_EQ(RecordsIn(opened)->AddProblems("t", SampleProblems(1)), Status::Ok());

  ASSERT_EQ(Connect()->Execute("REVOKE INSERT ON tag FROM worker"), Status::Ok());
  const Status refused = RecordsIn(opened)->AddProblems("u", SampleProblems(1));
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused.message(), HasSubstr("'worker'"));
}

TEST_P(ServerFaultsTest, ADatabaseThatIsReadOnlyIsAwayAndNoMatterOfRights) {
  SqlStoreOptions options = OptionsForServers();
  options.reconnecting = std::chrono::milliseconds(200);
  const auto opened = *OpenSqlDatabase(url(), options);
  const auto records = RecordsIn(opened);
  ASSERT_EQ(records->AddProblems("before", SampleProblems(1)), Status::Ok());
  ASSERT_EQ(Server().SetReadOnly(true), Status::Ok());

  // It takes a moment to reach existing connections.
  Status refused;
  for (int i = 0; i < 1000 && refused.ok(); ++i) {
    refused = records->AddProblems("meanwhile" + std::to_string(i), SampleProblems(1));
  }
  const auto read = records->Problems("before");
  ASSERT_EQ(Server().SetReadOnly(false), Status::Ok());

  EXPECT_EQ(refused.code(), StatusCode::kUnavailable) << refused.message();
  EXPECT_THAT(refused.message(), HasSubstr("is read-only now"));
  EXPECT_THAT(refused.message(), HasSubstr("the primary"));
  EXPECT_TRUE(read.ok());
  EXPECT_EQ(RecordsIn(*OpenSqlDatabase(url(), OptionsForServers()))
                ->AddProblems("after", SampleProblems(1)),
            Status::Ok());
}

TEST_P(ServerFaultsTest, AProgramWithoutServersSaysSo) {
  const Status none = OpenSqlDatabase(url()).status();

  EXPECT_EQ(none.code(), StatusCode::kUnsupported);
}

INSTANTIATE_TEST_SUITE_P(Databases, ServerFaultsTest,
                         ::testing::Values(DatabaseKind::kPostgres, DatabaseKind::kMaria),
                         NameOfKind);

}  // namespace
}  // namespace attune
